// SPDX-License-Identifier: Apache-2.0
// Python bindings of the front of clusters with virtual circuits.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../engine.hpp"
#include "bound.hpp"
#include "vcsn/schedules.hpp"
#include "vcsn/topology.hpp"

namespace nb = nanobind;

namespace thalweg::vcsn {

namespace {

using Numbers = std::vector<std::int64_t>;

std::vector<unsigned> fpgas_of(const Cluster& cluster, const std::optional<Numbers>& nodes) {
  if (!nodes) return cluster.fpgas();
  std::vector<unsigned> numbers;
  for (const std::int64_t node : *nodes) {
    cluster.check(node);
    numbers.push_back(static_cast<unsigned>(node));
  }
  return numbers;
}

nb::tuple tuple_of(const std::vector<TableRow>& rows) {
  return nb::tuple(nb::cast(rows));
}

}  // namespace

void bind_clusters(nb::module_& module) {
  nb::class_<Cluster>(
      module, "Cluster",
      "Describes which external ports Ethernet connects, and which server writes each FPGA's registers.")
      .def(
          "__init__",
          [](Cluster* made, const std::string& name, const nb::dict& description) {
            new (made) Cluster(name, description_of(description));
          },
          nb::arg("name"), nb::arg("description"), "Raises ValueError if the description is invalid.")
      .def("reaches", &Cluster::reaches, nb::arg("one"), nb::arg("other"),
           "Returns whether the network carries frames between two external ports, given as (node, port).")
      .def(
          "group_ports",
          [](const Cluster& self, const Station& source, const std::vector<Station>& members) {
            return refused([&] { return self.group_ports(source, members); });
          },
          nb::arg("source"), nb::arg("members"),
          "Returns, for each switch on the flooding tree, the ports on the paths from an external port, (node, port), "
          "to others.\n\nRaises InputError.")
      .def(
          "way",
          [](const Cluster& self, unsigned source, unsigned destination, std::optional<unsigned> first) {
            std::vector<std::tuple<unsigned, int, int>> way;
            for (const Hop& hop : refused([&] { return self.way(source, destination, first); }))
              way.emplace_back(hop.node, hop.comes, hop.leaves_by);
            return way;
          },
          nb::arg("source"), nb::arg("destination"), nb::arg("first") = nb::none(),
          "Returns the shortest path between two FPGAs of a direct network, as (node, input port, output port); -1 "
          "stands for the memory at both ends. `first`: output port at `source`.\n\nRaises InputError if there is no "
          "path.")
      .def(
          "step",
          [](const Cluster& self, unsigned source, unsigned destination) {
            return refused([&] { return step_over_links(self, source, destination); });
          },
          nb::arg("source"), nb::arg("destination"),
          "Returns the move of a block between two FPGAs over serial links; crossbars of FPGAs between them forward "
          "it.\n\nRaises InputError.")
      .def(
          "gather_schedule",
          [](const Cluster& self, const std::string& by, const std::vector<unsigned>& nodes, unsigned root) {
            return refused([&] { return gather_schedule(self, by, nodes, root); });
          },
          nb::arg("by"), nb::arg("nodes"), nb::arg("root"),
          "Returns the schedule of a gather. `by`: tree, ring or relink over circuits; only ring in a direct network, "
          "where ports 0 must lead to larger numbers around the ring.\n\nRaises InputError.")
      .def(
          "allgather_schedule",
          [](const Cluster& self, const std::vector<unsigned>& nodes) {
            return refused([&] { return allgather_schedule(self, nodes); });
          },
          nb::arg("nodes"), "Returns the schedule of an allgather around a ring.\n\nRaises InputError.")
      .def(
          "mapped",
          [](const Cluster& self, const std::string& name, const std::vector<Topology::Edge>& edges) {
            return refused([&] { return mapped({name, edges}, self); });
          },
          nb::arg("name"), nb::arg("edges"),
          "Returns the virtual ports of a circuit for each edge of a topology, in the order of the edges.\n\nRaises "
          "InputError if none are free.");
  module.def(
      "edges_of",
      [](const std::string& shape, const Numbers& nodes, const Numbers& size) {
        return refused([&] { return Topology::of(shape, nodes, size).edges; });
      },
      nb::arg("shape"), nb::arg("nodes"), nb::arg("size"),
      "Returns the edges of a topology of FPGAs.\n\nRaises InputError.");

  nb::class_<Rewired>(
      module, "Rewired",
      "Rows written by a re-wiring, and the times to write them in us; None if one of the FPGAs is in no server.")
      .def_prop_ro(
          "rows", [](const Rewired& self) { return tuple_of(self.rows); },
          nb::sig("def rows(self) -> tuple[tuple[VirtualPort, VirtualPort | None], ...]"))
      .def_ro("registers_us", &Rewired::registers_us,
              "Time in hardware: servers write all rows back to back. A row is one 64-bit register, and an FPGA "
              "accepts one per cycle.")
      .def_ro("servers_us", &Rewired::servers_us,
              "Time by the servers' programs: each row takes the software's time (t of the paper's Table 5), and a "
              "barrier follows.");

  nb::class_<Vcsn::Partition>(module, "Partition")
      .def_prop_ro("name", &Vcsn::Partition::name)
      .def_prop_ro("nodes", &Vcsn::Partition::nodes)
      .def(
          "own", [](const Vcsn::Partition& self, std::int64_t node) { return refused([&] { return self.own(node); }); },
          nb::arg("node"), "Returns an FPGA's number.\n\nRaises InputError if it is in another partition.")
      .def_prop_ro(
          "lost", [](const Vcsn::Partition& self) { return records_of(self.lost()); },
          nb::sig("def lost(self, /) -> list[tuple[int, str, int]]"));
}

void bind_front(nb::class_<Bound>& bound) {
  bound
      .def(
          "circuits",
          [](Bound& self, const std::optional<Numbers>& nodes) {
            return refused([&] { return self.front.circuits(fpgas_of(self.front.cluster(), nodes)); });
          },
          nb::arg("nodes") = nb::none(),
          "Returns the rows of the circuit tables of some FPGAs, or of all.\n\nRaises InputError.")
      .def(
          "changes",
          [](Bound& self, const std::vector<Ends>& circuits, const std::optional<Numbers>& nodes) {
            return refused([&] { return self.front.rows(circuits, fpgas_of(self.front.cluster(), nodes)); });
          },
          nb::arg("circuits"), nb::arg("nodes") = nb::none(),
          "Returns the rows to write so that some FPGAs, or all, have exactly these circuits.\n\nRaises InputError.")
      .def(
          "rewire_to",
          [](Bound& self, const std::vector<Ends>& circuits, const std::optional<Numbers>& nodes) {
            return refused([&] { return self.front.rewire(circuits, fpgas_of(self.front.cluster(), nodes)); });
          },
          nb::arg("circuits"), nb::arg("nodes") = nb::none(),
          "Opens these circuits and closes all others of some FPGAs, or of all.\n\nRaises InputError, without a "
          "change.")
      .def(
          "multicast",
          [](Bound& self, const VirtualPort& source, const std::vector<VirtualPort>& members) {
            refused([&] { self.front.multicast(source, members); });
          },
          nb::arg("source"), nb::arg("members"),
          "Opens a circuit from `source` to several members, which must have the same virtual port number. Writes the "
          "rows of all, and the ports of switches on a tree, so that no frame is duplicated. Only the source "
          "sends.\n\nRaises InputError, without a change, if it is impossible.")
      .def(
          "group",
          [](Bound& self, const VirtualPort& source, const std::vector<VirtualPort>& members) {
            refused([&] { self.front.group(source, members); });
          },
          nb::arg("source"), nb::arg("members"),
          "Sets only the ports of switches of a multicast circuit.\n\nRaises InputError.")
      .def(
          "least_us",
          [](Bound& self, const std::vector<TableRow>& rows, const std::string& by) {
            return refused([&] { return self.front.least_us(rows, way_of(by)); });
          },
          nb::arg("rows"), nb::arg("by"),
          "Returns a lower bound on the time to write rows, in us. `by`: registers (time of the PCIe slot with the "
          "most rows) or servers (software time of the server with the most rows).\n\nRaises InputError.")
      .def(
          "make_partition",
          [](Bound& self, const std::string& name, const Numbers& nodes) -> Vcsn::Partition& {
            return refused([&]() -> Vcsn::Partition& { return self.front.partition(name, nodes); });
          },
          nb::arg("name"), nb::arg("nodes"), nb::rv_policy::reference,
          "Moves FPGAs from their partitions into this one.\n\nRaises InputError if a circuit would cross the "
          "partition's boundary, including one that is being closed (`set_partition`).");
}

}  // namespace thalweg::vcsn
