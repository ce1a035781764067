// SPDX-License-Identifier: Apache-2.0
// Ring buffer: a queue of bounded length in contiguous memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace thalweg {

template <class T>
class Ring {
 public:
  Ring() = default;
  explicit Ring(std::size_t capacity) : slots_(capacity) {}

  [[nodiscard]] std::size_t capacity() const { return slots_.size(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] bool full() const { return size_ == slots_.size(); }
  [[nodiscard]] T& front() { return slots_[head_]; }
  [[nodiscard]] const T& front() const { return slots_[head_]; }
  /// `number` counts from the front and is below size().
  [[nodiscard]] const T& operator[](std::size_t number) const {
    const std::size_t at = head_ + number;
    return slots_[at < slots_.size() ? at : at - slots_.size()];
  }

  /// Must not be full.
  void push(const T& value) {
    const std::size_t at = head_ + size_++;
    slots_[at < slots_.size() ? at : at - slots_.size()] = value;
  }
  /// As `push`, but doubles the capacity if full.
  void push_growing(const T& value) {
    if (full()) {
      Ring larger(slots_.empty() ? 4 : 2 * slots_.size());
      for (; !empty(); pop()) larger.push(front());
      *this = std::move(larger);
    }
    push(value);
  }
  /// Must not be empty.
  void pop() {
    head_ = head_ + 1 < slots_.size() ? head_ + 1 : 0;
    --size_;
  }

 private:
  std::vector<T> slots_;
  std::uint32_t head_ = 0, size_ = 0;
};

}  // namespace thalweg
