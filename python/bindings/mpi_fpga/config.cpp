// SPDX-License-Identifier: Apache-2.0
// Binds the fields of FabricConfig that are not part of NetworkConfig.
#include "mpi_fpga/config.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "mpi_fpga/rtl_unit.hpp"
#include "mpi_fpga/unit_model.hpp"
#include "mpi_fpga/unit_sizes.hpp"
#include "mpi_fpga/user_operators.hpp"

namespace nb = nanobind;
using namespace thalweg;
using namespace thalweg::mpi_fpga;

void bind_config(nb::module_& module) {
  nb::enum_<Trees>(module, "Trees", "Basis of a communicator's tree.")
      .value("by_rank", Trees::by_rank)
      .value("by_topology", Trees::by_topology);

  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const RtlTooSmall& refused) {
      PyErr_SetString(nb::module_::import_("thalweg.errors").attr("InputError").ptr(), refused.what());
    }
  });

  nb::class_<UnitLibrary>(module, "UnitLibrary", "RTL collective units in a shared library.")
      .def(nb::init<const std::string&, std::optional<Recording>>(), nb::arg("file"), nb::arg("recording") = nb::none(),
           "Raises ValueError if the file is not such a library.");

  nb::class_<UnitSizes>(module, "UnitSizes", "Sizes of a collective unit's buffers, in flits.")
      .def(nb::init<const CollectiveConfig&, unsigned>(), nb::arg("config"), nb::arg("links"))
      .def_ro("slot", &UnitSizes::slot)
      .def_ro("shortest_packet", &UnitSizes::shortest_packet)
      .def_ro("host_queue", &UnitSizes::host_queue)
      .def_ro("queue", &UnitSizes::queue)
      .def_ro("credit_batch", &UnitSizes::credit_batch);

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
      .def_rw("library", &CollectiveConfig::library,
              "RTL collective units that run beside the simulator's; None: none.")
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
          "Adds the operators and units of a shared library (thalweg_operator.hpp, thalweg_unit.hpp) to the switches. "
          "Returns name and element bytes of each operator, in order from Operator.user0.\n\nRaises ValueError if the "
          "library has none, or too many.")
      .def_prop_ro(
          "has_units",
          [](const CollectiveConfig& config) {
            return !config.units.empty() || std::ranges::any_of(config.operators, [](const UserOperator& op) {
              return op.units.before.map != nullptr || op.units.after.map != nullptr;
            });
          },
          "True if user-defined units are between hosts and switches.");

  nb::enum_<Sharing::Mode>(module, "SharingMode", "Resources of a fabric that are private to each job.")
      .value("sub_channels", Sharing::Mode::sub_channels, "64-bit lanes of every port and unit")
      .value("time_slots", Sharing::Mode::time_slots, "the whole fabric in turn");

  nb::class_<Sharing>(module, "Sharing", "How several jobs share one fabric: weight of each job, and job of each node.")
      .def(nb::init<>())
      .def_rw("mode", &Sharing::mode)
      .def_rw("weights", &Sharing::weights)
      .def_rw("slot_cycles", &Sharing::slot_cycles)
      .def_rw("job_of_node", &Sharing::job_of_node);

  nb::class_<FabricConfig, NetworkConfig>(module, "FabricConfig",
                                          "A network whose nodes have hosts and collective units.")
      .def(nb::init<>())
      .def_rw("host", &FabricConfig::host)
      .def_rw("collective", &FabricConfig::collective)
      .def_prop_rw(
          "threads", [](const FabricConfig& self) { return self.simulation.threads; },
          [](FabricConfig& self, unsigned threads) { self.simulation.threads = threads; },
          "Threads that step the nodes; results do not depend on their number.");
}
