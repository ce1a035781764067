// SPDX-License-Identifier: Apache-2.0
// Python bindings of programs of servers and kernels, and of transfers by schedules. Python programs are generators;
// steps are the dataclasses of thalweg.systems.vcsn.hosts.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "../running.hpp"
#include "bound.hpp"
#include "vcsn/collectives.hpp"
#include "vcsn/hosts.hpp"
#include "vcsn/schedules.hpp"

namespace nb = nanobind;

namespace thalweg::vcsn {

namespace {

/// The classes of thalweg.systems.vcsn.hosts.
struct Hosts {
  nb::module_ module = nb::module_::import_("thalweg.systems.vcsn.hosts");
  nb::object work = module.attr("Work"), interrupt = module.attr("Interrupt"), barrier = module.attr("Barrier"),
             send = module.attr("Send"), receive = module.attr("Receive"), exchange = module.attr("Exchange"),
             pause = module.attr("Pause"), words = module.attr("Words");
};

/// Sends a value to an iterator, and returns its next object; null at the end.
nb::object sent(nb::handle iterator, nb::handle value) {
  PyObject* result = nullptr;
  switch (PyIter_Send(iterator.ptr(), value.ptr(), &result)) {
    case PYGEN_NEXT:
      return nb::steal(result);
    case PYGEN_RETURN:
      Py_XDECREF(result);
      return {};
    default:
      throw nb::python_error();
  }
}

std::string text_of(const char* function, nb::handle value) {
  return nb::cast<std::string>(nb::module_::import_("thalweg.arguments").attr(function)(value));
}
std::string shown(nb::handle value) {
  return text_of("shown", value);
}

/// The values of a step's field of type T, for error messages.
template <class T>
std::string values() {
  if constexpr (std::is_same_v<T, bool>)
    return "True or False";
  else if constexpr (std::is_same_v<T, nb::bytes>)
    return "bytes";
  else if constexpr (std::is_floating_point_v<T>)
    return "a number";
  else
    return "an integer from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
           text_of("limit", nb::int_(std::numeric_limits<T>::max()));
}
/// Reads a field of a step that `who` yields.
template <class T>
void read(nb::handle step, const char* name, T& value, const std::string& who) {
  const nb::object given = step.attr(name);
  if (nb::try_cast(given, value)) return;
  throw WrongProgram(who + " yields " + nb::cast<std::string>(step.type().attr("__name__")) + " whose " + name +
                     " is " + shown(given) + "; must be " + values<T>());
}

Step step_of(const Hosts& hosts, nb::handle given, std::int64_t server) {
  const std::string who = "the program of server " + std::to_string(server);
  if (nb::isinstance(given, hosts.work)) {
    Work work;
    read(given, "us", work.us, who);
    return work;
  }
  if (nb::isinstance(given, hosts.interrupt)) {
    Interrupt interrupt;
    read(given, "handle", interrupt.handle, who);
    return interrupt;
  }
  if (nb::isinstance(given, hosts.barrier)) return Barrier{};
  throw WrongProgram("a program yields Work, Interrupt or Barrier; that of server " + std::to_string(server) +
                     " yields " + shown(given));
}
nb::object object_of(const Hosts& hosts, const Step& step) {
  if (const auto* work = std::get_if<Work>(&step)) return hosts.work(work->us);
  if (const auto* interrupt = std::get_if<Interrupt>(&step)) return hosts.interrupt(interrupt->handle);
  return hosts.barrier();
}

Send send_of(nb::handle given, const std::string& who) {
  nb::bytes data;
  bool ends = true;
  std::uint8_t channel = 0;
  read(given, "data", data, who);
  read(given, "ends", ends, who);
  read(given, "channel", channel, who);
  const auto* first = static_cast<const std::byte*>(data.data());
  return Send({first, first + data.size()}, ends, channel);
}
Receive receive_of(nb::handle given, const std::string& who) {
  Receive receive;
  read(given, "words", receive.words, who);
  return receive;
}
Action action_of(const Hosts& hosts, nb::handle given, const std::string& who) {
  if (nb::isinstance(given, hosts.send)) return send_of(given, who);
  if (nb::isinstance(given, hosts.receive)) return receive_of(given, who);
  if (nb::isinstance(given, hosts.exchange)) {
    const nb::object send = given.attr("send"), receive = given.attr("receive");
    if (nb::isinstance(send, hosts.send) && nb::isinstance(receive, hosts.receive))
      return Exchange{send_of(send, who), receive_of(receive, who)};
  }
  if (nb::isinstance(given, hosts.pause)) {
    Pause pause;
    read(given, "cycles", pause.cycles, who);
    return pause;
  }
  throw WrongProgram("a kernel yields Send, Receive, Exchange or Pause; " + who + " yields " + shown(given));
}
nb::object words_of(const Hosts& hosts, const std::optional<Taken>& taken) {
  if (!taken) return nb::none();
  return hosts.words(nb::bytes(taken->bytes.data(), taken->bytes.size()), taken->ends, taken->channel);
}

/// A C++ program as a Python iterator.
struct Steps {
  Program program;
  Hosts hosts{};
};

RunOptions options_of(Bound& self, bool late) {
  return {.late = late, .engine = &self.engine(), .between = [] {
            const nb::gil_scoped_acquire held;
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
          }};
}

using Programs = std::vector<std::tuple<std::int64_t, nb::dict, nb::object>>;
using Kernels = std::vector<std::tuple<unsigned, unsigned, nb::object, bool>>;

/// Returns `program`; throws WrongProgram if it is not a generator.
nb::handle checked(const nb::object& program, const std::string& who) {
  if (PyIter_Check(program.ptr())) return program;
  throw WrongProgram("the program of " + who + " is " + shown(program) + "; must be a generator");
}

double run_programs(Bound& self, const Programs& programs, bool late, const Kernels& kernels) {
  const Hosts hosts;
  try {
    std::map<std::int64_t, Server> servers;
    for (const auto& [number, costs, program] : programs) {
      Server& made = servers[number];
      const std::string who = "server " + std::to_string(number);
      made.costs = ServerCosts::of(values_of(who, costs));
      if (nb::isinstance<Steps>(program))
        made.next = nb::cast<Steps&>(program).program;
      else
        made.next = [&hosts, number = number, of = checked(program, who)]() -> std::optional<Step> {
          const nb::gil_scoped_acquire held;
          const nb::object step = sent(of, nb::none());
          return step.is_valid() ? std::optional(step_of(hosts, step, number)) : std::nullopt;
        };
    }
    std::vector<Kernel> logic;
    for (const auto& [node, number, program, serves] : kernels) {
      const std::string who = "kernel " + std::to_string(number) + " of node " + std::to_string(node);
      logic.push_back(
          {node, number,
           [&hosts, who, of = checked(program, who)](const std::optional<Taken>& taken) -> std::optional<Action> {
             const nb::gil_scoped_acquire held;
             const nb::object step = sent(of, words_of(hosts, taken));
             return step.is_valid() ? std::optional(action_of(hosts, step, who)) : std::nullopt;
           },
           serves});
    }
    const RunOptions options = options_of(self, late);
    const Running running(options.engine);
    return run(self.network, servers, logic, options);
  } catch (const WrongProgram& error) {
    return refused([&]() -> double { throw error; });
  }
}

template <class T>
nb::tuple tuple_of(const std::vector<T>& all) {
  return nb::tuple(nb::cast(all));
}

}  // namespace

void bind_programs(nb::module_& module, nb::class_<Bound>& bound) {
  module.def(
      "barrier_us",
      [](const nb::dict& costs, std::size_t servers, std::optional<double> since_us) {
        return ServerCosts::of(values_of("the server", costs)).barrier(servers, since_us);
      },
      nb::arg("costs"), nb::arg("servers"), nb::arg("since_us") = nb::none());
  nb::class_<Steps>(module, "Steps", "Iterator over the steps of a server's program.")
      .def(
          "__iter__", [](nb::handle self) { return nb::borrow(self); }, nb::sig("def __iter__(self) -> Steps"))
      .def(
          "__next__",
          [](Steps& self) {
            const auto step = self.program();
            if (!step) throw nb::stop_iteration();
            return object_of(self.hosts, *step);
          },
          nb::sig("def __next__(self) -> thalweg.systems.vcsn.hosts.Work | thalweg.systems.vcsn.hosts.Interrupt | "
                  "thalweg.systems.vcsn.hosts.Barrier"));

  bound
      .def("run_programs", &run_programs, nb::arg("programs"), nb::arg("late"), nb::arg("kernels"),
           nb::sig("def run_programs(self, programs: Sequence[tuple[int, dict[str, typing.Any], "
                   "typing.Iterator[typing.Any]]], late: "
                   "bool, kernels: Sequence[tuple[int, int, typing.Iterator[typing.Any], bool]]) -> float"),
           "Runs the programs of servers (number, durations of actions, steps) and kernels (node, number, actions, "
           "True: the run does not wait for it) from now on; returns the time in us at which the last one "
           "ends.\n\nRaises FabricStopped, InputError or ValueError.")
      .def(
          "rewire_to_in_time",
          [](Bound& self, const std::vector<Ends>& circuits, const std::string& by) {
            const auto written = refused([&] {
              const RunOptions options = options_of(self, false);
              const Running running(options.engine);
              return self.front.rewire_in_time(circuits, way_of(by), options);
            });
            return std::pair(written.rows, written.us);
          },
          nb::arg("circuits"), nb::arg("by"),
          "Runs a re-wiring of all FPGAs in simulated time; returns the rows, each with the tick of its write, and the "
          "duration in us.\n\nRaises InputError or FabricStopped.");

  nb::class_<Move>(module, "Move", "Moves blocks from one node's memory to another's.")
      .def(
          "__init__",
          [](Move* made, unsigned source, const Port& source_port, unsigned destination, const Port& destination_port,
             const std::vector<unsigned>& blocks) {
            new (made) Move{source, source_port, destination, destination_port, blocks};
          },
          nb::arg("source"), nb::arg("source_port"), nb::arg("destination"), nb::arg("destination_port"),
          nb::arg("blocks"), "Ports are (external port, virtual port).")
      .def_ro("source", &Move::source)
      .def_ro("source_port", &Move::source_port)
      .def_ro("destination", &Move::destination)
      .def_ro("destination_port", &Move::destination_port)
      .def_prop_ro(
          "blocks", [](const Move& self) { return tuple_of(self.blocks); },
          nb::sig("def blocks(self) -> tuple[int, ...]"))
      .def_prop_ro(
          "passes", [](const Move& self) { return tuple_of(self.passes); },
          nb::sig("def passes(self) -> tuple[tuple[int, tuple[int, int], tuple[int, int]], ...]"),
          "Nodes whose crossbars forward the blocks, with input and output port.");
  nb::class_<Stage>(module, "Stage", "Concurrent transfers.")
      .def(
          "__init__", [](Stage* made, const std::vector<Move>& moves) { new (made) Stage{moves}; }, nb::arg("moves"))
      .def_prop_ro(
          "moves", [](const Stage& self) { return tuple_of(self.moves); },
          nb::sig("def moves(self) -> tuple[Move, ...]"));
  nb::class_<Schedule>(
      module, "Schedule",
      "The stages of a gather to a root, of a scatter from it, or of an allgather, whose root is the first "
      "node.")
      .def(
          "__init__",
          [](Schedule* made, unsigned root, const std::vector<Stage>& stages, bool rewired, bool everywhere, bool steps,
             const std::set<Schedule::Link>& others) {
            new (made) Schedule{root, stages, rewired, everywhere, steps, others};
          },
          nb::arg("root"), nb::arg("stages"), nb::kw_only(), nb::arg("rewired") = false, nb::arg("everywhere") = false,
          nb::arg("steps") = false, nb::arg("others") = std::set<Schedule::Link>(),
          "`rewired`: each stage opens the circuits of its own moves. `everywhere`: every node receives all blocks, "
          "over all its external ports concurrently. `steps`: only the rows that the first stage needs are written "
          "before it. `others`: additional circuits opened before the first stage, as node and port of both ends.")
      .def_ro("root", &Schedule::root)
      .def_ro("rewired", &Schedule::rewired)
      .def_ro("everywhere", &Schedule::everywhere)
      .def_ro("steps", &Schedule::steps)
      .def_prop_ro(
          "stages", [](const Schedule& self) { return tuple_of(self.stages); },
          nb::sig("def stages(self) -> tuple[Stage, ...]"))
      .def_prop_ro("nodes", &Schedule::nodes,
                   "All participating nodes: sources, destinations, forwarding nodes, and ends of other circuits.");
  const auto gathers = [&](const char* name,
                           Schedule (*make)(const std::vector<unsigned>&, unsigned, unsigned, unsigned),
                           const char* what) {
    module.def(
        name,
        [make](const std::vector<unsigned>& nodes, unsigned root, unsigned ports, unsigned virtual_ports) {
          return refused([&] { return make(nodes, root, ports, virtual_ports); });
        },
        nb::arg("nodes"), nb::arg("root"), nb::arg("ports"), nb::arg("virtual_ports"), what);
  };
  gathers("tree", tree,
          "Gathers to `root` from branches at all its virtual ports (Figures 10 and 12). Each branch is a chain in "
          "which every node forwards a block per stage. The branches of the first virtual ports are received first, "
          "one at each external port. The blocks that the other branches have meanwhile gathered at their first node "
          "follow, one stage per further virtual port.");
  gathers("ring", ring,
          "Gathers to `root` from both sides of a ring (Figures 10 and 11), a block per stage; with one external port "
          "from one side.");
  gathers("relink", relink,
          "Gathers directly to `root`, in each stage from as many nodes as it has external ports; each stage has its "
          "own circuits (Equation 5).");
  module.def("allgather_ring", &allgather_ring, nb::arg("nodes"), nb::arg("ports"),
             "Sends around a ring in both directions, or in one with one external port. Each node first sends its own "
             "block, then forwards the last received one. A line carries one stream in each direction.");
  module.def("scatter", &scatter, nb::arg("gather"),
             "Reverses a gather: each node receives its own block (section 6.6.1).");

  module.attr("READS") = kReads;
  nb::class_<Collective>(module, "Collective", "A schedule on a cluster, with the addresses of its blocks in memories.")
      .def(
          "__init__",
          [](Collective* made, const Cluster& cluster, const Schedule& schedule, std::uint64_t size) {
            refused([&] { new (made) Collective(cluster, schedule, size); });
          },
          nb::keep_alive<1, 2>(), nb::arg("cluster"), nb::arg("schedule"), nb::arg("size"),
          "`size`: bytes of a block.\n\nRaises InputError.")
      .def_prop_ro("before", &Collective::before, "Initial address of each (node, block).")
      .def_prop_ro("after", &Collective::after, "All addresses by (node, block).")
      .def_prop_ro("ends", &Collective::ends, "Final address of each (node, block).")
      .def_prop_ro("most_bytes", &Collective::most_bytes, "Maximum number of bytes used in a bank.")
      .def(
          "program",
          [](const Collective& self, Bound& network, unsigned server) {
            return Steps{self.program(network.network, server)};
          },
          nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(), nb::arg("network"), nb::arg("server"),
          "Returns a server's program for its FPGAs.");
}

}  // namespace thalweg::vcsn
