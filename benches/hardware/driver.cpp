// SPDX-License-Identifier: Apache-2.0
// Clocks the module `rates`, and prints the number of output flits of each part, without those of a warm-up.
#include <cstdio>
#include <cstdlib>

#include "Vtop.h"

int main(int argc, char** argv) {
  const long cycles = argc > 1 ? std::atol(argv[1]) : 100'000, start = 1'000;
  VerilatedContext context;
  Vtop model{&context};
  const auto clock = [&](long count) {
    for (long i = 0; i < count; ++i)
      for (const bool level : {false, true}) {
        model.clk_i = level;
        model.eval();
      }
  };
  model.rst_i = 1;
  clock(2);
  model.rst_i = 0;
  clock(start);
  std::uint32_t before[6], joined = model.join_flits_o;
  for (int link = 0; link < 6; ++link) before[link] = model.router_flits_o[link];
  clock(cycles);
  for (int link = 0; link < 6; ++link) std::printf("%u ", model.router_flits_o[link] - before[link]);
  std::printf("%u\n", model.join_flits_o - joined);
}
