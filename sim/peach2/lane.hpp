// SPDX-License-Identifier: Apache-2.0
// One direction of a link of PCI Express between two ends of one clock: words, and the credits that come back for them, each a
// latency later. Rates and what is carried beside data are the egress's.
#pragma once

#include <optional>
#include <utility>

#include "common/ring.hpp"
#include "core/clock.hpp"
#include "peach2/word.hpp"

namespace thalweg::peach2 {

/// What is written in a cycle is read a latency later, in that cycle alone.
template <class T>
class Delay {
 public:
  explicit Delay(Tick latency) : latency_(latency), under_way_(static_cast<std::size_t>(latency) + 1) {}

  Waker reader;

  void write(Tick cycle, const T& value) {
    under_way_.push({cycle + latency_, value});
    reader.wake(cycle + latency_);
  }
  [[nodiscard]] std::optional<T> take(Tick cycle) {
    if (under_way_.empty() || under_way_.front().first != cycle) return std::nullopt;
    const T value = under_way_.front().second;
    under_way_.pop();
    return value;
  }

 private:
  Tick latency_;
  Ring<std::pair<Tick, T>> under_way_;
};

struct Lane {
  explicit Lane(Tick latency) : words(latency), credits(latency) {}

  Delay<HubWord> words;
  Delay<unsigned> credits;  ///< units of a packet that has left the reader
};

/// An end of a link: where it writes to and reads from; neither while nothing is joined.
struct LinkEnd {
  Lane* out = nullptr;
  Lane* in = nullptr;

  /// `component` is the one around this end.
  void bind(Domain& domain, ComponentId component) const {
    out->credits.reader.bind(domain, component);
    in->words.reader.bind(domain, component);
  }
  void write(Tick cycle, const HubWord* word, const std::optional<unsigned>& freed) const {
    if (word && out) out->words.write(cycle, *word);
    if (freed && in) in->credits.write(cycle, *freed);
  }
};

}  // namespace thalweg::peach2
