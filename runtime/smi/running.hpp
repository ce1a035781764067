// SPDX-License-Identifier: Apache-2.0
// A started kernel; internal to the files of Program.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/loops.hpp"
#include "memory/bank.hpp"
#include "smi/bursts.hpp"
#include "smi/program.hpp"

namespace thalweg::smi {

struct Program::Running {
  Running(Program& in, unsigned of_rank, std::string called) : program(in), rank(of_rank), name(std::move(called)) {}

  /// The kernel's load and store units for a bank.
  struct Use {
    Bursts bursts;  ///< open bursts, not yet requested
    BankPort port;
  };
  /// The call that the kernel is in.
  struct Now {
    const char* note = "";
    smi__place place{};
    const PortState* port = nullptr;  ///< null: a channel between kernels of its rank
  };

  void turn(kernel__loop& loop, const void* from) {
    if (loops.turn(*kernel, loop) && kernel->cycle() > program.limit_) [[unlikely]]
      program.check_limit(*this, std::array{const_cast<void*>(from)}, kernel->cycle());
  }

  Program& program;
  unsigned rank;
  int number = 0;
  std::string name;
  const void* thrown = nullptr;  ///< its last exception
  const void* thrown_from = nullptr;
  Library* library = nullptr;
  std::function<void()> call;
  Kernel* kernel = nullptr;
  std::vector<Argument> arguments;
  std::vector<Use> banks;
  Loops loops;
  Now now;
  Tick ended = 0;
  bool is_over = false;
};

inline SourceLine at(const smi__place& place) {
  return {place.file, place.line};
}

inline std::string line(const smi__place& place) {
  return std::string(place.file) + ":" + std::to_string(place.line);
}

}  // namespace thalweg::smi
