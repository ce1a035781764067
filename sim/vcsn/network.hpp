// SPDX-License-Identifier: Apache-2.0
// A cluster with virtual circuits as an engine: hosts write its tables and registers, and give transfers to its DMA engines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cluster/assembly.hpp"
#include "cluster/engine.hpp"
#include "core/require.hpp"
#include "ethernet/capture.hpp"
#include "ethernet/frame.hpp"
#include "ethernet/kinds.hpp"
#include "ethernet/switch.hpp"
#include "vcsn/blocked.hpp"
#include "vcsn/circle.hpp"
#include "vcsn/kinds.hpp"
#include "vcsn/node.hpp"
#include "vcsn/place.hpp"
#include "vcsn/rtl_node.hpp"

namespace thalweg::vcsn {

class Network final : public Engine {
 public:
  /// Makes the hardware's node of external ports with these addresses; nullptr: that node is the simulator's alone.
  using MakeCircuit = std::function<std::unique_ptr<NodeCircuit>(unsigned number, const std::vector<std::uint64_t>&)>;

  /// `capture`: a file to write, or empty. `make`: the hardware's nodes follow the simulator's. Throws std::invalid_argument and
  /// std::runtime_error.
  Network(const Description& description, const std::string& capture, const MakeCircuit& make = {})
      : assembly_(description, kinds(description.ticks_per_second, frames_)) {
    if (!capture.empty()) capture_.emplace(capture);
    partitions_.resize(assembly_.nodes());
    for (const auto& link : description.links)
      if (link.kind == "dcn") circles_.join({link.node_a, link.port_a, 0}, {link.node_b, link.port_b, 0});
    for (unsigned n = 0; n < assembly_.nodes(); ++n) {
      auto* found = dynamic_cast<Node*>(&assembly_.node(n));
      nodes_.push_back(found);
      if (!found) continue;
      found->start();
      found->ended = [this, found](const Ended& transfer) { end(*found, transfer); };
      found->taken = [this](Handle handle, Taken data) { taken_[handle] = std::move(data); };
      if (capture_)
        for (unsigned port = 0; port < found->externals.size(); ++port)
          if (auto* external = dynamic_cast<EthernetPort*>(found->externals[port].get())) watch(*external, n, port);
      if (make) follow(*found, n, make);
    }
    circles_.watch(nodes_);
  }

  [[nodiscard]] unsigned nodes() const { return assembly_.nodes(); }
  /// Throws std::invalid_argument where it has no shell.
  [[nodiscard]] Node& node(unsigned number) {
    require(number < nodes_.size() && nodes_[number], "node " + std::to_string(number) + " is no FPGA");
    return *nodes_[number];
  }

  // What a host's stores into registers do: each is a command, which acts when it has arrived (commands.hpp). What is asked of tables and
  // crossbars is what hosts have written.

