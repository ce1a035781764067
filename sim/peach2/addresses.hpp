// SPDX-License-Identifier: Apache-2.0
// Address map of the cluster's shared 512 GByte.
#pragma once

#include <cstdint>

#include "peach2/bus.hpp"
#include "peach2/word.hpp"

namespace thalweg::peach2 {

/// A node has 32 GByte in regions of 8: memory of the processor, GPU 0 and GPU 1. The last GByte of the 32 is the hub's own.
inline constexpr unsigned kMemoryShift = 33;
inline constexpr unsigned kMostNodes = 1U << (kAddressBits - kNodeShift);
inline constexpr unsigned kGigabytes = 1U << (kNodeShift - kBaseShift);

enum MemoryOf : unsigned { kProcessor, kGpu0, kGpu1 };
inline constexpr unsigned kMemories = 3;

[[nodiscard]] constexpr std::uint64_t memory_address(unsigned node, unsigned memory, std::uint64_t at = 0) {
  return (std::uint64_t{node} << kNodeShift) + (std::uint64_t{memory} << kMemoryShift) + at;
}
/// Index of the GByte of a node's hub.
[[nodiscard]] constexpr unsigned base_of(unsigned node) {
  return node * kGigabytes + kGigabytes - 1;
}
/// Address within a hub: memory, calculator, working RAM or registers (peach2/bus.hpp).
[[nodiscard]] constexpr std::uint64_t hub_address(unsigned node, std::uint64_t at = 0) {
  return (std::uint64_t{base_of(node)} << kBaseShift) + at;
}
[[nodiscard]] constexpr std::uint64_t register_address(unsigned node, unsigned number) {
  return hub_address(node, kRegistersAt + 16ULL * number);
}

}  // namespace thalweg::peach2
