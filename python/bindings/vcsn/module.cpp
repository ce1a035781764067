// SPDX-License-Identifier: Apache-2.0
// Python bindings of clusters with virtual circuits.
#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../attach.hpp"
#include "../engine.hpp"
#include "bound.hpp"
#include "vcsn/rtl_node.hpp"

namespace nb = nanobind;
using namespace thalweg;
using namespace thalweg::vcsn;

namespace thalweg::vcsn {

struct SessionView {
  std::string state;
  std::uint64_t under_way = 0;
  bool settled = false;
  SessionCounts counts;
};

using Segments = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

std::vector<Segment> segments_of(const Segments& given) {
  std::vector<Segment> segments;
  for (const auto& [address, bytes] : given) segments.push_back({address, bytes});
  return segments;
}

Transfer transfer_of(Handle handle, const Segments& segments, std::uint8_t channel) {
  return {.handle = handle, .segments = segments_of(segments), .channel = channel};
}

}  // namespace thalweg::vcsn

NB_MODULE(_sim, module) {
  module.doc() = "Virtual circuits: FPGAs with their shells, Ethernet switches and links.";

  nb::exception<NodeDifference>(module, "NodeDifference", nb::module_::import_("thalweg.errors").attr("CheckFailed"));

  nb::class_<VirtualPort>(module, "VirtualPort", "A virtual port: node, external port, virtual port.")
      .def(nb::init<unsigned, unsigned, unsigned>(), nb::arg("node"), nb::arg("port"), nb::arg("virtual_port"))
      .def_ro("node", &VirtualPort::node)
      .def_ro("port", &VirtualPort::port)
      .def_ro("virtual_port", &VirtualPort::virtual_port)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def(
          "__hash__",
          [](const VirtualPort& place) { return nb::hash(nb::make_tuple(place.node, place.port, place.virtual_port)); })
      .def("__str__", [](const VirtualPort& place) { return to_string(place); })
      .def("__repr__", [](const VirtualPort& place) {
        return "VirtualPort(" + std::to_string(place.node) + ", " + std::to_string(place.port) + ", " +
               std::to_string(place.virtual_port) + ")";
      });

  module.attr("SEQUENCER_INSTRUCTIONS") = Sequencer::kInstructions;
  module.attr("SEGMENT_BYTES") = kMostSegment;
  module.attr("SEGMENTS") = kSegments;
  nb::class_<Network::Row>(module, "Row", "A sequencer's command: writes a virtual port's row of the circuit table.")
      .def(
          "__init__",
          [](Network::Row* made, unsigned port, unsigned virtual_port, const std::optional<VirtualPort>& to,
             bool credits) { new (made) Network::Row{port, virtual_port, to, credits}; },
          nb::arg("port"), nb::arg("virtual_port"), nb::arg("to").none(), nb::arg("credits") = false);
  nb::class_<Network::Connect>(module, "Connect", "A sequencer's command: sets an output of the crossbar.")
      .def(
          "__init__",
          [](Network::Connect* made, unsigned output, std::optional<unsigned> input) {
            new (made) Network::Connect{output, input};
          },
          nb::arg("output"), nb::arg("input").none());
  nb::class_<Network::SendWord>(module, "SendWord",
                                "A sequencer's command: a packet of one word from its input of the crossbar.")
      .def(nb::init<>());
  nb::class_<Network::AwaitWord>(module, "AwaitWord",
                                 "A sequencer's command: waits for a word at its output of the crossbar.")
      .def(nb::init<>());
  nb::class_<Network::Read>(module, "Read", "A sequencer's command: (address, bytes) of the memory as one packet.")
      .def(
          "__init__",
          [](Network::Read* made, unsigned engine, const Segments& segments) {
            new (made) Network::Read{engine, segments_of(segments)};
          },
          nb::arg("engine"), nb::arg("segments"));
  nb::class_<Network::Write>(module, "Write",
                             "A sequencer's command: the next packet to (address, bytes) of the memory.")
      .def(
          "__init__",
          [](Network::Write* made, unsigned engine, const Segments& segments) {
            new (made) Network::Write{engine, segments_of(segments)};
          },
          nb::arg("engine"), nb::arg("segments"));

  nb::class_<SessionView>(module, "Session", "Of an end of a circuit.")
      .def_ro("state", &SessionView::state,
              "none, opening (its peer is not known yet), open, refused (its peer has begun another), silent (its peer "
              "did not answer)")
      .def_ro("under_way", &SessionView::under_way, "frames that are not acknowledged")
      .def_ro("settled", &SessionView::settled, "all that came has left the receive buffer, and its sender knows")
      .def_prop_ro(
          "sent", [](const SessionView& of) { return of.counts.sent; }, "frames, each once")
      .def_prop_ro(
          "resent", [](const SessionView& of) { return of.counts.resent; }, "times that a frame was sent again")
      .def_prop_ro("repeated", [](const SessionView& of) { return of.counts.repeated; }, "frames that came again");

  bind_clusters(module);
  nb::class_<Bound> bound(module, "Network");
  bind_engine_of(bound, [](Bound& self) -> Engine& { return self.engine(); });
  bind_attached_of(bound);
  bound
      .def(nb::init<const Cluster&, const std::string&, const std::map<unsigned, std::string>&,
                    const std::optional<nb::dict>&>(),
           nb::keep_alive<1, 2>(), nb::arg("cluster"), nb::arg("capture") = "", nb::arg("libraries") = nb::dict(),
           nb::arg("part") = nb::none(),
           "`capture`: a pcapng file to write. `libraries`: of FPGAs the file of their Verilated node, which follows "
           "the simulator's. `part`: the description of a part of the cluster [default: all of "
           "it].\n\nRaises ValueError where the description is none.")
      .def(
          "finish", [](Bound& self) { return self.network.finish(); },
          "Ends the simulation: runs the Verilated nodes to the simulator's time, and compares their counters. Returns "
          "the "
          "cycles, of all clocks and nodes, in which they were evaluated.\n\nRaises NodeDifference where RTL and "
          "simulator "
          "differ.")
      .def_prop_ro("nodes", [](const Bound& self) { return self.network.nodes(); })
      .def(
          "set_circuit",
          [](Bound& self, const VirtualPort& at, const std::optional<VirtualPort>& to) {
            self.network.set_circuit(at, to);
          },
          nb::arg("at"), nb::arg("to").none(),
          "Writes the circuit table: what `at` sends goes to `to`, and it takes frames of `to` alone. None: of "
          "nobody.\n\nRaises ValueError.")
      .def(
          "circuit", [](Bound& self, const VirtualPort& at) { return self.network.circuit(at); }, nb::arg("at"),
          "The other end in a virtual port's row of the circuit table.\n\nRaises ValueError.")
      .def(
          "set_partition",
          [](Bound& self, const std::vector<unsigned>& nodes, const std::string& name) {
            self.network.set_partition(nodes, name);
          },
          nb::arg("nodes"), nb::arg("name"),
          "Circuits join nodes of one partition, or nodes of none: an empty name.\n\nRaises ValueError where a circuit "
          "would leave it. A circuit that is being closed would, until time has passed (`advance`) and its row is "
          "closed in the hardware, too: frames go over it until then.")
      .def(
          "inject",
          [](Bound& self, unsigned node, unsigned port, const nb::bytes& frame, bool damaged) {
            self.network.inject(
                node, port, std::as_bytes(std::span(static_cast<const char*>(frame.data()), frame.size())), damaged);
          },
          nb::arg("node"), nb::arg("port"), nb::arg("frame"), nb::kw_only(), nb::arg("damaged") = false,
          "A frame arrives at an external port as if from outside, behind those under way: any bytes, without FCS. "
          "`damaged`: the FCS is wrong.\n\nRaises ValueError.")
      .def(
          "received",
          [](Bound& self, unsigned node, unsigned port) {
            const Received& of = self.network.received(node, port);
            nb::dict counts;
            counts["taken"] = of.taken;
            counts["indications"] = of.indications;
            counts["credits"] = of.credits;
            counts["damaged"] = of.damaged;
            counts["strays"] = of.strays;
            counts["others"] = of.others;
            counts["foreign"] = of.foreign;
            counts["unformed"] = of.unformed;
            counts["full"] = of.full;
            counts["misfits"] = of.misfits;
            counts["sessionless"] = of.sessionless;
            counts["sequenced"] = of.sequenced;
            return counts;
          },
          nb::arg("node"), nb::arg("port"), nb::sig("def received(self, node: int, port: int) -> dict[str, int]"),
          "Frames that have arrived at an external port, by what became of them: taken, sequenced (of a session, which "
          "counts "
          "them, too), indications, credits; dropped: damaged (FCS), strays (to another address), others (of another "
          "protocol), foreign (of no circuit), sessionless (with a session where the virtual port has none, or "
          "without), "
          "unformed (not of whole words), full (no room), misfits (too short or too long for Ethernet).\n\nRaises "
          "ValueError.")
      .def(
          "set_multicast",
          [](Bound& self, const VirtualPort& at, std::uint8_t virtual_port) {
            self.network.set_multicast(at, virtual_port);
          },
          nb::arg("at"), nb::arg("virtual_port"),
          "Writes the row of a circuit to several ends: what `at` sends goes to a multicast address of its own, for "
          "this "
          "virtual port of all whose rows name `at`. It takes nothing.\n\nRaises ValueError.")
      .def(
          "set_group",
          [](Bound& self, unsigned node, const VirtualPort& source, const std::vector<unsigned>& ports) {
            self.network.set_group(node, source, ports);
          },
          nb::arg("node"), nb::arg("source"), nb::arg("ports"),
          "The ports of a switch that what `source` multicasts goes to.\n\nRaises ValueError.")
      .def(
          "set_pace",
          [](Bound& self, const VirtualPort& at, unsigned priority, std::uint32_t pace) {
            self.network.set_pace(at, {.priority = priority, .cycle = pace});
          },
          nb::arg("at"), nb::kw_only(), nb::arg("priority") = 0, nb::arg("pace") = 0,
          "`pace`: cycles of the MAC's clock in 1/256 that a word of a frame takes at least.\n\nRaises ValueError.")
      .def(
          "set_monitor",
          [](Bound& self, unsigned node, unsigned port, Tick cycles, std::uint64_t words) {
            self.network.set_monitor(node, port, {.cycles = cycles, .words = words});
          },
          nb::arg("node"), nb::arg("port"), nb::kw_only(), nb::arg("cycles"), nb::arg("words"),
          "An external port at which more than `words` of data come in `cycles` of the MAC's clock sends indications "
          "to the other ends of their circuits. 0 cycles: it does not. `cycles` is below 2^24, `words` below "
          "2^15.\n\nRaises ValueError.")
      .def(
          "set_reaction",
          [](Bound& self, const VirtualPort& at, Tick cycles, std::optional<std::uint32_t> pace) {
            self.network.set_reaction(at, {.cycles = cycles, .stops = !pace, .pace = pace.value_or(0)});
          },
          nb::arg("at"), nb::kw_only(), nb::arg("cycles"), nb::arg("pace") = nb::none(),
          "For so many cycles, below 2^24, after an indication `at` sends at a pace, or nothing.\n\nRaises ValueError.")
      .def(
          "set_credits", [](Bound& self, const VirtualPort& at, bool used) { self.network.set_credits(at, used); },
          nb::arg("at"), nb::kw_only(), nb::arg("used") = true,
          "Both ends of the circuit of `at` send no more than the other's buffer has room for. Set while nothing "
          "moves.\n\nRaises "
          "ValueError.")
      .def(
          "drained", [](Bound& self, const VirtualPort& at) { return self.network.drained(at); }, nb::arg("at"),
          "Whether all words that a virtual port was given by its crossbar have been sent.\n\nRaises ValueError.")
      .def(
          "sequence",
          [](Bound& self, Handle handle, unsigned node, unsigned sequencer, const std::vector<Network::Step>& program) {
            self.network.sequence(handle, node, sequencer, program);
          },
          nb::arg("handle"), nb::arg("node"), nb::arg("sequencer"), nb::arg("program"),
          "Starts a program of commands in an FPGA, which run one after another without a host; completes under the "
          "handle. Engines that it uses take no other transfers until then.\n\nRaises ValueError.")
      .def(
          "sequencer_place",
          [](Bound& self, unsigned node, unsigned sequencer) {
            const Node& of = self.network.node(node);
            require(sequencer < of.config.sequencers,
                    "node " + std::to_string(node) + " has no sequencer " + std::to_string(sequencer));
            return of.sequencer_place(sequencer);
          },
          nb::arg("node"), nb::arg("sequencer"), "Of a sequencer at its node's crossbar.\n\nRaises ValueError.")
      .def(
          "restart", [](Bound& self, unsigned node) { self.network.restart(node); }, nb::arg("node"),
          "An FPGA starts again: tables, crossbar and buffers are empty, its operations never complete, and what it "
          "has "
          "forgotten is counted as lost. Its memory stays as it is.\n\nRaises ValueError.")
      .def(
          "set_session",
          [](Bound& self, const VirtualPort& at, std::uint16_t number) { self.network.set_session(at, number); },
          nb::arg("at"), nb::arg("number"),
          "Begins a session at an end of a circuit, of a number that none of the circuit had before: all words arrive, "
          "once and in order, or both ends know that it has ended. The other end begins one, too. 0: none.\n\nRaises "
          "ValueError.")
      .def(
          "session",
          [](Bound& self, const VirtualPort& at) {
            const vcsn::Session& of = self.network.session(at);
            return SessionView{std::string(name(of.state())), of.under_way(), of.settled(), of.counts()};
          },
          nb::arg("at"), "The session of a virtual port.\n\nRaises ValueError.")
      .def(
          "indications", [](Bound& self, const VirtualPort& at) { return self.network.indications(at); }, nb::arg("at"),
          "That came for a virtual port.\n\nRaises ValueError.")
      .def(
          "connect",
          [](Bound& self, unsigned node, unsigned output, std::optional<unsigned> input) {
            self.network.connect(node, output, input);
          },
          nb::arg("node"), nb::arg("output"), nb::arg("input").none(),
          "Sets an output of a crossbar. Inputs and outputs are numbered alike: DMA engines, then the virtual ports of "
          "each port, sequencers, and user logic.\n\nRaises ValueError.")
      .def(
          "place",
          [](Bound& self, unsigned node, unsigned port, unsigned virtual_port) {
            const Node& of = self.network.node(node);
            require(port < of.config.ports && virtual_port < of.config.virtual_ports,
                    "there is no " + to_string({node, port, virtual_port}));
            return of.place(port, virtual_port);
          },
          nb::arg("node"), nb::arg("port"), nb::arg("virtual_port"),
          "Of a virtual port at its node's crossbar.\n\nRaises ValueError.")
      .def(
          "kernel_place",
          [](Bound& self, unsigned node, unsigned kernel) {
            const Node& of = self.network.node(node);
            require(kernel < of.config.kernels,
                    "node " + std::to_string(node) + " has no kernel " + std::to_string(kernel));
            return of.kernel_place(kernel);
          },
          nb::arg("node"), nb::arg("kernel") = 0, "Of user logic at its node's crossbar.\n\nRaises ValueError.")
      .def(
          "virtual_ports",
          [](Bound& self, unsigned node) {
            const NodeConfig& config = self.network.node(node).config;
            return config.ports * config.virtual_ports;
          },
          nb::arg("node"), "Of all external ports together.")
      .def(
          "read",
          [](Bound& self, unsigned node, unsigned engine, const Segments& segments, std::uint8_t channel,
             std::optional<Handle> handle) {
            self.network.read(node, engine, transfer_of(handle.value_or(Network::kNoHandle), segments, channel));
          },
          nb::arg("node"), nb::arg("engine"), nb::arg("segments"), nb::arg("channel") = 0,
          nb::arg("handle") = nb::none(),
          "Sends (address, bytes) of a node's memory as one packet to the crossbar. With a handle it completes when "
          "its "
          "last word has left the engine.\n\nRaises ValueError.")
      .def(
          "write",
          [](Bound& self, Handle handle, unsigned node, unsigned engine, const Segments& segments) {
            self.network.write(node, engine, transfer_of(handle, segments, 0));
          },
          nb::arg("handle"), nb::arg("node"), nb::arg("engine"), nb::arg("segments"),
          "Writes the next packet of the crossbar to (address, bytes) of a node's memory.\n\nRaises ValueError.")
      .def(
          "written", [](const Bound& self, Handle handle) { return self.network.written(handle); }, nb::arg("handle"),
          "Bytes that a write that has completed received. What fills a packet's last word of 64 bytes is in them, as "
          "far "
          "as the segments have room: frames do not say where data end.\n\nRaises ValueError.")
      .def(
          "kernel_send",
          [](Bound& self, Handle handle, unsigned node, unsigned kernel, const nb::bytes& data, bool ends,
             std::uint8_t channel) {
            self.network.kernel_send(handle, node, kernel,
                                     std::as_bytes(std::span(static_cast<const char*>(data.data()), data.size())), ends,
                                     channel);
          },
          nb::arg("handle"), nb::arg("node"), nb::arg("kernel"), nb::arg("data"), nb::arg("ends") = true,
          nb::arg("channel") = 0,
          "User logic gives bytes to the crossbar, in words of 64; `ends`: they end a packet. Completes when the last "
          "word was taken.\n\nRaises ValueError.")
      .def(
          "kernel_receive",
          [](Bound& self, Handle handle, unsigned node, unsigned kernel, std::uint64_t words) {
            self.network.kernel_receive(handle, node, kernel, words);
          },
          nb::arg("handle"), nb::arg("node"), nb::arg("kernel"), nb::arg("words"),
          "User logic takes so many words of the crossbar, or those to the end of a packet. Completes when it has "
          "them.\n\nRaises ValueError.")
      .def(
          "taken",
          [](Bound& self, Handle handle) {
            const Taken taken = self.network.taken(handle);
            return nb::make_tuple(nb::bytes(taken.bytes.data(), taken.bytes.size()), taken.ends, taken.channel);
          },
          nb::arg("handle"), nb::sig("def taken(self, handle: int) -> tuple[bytes, bool, int]"),
          "What a `kernel_receive` that has completed took, once: bytes, whether they end a packet, its "
          "channel.\n\nRaises ValueError.")
      .def(
          "advance", [](Bound& self, Tick until) { return advance_of(self.engine(), until); },
          nb::arg("until") = kNever,
          "Runs until a tick, or the end of the first tick in which operations completed, which it returns. By "
          "default: until "
          "nothing moves, or packets go around a circle of circuits and crossbars and nothing else moves, which is its "
          "`failure`.")
      .def(
          "store",
          [](Bound& self, unsigned node, std::uint64_t address, const nb::bytes& data) {
            self.network.memory(node).write(
                address, std::as_bytes(std::span(static_cast<const char*>(data.data()), data.size())));
          },
          nb::arg("node"), nb::arg("address"), nb::arg("data"), "Raises IndexError.")
      .def(
          "load",
          [](Bound& self, unsigned node, std::uint64_t address, std::size_t bytes) {
            std::vector<std::byte> data(bytes);
            self.network.memory(node).read(address, data);
            return nb::bytes(data.data(), data.size());
          },
          nb::arg("node"), nb::arg("address"), nb::arg("bytes"), "Raises IndexError.")
      .def(
          "passed",
          [](Bound& self, unsigned node) {
            const Node& of = self.network.node(node);
            const Clock& clock = of.shell().clock;
            nb::list all;
            for (const Passed& each : of.crossbar.passed())
              all.append(
                  nb::make_tuple(each.input, each.output, clock.edge(each.begin), clock.edge(each.end), each.words));
            return all;
          },
          nb::arg("node"), nb::sig("def passed(self, node: int) -> list[tuple[int, int, int, int, int]]"),
          "Packets that have passed a node's crossbar: input, output, the ticks at which the first word comes and the "
          "last one leaves, "
          "words; the last 2^20 at most.\n\nRaises ValueError.")
      .def(
          "close", [](Bound& self) { self.network.close(); }, "Ends the capture.")
      .def(
          "link_use", [](const Bound& self) { return link_use(std::as_const(self.network).assembly()); },
          "node and port that send, ticks of a window, words of 64 bytes of each window");
  bind_front(bound);
  bind_programs(module, bound);
}
