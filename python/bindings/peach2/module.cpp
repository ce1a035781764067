// SPDX-License-Identifier: Apache-2.0
// Python bindings of clusters of PEACH2 hubs.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <tuple>

#include "../assembly.hpp"
#include "../engine.hpp"
#include "../running.hpp"
#include "core/require.hpp"
#include "peach2/peach2.hpp"
#include "peach2/rtl_hub.hpp"
#include "switch/rtl_library.hpp"

namespace nb = nanobind;
using namespace thalweg;
using namespace thalweg::peach2;

namespace {

constexpr unsigned kHubMemory = kMemories;  ///< the hub's own memory, numbered after the host's

std::span<const std::byte> view(const nb::bytes& data) {
  return {static_cast<const std::byte*>(data.data()), data.size()};
}

/// Makes Verilated hubs from a library of rtl/peach2/hub.cpp.
Fabric::MakeHub hardware(const std::string& library) {
  auto* make = function_of<HubCircuit*(unsigned, unsigned)>(library, "peach2_make_hub");
  return [make](const Hub::Config& config, std::uint16_t own, unsigned node, Domain&, Domain&) {
    return std::make_unique<RtlHub>(config, own, node, std::unique_ptr<HubCircuit>(make(own, config.base)));
  };
}

/// Writes were rejected or dropped; what() has a line for each.
class WritesLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Kernels have read old data; what() has a line for each read.
class StaleRead : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The bound fabric with its front.
class Hubs {
 public:
  using Number = std::uint64_t;
  using WindowOf = std::tuple<Number, Number, Number, Number>;  // output port, mask, lower, upper
  using Windows = std::vector<std::vector<WindowOf>>;

  /// `library`: library of Verilated hubs, or empty for the simulator's.
  Hubs(const nb::dict& description, const Windows& windows, const std::string& library)
      : fabric_(description_of(description), tables_of(windows), library.empty() ? Fabric::sim_hub : hardware(library)),
        front_(fabric_) {
    fabric_.call_between([this] { check_signals(); });
  }

  [[nodiscard]] Engine& engine() { return fabric(); }
  [[nodiscard]] unsigned nodes() const { return fabric_.nodes(); }
  [[nodiscard]] double cycles_per_second() const { return fabric_.cycles_per_second(); }

  void write(Number node, Number memory, Number at, const nb::bytes& data) {
    auto& to = place(node, memory, at, data.size());
    if (memory == kHubMemory)
      to.write(at, view(data));
    else
      fabric().node(of(node)).host().set(static_cast<unsigned>(memory), at, view(data));
  }
  nb::bytes read(Number node, Number memory, Number at, Number count) {
    const auto& from = place(node, memory, at, count);
    PyObject* bytes = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(count));
    if (!bytes) throw nb::python_error();
    from.read(at, {reinterpret_cast<std::byte*>(PyBytes_AsString(bytes)), count});
    return nb::steal<nb::bytes>(bytes);
  }

