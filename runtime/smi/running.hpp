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
  Running(Program& owner, unsigned cluster_rank, std::string kernel_name)
      : program(owner), rank(cluster_rank), name(std::move(kernel_name)) {}

  /// The kernel's load and store units for a bank.
  struct Use {
    Bursts bursts;  ///< open bursts, not yet requested
    BankPort port;
  };
  /// The call that the kernel is in.
  struct CurrentCall {
    const char* note = "";
    smi__location location{};
    const PortState* port = nullptr;  ///< null: a channel between kernels of its rank
  };

  void iterate(kernel__loop& loop, const void* from) {
    if (loops.iterate(*kernel, loop) && kernel->cycle() > program.limit_) [[unlikely]]
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
  CurrentCall current_call;
  Tick ended = 0;
  bool has_ended = false;
};

inline SourceLine source_line(const smi__location& location) {
  return {location.file, location.line};
}

inline std::string line(const smi__location& location) {
  return std::string(location.file) + ":" + std::to_string(location.line);
}

}  // namespace thalweg::smi
