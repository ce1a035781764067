// SPDX-License-Identifier: Apache-2.0
// A serial link between two ranks, with rate, latency, and credits for the receive buffer. Model only: the RTL ends at the board's I/O
// channels, which are streams.
#pragma once

#include <array>
#include <string>

#include "cluster/assembly.hpp"
#include "link/lane.hpp"
#include "smi/packet.hpp"

namespace thalweg::smi {

using LinkLane = CreditedLane<Packet>;

/// A rank's end of a link.
struct SerialPort final : LinkPort, LaneEnd<LinkLane> {
  [[nodiscard]] std::string carries() const override { return "serial"; }
};

struct SerialLink final : AssembledLink {
  SerialLink(const LinkLane::Config& config, SerialPort& a, SerialPort& b) : lanes(config, a, b) {}

  [[nodiscard]] std::array<Carried, 2> carried() const override { return lanes.carried(); }

  LanePair<LinkLane> lanes;
};

}  // namespace thalweg::smi
