// SPDX-License-Identifier: Apache-2.0
// Binds the server of `thalweg run`, which executes an MPI program's communication on a simulated fabric.
#include "mpi/server/server.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <tuple>

#include "../engine.hpp"
#include "mpi/server/software_run.hpp"
#include "mpi_fpga/driver/fabric.hpp"
#include "mpi_fpga/driver/shared_fabric.hpp"

namespace nb = nanobind;
namespace codes = thalweg::mpi_fpga::spec;
using namespace thalweg;
using namespace thalweg::mpi;

namespace {

using ChoiceRow = std::tuple<std::uint32_t, std::uint64_t, unsigned, std::vector<unsigned>>;  ///< Choice::From

Choice choice_of(const std::vector<ChoiceRow>& given) {
  std::vector<Choice::From> rows;
  for (const auto& [ranks, bytes, collective, algorithms] : given) {
    Choice::From& row = rows.emplace_back();
    row = {ranks, bytes, static_cast<codes::Collective>(collective), {}};
    for (const unsigned algorithm : algorithms) row.algorithms.push_back(static_cast<codes::Algorithm>(algorithm));
  }
  return Choice(std::move(rows));
}

HostMemory memory_of(const HostConfig& host) {
  return {host.memory_overhead, host.memory_bytes_per_tick};
}

std::unique_ptr<CollectiveEngine> fabric_of(const FabricConfig& config, const std::optional<Sharing>& sharing) {
  if (sharing) return std::make_unique<SharedFabric>(config, *sharing);
  return std::make_unique<Fabric>(config);
}

/// The server with its fabric.
class SimulatedServer {
 public:
  SimulatedServer(const FabricConfig& config, std::vector<NodeId> nodes, int listener,
                  std::vector<std::string> functions, double compute_scale, double patience_s, Choice choice,
                  std::vector<std::uint32_t> programs, const std::optional<Sharing>& sharing, bool record)
      : fabric_(fabric_of(config, sharing)),
        server_(*fabric_, {std::move(nodes), listener, std::move(functions), compute_scale, patience_s,
                           config.host.message_overhead, std::move(choice), memory_of(config.host),
                           config.collective.operators, std::move(programs), record}) {}

  nb::dict run() {
    Outcome outcome;
    {
      const nb::gil_scoped_release release;
      outcome = server_.run();
    }
    return as_dict(outcome, static_cast<double>(fabric_->ticks_per_second()));
  }
  void stop() { server_.stop(); }
  std::tuple<Tick, std::uint64_t> progress() {
    const auto found = server_.progress();
    return {found.virtual_time, found.calls};
  }
  std::vector<std::int32_t> processes() const { return server_.processes(); }

 private:
  static nb::dict as_dict(const Outcome& outcome, double ticks_per_second) {
    nb::dict result;
    result["ending"] = outcome.ending;
    result["what"] = outcome.what;
    result["waiting"] = outcome.waiting(ticks_per_second);
    result["blocked"] = records_of(outcome.blocked, ticks_per_second);
    result["virtual_time"] = outcome.virtual_time;
    result["clocks"] = outcome.clocks;
    result["aborter"] = outcome.aborter;
    result["abort_code"] = outcome.abort_code;
    result["joined"] = outcome.joined;
    result["messages"] = outcome.messages;
    result["unreceived"] = outcome.unreceived;
    result["failed_collectives"] = outcome.failed_collectives;
    result["first_failure"] = outcome.first_failure;
    result["message_bytes"] = outcome.message_bytes;
    nb::dict calls;
    for (const auto& [function, count] : outcome.calls) calls[function.c_str()] = count;
    result["calls"] = calls;
    nb::list collectives;
    for (const auto& [key, use] : outcome.collectives) {
      nb::dict row;
      row["communicator"] = key.communicator;
      row["nodes"] = key.nodes;
      row["function"] = key.function;
      row["bytes"] = key.bytes;
      row["vector"] = key.vector;
      row["collective"] = std::string(codes::name(static_cast<codes::Collective>(key.collective)));
      row["offloaded"] = key.offloaded;
      row["algorithm"] = std::string(codes::name(key.algorithm));
      row["site"] = key.site;
      row["root"] = key.root;
      row["calls"] = use.calls;
      row["operations"] = use.operations;
      row["fabric"] = use.fabric;
      row["waiting"] = use.waiting;
      row["skew"] = use.skew;
      row["memory"] = use.memory;
      collectives.append(row);
    }
    result["collectives"] = collectives;
    nb::list fallbacks;
    for (const auto& [key, count] : outcome.fallbacks) {
      nb::dict row;
      row["reason"] = key.reason;
      row["function"] = key.function;
      row["detail"] = key.detail;
      row["calls"] = count;
      fallbacks.append(row);
    }
    result["fallbacks"] = fallbacks;
    nb::list links;
    for (const LinkUse& link : outcome.links) links.append(nb::make_tuple(link.node, link.port, link.flits));
    result["links"] = links;
    nb::list recoveries;
    for (const Recovery& recovery : outcome.recoveries) recoveries.append(recovery);
    result["recoveries"] = recoveries;
    result["lost"] = records_of(outcome.lost);
    if (outcome.history) result["history"] = as_dict(*outcome.history);
    return result;
  }
  static nb::dict as_dict(const History& history) {
    nb::dict result;
    nb::list calls, collectives, messages, links;
    for (const auto& call : history.calls)
      calls.append(nb::make_tuple(call.rank, call.thread, call.function, call.begin, call.end));
    for (const auto& one : history.collectives)
      collectives.append(
          nb::make_tuple(one.communicator, one.function, one.how, one.bytes, one.first_entry, one.last_entry, one.end));
    for (const auto& one : history.messages)
      messages.append(nb::make_tuple(one.sender, one.receiver, one.tag, one.bytes, one.sent, one.arrived));
    for (const auto& window : history.flits()) {
      nb::list seen;
      for (const LinkUse& link : window) seen.append(nb::make_tuple(link.node, link.port, link.flits));
      links.append(seen);
    }
    result["calls"] = calls;
    result["collectives"] = collectives;
    result["messages"] = messages;
    result["window"] = history.window();
    result["links"] = links;
    return result;
  }