  /// Writes a virtual port's row of the circuit table: frames go to another one and are taken from it alone, or none do. It has no credits
  /// and no session then. Throws std::invalid_argument, one line, where there is no such port.
  void set_circuit(const Place& at, const std::optional<Place>& to) {
    external(at);
    if (to) check(at, *to);
    set_row(at, to ? std::optional(circuit_to(*to)) : std::nullopt);
  }
  /// The rows to write, in the order of nodes and ports, so that some nodes have these circuits, each of two ends, and no others. Throws
  /// std::invalid_argument.
  [[nodiscard]] std::vector<std::pair<Place, std::optional<Place>>> changes(
      const std::vector<std::pair<Place, Place>>& circuits, const std::vector<unsigned>& numbers) {
    std::map<Place, Place> peers;
    for (const auto& [one, other] : circuits) {
      check(one, other);
      for (const auto& [at, to] : {std::pair{one, other}, std::pair{other, one}}) {
        require(std::ranges::find(numbers, at.node) != numbers.end(),
                to_string(at) + " is of no node that is re-wired");
        const auto [found, added] = peers.emplace(at, to);
        require(added,
                to_string(at) + " is in two circuits, with " + to_string(found->second) + " and with " + to_string(to));
      }
    }
    std::vector<std::pair<Place, std::optional<Place>>> rows;
    for (const unsigned number : numbers)
      for (unsigned port = 0; port < node(number).config.ports; ++port)
        for (unsigned each = 0; each < node(number).config.virtual_ports; ++each) {
          const Place at{number, port, each};
          const auto found = peers.find(at);
          const auto to = found == peers.end() ? std::nullopt : std::optional(found->second);
          if (circuit(at) != to || sends_to_group(at)) rows.emplace_back(at, to);
        }
    return rows;
  }
  /// The other end in a virtual port's row. Throws std::invalid_argument.
  [[nodiscard]] std::optional<Place> circuit(const Place& at) {
    const auto& row = row_of(at);
    return row && !ethernet::is_group(row->address) ? std::optional(place_of(*row)) : std::nullopt;
  }
  /// Writes a row of a circuit to several ends: frames go to a multicast address of this virtual port's own, for this virtual port of all whose rows
  /// name it; none are taken. Throws std::invalid_argument.
  void set_multicast(const Place& at, std::uint8_t virtual_port) {
    external(at);
    set_row(at, Circuit{group_of(circuit_to(at)), virtual_port});
  }
  [[nodiscard]] bool sends_to_group(const Place& at) {
    const auto& row = row_of(at);
    return row && ethernet::is_group(row->address);
  }
  /// The ports of a switch that what a virtual port multicasts goes to. Throws std::invalid_argument.
  void set_group(unsigned number, const Place& source, const std::vector<unsigned>& ports) {
    external(source);
    auto* found = number < assembly_.nodes() ? dynamic_cast<ethernet::Switch*>(&assembly_.node(number)) : nullptr;
    require(found, "node " + std::to_string(number) + " is no Ethernet switch");
    found->set(group_of(circuit_to(source)), ports);
  }
  /// Puts FPGAs into a partition: circuits join nodes of one alone, or nodes of none (an empty name). Throws std::invalid_argument, and nothing
  /// changes, where a circuit would leave a partition. That of a row whose closing is under way would, too: until the command has crossed into the
  /// line's clock, frames leave over it, and a word that the FPGA's new user sends at once would be one of them.
  void set_partition(const std::vector<unsigned>& numbers, const std::string& name) {
    std::vector<std::string> then = partitions_;
    for (const unsigned number : numbers) {
      require(number < nodes_.size() && nodes_[number], "node " + std::to_string(number) + " is no FPGA");
      then[number] = name;
    }
    const auto check = [&](const Place& at, const std::optional<Circuit>& row, const char* has, const char* fix) {
      require(!row || then[at.node] == then[place_of(*row).node],
              to_string(at) + has + to_string(place_of(*row)) + ", which would leave its partition; " + fix);
    };
    for (unsigned n = 0; n < nodes_.size(); ++n) {
      if (!nodes_[n]) continue;
      for (unsigned port = 0; port < nodes_[n]->externals.size(); ++port) {
        auto* found = dynamic_cast<EthernetPort*>(nodes_[n]->externals[port].get());
        for (unsigned each = 0; found && each < found->circuits.ports(); ++each) {
          const Place at{n, port, each};
          check(at, row_of(at), " has a circuit with ", "close it first");
          check(at, found->circuits.of(each), " still has a circuit with ",
                "it is being closed: let time pass first (advance)");
        }
      }
      for (const Sequencer& sequencer : nodes_[n]->sequencers)
        for (const Instruction& each : sequencer.program())
          if (each.kind() == commands::Kind::circuit)
            check(place_of_register(n, each.place()), each.row, " gets a circuit by a sequencer's program with ",
                  "wait for the program's end");
    }
    partitions_ = std::move(then);
  }
  /// A frame arrives at an external port as if from outside, behind those that are under way: its bytes from the destination address on, without
  /// FCS. Throws std::invalid_argument.
  void inject(unsigned number, unsigned port, std::span<const std::byte> bytes, bool damaged) {
    require(external({number, port, 0}).inject(frames_, bytes, damaged),
            "port " + std::to_string(port) + " of node " + std::to_string(number) + " has no line");
  }
  /// What became of frames that have arrived at an external port. Throws std::invalid_argument.
  [[nodiscard]] const Received& received(unsigned number, unsigned port) {
    return external({number, port, 0}).decoder.received();
  }
  /// User logic of a node sends to the crossbar, and takes words from there. Throw std::invalid_argument.
  void kernel_send(Handle handle, unsigned number, unsigned kernel, std::span<const std::byte> data, bool ends,
                   std::uint8_t channel) {
    require(!data.empty(), "a kernel sends no bytes");
    require(ends || data.size() % kWord == 0, "what a kernel sends within a packet is whole words of 64 bytes");
    KernelPort& of = kernel_of(handle, number, kernel, false);
    of.send(handle, data, ends, channel);
  }
  void kernel_receive(Handle handle, unsigned number, unsigned kernel, std::uint64_t words) {
    require(words > 0, "a kernel takes no words");
    KernelPort& of = kernel_of(handle, number, kernel, true);
    of.receive(handle, words);
  }
  [[nodiscard]] const KernelPort& kernel(unsigned number, unsigned kernel) {
    Node& of = node(number);
    require(kernel < of.config.kernels, "node " + std::to_string(number) + " has no kernel " + std::to_string(kernel));
    return of.kernels[kernel];
  }
  /// An operation has been given and has not completed.
  [[nodiscard]] bool has(Handle handle) const { return open_.contains(handle); }
  /// The first handle from `first` on that is above all of operations that have not completed.
  [[nodiscard]] Handle unused(Handle first) const {
    return open_.empty() ? first : std::max(first, open_.rbegin()->first + 1);
  }
  /// What a `kernel_receive` that has completed took; once. Throws std::invalid_argument.
  [[nodiscard]] Taken taken(Handle handle) {
    const auto found = taken_.find(handle);
    require(found != taken_.end() && !open_.contains(handle),
            "handle " + std::to_string(handle) + " is of no kernel's words that have been taken");
    Taken data = std::move(found->second);
    taken_.erase(found);
    return data;
  }
  /// An output of a node's crossbar takes packets of an input, or of none: engines first, then virtual ports, sequencers, and user logic. Throws
  /// std::invalid_argument.
  void connect(unsigned number, unsigned output, std::optional<unsigned> input) {
    Node& of = node(number);
    check_places(of, number, output, input);
    if (const auto other = input ? of.output_of(*input) : std::nullopt)
      require(*other == output, name_at(of, number, *input, false) + " is the input of " +
                                    name_at(of, number, *other, true) +
                                    "; connect that with another one, or none, first");
    of.connect(output, input);
  }
  /// Steps of a sequencer's program. A row of the circuit table; `credits`: the circuit uses them.
  struct Row {
    unsigned port = 0, virtual_port = 0;
    std::optional<Place> to;
    bool credits = false;
  };
  struct Connect {
    unsigned output = 0;
    std::optional<unsigned> input;
  };
  /// A word, which is a packet, from the sequencer's input of the crossbar; until it was taken.
  struct SendWord {};
  /// Until a word came to the sequencer's output of the crossbar.
  struct AwaitWord {};
  /// A packet from the memory; until its last word has left the engine.
  struct Read {
    unsigned engine = 0;
    std::vector<Segment> segments;
  };
  /// A packet to the memory; until it is there.
  struct Write {
    unsigned engine = 0;
    std::vector<Segment> segments;
  };
  using Step = std::variant<Row, Connect, SendWord, AwaitWord, Read, Write>;
  /// Starts a program in an FPGA, which completes under its handle. Engines that it uses take no other transfers while it runs. Throws
  /// std::invalid_argument.
  void sequence(Handle handle, unsigned number, unsigned sequencer, const std::vector<Step>& program) {
    Node& of = node(number);
    require(sequencer < of.config.sequencers, "node " + std::to_string(number) + " has no sequencer " +
                                                  std::to_string(sequencer) + "; it has " +
                                                  std::to_string(of.config.sequencers));
    require(!of.sequencers[sequencer].runs(),
            "sequencer " + std::to_string(sequencer) + " of node " + std::to_string(number) + " runs a program");
    require(!program.empty(), "a sequencer's program without commands");
    std::vector<Instruction> instructions;
    const auto add = [&, step = 0U](const Step& each) mutable {
      ++step;
      for (Instruction& one :
           std::visit([&](const auto& of_kind) { return compiled(number, sequencer, of_kind); }, each)) {
        one.number = step;
        instructions.push_back(std::move(one));
      }
    };
    std::ranges::for_each(program, add);
    instructions.push_back({.command = {.word = commands::word(commands::Kind::finish, 0, 0)}});
    require(instructions.size() <= Sequencer::kInstructions,
            "a sequencer's program has " + std::to_string(instructions.size()) + " instructions; it has " +
                std::to_string(Sequencer::kInstructions) + " at most");
    open(handle, {number, sequencer, false, now(), true});
    of.sequencers[sequencer].ended = [this, &of, sequencer, handle](Tick cycle) {
      if (of.program_ended) of.program_ended(sequencer, cycle);
      of.later(Ended{handle, cycle, 0});
    };
    of.sequence(sequencer, std::move(instructions));
  }
  void set_pace(const Place& at, const Pace& pace) {
    EthernetPort& port = external(at);
    Multiplexer::check(pace);
    node(at.node).commands->write({.word = commands::pace(register_of(at), pace),
                                   .port = at.port,
                                   .acts = [&port, at, pace] { port.encoder.set_pace(at.virtual_port, pace); }});
  }

