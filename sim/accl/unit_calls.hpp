// SPDX-License-Identifier: Apache-2.0
// Executes collectives with units beside the engine: reads pieces of operands, submits them to the units, and writes
// their results, in order.
#pragma once

#include <algorithm>
#include <list>
#include <memory>

#include "accl/collective_units.hpp"
#include "accl/context.hpp"
#include "accl/mover.hpp"
#include "core/clock.hpp"

namespace thalweg::accl {

class UnitCalls {
 public:
  /// The arguments must outlive the object. `component`: the engine, woken when a piece's result is available.
  UnitCalls(CollectiveUnits& units, Mover& mover, Domain& domain, ComponentId component)
      : units_(units), mover_(mover), domain_(domain), component_(component) {}

  CollectiveUnits* operator->() const { return &units_; }

  /// Runs a call as far as possible in this cycle; `all`: the calls in flight, in order. Returns true if this may let
  /// other calls proceed.
  bool run(Context& context, const std::list<Context>& all, Tick now) const {
    UnitCall& of = *context.units;
    const bool next = is_next(context, all);
    bool moved = false;
    while (!of.under_way.empty() && of.under_way.front()->done <= now && of.out.resumes_at <= now) {
      mover_.store(context, of.out, *of.under_way.front(), now);
      of.under_way.pop_front();
      moved = true;
    }
    while (!of.submitted && of.in.resumes_at <= now && of.under_way.size() < units_.at_once() && next) {
      if (const auto why = units_.stopped(context); !why.empty()) {
        context.fail(code::kSize, "the ranks of its communicator are out of step in the switches, as a call of " + why);
        context.resumes_at = now;
        return true;
      }
      const bool empty = context.call.scenario == Scenario::barrier;
      auto piece = std::make_shared<UnitPiece>();
      piece->elements = empty ? 0 : std::min(of.piece, of.in.elements - of.in.moved);
      const auto at = mover_.load(context, of.in, *piece, now);
      if (!at) break;
      piece->receive.resize(blocks_of(context)[2] * piece->elements * context.wire_bytes());
      of.under_way.push_back(piece);
      of.submitted = empty || of.in.moved == of.in.elements;
      moved = true;
      units_.submit(context, piece, domain_.clock.edge(*at),
                    [piece, &domain = domain_, component = component_](Tick tick) {
                      piece->done = domain.clock.cycle_after(tick);
                      domain.wake(component, piece->done);
                    });
    }
    if (of.submitted && of.under_way.empty()) {
      context.ending = true;
      context.resumes_at = std::max({now + 1, context.effects, of.out.resumes_at});
    }
    if (moved || !next || of.in.resumes_at > now || of.out.resumes_at > now)
      of.waits = kNever;
    else if (of.waits == kNever && !context.ending)
      of.waits = now;
    return moved;
  }

 private:
  /// True if all earlier calls of the communicator have been submitted to the units completely.
  [[nodiscard]] static bool is_next(const Context& context, const std::list<Context>& all) {
    for (const Context& earlier : all) {
      if (&earlier == &context) break;
      if (earlier.units && earlier.communicator_id == context.communicator_id && !earlier.units->submitted &&
          !earlier.ended)
        return false;
    }
    return true;
  }

  CollectiveUnits& units_;
  Mover& mover_;
  Domain& domain_;
  ComponentId component_;
};

}  // namespace thalweg::accl
