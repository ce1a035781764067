// SPDX-License-Identifier: Apache-2.0
// Converts Python's description of a cluster of kinds (`Assembled.assembly` in thalweg/cluster/kinds.py), for the
// systems' bindings.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "cluster/assembly.hpp"

namespace thalweg {

inline Values::Value value_of(nanobind::handle value) {
  namespace nb = nanobind;
  if (nb::isinstance<nb::bool_>(value)) return nb::cast<bool>(value);
  if (nb::isinstance<nb::int_>(value)) return nb::cast<std::int64_t>(value);
  if (nb::isinstance<nb::float_>(value)) return nb::cast<double>(value);
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  std::vector<std::string> texts;
  if (nb::try_cast(value, texts) && !texts.empty()) return texts;
  return nb::cast<std::vector<std::int64_t>>(value);
}

inline Values values_of(std::string of, const nanobind::dict& values) {
  namespace nb = nanobind;
  Values::Table table;
  for (const auto& [name, value] : values) table.emplace(nb::cast<std::string>(name), value_of(value));
  return {std::move(of), std::move(table)};
}
inline Values values_of(const nanobind::dict& part) {
  namespace nb = nanobind;
  return values_of(nb::cast<std::string>(part["of"]), nb::cast<nb::dict>(part["values"]));
}

inline Description description_of(const nanobind::dict& given) {
  namespace nb = nanobind;
  Description description{
      .ticks_per_second = nb::cast<Tick>(given["ticks_per_second"]), .clocks = {}, .nodes = {}, .links = {}};
  for (const auto& clock : nb::cast<std::vector<nb::dict>>(given["clocks"]))
    description.clocks.push_back(
        {nb::cast<std::string>(clock["name"]),
         {.period = nb::cast<Tick>(clock["period"]), .phase = nb::cast<Tick>(clock["phase"])}});
  for (const auto& node : nb::cast<std::vector<nb::dict>>(given["nodes"]))
    description.nodes.push_back({nb::cast<std::string>(node["kind"]), values_of(node)});
  for (const auto& link : nb::cast<std::vector<nb::dict>>(given["links"])) {
    const auto ends = nb::cast<std::vector<unsigned>>(link["ends"]);
    description.links.push_back(
        {nb::cast<std::string>(link["kind"]), values_of(link), ends.at(0), ends.at(1), ends.at(2), ends.at(3)});
  }
  return description;
}

/// Converts to tuples of node, port, ticks per window, and words of each window.
inline nanobind::list list_of(const std::vector<LinkUse>& uses) {
  nanobind::list all;
  for (const auto& use : uses) all.append(nanobind::make_tuple(use.node, use.port, use.window, use.words));
  return all;
}

/// Returns, for each used direction of a link: sending node and port, ticks per window, and words of each window.
inline nanobind::list link_use(const Assembly& assembly) {
  return list_of(assembly.link_use());
}

}  // namespace thalweg