  /// An FPGA starts again: its tables, crossbar and buffers are empty, its operations never complete, and what it has forgotten is counted as lost.
  /// Its memory stays as it is. Throws std::invalid_argument where it has serial links.
  void restart(unsigned number) {
    Node& of = node(number);
    require(dynamic_cast<EthernetPort*>(of.externals.front().get()),
            "node " + std::to_string(number) +
                " has serial links, whose ends keep count of each other: it does not start again alone");
    const auto operations = std::erase_if(open_, [&](const auto& each) { return each.second.node == number; });
    of.restart(operations);
    if (const auto found = hardware_.find(number); found != hardware_.end()) found->second->restart(now());
  }

  /// What is too fast at an external port, and what a virtual port does after an indication. Throw std::invalid_argument.
  void set_monitor(unsigned number, unsigned port, const MonitorConfig& config) {
    EthernetPort& of = external({number, port, 0});
    Monitor::check(config);
    node(number).commands->write({.word = commands::monitor(register_of({number, port, 0}), config),
                                  .port = port,
                                  .acts = [&of, config] { of.set_monitor(config); }});
  }
  void set_reaction(const Place& at, const Reaction& reaction) {
    EthernetPort& port = external(at);
    Encoder::check(reaction);
    node(at.node).commands->write({.word = commands::reaction(register_of(at), reaction),
                                   .port = at.port,
                                   .acts = [&port, at, reaction] { port.set_reaction(at.virtual_port, reaction); }});
  }
  /// Of both ends of the circuit that a virtual port has, which are joined: no more is sent than the other one's receive buffer has room for.
  void set_credits(const Place& at, bool used) {
    external(at);
    const auto found = circuit(at);
    require(found.has_value(), to_string(at) + " has no circuit of two ends");
    const Place to = *found;
    require(row_of(to) == circuit_to(at),
            to_string(to) + " is not joined with " + to_string(at) + "; credits are of a circuit of two ends");
    require(!used || (session_number(at) == 0 && session_number(to) == 0),
            to_string(at) + " has a session, or its peer, which needs no credits");
    use_credits(at, used ? credits_of(to.node) : 0);
    use_credits(to, used ? credits_of(at.node) : 0);
  }
  /// All words that a virtual port was given by its crossbar have been sent. Throws std::invalid_argument.
  [[nodiscard]] bool drained(const Place& at) { return external(at).drained(at.virtual_port); }
  /// An end of a circuit begins a session, of a number that none of this circuit had before: from then on all words arrive, once and in
  /// order, or both ends know that their session has ended. The other end begins one, too. 0: none. The former session ends at once, the new one begins when
  /// all that came has left the receive buffer. Throws std::invalid_argument.
  void set_session(const Place& at, std::uint16_t number) {
    EthernetPort& port = external(at);
    const auto to = circuit(at);
    require(number == 0 || (to && !sends_to_group(*to)), to_string(at) + " has no circuit of two ends");
    require(number == 0 || number != session_number(at),
            to_string(at) + " has session " + std::to_string(number) + "; another one has another number");
    node(at.node).commands->write({.word = commands::session(register_of(at), number),
                                   .port = at.port,
                                   .after = 1,
                                   .acts =
                                       [&port, at, number] {
                                         port.numbers.acts(at.virtual_port);
                                         port.open_session(at.virtual_port, number);
                                       },
                                   .written = [&port, at, number] { port.numbers.write(at.virtual_port, number); }});
  }
  [[nodiscard]] const Session& session(const Place& at) { return external(at).session(at.virtual_port); }
  [[nodiscard]] std::uint64_t indications(const Place& at) { return external(at).encoder.indications(at.virtual_port); }

