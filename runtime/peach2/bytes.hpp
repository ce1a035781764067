// SPDX-License-Identifier: Apache-2.0
// Converts values, flags and descriptors to the bytes that a processor stores.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "peach2/peach2.hpp"

namespace thalweg::peach2 {

template <class T>
[[nodiscard]] std::vector<std::byte> bytes_of(const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  return {bytes.begin(), bytes.end()};
}
template <class T>
void append(std::vector<std::byte>& to, const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

/// Returns linked descriptors of checked copies, to be stored at `at`.
[[nodiscard]] std::vector<std::byte> descriptors(const std::vector<Copy>& copies, std::uint64_t at);
/// Returns a line with a flag, followed by descriptors.
[[nodiscard]] inline std::vector<std::byte> flagged(std::uint32_t flag, const std::vector<std::byte>& descriptors) {
  std::vector<std::byte> block(kLine + descriptors.size());
  std::memcpy(block.data(), &flag, sizeof flag);
  std::ranges::copy(descriptors, block.begin() + kLine);
  return block;
}

}  // namespace thalweg::peach2
