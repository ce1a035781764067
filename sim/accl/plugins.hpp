// SPDX-License-Identifier: Apache-2.0
// The plug-ins of the engine's data path, word by word. C++ model of rtl/accl/tw_plugins.sv. arithmetic.hpp has their
// operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "accl/arithmetic.hpp"
#include "accl/combiner.hpp"
#include "accl/converter.hpp"
#include "common/ram_fifo.hpp"

namespace thalweg::accl {

struct PluginJob {
  std::optional<Unit> unit;                               ///< operation on the operands; none: forward x
  Conversion x = Conversion::none, y = Conversion::none;  ///< of the operands
  Conversion z = Conversion::none;                        ///< of the result
  std::uint16_t elements = 1;
};

class Plugins {
 public:
  /// `conversions`, `combines`: the logic exists; `latency`: of the lanes; `jobs`: queue depth, at least 2.
  Plugins(bool conversions, bool combines, unsigned latency, std::size_t jobs)
      : x_jobs_(jobs),
        y_jobs_(jobs),
        jobs_(jobs),
        z_jobs_(jobs),
        convert_x_(conversions),
        convert_y_(conversions),
        convert_z_(conversions),
        combine_(combines, latency) {}

  static constexpr unsigned kLanes = 14;  ///< lane latency in boards; parameter Latency of the hardware
  /// Cycles from a word to the result that it completes, the same for all jobs.
  [[nodiscard]] static constexpr unsigned latency(bool conversions, bool combines, unsigned lanes = kLanes) {
    return 2 * Converter::latency(conversions) + Combiner::latency(combines, lanes);
  }

  [[nodiscard]] bool ready() const { return z_jobs_.ready(); }
  [[nodiscard]] bool x_ready() const { return x_jobs_.valid() && convert_x_.ready(); }
  [[nodiscard]] bool y_ready() const { return y_jobs_.valid() && convert_y_.ready(); }
  [[nodiscard]] bool valid() const { return convert_z_.valid(); }
  [[nodiscard]] const DataWord& front() const { return convert_z_.front(); }

  /// One clock edge. job, x, y: offered inputs or nullptr, taken if ready. pop: the front word is taken.
  void step(const PluginJob* job, const DataWord* x, const DataWord* y, bool pop) {
    const auto z = combine_.valid() ? std::optional(of(z_jobs_.front(), combine_.front())) : std::nullopt;
    const auto left =
        convert_x_.valid() ? std::optional(Combiner::In{convert_x_.front(), jobs_.front()}) : std::nullopt;
    const DataWord* const right = convert_y_.valid() ? &convert_y_.front() : nullptr;
    const bool z_taken = z && convert_z_.ready();
    const bool left_taken = left && combine_.x_ready(&*left, right);
    const bool right_taken = combine_.y_ready(left ? &*left : nullptr);
    const auto x_in = x && x_jobs_.valid() ? std::optional(of(x_jobs_.front(), *x)) : std::nullopt;
    const auto y_in = y && y_jobs_.valid() ? std::optional(of(y_jobs_.front(), *y)) : std::nullopt;
    const bool x_done = x_in && x_ready() && x->last, y_done = y_in && y_ready() && y->last;

    const PluginJob* const accepted = job && ready() ? job : nullptr;
    convert_z_.step(z ? &*z : nullptr, pop);
    combine_.step(left ? &*left : nullptr, right, z_taken);
    convert_x_.step(x_in ? &*x_in : nullptr, left_taken);
    convert_y_.step(y_in ? &*y_in : nullptr, right_taken);
    push(x_jobs_, accepted, &PluginJob::x, x_done);
    push(y_jobs_, accepted && accepted->unit ? accepted : nullptr, &PluginJob::y, y_done);
    jobs_.step(accepted ? &accepted->unit : nullptr, left_taken && left->word.last);
    push(z_jobs_, accepted, &PluginJob::z, z_taken && z->word.last);
  }

 private:
  struct Convert {
    Conversion conversion;
    bool half;
  };
  using Converts = RamFifo<Convert>;

  static Converter::In of(const Convert& job, const DataWord& word) { return {word, job.conversion, job.half}; }
  static void push(Converts& jobs, const PluginJob* job, Conversion PluginJob::* conversion, bool done) {
    if (!job) return jobs.step(nullptr, done);
    const unsigned rest = job->elements % 32;
    const Convert made{job->*conversion, rest != 0 && rest <= 16};
    jobs.step(&made, done);
  }

  Converts x_jobs_, y_jobs_;
  RamFifo<std::optional<Unit>> jobs_;
  Converts z_jobs_;
  Converter convert_x_, convert_y_, convert_z_;
  Combiner combine_;
};

}  // namespace thalweg::accl
