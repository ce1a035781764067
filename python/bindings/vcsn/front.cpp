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
  nb::class_<Cluster>(module, "Cluster",
                      "Which external ports Ethernet joins, and which server writes each FPGA's registers.")
      .def(
          "__init__",
          [](Cluster* made, const std::string& name, const nb::dict& description) {
            new (made) Cluster(name, description_of(description));
          },
          nb::arg("name"), nb::arg("description"), "Raises ValueError.")
      .def("reaches", &Cluster::reaches, nb::arg("one"), nb::arg("other"),
           "Whether frames go from an FPGA's external port, (node, port), to another one's.")
      .def(
          "group_ports",
          [](const Cluster& self, const Station& source, const std::vector<Station>& members) {
            return refused([&] { return self.group_ports(source, members); });
          },
          nb::arg("source"), nb::arg("members"),
          "Of each switch on the tree for frames to all: the ports that lead from an external port, (node, port), to "
          "others.\n\nRaises InputError.")
      .def(
          "way",
          [](const Cluster& self, unsigned source, unsigned destination, std::optional<unsigned> first) {
            std::vector<std::tuple<unsigned, int, int>> way;
            for (const Hop& hop : refused([&] { return self.way(source, destination, first); }))
              way.emplace_back(hop.node, hop.comes, hop.leaves_by);
            return way;
          },
          nb::arg("source"), nb::arg("destination"), nb::arg("first") = nb::none(),
          "Of a direct network: the shortest way between two FPGAs, as (node, port that it comes in at, port that it "
          "leaves "
          "by), where -1 stands for the memory at both ends. `first`: the port that it leaves `source` by.\n\nRaises "
          "InputError where there is none.")
      .def(
          "step",
          [](const Cluster& self, unsigned source, unsigned destination) {
            return refused([&] { return step_over_links(self, source, destination); });
          },
          nb::arg("source"), nb::arg("destination"),
          "A block from an FPGA to another over serial links; between them are others' crossbars.\n\nRaises "
          "InputError.")
      .def(
          "gather_schedule",
          [](const Cluster& self, const std::string& by, const std::vector<unsigned>& nodes, unsigned root) {
            return refused([&] { return gather_schedule(self, by, nodes, root); });
          },
          nb::arg("by"), nb::arg("nodes"), nb::arg("root"),
          "`by`: tree, ring or relink over circuits; a direct network, whose ports 0 lead to larger numbers around a "
          "ring, has "
          "ring.\n\nRaises InputError.")
      .def(
          "allgather_schedule",
          [](const Cluster& self, const std::vector<unsigned>& nodes) {
            return refused([&] { return allgather_schedule(self, nodes); });
          },
          nb::arg("nodes"), "By ring.\n\nRaises InputError.")
      .def(
          "mapped",
          [](const Cluster& self, const std::string& name, const std::vector<Topology::Edge>& edges) {
            return refused([&] { return mapped({name, edges}, self); });
          },
          nb::arg("name"), nb::arg("edges"),
          "The virtual ports of a circuit for each edge of a topology, in their order.\n\nRaises InputError where none "
          "are "
          "found.");
  module.def(
      "edges_of",
      [](const std::string& shape, const Numbers& nodes, const Numbers& size) {
        return refused([&] { return Topology::of(shape, nodes, size).edges; });
      },
      nb::arg("shape"), nb::arg("nodes"), nb::arg("size"), "The edges of a topology of FPGAs.\n\nRaises InputError.");

  nb::class_<Rewired>(
      module, "Rewired",
      "The rows that a re-wiring has written, and the time in us of writing them. Times are None if one of "
      "the FPGAs is in no server.")
      .def_prop_ro(
          "rows", [](const Rewired& self) { return tuple_of(self.rows); },
          nb::sig("def rows(self) -> tuple[tuple[VirtualPort, VirtualPort | None], ...]"))
      .def_ro("registers_us", &Rewired::registers_us,
              "In hardware: servers write all rows back to back. A row is one register of 64 bits, and an FPGA accepts "
              "one per "
              "cycle.")
      .def_ro(
          "servers_us", &Rewired::servers_us,
          "By programs on the servers: each row takes the software's time (t of the paper's Table 5), and a barrier "
          "follows.");

  nb::class_<Vcsn::Partition>(module, "Partition")
      .def_prop_ro("name", &Vcsn::Partition::name)
      .def_prop_ro("nodes", &Vcsn::Partition::nodes)
      .def(
          "own", [](const Vcsn::Partition& self, std::int64_t node) { return refused([&] { return self.own(node); }); },
          nb::arg("node"), "An FPGA's number.\n\nRaises InputError where it is another partition's.")
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
          "The rows of the circuit tables of some FPGAs, or of all.\n\nRaises InputError.")
      .def(
          "changes",
          [](Bound& self, const std::vector<Ends>& circuits, const std::optional<Numbers>& nodes) {
            return refused([&] { return self.front.rows(circuits, fpgas_of(self.front.cluster(), nodes)); });
          },
          nb::arg("circuits"), nb::arg("nodes") = nb::none(),
          "The rows to write so that some FPGAs, or all, have these circuits and no others.\n\nRaises InputError.")
      .def(
          "rewire_to",
          [](Bound& self, const std::vector<Ends>& circuits, const std::optional<Numbers>& nodes) {
            return refused([&] { return self.front.rewire(circuits, fpgas_of(self.front.cluster(), nodes)); });
          },
          nb::arg("circuits"), nb::arg("nodes") = nb::none(), "Writes them.\n\nRaises InputError, and nothing changes.")
      .def(
          "multicast",
          [](Bound& self, const VirtualPort& source, const std::vector<VirtualPort>& members) {
            refused([&] { self.front.multicast(source, members); });
          },
          nb::arg("source"), nb::arg("members"),
          "A circuit from one end to several, which are the same virtual port of their external ports: the rows of all "
          "of "
          "them, and the ports of switches, on a tree that no frame takes twice. Only the source sends.\n\nRaises "
          "InputError, and nothing changes, where it cannot be.")
      .def(
          "group",
          [](Bound& self, const VirtualPort& source, const std::vector<VirtualPort>& members) {
            refused([&] { self.front.group(source, members); });
          },
          nb::arg("source"), nb::arg("members"), "Sets the ports of switches alone.\n\nRaises InputError.")
      .def(
          "least_us",
          [](Bound& self, const std::vector<TableRow>& rows, const std::string& by) {
            return refused([&] { return self.front.least_us(rows, way_of(by)); });
          },
          nb::arg("rows"), nb::arg("by"),
          "A lower bound on the time of writing these rows: by registers, of the PCIe slot with the most rows; by "
          "servers, of "
          "the software of the server with the most.\n\nRaises InputError.")
      .def(
          "make_partition",
          [](Bound& self, const std::string& name, const Numbers& nodes) -> Vcsn::Partition& {
            return refused([&]() -> Vcsn::Partition& { return self.front.partition(name, nodes); });
          },
          nb::arg("name"), nb::arg("nodes"), nb::rv_policy::reference,
          "Moves FPGAs into a partition, out of the one they are in.\n\nRaises InputError if a circuit would cross the "
          "partition's boundary, or one that is being closed still does (`set_partition`).");
}

}  // namespace thalweg::vcsn
