// SPDX-License-Identifier: Apache-2.0
// Clocks. Each clock has its own scheduler, which counts the clock's cycles. With several clocks, time is in ticks on
// which the edges of all clocks fall; only clock crossings convert between them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "core/scheduler.hpp"
#include "core/types.hpp"

namespace thalweg {

/// Edges at phase, phase + period, phase + 2 period, ... in ticks; cycle n ends with edge n.
struct Clock {
  Tick period = 1;
  Tick phase = 0;

  [[nodiscard]] constexpr Tick edge(Tick cycle) const { return cycle == kNever ? kNever : phase + cycle * period; }
  /// The first cycle whose edge is at `tick` or later.
  [[nodiscard]] constexpr Tick cycle_from(Tick tick) const {
    return tick == kNever ? kNever : tick <= phase ? 0 : (tick - phase + period - 1) / period;
  }
  /// The first cycle whose edge is later than `tick`: the first that sees a value written at `tick`.
  [[nodiscard]] constexpr Tick cycle_after(Tick tick) const { return tick == kNever ? kNever : cycle_from(tick + 1); }
};

class Domains;

/// The components of one clock. The scheduler counts the clock's cycles.
class Domain {
 public:
  Domain(Domains& all, Clock domain_clock, Tick horizon) : clock(domain_clock), scheduler(horizon), all_(&all) {}

  const Clock clock;
  Scheduler scheduler;

  /// Steps a component in a cycle. From a step of another clock, the cycle's edge must be later than the one being
  /// stepped.
  void wake(ComponentId id, Tick cycle);

  /// The first cycle in which a component can be woken now. In a step of another clock, it is the cycle of the first
  /// edge later than the one being stepped: this scheduler knows only its own steps and may lag behind.
  [[nodiscard]] Tick next() const;

  /// The tick of the next step, kNever if nothing is awake.
  [[nodiscard]] Tick next_due() const { return clock.edge(scheduler.next_due()); }

 private:
  Domains* all_;
};

/// The components of several clocks, stepped in the order of their edges. Edges at the same tick are one instant: a
/// value written at an edge is visible to other clocks only at strictly later edges. Where order matters, clocks are
/// stepped in the order of add().
class Domains {
 public:
  /// Call before time starts. `horizon` is the scheduler's, in cycles. The reference stays valid.
  Domain& add(Clock clock, Tick horizon = 64) { return domains_.emplace_back(*this, clock, horizon); }

  /// All edges before this tick have been stepped.
  [[nodiscard]] Tick now() const { return now_; }

  /// Steps everything due before tick `until`; afterwards now() is `until`, or the tick after an interrupt.
  void advance(Tick until) {
    until_ = std::max(now_, until);
    for (;;) {
      Domain* first = nullptr;
      Tick due = kNever, end = until_;  // end of this domain's turn: earlier steps of the others go first
      for (auto& domain : domains_) {
        const Tick at = domain.next_due();
        if (at < due) {
          first = &domain;
          end = std::min(end, due);  // at the same tick, earlier domains go first
          due = at;
        } else {
          end = std::min(end, at == kNever ? at : at + 1);
        }
      }
      if (due >= until_) break;
      // This clock advances alone until another clock has an earlier step or is woken by this one.
      const Running running{running_ = first};
      first->scheduler.advance(first->clock.cycle_from(end));
    }
    now_ = until_;
    for (auto& domain : domains_) domain.scheduler.advance(domain.clock.cycle_from(now_));
  }

  /// Called in a step: advance() returns at the end of this tick.
  void interrupt() {
    until_ = running_->clock.edge(running_->scheduler.now()) + 1;
    running_->scheduler.interrupt();
  }

  /// The tick of the next step, kNever if nothing is awake.
  [[nodiscard]] Tick next_due() const {
    Tick next = kNever;
    for (const auto& domain : domains_) next = std::min(next, domain.next_due());
    return next;
  }

 private:
  friend Domain;
  /// Marks a domain as being stepped until end of scope, because a step may throw.
  struct Running {
    Domain*& which;
    ~Running() { which = nullptr; }
  };

  std::deque<Domain> domains_;
  Domain* running_ = nullptr;
  Tick now_ = 0;
  Tick until_ = 0;
};

inline Tick Domain::next() const {
  const Domain* stepped = all_->running_;
  if (!stepped || stepped == this) return scheduler.next();
  return std::max(scheduler.next(), clock.cycle_after(stepped->clock.edge(stepped->scheduler.now())));
}

inline void Domain::wake(ComponentId id, Tick cycle) {
  scheduler.wake(id, cycle);
  if (all_->running_ && all_->running_ != this) all_->running_->scheduler.interrupt();
}

/// The component of a clock that a crossing wakes; none if unbound.
class Waker {
 public:
  void bind(Domain& domain, ComponentId component) {
    domain_ = &domain;
    component_ = component;
  }
  void wake(Tick cycle) const {
    if (domain_) domain_->wake(component_, cycle);
  }

 private:
  Domain* domain_ = nullptr;
  ComponentId component_ = 0;
};

}  // namespace thalweg
