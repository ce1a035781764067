// SPDX-License-Identifier: Apache-2.0
// The loops of a running kernel (device/loops.h).
#pragma once

#include <exception>
#include <memory>
#include <vector>

#include "core/kernel.hpp"
#include "kernels/device/loops.h"

namespace thalweg {

class Loops {
 public:
  /// The loop is a pipeline, whose results leave it `depth` cycles later. Throws std::invalid_argument where interval or depth are none.
  void begin_pipeline(kernel__loop& loop, Tick depth) {
    pipelines_.push_back(std::make_unique<Pipeline>(loop.interval, depth));
    loop.pipeline = 1;
    ++begun_;
  }
  /// A turn begins its interval after the one before, and the ticks that the kernel stalled; `at_once` of them together. False where it is
  /// together with the one before.
  bool turn(Kernel& kernel, kernel__loop& loop) {
    if (loop.begun >= 0 && loop.turns < loop.at_once) {
      ++loop.turns;
      return false;
    }
    if (loop.pipeline)
      pipelines_.back()->turn();
    else if (loop.begun >= 0)
      kernel.reach(next(kernel, loop));
    loop.begun = kernel.tick();
    loop.stalled = kernel.stalled();
    loop.turns = 1;
    return true;
  }
  /// Its last turn takes its interval, too, so that what follows the loop begins afterwards. While a kernel is unwound no time passes.
  void leave(Kernel& kernel, kernel__loop& loop) {
    if (loop.pipeline) {
      auto* last = pipelines_.back().release();
      pipelines_.pop_back();
      delete last;  // throws, where the kernel is cancelled
    }
    if (loop.begun >= 0 && std::uncaught_exceptions() == 0) kernel.reach(next(kernel, loop));
    loop.begun = -1;
    loop.pipeline = 0;
  }
  /// The number of the pipeline that the kernel is in; 0: it is in none.
  [[nodiscard]] unsigned pipeline() const { return pipelines_.empty() ? 0 : begun_; }

 private:
  [[nodiscard]] static Tick next(const Kernel& kernel, const kernel__loop& loop) {
    return loop.begun + loop.interval * kernel.period() + kernel.stalled() - loop.stalled;
  }

  std::vector<std::unique_ptr<Pipeline>> pipelines_;
  unsigned begun_ = 0;
};

}  // namespace thalweg
