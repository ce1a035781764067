// SPDX-License-Identifier: Apache-2.0
// A memory for both sides of a DMA engine's test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bisim/dice.hpp"
#include "memory/bank.hpp"
#include "vcsn/dma.hpp"

namespace blocks {

inline constexpr std::uint64_t kMemoryBytes = 1 << 16;

/// The timing of a run's memory, shared by twin and stimulus.
inline thalweg::BankTiming bank_timing;  // NOLINT

inline void draw_timing(bisim::Dice& dice) {
  bank_timing = {.latency = static_cast<thalweg::Tick>(2 + dice.below(dice.chance(500) ? 4 : 60)),
                 .dram = {.bytes_per_cycle = static_cast<double>(dice.pick(64, 77, 200, 20)),
                          .trcd = static_cast<double>(dice.below(8)),
                          .trp = static_cast<double>(dice.below(8))}};
}

/// Its initial contents.
[[nodiscard]] inline std::vector<std::byte> memory_bytes() {
  std::vector<std::byte> bytes(kMemoryBytes);
  for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<std::byte>((k * 0x9E3779B97F4A7C15U) >> 56);
  return bytes;
}

}  // namespace blocks
