// SPDX-License-Identifier: Apache-2.0
// FabricConfig and its parts, field by field; tables go in as numpy arrays.
#include "mpi_fpga/config.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "core/blocked.hpp"
#include "engine.hpp"
#include "mpi_fpga/rtl_unit.hpp"
#include "mpi_fpga/unit_model.hpp"
#include "mpi_fpga/unit_sizes.hpp"
#include "mpi_fpga/user_operators.hpp"
#include "network/network.hpp"
#include "switch/router_model.hpp"
#include "switch/rtl_router.hpp"

namespace nb = nanobind;
using namespace thalweg;
using namespace thalweg::mpi_fpga;

namespace {

using Table = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void set_routes(FabricConfig& config, Table port, Table route_class) {
  const std::size_t n = config.nodes;
  for (const Table* table : {&port, &route_class})
    if (table->shape(0) != n || table->shape(1) != n)
      throw std::invalid_argument("a routing table has one row per node and one column per destination");
  config.routes.resize(n * n);
  for (std::size_t i = 0; i < n * n; ++i) config.routes[i] = {port.data()[i], route_class.data()[i]};
}

void set_layer(FabricConfig& config, Table layer) {
  config.layer.assign(layer.data(), layer.data() + layer.size());
}

void set_reroute(FaultConfig& faults, nb::callable reroute) {
  // Held by pointer: configurations are copied and dropped by threads that don't hold the interpreter.
  const std::shared_ptr<nb::callable> held(new nb::callable(std::move(reroute)), [](nb::callable* callable) {
    const nb::gil_scoped_acquire acquired;
    delete callable;
  });
  faults.reroute = [held](const std::vector<LinkConfig>& without) {
    const nb::gil_scoped_acquire acquired;
    std::vector<std::pair<NodeId, unsigned>> ends;
    for (const LinkConfig& link : without) ends.emplace_back(link.node_a, link.port_a);
    try {
      return nb::cast<FabricConfig>((*held)(ends));
    } catch (nb::python_error& error) {
      throw std::runtime_error(nb::str(error.value()).c_str());
    }
  };
}

}  // namespace

