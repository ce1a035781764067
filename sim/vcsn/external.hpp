// SPDX-License-Identifier: Apache-2.0
// Interface between a node's shell and its external ports, for both networks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cluster/assembly.hpp"
#include "memory/bank.hpp"
#include "vcsn/circuit_session.hpp"
#include "vcsn/circuit_table.hpp"
#include "vcsn/word.hpp"

namespace thalweg::vcsn {

struct NodeConfig {
  unsigned ports = 2, virtual_ports = 2;  ///< external ports, and virtual ports per external port
  unsigned dmas = 2;                      ///< pairs of a read engine and a write engine
  unsigned kernels = 0;                   ///< streams of user logic
  unsigned sequencers = 0;
  unsigned banks = 1;
  std::uint64_t bank_bytes = 1 << 20;
  BankTiming bank{};
  unsigned send_words = 512, receive_words = 3072, frame_words = 143, frames = 32;
  SessionConfig session{};
  Tick line_cycles = 0;  ///< of the MACs or serial transceivers at both ends of a line, in cycles of their clock
};

class External {
 public:
  virtual ~External() = default;

  std::function<void(unsigned)> emptied;  ///< a virtual port has space again
  std::function<void(unsigned)> filled;   ///< a virtual port has words

  [[nodiscard]] virtual LinkPort& end() = 0;
  [[nodiscard]] virtual Sink& sink(unsigned port) = 0;
  [[nodiscard]] virtual Source& source(unsigned port) = 0;
  /// Restarts to the initial state, except for a frame on the line. Returns the number of dropped words. Throws
  /// std::logic_error if both ends would have to restart.
  virtual std::uint64_t reset() = 0;
  /// Call once all links are connected. Throws std::invalid_argument if a line is too fast.
  virtual void start() = 0;
  /// Appends its losses; `at` names the port.
  virtual void lost(const std::string& at, NodeId node, std::vector<Lost>& all) const = 0;
};

}  // namespace thalweg::vcsn
