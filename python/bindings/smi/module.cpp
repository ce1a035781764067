// SPDX-License-Identifier: Apache-2.0
// Python bindings of SMI clusters and the kernels that run on them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <tuple>

#include "../assembly.hpp"
#include "../engine.hpp"
#include "../running.hpp"
#include "in_switch/smi_collectives.hpp"
#include "smi/driver/fabric.hpp"
#include "smi/guard.hpp"
#include "smi/program.hpp"
#include "smi/rtl_node.hpp"
#include "switch/rtl_library.hpp"

namespace nb = nanobind;
using namespace thalweg;
using namespace thalweg::smi;

namespace {

using EndpointTuple = std::tuple<unsigned, unsigned, unsigned, unsigned>;  // kind, port, buffer in packets, size

/// Makes Verilated nodes from libraries of rtl/smi/node.cpp, by rank; the simulator's for ranks without one.
Fabric::MakeNode hardware(const std::vector<std::string>& libraries) {
  if (libraries.empty()) return Fabric::sim_node;
  return [&libraries](const NodeModel::Config& config, Domain& clock) -> std::unique_ptr<NodeModel> {
    const auto& library = libraries.at(config.rank);
    if (library.empty()) return Fabric::sim_node(config, clock);
    auto* make = function_of<NodeCircuit*(unsigned)>(library, "smi_make_node");
    return std::make_unique<RtlNode>(config, std::unique_ptr<NodeCircuit>(make(config.rank)));
  };
}

constexpr const char* kSwitches = "clock of the switches";  ///< as in thalweg/in_switch.py

/// A fabric and its program.
class Run {
 public:
  Run(const nb::dict& description, const std::vector<std::vector<EndpointTuple>>& endpoints, unsigned ranks,
      const std::vector<std::string>& libraries, const mpi_fpga::FabricConfig* switches,
      const std::vector<std::vector<EndpointTuple>>& collectives)
      : fabric_(description_of(description), endpoints_of(endpoints), hardware(libraries)) {
    std::vector<std::vector<Program::Port>> ports(fabric_.ranks());
    for (unsigned rank = 0; rank < fabric_.ranks(); ++rank) {
      auto& board = fabric_.board(rank);
      unsigned number = 0;
      for (auto& port : board.ports()) {
        ports[rank].push_back({.endpoint = port.endpoint,
                               .open = &port.open,
                               .in = &port.in,
                               .out = &port.out,
                               .waits = [&board, number] { return board.node().waits(number); }});
        ++number;
      }
    }
    const auto& channels = fabric_.channels();
    if (switches) {
      switches_.emplace(fabric_.time(), fabric_.clock(), fabric_.clock(kSwitches), *switches, channels.latency,
                        endpoints_of(collectives));
      for (unsigned rank = 0; rank < collectives.size(); ++rank)
        for (auto& port : switches_->ports(rank)) ports[rank].push_back(std::move(port));
    }
    const auto& banks = fabric_.banks();
    const Program::Config config{.world = ranks,
                                 .packet_bytes = channels.packet_bytes,
                                 .eager = channels.eager,
                                 .synchronous = channels.synchronous,
                                 .circuits = channels.circuits > 0,
                                 .arity = channels.arity,
                                 .tile = channels.tile,
                                 .children = switches ? kMaxRanks : channels.children,
                                 .any_order = channels.any_order,
                                 .banks = banks.number,
                                 .bank = banks.timing,
                                 .ticks_per_second = fabric_.ticks_per_second(),
                                 .lost = [this] { return fabric_.lost(); }};
    program_ = std::make_unique<Program>(fabric_.time(), fabric_.clock(), config, std::move(ports));
    guard_ = std::make_unique<Guard>(*program_);
  }

  void load(
      const std::vector<std::tuple<std::vector<std::vector<std::uint8_t>>, std::vector<std::vector<std::uint8_t>>>>&
          tables) {
    std::vector<Tables> all;
    for (const auto& [send, receive] : tables) all.push_back({send, receive});
    fabric_.load(all);
  }
  [[nodiscard]] unsigned ranks() const { return program_->ranks(); }
  [[nodiscard]] double hertz() const { return fabric_.hertz(); }

