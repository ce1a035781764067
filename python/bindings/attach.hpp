// SPDX-License-Identifier: Apache-2.0
// Binds an engine whose lines are attached to network interfaces, in its system's extension.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "attach/attached.hpp"
#include "cluster/assembly.hpp"

/// Binds `attach` and its related methods. `self.network` is the engine, with its `assembly()`; `self.attached` is a
/// std::optional<Attached>, declared after it.
template <class Bound>
void bind_attached_of(nanobind::class_<Bound>& bound) {
  namespace nb = nanobind;
  using thalweg::attach::Attached;
  bound
      .def(
          "attach",
          [](Bound& self, const std::vector<std::tuple<unsigned, unsigned, std::string>>& lines, std::size_t longest,
             double ratio, double limit_s) {
            std::vector<Attached::Line> open;
            for (const auto& [outside, node, name] : lines)
              open.push_back({&dynamic_cast<thalweg::ethernet::Outside&>(self.network.assembly().node(outside)), node,
                              thalweg::attach::Interface(name, longest)});
            self.attached.emplace(self.network, std::move(open), ratio, limit_s);
          },
          nb::kw_only(), nb::arg("lines"), nb::arg("longest"), nb::arg("ratio"), nb::arg("limit_s") = 0.0,
          "Attaches nodes of kind `ethernet-outside` to network interfaces, and virtual time to the wall clock. Call "
          "before the simulation starts.\n\n`lines`: (outside node, node at the other end of its line, interface "
          "name). `longest`: maximum frame length in bytes, without FCS. `ratio`: seconds of virtual time per second "
          "of the wall clock. `limit_s`: time-out in seconds of the wall clock; 0: none.\n\nRaises RuntimeError if an "
          "interface cannot be opened.")
      .def_prop_ro(
          "interfaces",
          [](const Bound& self) {
            nb::list all;
            if (!self.attached) return all;
            for (const auto& line : self.attached->lines()) {
              const auto counts = line.interface.counts();
              nb::dict one;
              one["node"] = line.node;
              one["interface"] = line.interface.name();
              one["type"] = line.interface.is_tap() ? "TAP" : "packet socket";
              one["sent"] = counts.sent;
              one["sent_bytes"] = counts.sent_bytes;
              one["received"] = counts.received;
              one["received_bytes"] = counts.received_bytes;
              all.append(one);
            }
            return all;
          },
          nb::sig("def interfaces(self) -> list[dict[str, typing.Any]]"),
          "The attached interfaces: node, name, type, and numbers of sent and received frames and bytes.")
      .def_prop_ro(
          "wall_s", [](const Bound& self) { return self.attached ? self.attached->wall_s() : 0.0; },
          "Seconds of the wall clock since attach().")
      .def(
          "wall_s_at",
          [](const Bound& self, thalweg::Tick tick) { return self.attached ? self.attached->wall_s_at(tick) : 0.0; },
          nb::arg("tick"),
          "Returns the seconds of the wall clock from attach() until virtual time reached a tick, accurate to some "
          "milliseconds.")
      .def_prop_ro(
          "behind_s", [](const Bound& self) { return self.attached ? self.attached->behind_s() : 0.0; },
          "Seconds of the wall clock by which virtual time has fallen behind.");
}
