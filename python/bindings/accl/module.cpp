// SPDX-License-Identifier: Apache-2.0
// Python bindings of boards with offload engines.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "../assembly.hpp"
#include "../attach.hpp"
#include "../engine.hpp"
#include "../running.hpp"
#include "accl/network.hpp"
#include "accl/program.hpp"
#include "in_switch/accl_collectives.hpp"
#include "switch/rtl_library.hpp"

namespace nb = nanobind;
using namespace thalweg;
using namespace thalweg::accl;

namespace {

constexpr const char* kSwitches = "clock of the switches";  ///< as in thalweg/in_switch.py

class Boards {
 public:
  Boards(const nb::dict& description, const std::string& capture, const std::map<unsigned, std::string>& libraries,
         const mpi_fpga::FabricConfig* with, unsigned ranks, const mpi_fpga::Choice* choice)
      : network(description_of(description), capture, maker(libraries)) {
    if (with)
      switches.emplace(network, network.assembly().clock(kSwitches), *with, ranks,
                       choice ? *choice : mpi_fpga::Choice());
  }

  /// Makes Verilated boards from libraries of rtl/accl, by rank; returns an empty function without libraries.
  static Network::MakeCircuit maker(const std::map<unsigned, std::string>& libraries) {
    if (libraries.empty()) return {};
    return [libraries](unsigned rank, const ethernet::UdpEnd& own) {
      if (!libraries.contains(rank)) return std::unique_ptr<NodeCircuit>();
      auto* make = function_of<NodeCircuit*(std::uint64_t, std::uint32_t, std::uint16_t, unsigned)>(libraries.at(rank),
                                                                                                    "accl_make_node");
      return std::unique_ptr<NodeCircuit>(make(own.address, own.ip, own.port, rank));
    };
  }

  Memory& memory(unsigned rank, bool host) {
    Node& board = network.board(rank);
    return host ? board.host : board.device;
  }

  KernelProgram& kernels() {
    if (!program) program.emplace(network);
    return *program;
  }

  Network network;
  std::optional<in_switch::AcclCollectives> switches;
  std::map<unsigned, std::vector<Transaction>> recorded;  ///< by rank
  std::optional<KernelProgram> program;
  std::vector<KernelProgram::Pipe*> pipes;
  std::optional<attach::Attached> attached;

  /// Attributes faults to kernels while time advances.
  [[nodiscard]] std::unique_ptr<Faults> watch() const {
    return program ? std::make_unique<Faults>(KernelProgram::fault_of) : nullptr;
  }
  [[nodiscard]] Engine& engine() { return attached ? static_cast<Engine&>(*attached) : network; }
};

/// Converts a kernel argument: a number, the number of a stream, or memory (host, address, bytes, name of the AXI
/// port).
KernelProgram::Argument argument_of(const nb::handle& given, std::deque<KernelProgram::Region>& regions,
                                    const std::vector<KernelProgram::Pipe*>& pipes) {
  const auto parts = nb::cast<nb::tuple>(given);
  const auto kind = nb::cast<std::string>(parts[0]);
  KernelProgram::Argument made;
  if (kind == "integer") {
    made.value.kind = HLS__INTEGER;
    made.value.integer = nb::cast<long long>(parts[1]);
  } else if (kind == "real") {
    made.value.kind = HLS__REAL;
    made.value.real = nb::cast<double>(parts[1]);
  } else if (kind == "stream") {
    made.value.kind = HLS__STREAM;
    made.pipe = pipes.at(nb::cast<std::size_t>(parts[1]));
  } else {
    require(kind == "memory", "unknown kind of kernel argument: " + kind);
    regions.push_back({nb::cast<bool>(parts[1]), nb::cast<std::uint64_t>(parts[2]), nb::cast<std::uint64_t>(parts[3]),
                       nb::cast<std::string>(parts[4])});
    made.value.kind = HLS__POINTER;
    made.region = &regions.back();
  }
  return made;
}

/// Returns each program's instructions as text, with the target's number for jumps, by program name.
nb::dict programs() {
  using thalweg::spec::programs::kBegin, thalweg::spec::programs::kInstructions, thalweg::spec::programs::Operation;
  nb::dict made;
  for (std::size_t k = 0; k < kBegin.size(); ++k) {
    const auto [name, begin] = kBegin[k];
    const std::size_t end = k + 1 < kBegin.size() ? kBegin[k + 1].second : kInstructions.size();
    nb::list listed;
    for (std::size_t at = begin; at < end; ++at) {
      const auto& one = kInstructions[at];
      const bool jumps =
          one.operation == Operation::call || (one.operation >= Operation::eq && one.operation <= Operation::ge);
      listed.append(nb::make_tuple(nb::str(one.text.data(), one.text.size()),
                                   jumps ? nb::object(nb::int_(one.target - begin)) : nb::none()));
    }
    made[nb::str(name.data(), name.size())] = listed;
  }
  return made;
}

std::span<const std::byte> bytes_of(const nb::bytes& data) {
  return {static_cast<const std::byte*>(data.data()), data.size()};
}

}  // namespace