  std::unique_ptr<CollectiveEngine> fabric_;
  Server server_;
};

}  // namespace

void bind_server(nb::module_& module) {
  nb::enum_<Ending>(module, "Ending")
      .value("finished", Ending::finished)
      .value("stopped", Ending::stopped)
      .value("aborted", Ending::aborted)
      .value("refused", Ending::refused)
      .value("died", Ending::died)
      .value("deadlock", Ending::deadlock)
      .value("failure", Ending::failure)
      .value("disagreement", Ending::disagreement)
      .value("timeout", Ending::timeout);
  nb::enum_<Reason>(module, "Reason")
      .value("no_row", Reason::no_row)
      .value("not_in_network", Reason::not_in_network)
      .value("user_operation", Reason::user_operation)
      .value("derived_type", Reason::derived_type)
      .value("type_not_in_network", Reason::type_not_in_network)
      .value("operation_not_in_network", Reason::operation_not_in_network)
      .value("intercommunicator", Reason::intercommunicator)
      .value("shared_node", Reason::shared_node);
  nb::enum_<Pattern>(module, "SoftwarePattern", "Message pattern of a software collective.")
      .value("none", Pattern::none)
      .value("barrier", Pattern::barrier)
      .value("broadcast", Pattern::broadcast)
      .value("reduce", Pattern::reduce)
      .value("allreduce", Pattern::allreduce)
      .value("gather", Pattern::gather)
      .value("scatter", Pattern::scatter)
      .value("allgather", Pattern::allgather)
      .value("alltoall", Pattern::alltoall)
      .value("scan", Pattern::scan)
      .value("reduce_scatter", Pattern::reduce_scatter)
      .value("gather_list", Pattern::gather_list)
      .value("scatter_list", Pattern::scatter_list)
      .value("allgather_list", Pattern::allgather_list)
      .value("alltoall_list", Pattern::alltoall_list)
      .value("neighbours", Pattern::neighbours);
  module.def(
      "software_ticks",
      [](const FabricConfig& config, const std::vector<NodeId>& nodes, Pattern pattern, std::uint64_t bytes,
         std::uint32_t root) {
        const nb::gil_scoped_release release;
        Fabric fabric(config);
        const SoftwareCall call{pattern, static_cast<std::uint32_t>(nodes.size()), root, bytes, {}};
        return software_ticks(fabric, memory_of(config.host), call, nodes, config.host.message_overhead);
      },
      nb::arg("config"), nb::arg("nodes"), nb::arg("pattern"), nb::arg("bytes"), nb::arg("root") = 0,
      "Returns the ticks that a collective with `bytes` per block takes with the messages of its usual software "
      "algorithm on idle links; rank i is on nodes[i]. Not for patterns with per-rank lists.");
  nb::class_<Choice>(module, "Choice", "Selects the algorithm of a collective by the sizes of communicator and block.")
      .def(
          "__init__", [](Choice* self, const std::vector<ChoiceRow>& rows) { new (self) Choice(choice_of(rows)); },
          nb::arg("rows"), "`rows`: (minimum ranks, minimum block bytes, collective, algorithms with the best first).")
      .def(
          "of",
          [](const Choice& self, unsigned collective, std::uint32_t ranks, std::uint64_t bytes, std::uint32_t known) {
            const auto found = self.of(static_cast<codes::Collective>(collective), ranks, bytes, known);
            return found ? std::optional(static_cast<unsigned>(*found)) : std::nullopt;
          },
          nb::arg("collective"), nb::arg("ranks"), nb::arg("bytes"), nb::arg("known"),
          "Returns the best of the available algorithms (`known`, as bits); None if no row matches.");
  nb::class_<SimulatedServer>(module, "Server")
      .def(nb::init<const FabricConfig&, std::vector<NodeId>, int, std::vector<std::string>, double, double, Choice,
                    std::vector<std::uint32_t>, const std::optional<Sharing>&, bool>(),
           nb::arg("config"), nb::arg("nodes"), nb::arg("listener"), nb::arg("functions"), nb::arg("compute_scale"),
           nb::arg("patience_s"), nb::arg("choice"), nb::arg("programs") = std::vector<std::uint32_t>{},
           nb::arg("sharing") = nb::none(), nb::arg("record") = false,
           "Serves the ranks that connect to the listening Unix socket `listener`, which the server owns from then on; "
           "rank i is on nodes[i]. `programs`: first rank of each program, if there are several. `record`: keep a "
           "history of events.")
      .def("run", &SimulatedServer::run,
           "Serves until the program ends or can make no progress; returns the outcome. Times are ticks.")
      .def("stop", &SimulatedServer::stop, "Makes run() return soon. May be called from any thread.")
      .def("progress", &SimulatedServer::progress,
           "Returns the virtual time in ticks, and the number of MPI calls of all ranks so far. May be called from any "
           "thread.")
      .def("processes", &SimulatedServer::processes,
           "Returns the process IDs of the ranks that have connected, 0 for the others.");
}