  /// Throw std::invalid_argument. A read with a handle completes when its last word has left the engine.
  void read(unsigned number, unsigned engine, Transfer transfer) {
    Node& of = checked(number, false, engine, transfer);
    if (transfer.handle != kNoHandle) open(transfer.handle, {number, engine, false, now()});
    of.read(engine, std::move(transfer));
  }
  /// Completes under its handle when the packet that ended is in the memory.
  void write(unsigned number, unsigned engine, Transfer transfer) {
    Node& of = checked(number, true, engine, transfer);
    require(transfer.handle != kNoHandle, "a write without a handle");
    open(transfer.handle, {number, engine, true, now()});
    of.write(engine, std::move(transfer));
  }
  /// Bytes that a write that has ended received. What fills a packet's last word is in them, as far as the segments have room: frames do
  /// not say where data end.
  [[nodiscard]] std::uint64_t written(Handle handle) const {
    const auto found = ended_bytes_.find(handle);
    require(found != ended_bytes_.end(), "handle " + std::to_string(handle) + " is of no write that has completed");
    return found->second;
  }

  [[nodiscard]] SparseMemory& memory(unsigned number) { return node(number).memory.bytes; }
  [[nodiscard]] Assembly& assembly() { return assembly_; }
  [[nodiscard]] const Assembly& assembly() const { return assembly_; }
  /// Throws std::runtime_error where the capture is not written.
  void close() {
    if (capture_) capture_->close();
  }

