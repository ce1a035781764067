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
  /// Makes the loop a pipeline with a latency of `depth` cycles. Throws std::invalid_argument for an invalid interval or depth.
  void begin_pipeline(kernel__loop& loop, Tick depth) {
    pipelines_.push_back(std::make_unique<Pipeline>(loop.interval, depth));
    loop.pipeline = 1;
    ++count_;
  }
  /// Starts an iteration, the interval and the kernel's stall time after the previous one; `unroll` iterations start together. False if
  /// it starts together with the previous one.
  bool iterate(Kernel& kernel, kernel__loop& loop) {
    if (loop.started >= 0 && loop.iterations < loop.unroll) {
      ++loop.iterations;
      return false;
    }
    if (loop.pipeline)
      pipelines_.back()->iterate();
    else if (loop.started >= 0)
      kernel.reach(next(kernel, loop));
    loop.started = kernel.tick();
    loop.stalled = kernel.stalled();
    loop.iterations = 1;
    return true;
  }
  /// Ends the loop, after the interval of its last iteration. No time passes while a kernel is unwound.
  void leave(Kernel& kernel, kernel__loop& loop) {
    if (loop.pipeline) {
      auto* last = pipelines_.back().release();
      pipelines_.pop_back();
      delete last;  // throws if the kernel is cancelled
    }
    if (loop.started >= 0 && std::uncaught_exceptions() == 0) kernel.reach(next(kernel, loop));
    loop.started = -1;
    loop.pipeline = 0;
  }
  /// Number of the kernel's current pipeline; 0: none.
  [[nodiscard]] unsigned pipeline() const { return pipelines_.empty() ? 0 : count_; }

 private:
  [[nodiscard]] static Tick next(const Kernel& kernel, const kernel__loop& loop) {
    return loop.started + loop.interval * kernel.period() + kernel.stalled() - loop.stalled;
  }

  std::vector<std::unique_ptr<Pipeline>> pipelines_;
  unsigned count_ = 0;
};

}  // namespace thalweg