  std::size_t buffer(unsigned rank, unsigned bank, const std::string& name, std::size_t bytes) {
    buffers_.push_back(&program_->buffer(rank, bank, name, bytes));
    return buffers_.size() - 1;
  }
  /// A view of a buffer's bytes, without a copy.
  static nb::ndarray<nb::numpy, std::uint8_t> view(nb::handle self, std::size_t number) {
    auto& run = nb::cast<Run&>(self);
    auto& buffer = *run.buffers_.at(number);
    const std::size_t shape[] = {buffer.bytes};
    return nb::ndarray<nb::numpy, std::uint8_t>(buffer.at, 1, shape, self);
  }
  /// Each argument is bytes, or the number of a buffer.
  void start(unsigned rank, const std::string& library, const std::string& kernel, const nb::list& arguments,
             bool serves) {
    std::vector<Program::Argument> made;
    for (const auto& argument : arguments) {
      auto& to = made.emplace_back();
      if (nb::isinstance<nb::int_>(argument)) {
        to.buffer = buffers_.at(nb::cast<std::size_t>(argument));
      } else {
        const auto bytes = nb::cast<nb::bytes>(argument);
        const auto* data = static_cast<const std::byte*>(bytes.data());
        to.bytes.assign(data, data + bytes.size());
      }
    }
    program_->start(rank, library, kernel, std::move(made), serves);
  }
  void run() {
    const Running running(this);
    program_->run();
  }
  void limit(std::uint64_t cycle) { program_->limit(static_cast<Tick>(cycle)); }
  void watch(unsigned patience) { guard_->watch(patience); }
  [[nodiscard]] nb::tuple fault() const { return nb::make_tuple(guard_->fault(), guard_->impatient()); }
  [[nodiscard]] nb::list started() const {
    nb::list all;
    for (const auto& kernel : program_->started())
      all.append(nb::make_tuple(kernel.rank, kernel.kernel, kernel.serves, kernel.ended, kernel.cycle));
    return all;
  }
  void record() { program_->record(); }
  /// Returns, for each kernel, a list of causes of stalls, each with spans in ticks.
  [[nodiscard]] nb::list stalls() const {
    nb::list all;
    for (const auto& kernel : program_->started()) {
      nb::list of;
      for (const auto& cause : kernel.stalls ? kernel.stalls->all() : std::vector<Stalls::Of>{}) {
        nb::list spans;
        for (const auto& span : cause.spans) spans.append(nb::make_tuple(span.begin, span.end, span.stalled));
        of.append(nb::make_tuple(cause.cause.text(), spans));
      }
      all.append(of);
    }
    return all;
  }
  [[nodiscard]] nb::list link_use() const { return thalweg::link_use(fabric_.assembly()); }
  [[nodiscard]] std::vector<std::string> warnings() const { return program_->warnings(); }
  [[nodiscard]] std::uint64_t elements() const { return program_->elements(); }
  [[nodiscard]] Engine& engine() { return *program_; }

 private:
  static std::vector<std::vector<EndpointOf>> endpoints_of(const std::vector<std::vector<EndpointTuple>>& given) {
    std::vector<std::vector<EndpointOf>> made;
    for (const auto& of : given) {
      auto& rank = made.emplace_back();
      for (const auto& [kind, port, buffer, size] : of)
        rank.push_back({.kind = static_cast<EndpointKind>(kind), .port = port, .buffer = buffer, .size = size});
    }
    return made;
  }

  Fabric fabric_;
  std::optional<in_switch::SmiCollectives> switches_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<Guard> guard_;
  std::vector<Buffer*> buffers_;
};

}  // namespace

NB_MODULE(_sim, module) {
  nb::module_::import_("thalweg.systems.mpi_fpga._sim");  // its switches may execute collectives
  module.doc() = "SMI clusters and the kernels that run on them.";
  nb::exception<Misuse>(module, "Misuse");
  nb::exception<NodeDifference>(module, "Difference");

  nb::class_<Run> bound(module, "Run");
  bound
      .def(nb::init<const nb::dict&, const std::vector<std::vector<EndpointTuple>>&, unsigned,
                    const std::vector<std::string>&, const mpi_fpga::FabricConfig*,
                    const std::vector<std::vector<EndpointTuple>>&>(),
           nb::arg("description"), nb::arg("endpoints"), nb::arg("ranks"), nb::arg("libraries"),
           nb::arg("switches") = nb::none(), nb::arg("collectives") = std::vector<std::vector<EndpointTuple>>(),
           "`switches`: the switches that execute the `collectives` ports; their clock must be in the description.")
      .def_prop_ro("ranks", &Run::ranks)
      .def_prop_ro("hertz", &Run::hertz)
      .def_prop_ro("warnings", &Run::warnings)
      .def_prop_ro("elements", &Run::elements, "Number of elements that kernels have pushed and popped.")
      .def("load", &Run::load, nb::arg("tables"))
      .def("buffer", &Run::buffer, nb::arg("rank"), nb::arg("bank"), nb::arg("name"), nb::arg("bytes"))
      .def(
          "view", [](nb::handle self, std::size_t number) { return Run::view(self, number); }, nb::arg("number"))
      .def("start", &Run::start, nb::arg("rank"), nb::arg("library"), nb::arg("kernel"), nb::arg("arguments"),
           nb::arg("serves"))
      .def("run", &Run::run)
      .def("limit", &Run::limit, nb::arg("cycle"), "Sets the last cycle in which a kernel that does not serve may end.")
      .def("watch", &Run::watch, nb::arg("patience"),
           "Call in the process that was forked for the run. A fault of a kernel ends it, as do `patience` seconds of "
           "processor time in which no kernel uses a channel or memory; 0: no limit.")
      .def("fault", &Run::fault,
           "Returns why that process ended (empty without a fault), and whether its patience expired.")
      .def("started", &Run::started,
           "Returns, per started kernel: rank, name, whether it serves, whether it has ended, cycle of its end.")
      .def("record", &Run::record, "Makes kernels that are started later record their stalls.")
      .def("stalls", &Run::stalls,
           "Returns, per kernel, the causes of its stalls, each with spans (begin, end, stalled ticks).")
      .def("link_use", &Run::link_use,
           "Returns, per link direction: sending node and port, ticks per window, words in each window.");
  bind_engine_of(bound, [](Run& run) -> Engine& { return run.engine(); });
}