  [[nodiscard]] Tick now() const override { return assembly_.time().now(); }
  [[nodiscard]] std::int64_t ticks_per_second() const override { return assembly_.ticks_per_second(); }
  /// To kNever, it ends where packets go around a circle of circuits and crossbars and nothing else moves, too: `failure` says which circle it
  /// is, until the next call.
  void advance(Tick until, std::vector<Completion>& completed) override {
    auto& time = assembly_.time();
    circle_.reset();
    if (until == kNever) {
      advance_without_end();
    } else {
      while (ended_.empty() && time.next_due() < until) time.advance(until);
      if (ended_.empty()) time.advance(until);
    }
    completed.insert(completed.end(), ended_.begin(), ended_.end());
    ended_.clear();
    for (auto& [number, hardware] : hardware_) hardware->run(idle() ? now() : now() - hardware->behind());
  }
  /// Ends the simulation: runs the Verilated nodes to the simulator's time, and compares their counters. Returns the cycles, of all clocks
  /// and nodes, in which they were evaluated. Throws NodeDifference.
  std::uint64_t finish() {
    std::uint64_t cycles = 0;
    for (auto& [number, hardware] : hardware_) {
      hardware->finish(now());
      cycles += hardware->cycles();
    }
    return cycles;
  }
  [[nodiscard]] Tick next() const override { return ended_.empty() ? assembly_.time().next_due() : now(); }
  [[nodiscard]] bool idle() const override { return ended_.empty() && assembly_.time().next_due() == kNever; }
  [[nodiscard]] std::vector<Blocked> blocked() const override {
    std::vector<Blocked> all;
    for (const auto& [handle, open] : open_)
      if (open.writes && !open.kernel)
        all.push_back({.who = engine_name(open.node, true, open.engine),
                       .what = "for words, operation " + std::to_string(handle),
                       .on = source_of(*nodes_[open.node], open.node, open.engine),
                       .why = {},
                       .since = open.since,
                       .where = {}});
    for (unsigned n = 0; n < nodes_.size(); ++n)
      if (nodes_[n]) add_blocked(*nodes_[n], n, now(), [this](Handle handle) { return open_.at(handle).since; }, all);
    return all;
  }
  [[nodiscard]] std::optional<std::string> failure() const override { return circle_; }
  [[nodiscard]] std::vector<Lost> lost() const override { return assembly_.lost(); }

