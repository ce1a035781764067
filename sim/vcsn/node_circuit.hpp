// SPDX-License-Identifier: Apache-2.0
// Interface of a Verilated node (rtl/vcsn/top) in the simulator: its ports at each clock edge.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "vcsn/commands.hpp"
#include "vcsn/word.hpp"

namespace thalweg::vcsn {

class NodeCircuit {
 public:
  using Data = std::array<std::uint64_t, kWord / 8>;

  struct Inputs {
    struct User {
      bool offers = false, takes = false;
      Word word;
    };
    struct Engine {
      bool answers = false, accepts = false, written = false;
      Data answer{};
    };
    /// Ethernet: the MAC's ready, and the received word. Serial link: the received word, and a credit.
    struct Port {
      bool takes = false, comes = false, last = false, damaged = false, credit = false;
      std::uint64_t keep = 0;
      Data data{};
    };
    bool commands = false;
    CommandWord command{};
    std::vector<User> users;
    std::vector<Engine> engines;
    std::vector<Port> ports;
  };
  struct Outputs {
    struct User {
      bool takes = false, offers = false;
      Word word;
    };
    struct Engine {
      bool requests = false, burst = false, writes = false, read_ended = false, write_ended = false;
      bool overrun = false, headless = false, broken = false;
      std::uint64_t request_address = 0, burst_address = 0, keep = 0;
      unsigned request_words = 0, burst_words = 0;
      Data data{};
    };
    struct Port {
      bool offers = false, last = false, credit = false;
      std::uint64_t keep = 0;
      Data data{};
      std::vector<std::uint64_t> counts;  ///< of frames by outcome: the fields of outcome_t, last one first
      std::vector<unsigned> sessions;     ///< states, by virtual port
    };
    bool takes_command = false, refuses = false;
    std::vector<bool> programs_ended;  ///< by sequencer
    std::vector<User> users;
    std::vector<Engine> engines;
    std::vector<Port> ports;
  };

  virtual ~NodeCircuit() = default;
  /// Resets to the initial state.
  virtual void reset() = 0;
  /// Returns the outputs in this cycle for these inputs. No output depends on inputs of its own clock, except on the
  /// ready signals of `users` and `engines`.
  virtual const Outputs& show(const Inputs& in) = 0;
  /// An edge of one clock or, at the same instant, of both.
  virtual void edges(bool shell, bool line) = 0;
  /// True if its state has not changed since the previous call.
  [[nodiscard]] virtual bool rests() = 0;
};

}  // namespace thalweg::vcsn
