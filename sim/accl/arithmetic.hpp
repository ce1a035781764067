// SPDX-License-Identifier: Apache-2.0
// Plug-ins of the engine's data path: arithmetic on elements, and conversion between float32 and float16.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "reduce/lane.hpp"
#include "thalweg_spec.hpp"

namespace thalweg::accl {

/// Operator and type of a function of an arithmetic configuration. Numbers below 10 are ACCL's.
struct Unit {
  spec::Operator op;
  spec::Datatype type;
};
[[nodiscard]] constexpr std::optional<Unit> unit_of(std::uint32_t number) {
  using enum spec::Datatype;
  constexpr std::array kTypes{float32, float64, int32, int64, float16, int8};
  constexpr std::array kOperators{spec::Operator::sum, spec::Operator::max, spec::Operator::prod, spec::Operator::min};
  if (number < 10) return Unit{kOperators[number / 5], kTypes[number % 5]};
  if (number < 12) return Unit{kOperators[number - 10], int8};
  if (number < 24) return Unit{kOperators[2 + (number - 12) / 6], kTypes[(number - 12) % 6]};
  return std::nullopt;
}
[[nodiscard]] constexpr unsigned bytes_of(spec::Datatype type) {
  using enum spec::Datatype;
  return type == int8 ? 1 : type == float16 ? 2 : type == float32 || type == int32 ? 4 : 8;
}

/// The float16 nearest to a float32, ties to even, and the float32 of a float16; both as bit patterns.
[[nodiscard]] inline std::uint16_t narrowed(std::uint32_t wide) {
  return std::bit_cast<std::uint16_t>(static_cast<_Float16>(std::bit_cast<float>(wide)));
}
[[nodiscard]] inline std::uint32_t widened(std::uint16_t narrow) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<_Float16>(narrow)));
}

/// Converts elements of `from` bytes to `to` bytes: between float32 and float16, rounded to nearest even; unchanged if
/// equal.
inline void convert(std::vector<std::byte>& data, unsigned from, unsigned to) {
  if (from == to) return;
  const auto elements = data.size() / from;
  std::vector<std::byte> made(elements * to);
  for (std::size_t k = 0; k < elements; ++k) {
    std::uint32_t wide;
    std::uint16_t narrow;
    if (from == 4) {
      std::memcpy(&wide, data.data() + 4 * k, 4);
      narrow = narrowed(wide);
      std::memcpy(made.data() + 2 * k, &narrow, 2);
    } else {
      std::memcpy(&narrow, data.data() + 2 * k, 2);
      wide = widened(narrow);
      std::memcpy(made.data() + 4 * k, &wide, 4);
    }
  }
  data = std::move(made);
}
/// True if convert() supports these sizes.
[[nodiscard]] constexpr bool converts(unsigned from, unsigned to) {
  return from == to || (from == 4 && to == 2) || (from == 2 && to == 4);
}

}  // namespace thalweg::accl