  Outcome store(Number node, Number to, const nb::bytes& data) { return front().store(of(node), to, view(data)); }
  Outcome await(Number node, Number at, Number value) {
    return front().await(of(node), at, narrow<std::uint32_t>("the value of a wait", value));
  }
  Outcome work(Number node, double ns) { return front().work(of(node), cycles(ns)); }
  Outcome copy(Number node, Number to, Number to_at, Number from, Number from_at, Number bytes) {
    return front().copy(of(node), {narrow<unsigned>("a memory", to), to_at},
                        {narrow<unsigned>("a memory", from), from_at}, bytes);
  }
  Outcome kernel(Number node, double ns, const Sources& reads) { return front().kernel(of(node), cycles(ns), reads); }
  Outcome flush(Number node, Number gpu) { return front().flush(of(node), narrow<unsigned>("a GPU", gpu)); }
  Outcome chain(Number node, const std::vector<std::tuple<Number, Number, Number>>& copies, bool in_host, bool waits) {
    std::vector<Copy> made;
    made.reserve(copies.size());
    for (const auto& [to, from, bytes] : copies) made.push_back({to, from, bytes});
    return front().chain(of(node), made, in_host ? Descriptors::host : Descriptors::ram, waits);
  }
  Outcome get(Number node, Number to, Number from, Number bytes) { return front().get(of(node), to, from, bytes); }
  Outcome reduce(Number node, Number to, const Sources& from, const Reduction& how, bool by_hub) {
    return front().reduce(of(node), to, from, how, by_hub);
  }
  std::shared_ptr<Peach2::Group> group(const std::vector<Number>& nodes, Number at, const Reduction& how,
                                       const std::vector<Number>& memories) {
    std::vector<unsigned> made, to;
    for (const Number node : nodes) made.push_back(of(node));
    for (const Number memory : memories) to.push_back(narrow<unsigned>("a memory", memory));
    return std::make_shared<Peach2::Group>(front().group(made, at, how, to));
  }
  Outcome reduce_in(Peach2::Group& group, Number node, const Sources& from) {
    return front().reduce(group, of(node), from);
  }

  void load(const Windows& windows) { fabric().load(tables_of(windows)); }
  void run() {
    static_cast<void>(fabric());
    try {
      const Running running(this);
      front_.run();
    } catch (const Stuck& stuck) {
      const auto lost = front_.settle(), stale = front_.take_stale();
      front_.recover();
      Stuck with_losses(stuck.what() + after_line(lost) + after_line(stale), stuck.blocked);
      with_losses.ticks_per_second = stuck.ticks_per_second;
      throw with_losses;
    } catch (const std::bad_alloc&) {
      exhausted_ = true;
      throw;
    }
    const auto lost = front_.settle(), stale = front_.take_stale();
    if (!lost.empty()) throw WritesLost(lost + after_line(stale));
    if (!stale.empty()) throw StaleRead(stale);
  }
  Outcome abort(Number node, unsigned channel) { return front().abort(of(node), channel); }
  Outcome reset(Number node) { return front().reset(of(node)); }
  Outcome timeout(Number node, double us) {
    const double most = static_cast<double>(kMostTimeout) * kTimeoutUnit / cycles_per_second() * 1e6;
    require(us >= 0 && us <= most,
            "a time-out of " + std::to_string(us) + " us; must be 0 (none) to " + std::to_string(most));
    return front().timeout(of(node), static_cast<std::uint64_t>(std::ceil(us * 1e-6 * cycles_per_second())));
  }
  Outcome restart_host(Number node) { return front().restart_host(of(node)); }
  Outcome owners(Number node, std::uint32_t nodes) { return front().owners(of(node), nodes); }
  Outcome translate(Number node, unsigned link, bool outbound, Number first, Number to, Number bytes) {
    return front().translate(of(node), link, outbound, first, to, bytes);
  }
  nb::dict counts(Number number) {
    const unsigned node = of(number);
    const auto counts = front().counts(node);
    nb::dict all;
    all["chains"] = counts.chains;
    all["missed"] = counts.missed;
    all["faults"] = counts.faults;
    all["strays"] = counts.strays;
    all["dropped"] = counts.dropped;
    const auto records = [](const auto& of_all) {
      nb::list made;
      for (const auto& [count, note] : of_all)
        made.append(nb::make_tuple(count, note.reason, note.read, note.address, note.source.node, note.source.port));
      return made;
    };
    all["refused"] = records(counts.refused);
    all["given_up"] = records(counts.given_up);
    all["results"] = nb::cast(counts.results);
    all["unclaimed"] = fabric().node(node).host().unclaimed();
    return all;
  }
  [[nodiscard]] Tick start() const { return fabric_.start(); }
  [[nodiscard]] nb::list link_use() { return thalweg::link_use(fabric().assembly()); }
  double us(const Times& times) const {
    return static_cast<double>(times.end - times.begin) / cycles_per_second() * 1e6;
  }

