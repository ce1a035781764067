// SPDX-License-Identifier: Apache-2.0
// A table that grows as its entries are used.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace thalweg {

/// Unlike those of `Sparse`, entries are contiguous, and move when the table grows.
template <class T>
class Growing {
 public:
  /// `unused`: value of an entry that has not been used.
  explicit Growing(T unused = T()) : unused_(std::move(unused)) {}

  [[nodiscard]] T& operator[](std::size_t index) {
    if (index >= entries_.size()) [[unlikely]]
      entries_.resize(index + 1, unused_);
    return entries_[index];
  }
  [[nodiscard]] const T& operator[](std::size_t index) const {
    return index < entries_.size() ? entries_[index] : unused_;
  }
  /// This number of entries is expected.
  void reserve(std::size_t entries) { entries_.reserve(entries); }
  [[nodiscard]] auto begin() const { return entries_.begin(); }
  [[nodiscard]] auto end() const { return entries_.end(); }

 private:
  std::vector<T> entries_;
  T unused_;
};

}  // namespace thalweg
