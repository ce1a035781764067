// SPDX-License-Identifier: Apache-2.0
// Combines two streams of words, or forwards one. C++ model of rtl/accl/tw_combiner.sv.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "accl/arithmetic.hpp"
#include "accl/converter.hpp"
#include "common/credited_fifo.hpp"
#include "common/skid.hpp"
#include "reduce/lane.hpp"

namespace thalweg::accl {

class Combiner {
 public:
  struct In {
    DataWord word;
    std::optional<Unit> unit;  ///< operation, the same for all words of a packet; none: forward x
  };

  /// `built`: the arithmetic lanes exist; `latency`: of the lanes, at least 1.
  Combiner(bool built, unsigned latency) : built_(built), fifo_(latency + 3), due_(latency) {}

  /// Cycles from a word to its result, both combined and forwarded.
  [[nodiscard]] static constexpr unsigned latency(bool built, unsigned lanes) { return built ? lanes + 2 : 1; }

  /// Ready signals of x and y. Arguments: the offered words, or null.
  [[nodiscard]] bool x_ready(const In* x, const DataWord* y) const {
    return built_ ? fifo_.room() && (!x || !x->unit || y) : skid_.ready();
  }
  [[nodiscard]] bool y_ready(const In* x) const { return built_ && fifo_.room() && x && x->unit; }
  [[nodiscard]] bool valid() const { return built_ ? fifo_.valid() : skid_.valid(); }
  [[nodiscard]] const DataWord& front() const { return built_ ? fifo_.front() : skid_.front(); }

  /// One clock edge. x, y: offered words or nullptr, taken if ready. pop: the front word is taken.
  void step(const In* x, const DataWord* y, bool pop) {
    if (!built_) return skid_.step(x ? &x->word : nullptr, pop);
    const bool takes = x && x_ready(x, y);
    auto& due = due_[now_];
    fifo_.step(takes, due ? &*due : nullptr, pop);
    due.reset();
    if (takes) due = x->unit ? combined(x->word, *y, *x->unit) : x->word;
    now_ = now_ + 1 == due_.size() ? 0 : now_ + 1;
  }

 private:
  static DataWord combined(DataWord x, const DataWord& y, Unit unit) {
    lane(unit.op, unit.type)(reinterpret_cast<std::byte*>(x.data.data()),
                             reinterpret_cast<const std::byte*>(y.data.data()), sizeof x.data / bytes_of(unit.type));
    return x;
  }

  bool built_;
  Skid<DataWord> skid_;
  CreditedFifo<DataWord> fifo_;
  std::vector<std::optional<DataWord>> due_;  ///< outputs of the lanes by cycle, a ring
  std::size_t now_ = 0;
};

}  // namespace thalweg::accl
