// SPDX-License-Identifier: Apache-2.0
// Server programs and FPGA kernels in simulated time. A program is a coroutine (or any generator of steps): each step
// takes simulated time, waits for a DMA engine, or waits for all other programs at a barrier; between steps it writes
// registers of FPGAs. A kernel is user logic at the crossbar of an FPGA, whose steps send and receive words.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include "vcsn/cluster.hpp"
#include "vcsn/network.hpp"
#include "vcsn/routine.hpp"

namespace thalweg::vcsn {

/// The processor computes.
struct Work {
  double us = 0;
};
/// Waits for the interrupt of a completed transfer.
struct Interrupt {
  Handle handle = 0;
};
/// MPI_Barrier of all programs.
struct Barrier {};
using Step = std::variant<Work, Interrupt, Barrier>;

/// Sends bytes to the crossbar in words of 64 bytes, one per cycle, and waits until the last word is accepted. `ends`:
/// ends a packet; otherwise the bytes must be whole words.
struct Send {  // with a constructor: GCC 12 destroys an aggregate that is yielded twice
  explicit Send(std::vector<std::byte> bytes, bool last = true, std::uint8_t of = 0)
      : data(std::move(bytes)), ends(last), channel(of) {}

  std::vector<std::byte> data;
  bool ends;
  std::uint8_t channel;
};
/// Receives `words` words from the crossbar, at most to the end of a packet, and waits for the last one.
struct Receive {
  std::uint64_t words = 0;
};
/// Sends and receives concurrently, as a pipeline does, and waits for both.
struct Exchange {
  Exchange(Send sends, Receive receives) : send(std::move(sends)), receive(receives) {}

  Send send;
  Receive receive;
};
/// Waits for cycles of the shell's clock.
struct Pause {
  std::int64_t cycles = 0;
};
using Action = std::variant<Send, Receive, Exchange, Pause>;

using Program = Routine<Step, std::monostate>;
using Logic = Routine<Action, Taken>;

/// A server's program, and the durations of its actions.
struct Server {
  ServerCosts costs;
  std::function<std::optional<Step>()> next;  ///< nullopt: the program has ended
};
/// User logic of a node's stream `number`. Code between two steps takes no simulated time.
struct Kernel {
  unsigned node = 0, number = 0;
  std::function<std::optional<Action>(std::optional<Taken>)> next;
  bool serves = false;  ///< run() does not wait for its end
};

/// A program has an invalid step.
class WrongProgram : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

struct RunOptions {
  bool late = false;              ///< barriers include the mean delay after work
  Engine* engine = nullptr;       ///< engine that advances the network's time; null: the network itself
  std::function<void()> between;  ///< called whenever time has advanced
};

/// Runs programs (by server number) and kernels; returns the time in us until the last one ends. Throws Stuck on a
/// deadlock, WrongProgram, and the network's std::invalid_argument.
double run(Network& network, const std::map<std::int64_t, Server>& servers, const std::vector<Kernel>& kernels = {},
           const RunOptions& options = {});

}  // namespace thalweg::vcsn
