// SPDX-License-Identifier: Apache-2.0
// Random traffic on the plain network.
#include "network/traffic.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace thalweg;

namespace {

TrafficResult run(const NetworkConfig& fabric, const TrafficConfig& traffic, const nb::object& progress) {
  const Progress poll = [&](Tick done, Tick total) {
    nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) nb::raise_python_error();
    return progress.is_none() || nb::cast<bool>(progress(done, total));
  };
  nb::gil_scoped_release released;
  return run_traffic(fabric, traffic, poll);
}

}  // namespace

void bind_traffic(nb::module_& module) {
  nb::enum_<Pattern>(module, "Pattern", "Destinations of a source; nodes are numbered from 0.")
      .value("uniform", Pattern::uniform, "any node, the source included")
      .value("transpose", Pattern::transpose, "node a*k + b sends to b*k + a; the number of nodes is k*k")
      .value("bit_complement", Pattern::bit_complement, "node i sends to nodes - 1 - i")
      .value("neighbour", Pattern::neighbour, "node i sends to i + 1 modulo nodes")
      .value("hotspot", Pattern::hotspot,
             "to one of hotspot_nodes with probability hotspot_fraction, otherwise uniform");

  nb::class_<TrafficConfig>(module, "TrafficConfig")
      .def(nb::init<>())
      .def_rw("pattern", &TrafficConfig::pattern)
      .def_rw("packet_flits", &TrafficConfig::packet_flits, "1, 2, 4, 8 or 16")
      .def_rw("load", &TrafficConfig::load, "flits offered per node and cycle")
      .def_rw("hotspot_nodes", &TrafficConfig::hotspot_nodes)
      .def_rw("hotspot_fraction", &TrafficConfig::hotspot_fraction)
      .def_rw("seed", &TrafficConfig::seed)
      .def_rw("warmup", &TrafficConfig::warmup, "cycles before the measurement")
      .def_rw("cycles", &TrafficConfig::cycles, "measured cycles")
      .def_rw("stuck_cycles", &TrafficConfig::stuck_cycles,
              "number of cycles without any movement after which a network that holds flits counts as stuck");

  nb::class_<TrafficResult>(module, "TrafficResult")
      .def_ro("flit_hops", &TrafficResult::flit_hops, "flits that crossed a link in the measured cycles")
      .def_ro("router_cycles", &TrafficResult::router_cycles, "nodes times measured cycles")
      .def_ro("cycles", &TrafficResult::cycles)
      .def_ro("cpu_s", &TrafficResult::cpu_s, "CPU time of the loop over the measured cycles")
      .def_ro("packets", &TrafficResult::packets, "packets created in the measured cycles and ejected")
      .def_ro(
          "average_latency_cycles", &TrafficResult::average_latency_cycles,
          "average over these packets, from creation (including the wait in the source) to the ejection of the tail")
      .def_ro("max_latency_cycles", &TrafficResult::max_latency_cycles)
      .def_ro("average_hops", &TrafficResult::average_hops, "links crossed by a packet")
      .def_ro("offered_load", &TrafficResult::offered_load, "flits per node and cycle")
      .def_ro("accepted_load", &TrafficResult::accepted_load, "flits per node and cycle")
      .def_ro("complete", &TrafficResult::complete, "every packet created in the measured cycles was ejected")
      .def_ro("verified", &TrafficResult::verified,
              "every flit arrived once, in order, at its destination, with its payload")
      .def_ro("stuck", &TrafficResult::stuck, "wait-for relations of a deadlock");

  module.def("run_traffic", &run, nb::arg("fabric"), nb::arg("traffic"), nb::arg("progress") = nb::none(),
             nb::sig("def run_traffic(fabric: NetworkConfig, traffic: TrafficConfig, "
                     "progress: collections.abc.Callable[[int, int], bool] | None = None) -> TrafficResult"),
             "Runs random traffic, then lets the network drain. progress(cycles done, cycles to do) is called "
             "regularly;\nFalse ends the run early. Raises ValueError with a one-line message if the configuration is "
             "invalid.");
}
