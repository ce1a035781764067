// SPDX-License-Identifier: Apache-2.0
// One direction of a link between two components of one clock: words with a latency and, in the other direction,
// credits with the same latency. If the hardware is simulated up to the link's wires, its blocks limit the rate and
// count credits (Lane); otherwise the lane does (CreditedLane).
//
// Links between MPI-FPGA's routers use other wires (buffer.hpp, endpoint.hpp), with the same arithmetic for rates
// (rate.hpp) and credits (flow.hpp). A router has up to 128 channels and is stepped in every cycle of a loaded network:
// one word of its inbox shows all arrivals of a cycle, and a flit is written into its buffer entry when it is sent.
// With a lane per link, every link would be polled in every cycle, and each flit copied once more.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "common/ring.hpp"
#include "core/clock.hpp"
#include "core/usage.hpp"
#include "link/flow.hpp"
#include "link/rate.hpp"

namespace thalweg {

/// A value arrives `latency` cycles after it was written, in order, and wakes its reader.
template <class T>
class Delay {
 public:
  /// Holds up to `most` values, in flight or arrived.
  Delay(Tick latency, std::size_t most) : latency_(latency), values_(most) {}

  Waker reader;

  void write(Tick now, const T& value) {
    values_.push({now + latency_, value});
    reader.wake(now + latency_);
  }
  /// The first value if it has arrived, or nullptr.
  [[nodiscard]] const T* front(Tick now) const {
    return !values_.empty() && values_.front().first <= now ? &values_.front().second : nullptr;
  }
  /// Requires front().
  void pop() { values_.pop(); }
  [[nodiscard]] std::optional<T> take(Tick now) {
    const T* first = front(now);
    if (!first) return std::nullopt;
    const T value = *first;
    pop();
    return value;
  }

 private:
  Tick latency_;
  Ring<std::pair<Tick, T>> values_;
};

/// A lane whose writer limits the rate and counts credits, and whose reader takes each word on arrival. At most one
/// word and one credit per cycle.
template <class T>
class Lane {
 public:
  explicit Lane(Tick latency) : Lane(latency, static_cast<std::size_t>(latency) + 1) {}
  /// Holds up to `most` words.
  Lane(Tick latency, std::size_t most) : words(latency, most), credits(latency, most) {}

  void bind_writer(Domain& domain, ComponentId component) { credits.reader.bind(domain, component); }
  void bind_reader(Domain& domain, ComponentId component) { words.reader.bind(domain, component); }

  void write(Tick now, const T& word) {
    usage_.add(now);
    words.write(now, word);
  }
  /// Usage by written words.
  [[nodiscard]] const Usage& usage() const { return usage_; }

  Delay<T> words;
  Delay<unsigned> credits;

 private:
  Usage usage_;
};

/// A lane with a rate limit, and one credit per word of the reader's buffer, which thus never overflows.
template <class T>
class CreditedLane {
 public:
  struct Config {
    Tick latency = 1;     ///< cycles, one way
    RateLimit rate{};     ///< limit for words
    unsigned buffer = 2;  ///< depth of the reader's buffer, in words
  };
  explicit CreditedLane(const Config& config)
      : lane_(config.latency, config.buffer), rate_(config.rate), flow_(FlowControl::credits, config.buffer) {}

  void bind_writer(Domain& domain, ComponentId component) { lane_.bind_writer(domain, component); }
  void bind_reader(Domain& domain, ComponentId component) { lane_.bind_reader(domain, component); }

  /// Returns whether it accepts a word in this cycle. If not, the writer is woken when it does.
  [[nodiscard]] bool ready(Tick now) {
    while (lane_.credits.take(now)) flow_.event();
    if (!flow_.ready()) return false;  // a credit wakes the writer
    if (rate_.ready(now)) return true;
    lane_.credits.reader.wake(rate_.next(now));
    return false;
  }
  /// Requires ready().
  void write(Tick now, const T& word) {
    rate_.send(now);
    flow_.send();
    lane_.write(now, word);
  }
  [[nodiscard]] const Usage& usage() const { return lane_.usage(); }

  /// The first word if it has arrived, or nullptr. The reader is woken on arrival.
  [[nodiscard]] const T* front(Tick now) const { return lane_.words.front(now); }
  /// Requires front().
  void pop(Tick now) {
    lane_.words.pop();
    lane_.credits.write(now, 1);
  }

 private:
  Lane<T> lane_;
  RateLimit rate_;
  FlowSender flow_;
};

/// One end of a link of two lanes: those that a component writes and reads. Null while unconnected.
template <class LaneOf>
struct LaneEnd {
  Domain* domain = nullptr;
  ComponentId component = 0;
  LaneOf *out = nullptr, *in = nullptr;
};

/// Both directions of a link, with the same configuration.
template <class LaneOf>
class LanePair {
 public:
  /// Connects two ends, whose components must be set. `config`: of each lane.
  template <class Config>
  LanePair(const Config& config, LaneEnd<LaneOf>& one, LaneEnd<LaneOf>& other)
      : there_(config), back_(config), period_(one.domain->clock.period) {
    join(one, there_, back_);
    join(other, back_, there_);
  }
  LanePair(const LanePair&) = delete;
  LanePair& operator=(const LanePair&) = delete;

  /// Usage from end `one`, and from end `other`.
  [[nodiscard]] std::array<Carried, 2> carried() const {
    return {{{&there_.usage(), period_}, {&back_.usage(), period_}}};
  }

 private:
  static void join(LaneEnd<LaneOf>& end, LaneOf& out, LaneOf& in) {
    end.out = &out;
    end.in = &in;
    out.bind_writer(*end.domain, end.component);
    in.bind_reader(*end.domain, end.component);
  }

  LaneOf there_, back_;
  Tick period_;
};

}  // namespace thalweg
