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
  nb::class_<Network::Row>(module, "Row", "Sequencer command: writes a virtual port's row of the circuit table.")
      .def(
          "__init__",
          [](Network::Row* made, unsigned port, unsigned virtual_port, const std::optional<VirtualPort>& to,
             bool credits) { new (made) Network::Row{port, virtual_port, to, credits}; },
          nb::arg("port"), nb::arg("virtual_port"), nb::arg("to").none(), nb::arg("credits") = false);
  nb::class_<Network::Connect>(module, "Connect", "Sequencer command: sets an output of the crossbar.")
      .def(
          "__init__",
          [](Network::Connect* made, unsigned output, std::optional<unsigned> input) {
            new (made) Network::Connect{output, input};
          },
          nb::arg("output"), nb::arg("input").none());
  nb::class_<Network::SendWord>(module, "SendWord",
                                "Sequencer command: sends a packet of one word from its crossbar input.")
      .def(nb::init<>());
  nb::class_<Network::AwaitWord>(module, "AwaitWord", "Sequencer command: waits for a word at its crossbar output.")
      .def(nb::init<>());
  nb::class_<Network::Read>(module, "Read", "Sequencer command: sends (address, bytes) of memory as one packet.")
      .def(
          "__init__",
          [](Network::Read* made, unsigned engine, const Segments& segments) {
            new (made) Network::Read{engine, segments_of(segments)};
          },
          nb::arg("engine"), nb::arg("segments"));
  nb::class_<Network::Write>(module, "Write",
                             "Sequencer command: receives the next packet into (address, bytes) of memory.")
      .def(
          "__init__",
          [](Network::Write* made, unsigned engine, const Segments& segments) {
            new (made) Network::Write{engine, segments_of(segments)};
          },
          nb::arg("engine"), nb::arg("segments"));

  nb::class_<SessionView>(module, "Session", "Session at one end of a circuit.")
      .def_ro("state", &SessionView::state,
              "none, opening (peer not known yet), open, refused (the peer has begun another session), silent (the "
              "peer did not answer)")
      .def_ro("under_way", &SessionView::under_way, "frames in flight, not yet acknowledged")
      .def_ro("settled", &SessionView::settled,
              "True if all received data have left the receive buffer, and the sender knows")
      .def_prop_ro(
          "sent", [](const SessionView& of) { return of.counts.sent; }, "frames sent, without retransmissions")
      .def_prop_ro(
          "resent", [](const SessionView& of) { return of.counts.resent; }, "frames retransmitted")
      .def_prop_ro("repeated", [](const SessionView& of) { return of.counts.repeated; }, "duplicates received");

  bind_clusters(module);
  nb::class_<Bound> bound(module, "Network");
  bind_engine_of(bound, [](Bound& self) -> Engine& { return self.engine(); });
  bind_attached_of(bound);
  bound
      .def(nb::init<const Cluster&, const std::string&, const std::map<unsigned, std::string>&,
                    const std::optional<nb::dict>&>(),
           nb::keep_alive<1, 2>(), nb::arg("cluster"), nb::arg("capture") = "", nb::arg("libraries") = nb::dict(),
           nb::arg("part") = nb::none(),
           "`capture`: pcapng file to write. `libraries`: files of Verilated nodes, by FPGA, which are compared with "
           "the simulator's. `part`: description of a part of the cluster [default: all].\n\nRaises ValueError if the "
           "description is invalid.")
      .def(
          "finish", [](Bound& self) { return self.network.finish(); },
          "Ends the simulation: runs the Verilated nodes to the simulator's time, and compares their counters. Returns "
          "the number of evaluated cycles of all clocks and nodes.\n\nRaises NodeDifference if RTL and simulator "
          "differ.")
      .def_prop_ro("nodes", [](const Bound& self) { return self.network.nodes(); })
      .def(
          "set_circuit",
          [](Bound& self, const VirtualPort& at, const std::optional<VirtualPort>& to) {
            self.network.set_circuit(at, to);
          },
          nb::arg("at"), nb::arg("to").none(),
          "Writes a row of the circuit table: `at` sends to, and accepts frames from, `to` only. None: no "
          "circuit.\n\nRaises ValueError.")
      .def(
          "circuit", [](Bound& self, const VirtualPort& at) { return self.network.circuit(at); }, nb::arg("at"),
          "Returns the peer in a virtual port's row of the circuit table, or None.\n\nRaises ValueError.")
      .def(
          "set_partition",
          [](Bound& self, const std::vector<unsigned>& nodes, const std::string& name) {
            self.network.set_partition(nodes, name);
          },
          nb::arg("nodes"), nb::arg("name"),
          "Puts nodes into a partition; an empty name: none. Circuits connect nodes of one partition, or nodes of "
          "none.\n\nRaises ValueError, without a change, if a circuit would leave its partition. This includes a "
          "circuit that is being closed, which carries frames until its row is closed in the hardware: advance time "
          "first.")
      .def(
          "inject",
          [](Bound& self, unsigned node, unsigned port, const nb::bytes& frame, bool damaged) {
            self.network.inject(
                node, port, std::as_bytes(std::span(static_cast<const char*>(frame.data()), frame.size())), damaged);
          },
          nb::arg("node"), nb::arg("port"), nb::arg("frame"), nb::kw_only(), nb::arg("damaged") = false,
          "Injects a frame at an external port as if received, after those in flight: any bytes, without FCS. "
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
          "Returns the numbers of frames received at an external port, by outcome: taken, sequenced (of a session, "
          "which counts their outcomes), indications, credits; dropped: damaged (FCS), strays (other destination "
          "address), others (other protocol), foreign (of no circuit), sessionless (with a session where the virtual "
          "port has none, or without where it has one), unformed (not whole words), full (no buffer space), misfits "
          "(too short or too long for Ethernet).\n\nRaises ValueError.")
      .def(
          "set_multicast",
          [](Bound& self, const VirtualPort& at, std::uint8_t virtual_port) {
            self.network.set_multicast(at, virtual_port);
          },
          nb::arg("at"), nb::arg("virtual_port"),
          "Writes a row of a multicast circuit: frames go to a multicast address of `at`, and reach virtual port "
          "`virtual_port` of all external ports whose rows name `at`. `at` accepts no frames.\n\nRaises ValueError.")
      .def(
          "set_group",
          [](Bound& self, unsigned node, const VirtualPort& source, const std::vector<unsigned>& ports) {
            self.network.set_group(node, source, ports);
          },
          nb::arg("node"), nb::arg("source"), nb::arg("ports"),
          "Sets the ports of a switch to which multicasts of `source` are forwarded.\n\nRaises ValueError.")
      .def(
          "set_pace",
          [](Bound& self, const VirtualPort& at, unsigned priority, std::uint32_t pace) {
            self.network.set_pace(at, {.priority = priority, .cycle = pace});
          },
          nb::arg("at"), nb::kw_only(), nb::arg("priority") = 0, nb::arg("pace") = 0,
          "Sets the arbitration of a virtual port. `pace`: minimum time per word of a frame, in 1/256 cycles of the "
          "MAC's clock.\n\nRaises ValueError.")
      .def(
          "set_monitor",
          [](Bound& self, unsigned node, unsigned port, Tick cycles, std::uint64_t words) {
            self.network.set_monitor(node, port, {.cycles = cycles, .words = words});
          },
          nb::arg("node"), nb::arg("port"), nb::kw_only(), nb::arg("cycles"), nb::arg("words"),
          "Sets the reception monitor of an external port: if more than `words` of data arrive in `cycles` of the "
          "MAC's clock, it sends indications to the peers of their circuits. `cycles`: below 2^24; 0: disabled. "
          "`words`: below 2^15.\n\nRaises ValueError.")
      .def(
          "set_reaction",
          [](Bound& self, const VirtualPort& at, Tick cycles, std::optional<std::uint32_t> pace) {
            self.network.set_reaction(at, {.cycles = cycles, .stops = !pace, .pace = pace.value_or(0)});
          },
          nb::arg("at"), nb::kw_only(), nb::arg("cycles"), nb::arg("pace") = nb::none(),
          "Sets the reaction of `at` to an indication: for `cycles`, below 2^24, it sends at a pace, or "
          "nothing.\n\nRaises ValueError.")
      .def(
          "set_credits", [](Bound& self, const VirtualPort& at, bool used) { self.network.set_credits(at, used); },
          nb::arg("at"), nb::kw_only(), nb::arg("used") = true,
          "Enables or disables credits at both ends of the circuit of `at`: no more is sent than the peer's buffer can "
          "hold. Call only while nothing is in flight.\n\nRaises ValueError.")
      .def(
          "drained", [](Bound& self, const VirtualPort& at) { return self.network.drained(at); }, nb::arg("at"),
          "Returns whether all words given to a virtual port by its crossbar have been sent.\n\nRaises ValueError.")
      .def(
          "sequence",
          [](Bound& self, Handle handle, unsigned node, unsigned sequencer, const std::vector<Network::Step>& program) {
            self.network.sequence(handle, node, sequencer, program);
          },
          nb::arg("handle"), nb::arg("node"), nb::arg("sequencer"), nb::arg("program"),
          "Starts a program of commands in an FPGA, which run in order without a host; completes under the handle. "
          "Until then, the engines that it uses accept no other transfers.\n\nRaises ValueError.")
      .def(
          "sequencer_place",
          [](Bound& self, unsigned node, unsigned sequencer) {
            const Node& of = self.network.node(node);
            require(sequencer < of.config.sequencers,
                    "node " + std::to_string(node) + " has no sequencer " + std::to_string(sequencer));
            return of.sequencer_place(sequencer);
          },
          nb::arg("node"), nb::arg("sequencer"),
          "Returns a sequencer's index at its node's crossbar.\n\nRaises ValueError.")
      .def(
          "restart", [](Bound& self, unsigned node) { self.network.restart(node); }, nb::arg("node"),
          "Restarts an FPGA: its tables, crossbar and buffers are empty, its operations never complete, and forgotten "
          "words and operations are counted as lost. Its memory keeps its contents.\n\nRaises ValueError.")
      .def(
          "set_session",
          [](Bound& self, const VirtualPort& at, std::uint16_t number) { self.network.set_session(at, number); },
          nb::arg("at"), nb::arg("number"),
          "Opens a session at one end of a circuit, with a number that is new on this circuit; 0: none. All words "
          "arrive once and in order, or both ends detect that the session has ended. The other end must open one, "
          "too.\n\nRaises ValueError.")
      .def(
          "session",
          [](Bound& self, const VirtualPort& at) {
            const vcsn::Session& of = self.network.session(at);
            return SessionView{std::string(name(of.state())), of.under_way(), of.settled(), of.counts()};
          },
          nb::arg("at"), "Returns the session of a virtual port.\n\nRaises ValueError.")
      .def(
          "indications", [](Bound& self, const VirtualPort& at) { return self.network.indications(at); }, nb::arg("at"),
          "Returns the number of indications received for a virtual port.\n\nRaises ValueError.")
      .def(
          "connect",
          [](Bound& self, unsigned node, unsigned output, std::optional<unsigned> input) {
            self.network.connect(node, output, input);
          },
          nb::arg("node"), nb::arg("output"), nb::arg("input").none(),
          "Selects the input of a crossbar output, or none. Order of indices: DMA engines, virtual ports of each "
          "external port, sequencers, user logic.\n\nRaises ValueError.")
      .def(
          "place",
          [](Bound& self, unsigned node, unsigned port, unsigned virtual_port) {
            const Node& of = self.network.node(node);
            require(port < of.config.ports && virtual_port < of.config.virtual_ports,
                    to_string({node, port, virtual_port}) + " does not exist");
            return of.place(port, virtual_port);
          },
          nb::arg("node"), nb::arg("port"), nb::arg("virtual_port"),
          "Returns a virtual port's index at its node's crossbar.\n\nRaises ValueError.")
      .def(
          "kernel_place",
          [](Bound& self, unsigned node, unsigned kernel) {
            const Node& of = self.network.node(node);
            require(kernel < of.config.kernels,
                    "node " + std::to_string(node) + " has no kernel " + std::to_string(kernel));
            return of.kernel_place(kernel);
          },
          nb::arg("node"), nb::arg("kernel") = 0,
          "Returns the index of user logic at its node's crossbar.\n\nRaises ValueError.")
      .def(
          "virtual_ports",
          [](Bound& self, unsigned node) {
            const NodeConfig& config = self.network.node(node).config;
            return config.ports * config.virtual_ports;
          },
          nb::arg("node"), "Returns the number of virtual ports of all external ports.")
      .def(
          "read",
          [](Bound& self, unsigned node, unsigned engine, const Segments& segments, std::uint8_t channel,
             std::optional<Handle> handle) {
            self.network.read(node, engine, transfer_of(handle.value_or(Network::kNoHandle), segments, channel));
          },
          nb::arg("node"), nb::arg("engine"), nb::arg("segments"), nb::arg("channel") = 0,
          nb::arg("handle") = nb::none(),
          "Sends (address, bytes) of a node's memory as one packet to the crossbar. With a handle, it completes when "
          "the last word has left the engine.\n\nRaises ValueError.")
      .def(
          "write",
          [](Bound& self, Handle handle, unsigned node, unsigned engine, const Segments& segments) {
            self.network.write(node, engine, transfer_of(handle, segments, 0));
          },
          nb::arg("handle"), nb::arg("node"), nb::arg("engine"), nb::arg("segments"),
          "Receives the next packet from the crossbar into (address, bytes) of a node's memory.\n\nRaises ValueError.")
      .def(
          "written", [](const Bound& self, Handle handle) { return self.network.written(handle); }, nb::arg("handle"),
          "Returns the number of bytes received by a completed write. They include the padding of a packet's last "
          "64-byte word, as far as the segments have space: frames do not contain the length of data.\n\nRaises "
          "ValueError.")
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
          "Sends bytes from user logic to the crossbar, in words of 64 bytes; `ends`: they end a packet. Completes "
          "when the last word is accepted.\n\nRaises ValueError.")
      .def(
          "kernel_receive",
          [](Bound& self, Handle handle, unsigned node, unsigned kernel, std::uint64_t words) {
            self.network.kernel_receive(handle, node, kernel, words);
          },
          nb::arg("handle"), nb::arg("node"), nb::arg("kernel"), nb::arg("words"),
          "Receives words from the crossbar in user logic, at most `words` and at most to the end of a "
          "packet.\n\nRaises ValueError.")
      .def(
          "taken",
          [](Bound& self, Handle handle) {
            const Taken taken = self.network.taken(handle);
            return nb::make_tuple(nb::bytes(taken.bytes.data(), taken.bytes.size()), taken.ends, taken.channel);
          },
          nb::arg("handle"), nb::sig("def taken(self, handle: int) -> tuple[bytes, bool, int]"),
          "Returns and removes the data of a completed `kernel_receive`: bytes, whether they end a packet, "
          "channel.\n\nRaises ValueError.")
      .def(
          "advance", [](Bound& self, Tick until) { return advance_of(self.engine(), until); },
          nb::arg("until") = kNever,
          "Runs until a tick or the end of the first tick with completions, which it returns. By default: until idle, "
          "or until packets only circulate forever in a cycle of circuits and crossbars, which `failure` then "
          "describes.")
      .def(
          "store",
          [](Bound& self, unsigned node, std::uint64_t address, const nb::bytes& data) {
            self.network.memory(node).write(
                address, std::as_bytes(std::span(static_cast<const char*>(data.data()), data.size())));
          },
          nb::arg("node"), nb::arg("address"), nb::arg("data"),
          "Writes bytes to a node's memory.\n\nRaises IndexError beyond its end.")
      .def(
          "load",
          [](Bound& self, unsigned node, std::uint64_t address, std::size_t bytes) {
            const auto& memory = self.network.memory(node);
            memory.require(address, bytes);
            std::vector<std::byte> data(bytes);
            memory.read(address, data);
            return nb::bytes(data.data(), data.size());
          },
          nb::arg("node"), nb::arg("address"), nb::arg("bytes"),
          "Returns bytes of a node's memory.\n\nRaises IndexError beyond its end.")
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
          "Returns the packets that passed a node's crossbar: input, output, ticks at which the first word arrived and "
          "the last one left, words; at most the last 2^20 packets.\n\nRaises ValueError.")
      .def(
          "close", [](Bound& self) { self.network.close(); }, "Closes the capture file.")
      .def(
          "link_use", [](const Bound& self) { return link_use(std::as_const(self.network).assembly()); },
          "Returns, per link direction: sending node and port, ticks per window, 64-byte words in each window.");
  bind_front(bound);
  bind_programs(module, bound);
}