void bind_config(nb::module_& module) {
  nb::enum_<FlowControl>(module, "FlowControl")
      .value("credits", FlowControl::credits)
      .value("margin", FlowControl::margin);

  nb::enum_<Trees>(module, "Trees", "What a communicator's tree follows.")
      .value("by_rank", Trees::by_rank)
      .value("by_topology", Trees::by_topology);

  nb::class_<WireFaults>(module, "WireFaults",
                         "What happens to the frames of one direction of a link; times are ticks.")
      .def(nb::init<>())
      .def_rw("bit_error_rate", &WireFaults::bit_error_rate)
      .def_rw("frames_lost", &WireFaults::frames_lost)
      .def_rw("frames_duplicated", &WireFaults::frames_duplicated)
      .def_rw("down_at", &WireFaults::down_at)
      .def_rw("up_at", &WireFaults::up_at)
      .def_rw("reset_at", &WireFaults::reset_at, "the end that sends is reset then, alone");

  nb::class_<FaultConfig>(module, "FaultConfig", "What links on which faults happen have in common.")
      .def(nb::init<>())
      .def_rw("seed", &FaultConfig::seed)
      .def_rw("silence", &FaultConfig::silence)
      .def_rw("rebuild", &FaultConfig::rebuild)
      .def("set_reroute", &set_reroute, nb::arg("reroute"),
           nb::sig("def set_reroute(self, reroute: collections.abc.Callable[[list[tuple[int, int]]], FabricConfig]) -> "
                   "None"),
           "What makes a fabric whose routes and layers do without links, each (node, port) of its first end. "
           "It raises an error that says in one line why there is none.");

  module.def("replay_window", &replay_window, nb::arg("latency"),
             "Words that the replay on a link of so many cycles holds.");
  module.def("replay_reach", &replay_reach, nb::arg("window"),
             "Cycles of the longest link on which a replay that holds so many words makes full rate.");
  module.def(
      "frame_bits",
      [](const FabricConfig& config) {
        return (config.links.empty() ? FaultyLinkConfig{} : faulty_link(config, 0)).frame().frame_bits();
      },
      nb::arg("config"), "Of a frame on the fabric's links, where faults happen on them.");

  nb::class_<LinkConfig>(module, "LinkConfig")
      .def(nb::init<>())
      .def_rw("node_a", &LinkConfig::node_a)
      .def_rw("node_b", &LinkConfig::node_b)
      .def_rw("port_a", &LinkConfig::port_a)
      .def_rw("port_b", &LinkConfig::port_b)
      .def_rw("latency", &LinkConfig::latency)
      .def_rw("rate_flits", &LinkConfig::rate_flits)
      .def_rw("rate_cycles", &LinkConfig::rate_cycles)
      .def_rw("from_a", &LinkConfig::from_a)
      .def_rw("from_b", &LinkConfig::from_b);

  nb::class_<Recording>(module, "Recording", "One router's signals from a cycle on, as VCD, two time units a cycle.")
      .def(
          "__init__",
          [](Recording* self, NodeId node, Tick start, std::string file) {
            new (self) Recording{node, start, std::move(file)};
          },
          nb::arg("node"), nb::arg("start"), nb::arg("file"));

  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    const auto error = [](const char* name) { return nb::module_::import_("thalweg.errors").attr(name); };
    try {
      std::rethrow_exception(thrown);
    } catch (const RtlDifference& found) {
      PyErr_SetObject(error("RtlDifference").ptr(),
                      nb::make_tuple(found.what(), found.block, found.node, found.cycle).ptr());
    } catch (const Stuck& stuck) {
      PyErr_SetObject(error("FabricStopped").ptr(),
                      nb::make_tuple(stuck.what(), records_of(stuck.blocked, stuck.ticks_per_second)).ptr());
    } catch (const RtlTooSmall& refused) {
      PyErr_SetString(error("InputError").ptr(), refused.what());
    }
  });

  nb::class_<RouterLibrary>(module, "RouterLibrary", "Routers of RTL, in a shared library.")
      .def(nb::init<const std::string&, bool, std::optional<Recording>>(), nb::arg("file"), nb::arg("compares") = false,
           nb::arg("recording") = nb::none(),
           "With `compares`, the simulator's router runs beside each one, and the first difference is raised as "
           "RtlDifference. Raises ValueError where the file is no such library.");

  nb::class_<UnitLibrary>(module, "UnitLibrary", "Collective units of RTL, in a shared library.")
      .def(nb::init<const std::string&, std::optional<Recording>>(), nb::arg("file"), nb::arg("recording") = nb::none(),
           "Raises ValueError where the file is no such library.");

  nb::class_<UnitSizes>(module, "UnitSizes", "How large the buffers of a collective unit are, in flits.")
      .def(nb::init<const CollectiveConfig&, unsigned>(), nb::arg("config"), nb::arg("links"))
      .def_ro("slot", &UnitSizes::slot)
      .def_ro("shortest_packet", &UnitSizes::shortest_packet)
      .def_ro("host_queue", &UnitSizes::host_queue)
      .def_ro("queue", &UnitSizes::queue)
      .def_ro("credit_batch", &UnitSizes::credit_batch);

  nb::class_<HeaderFields>(module, "HeaderFields", "Where a packet's header has what routers read of it.")
      .def_ro("destination_lsb", &HeaderFields::destination_lsb)
      .def_ro("unit_mask", &HeaderFields::unit_mask);

  nb::class_<RouterConfig>(module, "RouterConfig")
      .def(nb::init<>())
      .def_rw("link_ports", &RouterConfig::link_ports)
      .def_rw("local_ports", &RouterConfig::local_ports)
      .def_rw("virtual_channels", &RouterConfig::virtual_channels)
      .def_rw("buffer_flits", &RouterConfig::buffer_flits)
      .def_rw("local_buffer_flits", &RouterConfig::local_buffer_flits)
      .def_rw("flow", &RouterConfig::flow)
      .def_rw("library", &RouterConfig::library, "Routers of RTL; None: the simulator's own.")
      .def_rw("margin_flits", &RouterConfig::margin_flits)
      .def_ro("header", &RouterConfig::header)
      .def_rw("vc_mask", &RouterConfig::vc_mask);

  nb::class_<HostConfig>(module, "HostConfig")
      .def(nb::init<>())
      .def_rw("pcie_latency", &HostConfig::pcie_latency)
      .def_rw("pcie_bytes_per_tick", &HostConfig::pcie_bytes_per_tick)
      .def_rw("dma_flits_per_cycle", &HostConfig::dma_flits_per_cycle)
      .def_rw("message_overhead", &HostConfig::message_overhead)
      .def_rw("memory_overhead", &HostConfig::memory_overhead)
      .def_rw("memory_bytes_per_tick", &HostConfig::memory_bytes_per_tick);

  nb::class_<CollectiveConfig>(module, "CollectiveConfig")
      .def(nb::init<>())
      .def_rw("trees", &CollectiveConfig::trees)
      .def_rw("contexts", &CollectiveConfig::contexts)
      .def_rw("operations_in_flight", &CollectiveConfig::operations_in_flight)
      .def_rw("aggregation_units", &CollectiveConfig::aggregation_units)
      .def_rw("library", &CollectiveConfig::library, "Collective units of RTL beside the simulator's; None: none.")
      .def_rw("slot_packets", &CollectiveConfig::slot_packets)
      .def_rw("packet_flits", &CollectiveConfig::packet_flits)
      .def_rw("long_packet_flits", &CollectiveConfig::long_packet_flits)
      .def_rw("relay_flits", &CollectiveConfig::relay_flits)
      .def_rw("lane_latency", &CollectiveConfig::lane_latency)
      .def(
          "load_operators",
          [](CollectiveConfig& config, const std::string& library) {
            load_operators(config, library);
            std::vector<std::pair<std::string, std::size_t>> found;
            for (const UserOperator& op : config.operators) found.emplace_back(op.name, op.bytes);
            return found;
          },
          nb::arg("library"),
          "Puts the operators and units of a shared library (thalweg_operator.hpp, thalweg_unit.hpp) into the "
          "switches; "
          "the operators' names and the bytes of their elements, in the order of Operator.user0 and on. ValueError "
          "where "
          "there are none, or too many.")
      .def_prop_ro(
          "has_units",
          [](const CollectiveConfig& config) {
            return !config.units.empty() || std::ranges::any_of(config.operators, [](const UserOperator& op) {
              return op.units.before.map != nullptr || op.units.after.map != nullptr;
            });
          },
          "Units of the user's stand between hosts and switches.");

  nb::enum_<Sharing::Mode>(module, "SharingMode", "What of a fabric each of several jobs has for itself.")
      .value("sub_channels", Sharing::Mode::sub_channels, "64-bit lanes of every port and unit")
      .value("time_slots", Sharing::Mode::time_slots, "turns on all of it");

  nb::class_<Sharing>(module, "Sharing", "How several jobs share one fabric: job j's weight, and whose each node is.")
      .def(nb::init<>())
      .def_rw("mode", &Sharing::mode)
      .def_rw("weights", &Sharing::weights)
      .def_rw("slot_cycles", &Sharing::slot_cycles)
      .def_rw("job_of_node", &Sharing::job_of_node);

  nb::class_<FabricConfig>(module, "FabricConfig")
      .def(nb::init<>())
      .def_rw("ticks_per_second", &FabricConfig::ticks_per_second)
      .def_rw("nodes", &FabricConfig::nodes)
      .def_rw("switches", &FabricConfig::switches)
      .def_rw("grid", &FabricConfig::grid)
      .def_rw("links", &FabricConfig::links)
      .def_ro("router", &FabricConfig::router)
      .def_rw("host", &FabricConfig::host)
      .def_rw("collective", &FabricConfig::collective)
      .def_rw("faults", &FabricConfig::faults)
      .def("set_routes", &set_routes, nb::arg("port"), nb::arg("route_class"),
           "The routing tables, uint8 arrays of shape (nodes, nodes): row node, column destination.")
      .def("set_layer", &set_layer, nb::arg("layer"),
           "The route class of each (source, destination) pair at injection, uint8 of shape (nodes, nodes).");
  module.attr("KEEP_CLASS") = kKeepClass;
  module.attr("NO_ROUTE") = kNoRoute;
}