NB_MODULE(_sim, module) {
  nb::module_::import_("thalweg.systems.mpi_fpga._sim");  // its switches may execute collectives
  module.doc() = "ACCL: boards with offload engines.";

  nb::class_<Boards> bound(module, "Network");
  bind_engine_of(bound, [](Boards& self) -> Engine& { return self.engine(); });
  bind_attached_of(bound);
  bound
      .def(nb::init<const nb::dict&, const std::string&, const std::map<unsigned, std::string>&,
                    const mpi_fpga::FabricConfig*, unsigned, const mpi_fpga::Choice*>(),
           nb::arg("description"), nb::arg("capture") = "", nb::arg("libraries") = std::map<unsigned, std::string>(),
           nb::arg("switches") = nb::none(), nb::arg("ranks") = 0, nb::arg("choice") = nb::none(),
           "`capture`: pcapng file to write. `libraries`: files of the Verilated nodes, by rank. `switches`: the "
           "switches that execute the collectives of the first `ranks`; their clock must be in the description. "
           "`choice`: selects their algorithms.\n\nRaises ValueError if the description is invalid, or if the switches "
           "have fewer nodes than ranks.")
      .def_prop_ro("ranks", [](const Boards& self) { return self.network.ranks(); })
      .def(
          "read",
          [](Boards& self, unsigned rank, std::uint64_t address) {
            return self.network.board(rank).exchange.read(address);
          },
          nb::arg("rank"), nb::arg("address"), "Returns a word of the exchange memory, or None beyond its end.")
      .def(
          "write",
          [](Boards& self, unsigned rank, std::uint64_t address, std::uint32_t value) {
            return self.network.board(rank).write(address, value);
          },
          nb::arg("rank"), nb::arg("address"), nb::arg("value"),
          "Writes a word of the exchange memory; returns False beyond its end.")
      .def(
          "record", [](Boards& self, unsigned rank) { self.network.board(rank).record(self.recorded[rank]); },
          nb::arg("rank"), "Starts to record the transactions at the engine's ports.")
      .def(
          "recorded",
          [](const Boards& self, unsigned rank) {
            std::vector<std::tuple<std::string, bool, std::uint64_t, std::uint64_t, nb::bytes>> all;
            for (const Transaction& one : self.recorded.at(rank))
              all.emplace_back(std::string(1, one.port), one.host, one.at, one.bytes,
                               nb::bytes(one.frame.data(), one.frame.size()));
            return all;
          },
          nb::arg("rank"),
          "Returns the recorded transactions: port (x, y: operand read; z: result write; s: frame sent), whether it "
          "accesses host memory, address, bytes, frame.")
      .def(
          "rewire",
          [](Boards& self, unsigned node, const std::vector<std::pair<unsigned, unsigned>>& pairs) {
            self.network.rewire(node, pairs);
          },
          nb::arg("node"), nb::arg("pairs"),
          "Sets the port pairs that an optical switch connects; all others are disconnected.\n\nRaises ValueError if a "
          "port does not exist or is in two pairs.")
      .def(
          "allocate",
          [](Boards& self, unsigned rank, bool host, std::uint64_t address, std::uint64_t size) {
            self.memory(rank, host).allocate(address, size);
          },
          nb::arg("rank"), nb::arg("host"), nb::arg("address"), nb::arg("size"),
          "Allocates a range of a memory.\n\nRaises ValueError beyond the end of the memory.")
      .def(
          "load",
          [](Boards& self, unsigned rank, bool host, std::uint64_t address,
             std::uint64_t size) -> std::optional<nb::bytes> {
            const Memory& memory = self.memory(rank, host);
            if (!memory.has(address, size)) return std::nullopt;
            std::vector<std::byte> data(size);
            memory.read(address, data);
            return nb::bytes(data.data(), data.size());
          },
          nb::arg("rank"), nb::arg("host"), nb::arg("address"), nb::arg("size"),
          "Returns bytes of a memory, or None if they are not allocated.")
      .def(
          "store",
          [](Boards& self, unsigned rank, bool host, std::uint64_t address, const nb::bytes& data) {
            Memory& memory = self.memory(rank, host);
            memory.allocate(address, data.size());
            memory.write(address, bytes_of(data));
          },
          nb::arg("rank"), nb::arg("host"), nb::arg("address"), nb::arg("data"),
          "Allocates and writes bytes.\n\nRaises ValueError beyond the end of the memory.")
      .def(
          "submit",
          [](Boards& self, Handle handle, unsigned rank, unsigned port, const std::vector<std::uint32_t>& words) {
            require(words.size() == kCallWords, "a call has 15 words, not " + std::to_string(words.size()));
            self.network.submit(handle, rank, port, Call::of(std::span(words).first<kCallWords>()));
          },
          nb::kw_only(), nb::arg("handle"), nb::arg("rank"), nb::arg("port"), nb::arg("words"),
          "Submits a call, given as the words of the command stream. Ports: 0 and 1 are the host's, 2 is the "
          "kernels'.\n\nRaises ValueError if the call is invalid.")
      .def(
          "take_end", [](Boards& self, Handle handle) { return self.network.take_end(handle); }, nb::arg("handle"),
          "Returns and removes the return code of a completed call, and the reason if it is not 0.\n\nRaises "
          "ValueError if no such call has completed.")
      .def(
          "advance",
          [](Boards& self, Tick until) {
            const auto watched = self.watch();
            return advance_of(self.engine(), until);
          },
          nb::arg("until"), "Runs until a tick or the end of the first tick in which a call ended; NEVER: until idle.")
      .def(
          "work",
          [](Boards& self, Tick until) {
            const auto watched = self.watch();
            const Running running(&self.engine());
            std::vector<Completion> completed;
            self.network.work(until, completed);
            return completed;
          },
          nb::arg("until"), "As advance(), but does not move time beyond the last event.")
      .def(
          "expire",
          [](Boards& self) {
            const auto watched = self.watch();
            std::vector<Completion> completed;
            self.network.expire(completed);
            return completed;
          },
          "Advances to the next time-out, and ends the calls that time out.")
      .def(
          "time_out",
          [](const Boards& self) -> std::optional<Tick> {
            const Tick tick = self.network.time_out();
            return tick == kNever ? std::nullopt : std::optional(tick);
          },
          "Returns the tick of the next time-out, or None.")
      .def(
          "give",
          [](Boards& self, unsigned rank, const nb::bytes& data) { self.network.board(rank).give(bytes_of(data)); },
          nb::arg("rank"), nb::arg("data"), "Sends a packet from a kernel to the engine, padded to words of 64 bytes.")
      .def(
          "take",
          [](Boards& self, unsigned rank) {
            nb::list all;
            for (const auto& packet : self.network.board(rank).take())
              all.append(nb::make_tuple(packet.stream, nb::bytes(packet.data.data(), packet.data.size()), packet.at));
            return all;
          },
          nb::arg("rank"), nb::sig("def take(self, rank: int) -> list[tuple[int, bytes, int]]"),
          "Returns and removes the packets for kernels: stream number, data, tick of the last word.")
      .def_prop_ro(
          "failed",
          [](const Boards& self) {
            nb::list all;
            for (const auto& one : self.network.failed()) all.append(nb::make_tuple(one.who, one.code, one.why));
            return all;
          },
          nb::sig("def failed(self, /) -> list[tuple[str, int, str]]"),
          "Failed calls of kernels: caller, return code, reason.")
      .def_prop_ro(
          "unlit", [](const Boards& self) { return self.network.unlit(); },
          "One line for each pair of ranks that had no light path when one sent to the other.")
      .def(
          "missing_light",
          [](const Boards& self, unsigned one, unsigned other) { return self.network.missing_light(one, other); },
          nb::arg("one"), nb::arg("other"),
          "Returns why no light path connects the boards of two ranks; empty if one does.")
      .def(
          "clock_hz",
          [](Boards& self, unsigned rank) {
            return static_cast<double>(self.network.ticks_per_second()) /
                   static_cast<double>(self.network.board(rank).domain().clock.period);
          },
          nb::arg("rank"), "Returns the clock frequency of a board's engine, in Hz.")
      .def(
          "kernel_stream",
          [](Boards& self, unsigned rank, const std::string& what, unsigned number, std::size_t depth,
             const std::string& name) {
            auto& of = self.kernels();
            auto* pipe = what == "commands"      ? &of.commands(rank, number)
                         : what == "status"      ? &of.status(rank, number)
                         : what == "to engine"   ? &of.to_engine(rank, depth)
                         : what == "from engine" ? &of.from_engine(rank, number, depth)
                                                 : &of.stream_between(rank, name, depth);
            self.pipes.push_back(pipe);
            return self.pipes.size() - 1;
          },
          nb::arg("rank"), nb::arg("what"), nb::arg("number"), nb::arg("depth"), nb::arg("name"),
          "Creates a stream of a rank's kernels and returns its number for start_kernel(). `what`: `commands`, "
          "`status` (of pair `number`), `to engine`, `from engine` (stream `number`), `between` (two kernels).")
      .def(
          "start_kernel",
          [](Boards& self, Handle handle, unsigned rank, const std::string& library, const std::string& kernel,
             const nb::list& arguments, bool serves, std::optional<Tick> limit, double patience) {
            std::deque<KernelProgram::Region> regions;
            std::vector<KernelProgram::Argument> values;
            for (const auto& each : arguments) values.push_back(argument_of(each, regions, self.pipes));
            self.kernels().start(handle, rank, library, kernel, values,
                                 {.serves = serves, .limit = limit.value_or(kNever), .patience_s = patience});
          },
          nb::kw_only(), nb::arg("handle"), nb::arg("rank"), nb::arg("library"), nb::arg("kernel"),
          nb::arg("arguments"), nb::arg("serves"), nb::arg("limit"), nb::arg("patience"),
          nb::sig("def start_kernel(self, *, handle: int, rank: int, library: str, kernel: str, arguments: "
                  "list[tuple[Any, ...]], serves: bool, limit: int | None, patience: float) -> None"),
          "Starts a kernel in the next cycle; the handle completes when it ends.\n\nRaises RuntimeError if the library "
          "has no kernel of that name.")
      .def(
          "disconnect", [](Boards& self) { self.network.disconnect(); },
          "Starts to close the connections of all boards. With TCP, this takes simulated time until the peers have "
          "acknowledged.")
      .def_prop_ro(
          "disconnecting", [](const Boards& self) { return self.network.disconnecting(); },
          "Number of closed connections that their peers have not acknowledged yet.")
      .def(
          "close", [](Boards& self) { self.network.close(); }, "Closes the capture file.")
      .def(
          "link_use", [](const Boards& self) { return link_use(self.network.assembly()); },
          "Returns, per link direction: sending node and port, ticks per window, 64-byte words in each window.");

  module.def(
      "programs", &programs, nb::sig("def programs() -> dict[str, list[tuple[str, int | None]]]"),
      "Returns the sequencer's program of each operation: text of each instruction, and target index of a jump.");
  nb::exception<Misuse>(module, "Misuse");
  module.def("ip_address", &ip_of, nb::arg("node"), "Returns the IP address of a board, as a number.");
  module.def("ethernet_address", &ethernet::address_of, nb::arg("node"),
             "Returns the Ethernet address of a board, as a number.");
}
