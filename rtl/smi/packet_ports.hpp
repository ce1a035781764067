// SPDX-License-Identifier: Apache-2.0
// Conversion of SMI packets to ports of the hardware, and back.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "smi/packet.hpp"

namespace blocks {

using thalweg::smi::Packet;

/// For a port with packets of `Bytes` bytes.
template <unsigned Bytes>
[[nodiscard]] Packet packet_of(const std::array<std::uint64_t, Bytes / 8>& words) {
  Packet packet;
  std::copy(words.begin(), words.end(), packet.data.begin());
  return packet;
}
template <unsigned Bytes>
[[nodiscard]] std::array<std::uint64_t, Bytes / 8> words_of(const Packet& packet) {
  std::array<std::uint64_t, Bytes / 8> words;
  std::copy_n(packet.data.begin(), words.size(), words.begin());
  return words;
}

}  // namespace blocks
