// SPDX-License-Identifier: Apache-2.0
// Binds the fields of NetworkConfig and its parts; tables are passed as numpy arrays.
#include "network/network.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "link/faulty_link.hpp"
#include "switch/router_model.hpp"

namespace nb = nanobind;
using namespace thalweg;

namespace {

using Table = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Entries = nb::ndarray<const std::uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Tags = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void set_routes(NetworkConfig& config, Table port, Table route_class) {
  const std::size_t n = config.nodes;
  for (const Table* table : {&port, &route_class})
    if (table->shape(0) != n || table->shape(1) != n)
      throw std::invalid_argument("a routing table must have one row per node and one column per destination");
  config.grid_routes.reset();
  config.routes.resize(n * n);
  for (std::size_t i = 0; i < n * n; ++i) config.routes[i] = {port.data()[i], route_class.data()[i]};
}

/// `port` and `route_class`: an array per dimension, of shape (tags, positions, targets).
void set_grid_routes(NetworkConfig& config, const std::vector<unsigned>& size, const std::vector<Entries>& port,
                     const std::vector<Entries>& route_class, const Tags& tag) {
  auto routes = std::make_shared<GridRoutes>();
  routes->size = size;
  routes->tag.assign(tag.data(), tag.data() + tag.size());
  if (std::ranges::count(size, 0u) > 0) throw std::invalid_argument("a dimension of grid routes has no nodes");
  if (port.size() != size.size() || route_class.size() != size.size())
    throw std::invalid_argument("grid routes have an array of ports, and one of classes, for each dimension");
  for (std::size_t d = 0; d < size.size(); ++d) {
    if (port[d].size() != route_class[d].size())
      throw std::invalid_argument("the arrays of ports and of classes of a dimension have one shape");
    auto& entries = routes->entries.emplace_back(port[d].size());
    for (std::size_t i = 0; i < entries.size(); ++i) entries[i] = {port[d].data()[i], route_class[d].data()[i]};
  }
  routes->locate(tag.size());
  config.grid_routes = std::move(routes);
}

void set_layer(NetworkConfig& config, Table layer) {
  config.layer.assign(layer.data(), layer.data() + layer.size());
}

void set_reroute(FaultConfig& faults, nb::callable reroute) {
  // Held by pointer: threads without the interpreter's lock copy and destroy configurations.
  const std::shared_ptr<nb::callable> held(new nb::callable(std::move(reroute)), [](nb::callable* callable) {
    const nb::gil_scoped_acquire acquired;
    delete callable;
  });
  faults.reroute = [held](const std::vector<LinkConfig>& without) {
    const nb::gil_scoped_acquire acquired;
    std::vector<std::pair<NodeId, unsigned>> ends;
    for (const LinkConfig& link : without) ends.emplace_back(link.node_a, link.port_a);
    try {
      return nb::cast<NetworkConfig>((*held)(ends));
    } catch (nb::python_error& error) {
      throw std::runtime_error(nb::str(error.value()).c_str());
    }
  };
}

}  // namespace

