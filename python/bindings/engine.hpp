// SPDX-License-Identifier: Apache-2.0
// Binds the interface of all engines, in their system's extension.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <span>
#include <vector>

#include "cluster/engine.hpp"
#include "running.hpp"

/// Converts to a list of thalweg.errors.Blocked.
inline nanobind::list records_of(std::span<const thalweg::Blocked> all, double ticks_per_second) {
  const auto make = nanobind::module_::import_("thalweg.errors").attr("Blocked");
  nanobind::list made;
  for (const auto& one : all)
    made.append(
        make(one.who, one.what, one.on, one.why, static_cast<double>(one.since) * 1e6 / ticks_per_second, one.where));
  return made;
}

/// Converts to tuples of node, kind of dropped items, and count.
inline nanobind::list records_of(std::span<const thalweg::Lost> all) {
  nanobind::list made;
  for (const auto& lost : all) made.append(nanobind::make_tuple(lost.node, lost.what, lost.count));
  return made;
}

/// Advances an engine without the interpreter's lock, and returns the completions.
inline std::vector<thalweg::Completion> advance_of(thalweg::Engine& engine, thalweg::Tick until) {
  const Running running(&engine);
  std::vector<thalweg::Completion> completed;
  engine.advance(until, completed);
  return completed;
}

/// `engine(self)` is the engine of a bound object.
template <class Bound, class EngineOf>
void bind_engine_of(nanobind::class_<Bound>& bound, EngineOf engine) {
  nanobind::module_::import_("thalweg._core");  // has completions and errors
  bound.def_prop_ro(
           "now", [engine](Bound& self) { return engine(self).now(); }, "Current time in ticks.")
      .def_prop_ro("ticks_per_second", [engine](Bound& self) { return engine(self).ticks_per_second(); })
      .def_prop_ro(
          "idle", [engine](Bound& self) { return engine(self).idle(); },
          "True if nothing will happen before the next submission.")
      .def_prop_ro(
          "blocked",
          [engine](Bound& self) {
            auto& of = engine(self);
            return records_of(of.blocked(), static_cast<double>(of.ticks_per_second()));
          },
          nanobind::sig("def blocked(self, /) -> list[thalweg.errors.Blocked]"),
          "Who waits for whom; in an idle engine, why it is stuck.")
      .def_prop_ro(
          "failure", [engine](Bound& self) { return engine(self).failure(); },
          "Why the engine cannot continue, for example a link that stays down; None otherwise.")
      .def_prop_ro(
          "lost", [engine](Bound& self) { return records_of(engine(self).lost()); },
          nanobind::sig("def lost(self, /) -> list[tuple[int, str, int]]"), "Dropped data: node, kind, and count.");
}
