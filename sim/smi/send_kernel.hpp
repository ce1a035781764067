// SPDX-License-Identifier: Apache-2.0
// What sends the packets of a link's endpoints, and those that others hand to it, twin of rtl/smi/tw_send_kernel.sv: polls its
// inputs; a table has the output of each destination.
#pragma once

#include <array>
#include <cstdint>

#include "smi/packet.hpp"
#include "switch/poller.hpp"

namespace thalweg::smi {

class SendKernel {
 public:
  struct Config {
    unsigned inputs = 1, reads = 8;
  };
  using Words = Poller<Packet>;

  explicit SendKernel(const Config& config) : words_(config.inputs, config.reads) {}

  void load(unsigned destination, unsigned to) { table_.at(destination) = static_cast<std::uint8_t>(to); }
  [[nodiscard]] Words& words() { return words_; }
  [[nodiscard]] const Words& words() const { return words_; }
  [[nodiscard]] unsigned to(const Packet& packet) const { return table_[packet.destination()]; }

 private:
  Words words_;
  std::array<std::uint8_t, kMostRanks> table_{};
};

}  // namespace thalweg::smi
