// SPDX-License-Identifier: Apache-2.0
// A table whose entries are allocated at their first use.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace thalweg {

/// Entries keep their addresses.
template <class T>
class Sparse {
 public:
  /// `make()` returns an entry's first value.
  explicit Sparse(
      std::size_t size, std::function<T()> make = [] { return T(); })
      : entries_(size), make_(std::move(make)) {}

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  /// The entry, or null if it has not been used.
  [[nodiscard]] const T* find(std::size_t index) const { return entries_[index].get(); }
  [[nodiscard]] T& operator[](std::size_t index) {
    auto& entry = entries_[index];
    if (!entry) [[unlikely]]
      entry = std::make_unique<T>(make_());
    return *entry;
  }
  /// The entry must have been used.
  [[nodiscard]] const T& operator[](std::size_t index) const { return *entries_[index]; }

 private:
  std::vector<std::unique_ptr<T>> entries_;
  std::function<T()> make_;
};

}  // namespace thalweg
