// SPDX-License-Identifier: Apache-2.0
// Send kernel of a link, C++ model of rtl/smi/tw_send_kernel.sv: polls the link's endpoints and the other kernels; a table gives the
// output of each destination.
#pragma once

#include <array>
#include <cstdint>

#include "smi/kernel_inputs.hpp"

namespace thalweg::smi {

class SendKernel {
 public:
  using Config = KernelInputs::Config;
  using Words = KernelInputs::Words;

  explicit SendKernel(const Config& config) : nowhere_(config.outputs), inputs_(config) {
    table_.fill(static_cast<std::uint8_t>(nowhere_));
  }

  void load(unsigned destination, unsigned to) {
    table_.at(destination) = static_cast<std::uint8_t>(to < nowhere_ ? to : nowhere_);
  }
  [[nodiscard]] Words& words() { return inputs_.words(); }
  [[nodiscard]] const Words& words() const { return inputs_.words(); }

  /// One clock edge for one input (Poller::step).
  void step(unsigned input, const Packet* packet, bool goes) {
    inputs_.step(input, packet, packet ? table_[packet->destination()] : nowhere_, goes);
  }

 private:
  unsigned nowhere_;  ///< output of packets without a route, which are dropped
  KernelInputs inputs_;
  std::array<std::uint8_t, kMaxRanks> table_{};
};

}  // namespace thalweg::smi
