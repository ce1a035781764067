// SPDX-License-Identifier: Apache-2.0
// A kernel that has been started; of program.cpp and report.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "smi/program.hpp"

namespace thalweg::smi {

struct Program::Running {
  Running(Program& in, unsigned of_rank, std::string called) : program(in), rank(of_rank), name(std::move(called)) {}

  /// A loop: its last turn.
  struct Site {
    Tick begun = -1, stalled = 0;
    unsigned at_once = 0;
  };
  /// Of a bank.
  struct Use {
    std::size_t bytes = 0;  ///< not yet asked for
    double until = 0;       ///< the cycle in which what was asked for has been moved
    bool reads = false;
  };
  /// What it is in.
  struct Now {
    const char* note = "";
    smi__place place{};
    const PortState* port = nullptr;  ///< null: a channel of its rank
  };

  /// A turn of a loop begins so many cycles after the one before, and those that the kernel stood still; `at_once` of them together.
  void turn(unsigned number, unsigned interval, unsigned at_once) {
    if (interval == 0) {
      pipelines.back()->turn();
      return;
    }
    auto& site = sites[number];
    auto& self = *kernel;
    if (site.begun >= 0) {
      const auto next = site.begun + interval * self.domain().clock.period + self.stalled() - site.stalled;
      if (next > self.tick()) {
        if (site.at_once < at_once) {
          ++site.at_once;
          return;
        }
        self.reach(next);
      }
    }
    site = {self.tick(), self.stalled(), 1};
  }

  Program& program;
  unsigned rank;
  std::string name;
  Library* library = nullptr;
  std::function<void()> call;
  Kernel* kernel = nullptr;
  std::vector<Argument> arguments;
  std::vector<Site> sites;
  std::vector<Use> banks;
  std::vector<std::unique_ptr<Pipeline>> pipelines;
  Now now;
  Tick ended = 0;
  bool is_over = false;
};

}  // namespace thalweg::smi
