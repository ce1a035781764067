// SPDX-License-Identifier: Apache-2.0
// Sparse memory: only written pages use space; the others read as zero.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace thalweg {

class SparseMemory {
 public:
  SparseMemory(std::string name, std::uint64_t bytes) : name_(std::move(name)), bytes_(bytes) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint64_t size() const { return bytes_; }

  /// Throws std::out_of_range if the range exceeds the memory, as do read and write.
  void require(std::uint64_t address, std::size_t bytes) const {
    if (address > bytes_ || bytes > bytes_ - address)
      throw std::out_of_range(name_ + " has " + std::to_string(bytes_) + " bytes; " + std::to_string(bytes) + " at " +
                              std::to_string(address) + " are outside");
  }
  void read(std::uint64_t address, std::span<std::byte> to) const {
    each_page(address, to.size(), [&](std::uint64_t page, std::size_t at, std::size_t from, std::size_t count) {
      const auto found = pages_.find(page);
      if (found == pages_.end())
        std::memset(to.data() + from, 0, count);
      else
        std::memcpy(to.data() + from, found->second + at, count);
    });
  }
  void write(std::uint64_t address, std::span<const std::byte> from) {
    each_page(address, from.size(), [&](std::uint64_t page, std::size_t at, std::size_t first, std::size_t count) {
      std::byte*& place = pages_[page];
      if (!place) place = fresh();
      std::memcpy(place + at, from.data() + first, count);
    });
  }

 private:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kLargest = std::size_t{2} << 20;
  using Pages = std::unique_ptr<std::byte[], decltype(&std::free)>;

  /// Returns a page of zeros. Pages are allocated in pieces of doubling size, because calloc need not touch large
  /// pieces to zero them.
  std::byte* fresh() {
    if (left_ == 0) {
      size_ = std::min(kLargest, 2 * size_);
      pieces_.emplace_back(static_cast<std::byte*>(std::calloc(size_, 1)), &std::free);
      if (!pieces_.back()) throw std::bad_alloc();
      left_ = size_ / kPage;
    }
    return pieces_.back().get() + --left_ * kPage;
  }

  /// Calls visit(page, offset in it, offset in the span, bytes) for each page of a range.
  template <class Visit>
  void each_page(std::uint64_t address, std::size_t bytes, Visit&& visit) const {
    require(address, bytes);
    for (std::size_t done = 0; done < bytes;) {
      const std::size_t at = (address + done) % kPage, count = std::min(kPage - at, bytes - done);
      visit((address + done) / kPage, at, done, count);
      done += count;
    }
  }

  std::string name_;
  std::uint64_t bytes_;
  std::unordered_map<std::uint64_t, std::byte*> pages_;
  std::vector<Pages> pieces_;
  std::size_t size_ = kPage, left_ = 0;  ///< bytes of the last piece, and its unused pages
};

}  // namespace thalweg