  /// Maximum numbers of copies of a chain in the working RAM, and of descriptors of a context's chain.
  [[nodiscard]] std::pair<Number, Number> ram_copies() {
    const AddressMap map(fabric());
    return {map.ram_copies(), map.result_copies()};
  }

 private:
  Fabric& fabric() {
    Running::check(this);
    require(!exhausted_, "the last run ran out of memory, amid a step: create new hubs");
    return fabric_;
  }
  Peach2& front() {
    static_cast<void>(fabric());
    return front_;
  }
  /// Lets a signal such as Ctrl-C end a run; the next one continues.
  void check_signals() {
    constexpr auto kInterval = std::chrono::milliseconds(50);
    const auto now = std::chrono::steady_clock::now();
    if (now - checked_ < kInterval) return;
    checked_ = now;
    const nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  static Tables tables_of(const Windows& windows) {
    Tables tables;
    for (const auto& of_hub : windows) {
      auto& table = tables.emplace_back();
      for (const auto& [to, mask, lower, upper] : of_hub)
        table.push_back({true, narrow<unsigned>("a window's port", to), narrow<std::uint32_t>("a window's mask", mask),
                         narrow<std::uint32_t>("a window's lower bound", lower),
                         narrow<std::uint32_t>("a window's upper bound", upper)});
    }
    return tables;
  }
  static std::string after_line(const std::string& lines) { return lines.empty() ? "" : "\n" + lines; }
  [[nodiscard]] Tick cycles(double ns) const {
    constexpr double kMost = 1e15;  // 11 days
    require(ns >= 0 && ns <= kMost, "work of " + std::to_string(ns) + " ns; must be 0 to 1e15");
    return static_cast<Tick>(std::llround(ns * 1e-9 * cycles_per_second()));
  }
  template <class To>
  static To narrow(const char* what, Number value) {
    require(value <= std::numeric_limits<To>::max(), what + (" is " + std::to_string(value)) + "; the largest is " +
                                                         std::to_string(std::numeric_limits<To>::max()));
    return static_cast<To>(value);
  }
  unsigned of(Number node) const {
    require(node < nodes(),
            "node " + std::to_string(node) + " does not exist; the last one is " + std::to_string(nodes() - 1));
    return static_cast<unsigned>(node);
  }
  /// Returns the memory that contains a range, which must not overlap the library's part.
  SparseMemory& place(Number number, Number memory, Number at, Number count) {
    auto& node = fabric().node(of(number));
    require(memory <= kHubMemory,
            "memory " + std::to_string(memory) + " does not exist; a node has 0 to " + std::to_string(kHubMemory));
    auto& found = memory == kHubMemory ? node.memory() : node.host().memory(static_cast<unsigned>(memory));
    const Number size = memory == kProcessor ? kProgramBytes : found.size();
    require(at <= size && count <= size - at && count <= kMostBytes,
            std::to_string(count) + " bytes at " + std::to_string(at) + " of " + found.name() +
                ": a program may use the first " + std::to_string(size) + " bytes, at most " +
                std::to_string(kMostBytes) + " at once");
    return found;
  }

  Fabric fabric_;
  Peach2 front_;
  bool exhausted_ = false;
  std::chrono::steady_clock::time_point checked_;
};

}  // namespace

