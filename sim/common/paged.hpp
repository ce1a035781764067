// SPDX-License-Identifier: Apache-2.0
// A table whose pages grow as their entries are used.
#pragma once

#include <cstddef>
#include <utility>

#include "common/growing.hpp"

namespace thalweg {

/// As `Growing`, for entries of which few pages are used.
template <class T, std::size_t Page = 32>
class Paged {
 public:
  /// `unused`: value of an entry that has not been used.
  explicit Paged(T unused = T()) : pages_(Growing<T>(std::move(unused))) {}

  [[nodiscard]] T& operator[](std::size_t index) { return pages_[index / Page][index % Page]; }
  [[nodiscard]] const T& operator[](std::size_t index) const { return pages_[index / Page][index % Page]; }

 private:
  Growing<Growing<T>> pages_;
};

}  // namespace thalweg
