// SPDX-License-Identifier: Apache-2.0
// Receive kernel of a link, C++ model of rtl/smi/tw_receive_kernel.sv: polls the link and the other kernels; forwards packets for other
// ranks to its send kernel, and packets for its rank to the output given by a table, indexed by port and data or control.
#pragma once

#include <array>
#include <cstdint>

#include "smi/kernel_inputs.hpp"

namespace thalweg::smi {

class ReceiveKernel {
 public:
  using Config = KernelInputs::Config;
  using Words = KernelInputs::Words;

  ReceiveKernel(unsigned rank, const Config& config) : rank_(rank), nowhere_(config.outputs), inputs_(config) {
    table_.fill(static_cast<std::uint8_t>(nowhere_));
  }

  void load(unsigned index, unsigned to) {
    table_.at(index) = static_cast<std::uint8_t>(to > 0 && to < nowhere_ ? to : nowhere_);
  }
  [[nodiscard]] Words& words() { return inputs_.words(); }
  [[nodiscard]] const Words& words() const { return inputs_.words(); }

  /// One clock edge for one input (Poller::step).
  void step(unsigned input, const Packet* packet, bool goes) {
    inputs_.step(input, packet, packet ? to(*packet) : nowhere_, goes);
  }

 private:
  [[nodiscard]] unsigned to(const Packet& packet) const {
    return packet.destination() == rank_ ? table_[packet.port() * 2 + packet.control()] : 0;
  }

  unsigned rank_;
  unsigned nowhere_;  ///< output of packets without a route, which are dropped
  KernelInputs inputs_;
  std::array<std::uint8_t, 2 * kMaxPorts> table_{};
};

}  // namespace thalweg::smi
