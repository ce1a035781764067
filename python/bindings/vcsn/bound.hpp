// SPDX-License-Identifier: Apache-2.0
// The bound network with its front.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../assembly.hpp"
#include "attach/attached.hpp"
#include "core/require.hpp"
#include "switch/rtl_library.hpp"
#include "vcsn/network.hpp"
#include "vcsn/vcsn.hpp"

namespace thalweg::vcsn {

/// The namespace distinguishes it from other extensions' Bound.
class Bound {
 public:
  /// `part`: description of a part of the cluster; none: the whole.
  Bound(const Cluster& cluster, const std::string& capture, const std::map<unsigned, std::string>& libraries,
        const std::optional<nanobind::dict>& part)
      : network(part ? description_of(*part) : cluster.hardware(), capture, maker(libraries)),
        front(cluster, network) {}

  Network network;
  Vcsn front;
  std::optional<attach::Attached> attached;

  /// Makes Verilated nodes from libraries of rtl/vcsn, by number; returns an empty function without libraries.
  static Network::MakeCircuit maker(const std::map<unsigned, std::string>& libraries) {
    if (libraries.empty()) return {};
    return [libraries](unsigned number, const std::vector<std::uint64_t>& addresses) {
      if (!libraries.contains(number)) return std::unique_ptr<NodeCircuit>();
      auto* make = function_of<NodeCircuit*(const std::vector<std::uint64_t>&)>(libraries.at(number), "vcsn_make_node");
      return std::unique_ptr<NodeCircuit>(make(addresses));
    };
  }

  [[nodiscard]] Engine& engine() { return attached ? static_cast<Engine&>(*attached) : network; }
};

/// Converts the front's std::invalid_argument to InputError.
template <class Call>
decltype(auto) refused(Call&& call) {
  try {
    return call();
  } catch (const std::invalid_argument& error) {
    PyErr_SetObject(nanobind::module_::import_("thalweg.errors").attr("InputError").ptr(),
                    nanobind::str(error.what()).ptr());
    throw nanobind::python_error();
  }
}

[[nodiscard]] inline Way way_of(const std::string& by) {
  require(by == "registers" || by == "servers", "unknown method '" + by + "'; must be registers or servers");
  return by == "servers" ? Way::servers : Way::registers;
}

/// Binds topologies, re-wirings and partitions, which the front adds to the simulator.
void bind_front(nanobind::class_<Bound>& bound);
/// Binds programs, and transfers by schedules.
void bind_programs(nanobind::module_& module, nanobind::class_<Bound>& bound);
/// Binds the types of `Network`'s parameters, which must precede it.
void bind_clusters(nanobind::module_& module);

}  // namespace thalweg::vcsn
