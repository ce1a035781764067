// SPDX-License-Identifier: Apache-2.0
// A kernel that has been started; of the files that Program is in.
#pragma once

#include <array>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "memory/bank.hpp"
#include "smi/bursts.hpp"
#include "smi/device/loops.h"
#include "smi/program.hpp"

namespace thalweg::smi {

struct Program::Running {
  Running(Program& in, unsigned of_rank, std::string called) : program(in), rank(of_rank), name(std::move(called)) {}

  /// Its load and store units for a bank.
  struct Use {
    Bursts bursts;  ///< not yet requested
    BankPort port;
  };
  /// What it is in.
  struct Now {
    const char* note = "";
    smi__place place{};
    const PortState* port = nullptr;  ///< null: a channel of its rank
  };

  /// A turn of a loop begins its interval after the one before, and the ticks that the kernel stalled; `at_once` of them together.
  void turn(smi__loop& loop, const void* from) {
    if (loop.begun >= 0 && loop.turns < loop.at_once) {
      ++loop.turns;
      return;
    }
    if (loop.pipeline)
      pipelines.back()->turn();
    else if (loop.begun >= 0)
      kernel->reach(next(loop));
    if (kernel->cycle() > program.limit_) [[unlikely]]
      program.check_limit(*this, std::array{const_cast<void*>(from)}, kernel->cycle());
    loop.begun = kernel->tick();
    loop.stalled = kernel->stalled();
    loop.turns = 1;
  }
  /// Its last turn takes its interval, too, so that what follows the loop begins afterwards. While a kernel is unwound no time passes.
  void leave(smi__loop& loop) {
    if (loop.pipeline) {
      auto* last = pipelines.back().release();
      pipelines.pop_back();
      delete last;  // throws, where the kernel is cancelled
    }
    if (loop.begun >= 0 && std::uncaught_exceptions() == 0) kernel->reach(next(loop));
    loop.begun = -1;
    loop.pipeline = 0;
  }
  [[nodiscard]] Tick next(const smi__loop& loop) const {
    return loop.begun + loop.interval * kernel->domain().clock.period + kernel->stalled() - loop.stalled;
  }

  Program& program;
  unsigned rank;
  int number = 0;
  std::string name;
  const void* thrown = nullptr;  ///< the last exception of its own
  const void* thrown_from = nullptr;
  Library* library = nullptr;
  std::function<void()> call;
  Kernel* kernel = nullptr;
  std::vector<Argument> arguments;
  std::vector<Use> banks;
  std::vector<std::unique_ptr<Pipeline>> pipelines;
  Now now;
  Tick ended = 0;
  bool is_over = false;
};

inline Where at(const smi__place& place) {
  return {place.file, place.line};
}

inline std::string line(const smi__place& place) {
  return std::string(place.file) + ":" + std::to_string(place.line);
}

}  // namespace thalweg::smi
