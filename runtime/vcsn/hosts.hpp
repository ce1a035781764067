// SPDX-License-Identifier: Apache-2.0
// Programs on servers, and kernels on FPGAs, in simulated time. A program is a coroutine (or anything that gives one step after another): each
// step takes simulated time, or waits for a DMA engine, or for all other programs at a barrier; between two steps it writes registers of FPGAs. A
// kernel is user logic at the crossbar of an FPGA, whose steps send words and receive them.
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

/// The processor works.
struct Work {
  double us = 0;
};
/// Until a transfer has completed, and its interrupt is there.
struct Interrupt {
  Handle handle = 0;
};
/// Until all programs are here, and MPI_Barrier has ended.
struct Barrier {};
using Step = std::variant<Work, Interrupt, Barrier>;

/// Bytes to the crossbar, in words of 64, one a cycle; until the last one was taken. `ends`: they end a packet; otherwise they are whole
/// words.
struct Send {  // with a constructor: GCC 12 destroys an aggregate that is yielded twice
  explicit Send(std::vector<std::byte> bytes, bool last = true, std::uint8_t of = 0)
      : data(std::move(bytes)), ends(last), channel(of) {}

  std::vector<std::byte> data;
  bool ends;
  std::uint8_t channel;
};
/// So many words of the crossbar, or those to the end of a packet; until the last one is there.
struct Receive {
  std::uint64_t words = 0;
};
/// Both at once, as a pipeline does, until both have ended.
struct Exchange {
  Exchange(Send sends, Receive receives) : send(std::move(sends)), receive(receives) {}

  Send send;
  Receive receive;
};
/// So many cycles of the shell's clock.
struct Pause {
  std::int64_t cycles = 0;
};
using Action = std::variant<Send, Receive, Exchange, Pause>;

using Program = Routine<Step, std::monostate>;
using Logic = Routine<Action, Taken>;

/// A server's program, and what its actions take.
struct Server {
  ServerCosts costs;
  std::function<std::optional<Step>()> next;  ///< none: it has ended
};
/// User logic of a node's stream `number`. What it does between two steps takes no time.
struct Kernel {
  unsigned node = 0, number = 0;
  std::function<std::optional<Action>(std::optional<Taken>)> next;
  bool serves = false;  ///< it is not waited for
};

/// A program has a step that cannot be.
class WrongProgram : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

struct RunOptions {
  bool late = false;              ///< barriers take what they take on average after work
  Engine* engine = nullptr;       ///< that has the network's time, where it is not the network itself
  std::function<void()> between;  ///< called whenever time has moved on
};

/// Runs programs, by the numbers of their servers, and kernels, from now on; the time in us at which the last one ends. Throws Stuck where some wait
/// for ever, WrongProgram, and std::invalid_argument of the network.
double run(Network& network, const std::map<std::int64_t, Server>& servers, const std::vector<Kernel>& kernels = {},
           const RunOptions& options = {});

}  // namespace thalweg::vcsn
