// SPDX-License-Identifier: Apache-2.0
// Interface of a Verilated hub in the simulator: its ports at each clock edge. No output depends combinationally on an input.
#pragma once

#include <array>
#include <cstdint>

#include "core/types.hpp"

namespace thalweg::peach2 {

class HubCircuit {
 public:
  static constexpr unsigned kLinks = 4;
  struct Inputs {
    struct Link {
      bool valid = false, last = false, credit_valid = false;
      Word<256> data{};
      unsigned credit_units = 0;
    };
    std::array<Link, kLinks> links;
    bool memory_ready = true, reply_valid = false;
    Word<128> reply{};
  };
  struct Outputs {
    struct Link {
      bool valid = false, last = false, freed_valid = false;
      Word<256> data{};
      unsigned freed_units = 0;
    };
    std::array<Link, kLinks> links;
    bool memory_valid = false, memory_write = false;
    std::uint64_t memory_address = 0;
    Word<128> memory_data{};
    unsigned memory_enable = 0;
  };

  virtual ~HubCircuit() = default;
  /// An edge of one clock, or simultaneous edges of both.
  virtual void edges(bool net, bool bus, const Inputs& in, Outputs& out) = 0;
};

}  // namespace thalweg::peach2