 private:
  static constexpr Tick kStride = 1 << 20;

 public:
  static constexpr Handle kNoHandle = ~Handle{0};

 private:
  struct Open {
    unsigned node = 0, engine = 0;
    bool writes = true;
    Tick since = 0;
    bool kernel = false;
  };

  void open(Handle handle, const Open& of) {
    require(handle < Node::kSequencers, "handle " + std::to_string(handle) + " is none; they are below 2^63");
    require(!open_.contains(handle),
            "handle " + std::to_string(handle) + " is of an operation that has not completed; take another one");
    open_[handle] = of;
    ended_bytes_.erase(handle);
  }

  /// Until something has completed, nothing is due, or packets go around a circle.
  void advance_without_end() {
    auto& time = assembly_.time();
    Circles::Words before;
    Tick check = time.now() + circles_.patience();
    while (ended_.empty() && time.next_due() != kNever && !circle_) {
      time.advance(time.next_due() + kStride);
      if (time.now() < check || !ended_.empty()) continue;
      Circles::Words now = circles_.words();
      if (!before.empty()) circle_ = circles_.find(before, now);
      before = std::move(now);
      check = time.now() + circles_.patience();
    }
  }
  KernelPort& kernel_of(Handle handle, unsigned number, unsigned kernel, bool receives) {
    static_cast<void>(this->kernel(number, kernel));
    open(handle, {number, kernel, receives, now(), true});
    return node(number).kernels[kernel];
  }
  /// Words that a virtual port there has room for: a frame is taken where the longest one has room.
  [[nodiscard]] std::uint64_t credits_of(unsigned number) {
    const NodeConfig& config = node(number).config;
    return config.receive_words - config.frame_words + 1;
  }
  /// A circuit may join two virtual ports.
  void check(const Place& at, const Place& to) {
    external(at);
    external(to);
    require(to != at, to_string(at) + " can't be joined with itself");
    const auto of = [this](const Place& place) {
      const std::string& name = partitions_[place.node];
      return to_string(place) + (name.empty() ? " is in none" : " is in " + name);
    };
    require(partitions_[at.node] == partitions_[to.node],
            "a circuit joins virtual ports of one partition: " + of(at) + ", " + of(to));
  }

  static Kinds kinds(Tick ticks_per_second, ethernet::Frames& frames) {
    Kinds known;
    ethernet::add_kinds(known, ticks_per_second, frames);
    vcsn::add_kinds(known, ticks_per_second, frames);
    return known;
  }

