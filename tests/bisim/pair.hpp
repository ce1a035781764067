// SPDX-License-Identifier: Apache-2.0
// What the harness, which is compiled once for all blocks, needs of a block: its twin, its stimulus and its Verilated
// module, with ports as words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "clocks.hpp"
#include "dice.hpp"
#include "ports.hpp"

namespace bisim {

/// A block's ports, clocks and stimulus.
struct Shape {
  std::span<const PortInfo> inputs, outputs;
  std::size_t input_words, output_words;
  std::span<const std::uint64_t> periods;
  unsigned lanes;              ///< of the stimulus
  bool memory_outlives_reset;  ///< no resets during a run
};

/// `in` and `out` are the words of all inputs and of all outputs.
class Pair {
 public:
  virtual ~Pair() = default;
  [[nodiscard]] virtual Shape shape() const = 0;

  virtual void begin(VerilatedContext& context) = 0;  ///< a run, with a new module and a new twin
  virtual void set(const std::uint32_t* in, bool reset) = 0;
  virtual void eval(unsigned clocks) = 0;  ///< with these clocks high
  virtual void get(std::uint32_t* out) const = 0;

  virtual void restart(const Clocks& clocks, Dice run) = 0;  ///< of twin and stimulus
  virtual void drive(const std::uint32_t* seen, const Instant& now, const Draws& draws, std::uint32_t* in) = 0;
  virtual void outputs(const std::uint32_t* in, const Instant& now, std::uint32_t* out) const = 0;
  virtual void step(const std::uint32_t* in, const Instant& now) = 0;
};

/// The program of a block: runs seeds one after the other until one shows a difference; with --report it also replays
/// that run with waves, shrinks its stimulus and writes both. Exit code 0: equal in all runs; 1: a difference, which the
/// JSON file describes.
int main(Pair& pair, int argc, char** argv);

}  // namespace bisim