NB_MODULE(_sim, module) {
  module.doc() = "Clusters of PEACH2 hubs.";
  nb::exception<WritesLost>(module, "WritesLost");
  nb::exception<StaleRead>(module, "StaleRead");
  nb::exception<HubDifference>(module, "Difference");

  nb::class_<Times>(module, "Times")
      .def_ro("begin", &Times::begin, "cycle of the packet clock; negative before the operation begins")
      .def_ro("end", &Times::end)
      .def_ro("error", &Times::error, "reason for a failure; empty if there was none")
      .def_prop_ro(
          "seen",
          [](const Times& times) {
            std::vector<nb::bytes> ranges;
            for (const auto& range : times.seen) ranges.emplace_back(range.data(), range.size());
            return ranges;
          },
          "what a kernel has read, by range");
  nb::class_<Reduction>(module, "Reduction")
      .def(
          "__init__",
          [](Reduction* made, std::uint64_t context, unsigned op, unsigned type, std::uint64_t record_bytes,
             bool tree) {
            // The front's checks reject the saturated value as well.
            const auto at_most = [](std::uint64_t value) {
              return static_cast<unsigned>(std::min<std::uint64_t>(value, ~0u));
            };
            new (made) Reduction{at_most(context), static_cast<thalweg::spec::Operator>(op),
                                 static_cast<thalweg::spec::Datatype>(type), at_most(record_bytes), tree};
          },
          nb::arg("context"), nb::arg("op"), nb::arg("type"), nb::arg("record_bytes"), nb::arg("tree"));
  nb::class_<Peach2::Group>(module, "Group");
  nb::class_<Hubs> hubs(module, "Hubs");
  bind_engine_of(hubs, [](Hubs& of) -> Engine& { return of.engine(); });
  hubs.def(nb::init<const nb::dict&, const Hubs::Windows&, const std::string&>(), nb::arg("description"),
           nb::arg("windows"), nb::arg("library") = "")
      .def_prop_ro("nodes", &Hubs::nodes)
      .def_prop_ro("cycles_per_second", &Hubs::cycles_per_second)
      .def_prop_ro("ram_copies", &Hubs::ram_copies,
                   "maximum numbers of copies of a chain in the working RAM, and of descriptors of a context's chain")
      .def("write", &Hubs::write)
      .def("read", &Hubs::read)
      .def("store", &Hubs::store)
      .def("wait_for", &Hubs::await)
      .def("work", &Hubs::work, nb::arg("node"), nb::arg("ns"))
      .def("copy", &Hubs::copy)
      .def("kernel", &Hubs::kernel)
      .def("flush", &Hubs::flush)
      .def("chain", &Hubs::chain)
      .def("get", &Hubs::get)
      .def("reduce", &Hubs::reduce)
      .def("group", &Hubs::group)
      .def("reduce_in", &Hubs::reduce_in)
      .def("load", &Hubs::load)
      .def("run", &Hubs::run)
      .def("abort", &Hubs::abort, nb::arg("node"), nb::arg("channel"))
      .def("reset", &Hubs::reset)
      .def("timeout", &Hubs::timeout, nb::arg("node"), nb::arg("us"))
      .def("restart_host", &Hubs::restart_host)
      .def("owners", &Hubs::owners, nb::arg("node"), nb::arg("nodes"))
      .def("translate", &Hubs::translate)
      .def("counts", &Hubs::counts)
      .def("us", &Hubs::us)
      .def_prop_ro("start", &Hubs::start, "tick of time 0")
      .def("link_use", &Hubs::link_use,
           "Returns, per link direction: sending node and port, ticks per window, words in each window.");
  module.def("memory_address", &memory_address, nb::arg("node"), nb::arg("memory"), nb::arg("at") = 0);
  module.def("hub_address", &hub_address, nb::arg("node"), nb::arg("at") = 0);
  module.def("register_address", &register_address, nb::arg("node"), nb::arg("number"));
  module.attr("HUB_MEMORY") = kHubMemory;
  module.attr("PROGRAM_BYTES") = kProgramBytes;
  module.attr("MOST_CONTEXTS") = kMostContexts;
  module.attr("MOST_SUMS") = kMostSums;
  module.attr("MOST_RECORD") = kMostRecord;
  module.attr("TIMEOUT_UNIT") = kTimeoutUnit;
  module.attr("MOST_TIMEOUT") = kMostTimeout;
}
