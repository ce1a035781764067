// SPDX-License-Identifier: Apache-2.0
// UDP ends at ports, and the end of the blocks under test.
#pragma once

#include "ethernet/udp.hpp"

namespace blocks {

inline constexpr thalweg::ethernet::UdpEnd kOwn{0x02'1234'5678'9A, 0x0A'01'FF'FE, 4791};

template <class Port>
[[nodiscard]] auto port_of(const thalweg::ethernet::UdpEnd& end) {
  return decltype(std::declval<Port>().get()){.address = end.address, .ip = end.ip, .port = end.port};
}
[[nodiscard]] inline thalweg::ethernet::UdpEnd end_of(const auto& port) {
  return {port.address, static_cast<std::uint32_t>(port.ip), static_cast<std::uint16_t>(port.port)};
}

}  // namespace blocks