  /// Of a virtual port among a node's registers.
  [[nodiscard]] unsigned register_of(const Place& at) {
    return at.port * node(at.node).config.virtual_ports + at.virtual_port;
  }
  [[nodiscard]] const std::optional<Circuit>& row_of(const Place& at) {
    EthernetPort& port = external(at);
    return port.rows.or_else(at.virtual_port, port.circuits.of(at.virtual_port));
  }
  [[nodiscard]] std::uint16_t session_number(const Place& at) {
    EthernetPort& port = external(at);
    return port.numbers.or_else(at.virtual_port, port.session(at.virtual_port).number());
  }
  [[nodiscard]] Place place_of_register(unsigned number, unsigned at) {
    const unsigned each = node(number).config.virtual_ports;
    return {number, at / each, at % each};
  }
  void set_row(const Place& at, const std::optional<Circuit>& to) { node(at.node).commands->write(row(at, to)); }
  [[nodiscard]] Command row(const Place& at, const std::optional<Circuit>& to) {
    EthernetPort& port = external(at);
    return {.word = commands::circuit(register_of(at), to),
            .port = at.port,
            .after = 1,
            .acts =
                [&port, at, to] {
                  port.rows.acts(at.virtual_port);
                  port.numbers.acts(at.virtual_port);
                  port.set_circuit(at.virtual_port, to);
                },
            .written =
                [&port, at, to] {
                  port.rows.write(at.virtual_port, to);
                  port.numbers.write(at.virtual_port, 0);
                }};
  }
  void use_credits(const Place& at, std::uint64_t words) { node(at.node).commands->write(credits(at, words)); }
  [[nodiscard]] Command credits(const Place& at, std::uint64_t words) {
    EthernetPort& port = external(at);
    const CreditsConfig config = port.credits(words);
    Credits::check(config);
    return {
        .word = commands::credits(register_of(at), config), .port = at.port, .after = 1, .acts = [&port, at, words] {
          port.set_credits(at.virtual_port, words);
        }};
  }

  EthernetPort& external(const Place& place) {
    Node& of = node(place.node);
    require(place.port < of.config.ports && place.virtual_port < of.config.virtual_ports,
            "there is no " + to_string(place) + "; it has " + std::to_string(of.config.ports) + " with " +
                std::to_string(of.config.virtual_ports) + " each");
    auto* found = dynamic_cast<EthernetPort*>(of.externals[place.port].get());
    require(found, to_string(place) + " is at a serial link, which has no circuits");
    return *found;
  }
  static void check_places(const Node& of, unsigned number, unsigned output, std::optional<unsigned> input) {
    const unsigned all = of.places();
    for (const unsigned each : {output, input.value_or(0)})
      require(each < all, "a crossbar has no input or output " + std::to_string(each) + "; node " +
                              std::to_string(number) + " has " + std::to_string(all));
  }
  // The instructions of a program's steps. Throw std::invalid_argument.
  std::vector<Instruction> compiled(unsigned number, unsigned, const Row& step) {
    const Place at{number, step.port, step.virtual_port};
    external(at);
    if (step.to) check(at, *step.to);
    const auto to = step.to ? std::optional(circuit_to(*step.to)) : std::nullopt;
    std::vector<Instruction> all{{.command = row(at, to), .row = to}};
    if (step.to && step.credits) all.push_back({.command = credits(at, credits_of(step.to->node))});
    return all;
  }
  std::vector<Instruction> compiled(unsigned number, unsigned sequencer, const Connect& step) {
    Node& of = node(number);
    check_places(of, number, step.output, step.input);
    Sequencer& by = of.sequencers[sequencer];
    return {{.command = of.connecting(step.output, step.input, [&by, number, step] {
      by.refuse("another output has input " + std::to_string(*step.input) + " of node " + std::to_string(number) +
                "'s crossbar, which output " + std::to_string(step.output) + " was to be set to");
    })}};
  }
  std::vector<Instruction> compiled(unsigned, unsigned, const SendWord&) {
    return {{.command = {.word = commands::word(commands::Kind::send_word, 0, 0)}}};
  }
  std::vector<Instruction> compiled(unsigned, unsigned, const AwaitWord&) {
    return {{.command = {.word = commands::word(commands::Kind::await_word, 0, 0)}}};
  }
  std::vector<Instruction> compiled(unsigned number, unsigned sequencer, const Read& step) {
    return transfers(number, sequencer, false, step.engine, step.segments);
  }
  std::vector<Instruction> compiled(unsigned number, unsigned sequencer, const Write& step) {
    return transfers(number, sequencer, true, step.engine, step.segments);
  }
  std::vector<Instruction> transfers(unsigned number, unsigned sequencer, bool writes, unsigned engine,
                                     const std::vector<Segment>& segments) {
    Node& of = node(number);
    check_segments(of, number, engine, segments);
    const std::string name = engine_name(number, writes, engine);
    require(of.under_way(writes, engine) == 0,
            name + " has transfers of a host, which a sequencer's program waits for");
    if (const auto owner = of.owner(writes, engine))
      throw std::invalid_argument(name + " is used by the program of sequencer " + std::to_string(*owner));
    const Transfer transfer{.handle = Node::kSequencers + sequencer, .segments = segments};
    std::vector<Instruction> all;
    for (Command& command : writes ? of.writing(engine, transfer) : of.reading(engine, transfer))
      all.push_back({.command = std::move(command)});
    all.back().ends_transfer = true;
    return all;
  }
  Node& checked(unsigned number, bool writes, unsigned engine, const Transfer& transfer) {
    Node& of = node(number);
    check_segments(of, number, engine, transfer.segments);
    if (const auto owner = of.owner(writes, engine))
      throw std::invalid_argument(engine_name(number, writes, engine) + " is used by the program of sequencer " +
                                  std::to_string(*owner) + " until it ends");
    return of;
  }
  static void check_segments(const Node& of, unsigned number, unsigned engine, const std::vector<Segment>& segments) {
    require(engine < of.config.dmas, "node " + std::to_string(number) + " has no DMA engine " + std::to_string(engine));
    require(!segments.empty(), "a transfer without segments");
    require(segments.size() <= kSegments, "a transfer has " + std::to_string(segments.size()) +
                                              " segments; an engine holds " + std::to_string(kSegments));
    for (std::size_t k = 0; k < segments.size(); ++k) {
      const Segment& segment = segments[k];
      require(segment.bytes > 0, "a segment of a transfer has no bytes");
      require(segment.bytes <= kMostSegment, "a segment of a transfer has " + std::to_string(segment.bytes) +
                                                 " bytes; it has " + std::to_string(kMostSegment) + " at most");
      require(segment.address % kWord == 0 && (segment.bytes % kWord == 0 || k + 1 == segments.size()),
              "segments of a transfer begin at multiples of 64 bytes, and all but the last one are whole words of 64");
      require(segment.address <= of.memory.bytes.size() && segment.bytes <= of.memory.bytes.size() - segment.address,
              of.memory.bytes.name() + " has " + std::to_string(of.memory.bytes.size()) + " bytes; " +
                  std::to_string(segment.bytes) + " at " + std::to_string(segment.address) + " are outside");
      require(segment.address / of.config.bank_bytes == (segment.address + segment.bytes - 1) / of.config.bank_bytes,
              "a segment of a transfer is in one bank of the memory");
    }
  }
  void follow(Node& of, unsigned number, const MakeCircuit& make) {
    std::vector<std::uint64_t> addresses;
    for (unsigned port = 0; port < of.config.ports; ++port) addresses.push_back(address_of(number, port));
    if (auto circuit = make(number, addresses))
      hardware_[number] = std::make_unique<RtlNode>(of, number, std::move(circuit));
  }

