// SPDX-License-Identifier: Apache-2.0
// What takes the packets that come by a link, and those that others hand to it, twin of rtl/smi/tw_receive_kernel.sv: polls its
// inputs; packets for other ranks go to its send kernel, and a table has the output of each port's data and control.
#pragma once

#include <array>
#include <cstdint>

#include "smi/packet.hpp"
#include "switch/poller.hpp"

namespace thalweg::smi {

class ReceiveKernel {
 public:
  struct Config {
    unsigned rank = 0, inputs = 1, reads = 8;
  };
  using Words = Poller<Packet>;
  static constexpr unsigned kNowhere = 255;  ///< the packet is dropped

  explicit ReceiveKernel(const Config& config) : rank_(config.rank), words_(config.inputs, config.reads) {}

  void load(unsigned index, unsigned to) { table_.at(index) = static_cast<std::uint8_t>(to); }
  [[nodiscard]] Words& words() { return words_; }
  [[nodiscard]] const Words& words() const { return words_; }
  [[nodiscard]] unsigned to(const Packet& packet) const {
    if (packet.destination() != rank_) return 0;
    const unsigned to = table_[packet.port() * 2 + packet.control()];
    return to ? to : kNowhere;
  }

 private:
  unsigned rank_;
  Words words_;
  std::array<std::uint8_t, 2 * kMostPorts> table_{};
};

}  // namespace thalweg::smi