void bind_network(nb::module_& module) {
  nb::enum_<FlowControl>(module, "FlowControl")
      .value("credits", FlowControl::credits)
      .value("margin", FlowControl::margin);

  nb::class_<WireFaults>(module, "WireFaults", "Faults of one direction of a link; times are ticks.")
      .def(nb::init<>())
      .def_rw("bit_error_rate", &WireFaults::bit_error_rate)
      .def_rw("frames_lost", &WireFaults::frames_lost)
      .def_rw("frames_duplicated", &WireFaults::frames_duplicated)
      .def_rw("down_at", &WireFaults::down_at)
      .def_rw("up_at", &WireFaults::up_at)
      .def_rw("reset_at", &WireFaults::reset_at, "tick at which the sending end alone is reset");

  nb::class_<FaultConfig>(module, "FaultConfig", "Parameters common to all links with faults.")
      .def(nb::init<>())
      .def_rw("seed", &FaultConfig::seed)
      .def_rw("silence", &FaultConfig::silence)
      .def_rw("rebuild", &FaultConfig::rebuild)
      .def(
          "set_reroute", &set_reroute, nb::arg("reroute"),
          nb::sig("def set_reroute(self, reroute: collections.abc.Callable[[list[tuple[int, int]]], NetworkConfig]) -> "
                  "None"),
          "Sets the function that returns a fabric with routes and layers that avoid the given links, each as (node, "
          "port) of its first end. The function must raise an error with a one-line message if there is none.");

  module.def("replay_window", &replay_window, nb::arg("latency"),
             "Returns the replay window, in words, for a link of `latency` cycles.");
  module.def("replay_reach", &replay_reach, nb::arg("window"),
             "Returns the maximum link latency, in cycles, at which a replay window of that many words sustains the "
             "full rate.");
  module.def(
      "frame_bits",
      [](const NetworkConfig& config) {
        return (config.links.empty() ? FaultyLinkConfig{} : faulty_link(config, 0)).frame().frame_bits();
      },
      nb::arg("config"), "Returns the bits of a frame on links with faults.");

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

  nb::class_<Recording>(module, "Recording",
                        "Records one router's signals as VCD from a cycle on, with two time units per cycle.")
      .def(
          "__init__",
          [](Recording* self, NodeId node, Tick start, std::string file) {
            new (self) Recording{node, start, std::move(file)};
          },
          nb::arg("node"), nb::arg("start"), nb::arg("file"));

  nb::class_<RouterLibrary>(module, "RouterLibrary", "RTL routers in a shared library.")
      .def(nb::init<const std::string&, bool, std::optional<Recording>>(), nb::arg("file"), nb::arg("compares") = false,
           nb::arg("recording") = nb::none(),
           "With `compares`, the simulator's router runs beside each RTL router, and the first difference is raised as "
           "RtlDifference.\n\nRaises ValueError if the file is not such a library.");

  nb::class_<HeaderFields>(module, "HeaderFields", "Positions of the header fields that routers read.")
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
      .def_rw("library", &RouterConfig::library, "RTL routers; None: the simulator's.")
      .def_rw("margin_flits", &RouterConfig::margin_flits)
      .def_ro("header", &RouterConfig::header)
      .def_rw("vc_mask", &RouterConfig::vc_mask);

  nb::class_<NetworkConfig>(module, "NetworkConfig")
      .def(nb::init<>())
      .def_rw("ticks_per_second", &NetworkConfig::ticks_per_second)
      .def_rw("nodes", &NetworkConfig::nodes)
      .def_rw("switches", &NetworkConfig::switches)
      .def_rw("grid", &NetworkConfig::grid)
      .def_rw("links", &NetworkConfig::links)
      .def_ro("router", &NetworkConfig::router)
      .def_rw("faults", &NetworkConfig::faults)
      .def("set_routes", &set_routes, nb::arg("port"), nb::arg("route_class"),
           "Sets the routing tables, uint8 arrays of shape (nodes, nodes): row node, column destination.")
      .def("set_grid_routes", &set_grid_routes, nb::arg("size"), nb::arg("port"), nb::arg("route_class"),
           nb::arg("tag"),
           "Sets routes by dimension instead: per dimension an uint8 array of shape (tags, own coordinate, "
           "destination's coordinate), and each node's tag.")
      .def(
          "route",
          [](const NetworkConfig& config, NodeId node, NodeId destination) {
            if (node >= config.nodes || destination >= config.nodes)
              throw std::invalid_argument("there is no such node");
            const RouteEntry entry = config.route(node, destination);
            return std::pair(entry.port, entry.route_class);
          },
          nb::arg("node"), nb::arg("destination"), "Returns the port and route class of a node's route to another one.")
      .def("set_layer", &set_layer, nb::arg("layer"),
           "Sets the route class of each (source, destination) pair at injection, uint8 of shape (nodes, nodes).");
  module.attr("KEEP_CLASS") = kKeepClass;
  module.attr("NO_ROUTE") = kNoRoute;
}