  void watch(EthernetPort& external, unsigned number, unsigned port) {
    const double ns = 1e9 / static_cast<double>(ticks_per_second()) * static_cast<double>(external.clock().period);
    external.encoder.sent = external.decoder.seen =
        capture_->tap("node " + std::to_string(number) + ", port " + std::to_string(port), ns);
  }
  void end(const Node& of, const Ended& transfer) {
    if (transfer.handle == kNoHandle) return;
    open_.erase(transfer.handle);
    ended_bytes_[transfer.handle] = transfer.bytes;
    ended_.push_back({transfer.handle, of.shell().clock.edge(transfer.cycle)});
    assembly_.time().interrupt();
  }

  ethernet::Frames frames_;
  std::optional<ethernet::Capture> capture_;
  Assembly assembly_;
  std::vector<Node*> nodes_;
  std::map<unsigned, std::unique_ptr<RtlNode>> hardware_;
  std::vector<std::string> partitions_;  ///< of each node; empty: none
  Circles circles_{kStride};
  std::optional<std::string> circle_;  ///< that packets go around
  std::map<Handle, Taken> taken_;
  std::map<Handle, Open> open_;
  std::map<Handle, std::uint64_t> ended_bytes_;
  std::vector<Completion> ended_;
};

}  // namespace thalweg::vcsn
