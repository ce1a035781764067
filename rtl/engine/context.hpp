// SPDX-License-Identifier: Apache-2.0
// The context of a Verilated module that is a part of the simulator.
#pragma once

#include <verilated.h>

namespace engine {

/// State without reset is random, the same in every run.
struct Context : VerilatedContext {
  explicit Context(unsigned self) {
    randReset(2);
    randSeed(static_cast<int>(self) + 1);
#if VM_TRACE
    traceEverOn(true);
#endif
  }
  ~Context() { Verilated::threadContextp(nullptr); }
};

}  // namespace engine
