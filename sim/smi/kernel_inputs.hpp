// SPDX-License-Identifier: Apache-2.0
// The polled inputs of a send or receive kernel.
#pragma once

#include <vector>

#include "smi/circuit.hpp"
#include "switch/poller.hpp"

namespace thalweg::smi {

class KernelInputs {
 public:
  struct Config {
    unsigned inputs = 1, outputs = 1, reads = 8;
    bool circuits = false;
  };
  using Words = Poller<Packet>;

  /// One additional output is for packets without a route.
  explicit KernelInputs(const Config& config)
      : words_(config.inputs, config.outputs + 1, config.reads), circuits_(config.circuits ? config.inputs : 0) {}

  [[nodiscard]] Words& words() { return words_; }
  [[nodiscard]] const Words& words() const { return words_; }

  /// One clock edge for one input. `to`: the table's output for the packet's header.
  void step(unsigned input, const Packet* packet, unsigned to, bool goes) {
    Words::Offer offer;
    if (packet && circuits_.empty()) {
      offer = {*packet, to};
    } else if (packet) {
      offer = circuits_[input].offer(*packet, to);
      if (words_.ready(input)) circuits_[input].step(offer);
    }
    words_.step(input, packet ? &offer : nullptr, goes);
  }

 private:
  Words words_;
  std::vector<Circuit> circuits_;
};

}  // namespace thalweg::smi
