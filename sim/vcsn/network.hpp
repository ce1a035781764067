// SPDX-License-Identifier: Apache-2.0
// Engine of a cluster with virtual circuits: hosts write its tables and registers, and submit transfers to its DMA engines.
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
#include "vcsn/circle.hpp"
#include "vcsn/ethernet_port.hpp"
#include "vcsn/node.hpp"
#include "vcsn/node_circuit.hpp"
#include "vcsn/virtual_ports.hpp"

namespace thalweg::vcsn {

class RtlNode;

class Network final : public Engine {
 public:
  /// Makes the hardware's node of external ports with these addresses; nullptr: that node is the simulator's alone.
  using MakeCircuit = std::function<std::unique_ptr<NodeCircuit>(unsigned number, const std::vector<std::uint64_t>&)>;

  /// `capture`: a file to write, or empty. `make`: the hardware's nodes follow the simulator's. Throws std::invalid_argument and
  /// std::runtime_error.
  Network(const Description& description, const std::string& capture, const MakeCircuit& make = {});
  ~Network() override;

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
  void set_circuit(const VirtualPort& at, const std::optional<VirtualPort>& to);
  /// The rows to write, in the order of nodes and ports, so that some nodes have these circuits, each of two ends, and no others. Throws
  /// std::invalid_argument.
  [[nodiscard]] std::vector<std::pair<VirtualPort, std::optional<VirtualPort>>> changes(
      const std::vector<std::pair<VirtualPort, VirtualPort>>& circuits, const std::vector<unsigned>& numbers);
  /// The other end in a virtual port's row. Throws std::invalid_argument.
  [[nodiscard]] std::optional<VirtualPort> circuit(const VirtualPort& at) {
    const auto& row = row_of(at);
    return row && !ethernet::is_group(row->address) ? std::optional(virtual_port_of(*row)) : std::nullopt;
  }
  /// Writes a row of a circuit to several ends: frames go to a multicast address of this virtual port's own, for this virtual port of all whose rows
  /// name it; none are taken. Throws std::invalid_argument.
  void set_multicast(const VirtualPort& at, std::uint8_t virtual_port) {
    external(at);
    set_row(at, Circuit{group_of(circuit_to(at)), virtual_port});
  }
  [[nodiscard]] bool sends_to_group(const VirtualPort& at) {
    const auto& row = row_of(at);
    return row && ethernet::is_group(row->address);
  }
  /// The ports of a switch that what a virtual port multicasts goes to. Throws std::invalid_argument.
  void set_group(unsigned number, const VirtualPort& source, const std::vector<unsigned>& ports);
  /// Puts FPGAs into a partition: circuits join nodes of one alone, or nodes of none (an empty name). Throws std::invalid_argument, and nothing
  /// changes, where a circuit would leave a partition. That of a row whose closing is under way would, too: until the command has crossed into the
  /// line's clock, frames leave over it, and a word that the FPGA's new user sends at once would be one of them.
  void set_partition(const std::vector<unsigned>& numbers, const std::string& name);
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
                   std::uint8_t channel);
  void kernel_receive(Handle handle, unsigned number, unsigned kernel, std::uint64_t words);
  [[nodiscard]] const KernelPort& kernel(unsigned number, unsigned kernel);
  /// An operation has been given and has not completed.
  [[nodiscard]] bool has(Handle handle) const { return open_.contains(handle); }
  /// The first handle from `first` on that is above all of operations that have not completed.
  [[nodiscard]] Handle unused(Handle first) const {
    return open_.empty() ? first : std::max(first, open_.rbegin()->first + 1);
  }
  /// What a `kernel_receive` that has completed took; once. Throws std::invalid_argument.
  [[nodiscard]] Taken taken(Handle handle);
  /// An output of a node's crossbar takes packets of an input, or of none: engines first, then virtual ports, sequencers, and user logic. Throws
  /// std::invalid_argument.
  void connect(unsigned number, unsigned output, std::optional<unsigned> input);
  /// Steps of a sequencer's program. A row of the circuit table; `credits`: the circuit uses them.
  struct Row {
    unsigned port = 0, virtual_port = 0;
    std::optional<VirtualPort> to;
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
  void sequence(Handle handle, unsigned number, unsigned sequencer, const std::vector<Step>& program);
  void set_pace(const VirtualPort& at, const Pace& pace);

  /// An FPGA starts again: its tables, crossbar and buffers are empty, its operations never complete, and what it has forgotten is counted as lost.
  /// Its memory stays as it is. Throws std::invalid_argument where it has serial links.
  void restart(unsigned number);

  /// What is too fast at an external port, and what a virtual port does after an indication. Throw std::invalid_argument.
  void set_monitor(unsigned number, unsigned port, const MonitorConfig& config);
  void set_reaction(const VirtualPort& at, const Reaction& reaction);
  /// Of both ends of the circuit that a virtual port has, which are joined: no more is sent than the other one's receive buffer has room for.
  void set_credits(const VirtualPort& at, bool used);
  /// All words that a virtual port was given by its crossbar have been sent. Throws std::invalid_argument.
  [[nodiscard]] bool drained(const VirtualPort& at) { return external(at).drained(at.virtual_port); }
  /// An end of a circuit begins a session, of a number that none of this circuit had before: from then on all words arrive, once and in
  /// order, or both ends know that their session has ended. The other end begins one, too. 0: none. The former session ends at once, the new one begins when
  /// all that came has left the receive buffer. Throws std::invalid_argument.
  void set_session(const VirtualPort& at, std::uint16_t number);
  [[nodiscard]] const Session& session(const VirtualPort& at) { return external(at).session(at.virtual_port); }
  [[nodiscard]] std::uint64_t indications(const VirtualPort& at) {
    return external(at).encoder.indications(at.virtual_port);
  }

  /// Throw std::invalid_argument. A read with a handle completes when its last word has left the engine.
  void read(unsigned number, unsigned engine, Transfer transfer);
  /// Completes under its handle when the packet that ended is in the memory.
  void write(unsigned number, unsigned engine, Transfer transfer);
  /// Bytes that a write that has ended received. What fills a packet's last word is in them, as far as the segments have room: frames do
  /// not say where data end.
  [[nodiscard]] std::uint64_t written(Handle handle) const;

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
  void advance(Tick until, std::vector<Completion>& completed) override;
  /// Ends the simulation: runs the Verilated nodes to the simulator's time, and compares their counters. Returns the cycles, of all clocks
  /// and nodes, in which they were evaluated. Throws NodeDifference.
  std::uint64_t finish();
  [[nodiscard]] Tick next() const override { return ended_.empty() ? assembly_.time().next_due() : now(); }
  [[nodiscard]] bool idle() const override { return ended_.empty() && assembly_.time().next_due() == kNever; }
  [[nodiscard]] std::vector<Blocked> blocked() const override;
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

  void open(Handle handle, const Open& of);

  /// Until something has completed, nothing is due, or packets go around a circle.
  void advance_without_end();
  KernelPort& kernel_of(Handle handle, unsigned number, unsigned kernel, bool receives);
  /// Words that a virtual port there has room for: a frame is taken where the longest one has room.
  [[nodiscard]] std::uint64_t credits_of(unsigned number) {
    const NodeConfig& config = node(number).config;
    return config.receive_words - config.frame_words + 1;
  }
  /// A circuit may join two virtual ports.
  void check(const VirtualPort& at, const VirtualPort& to);

  static Kinds kinds(Tick ticks_per_second, ethernet::Frames& frames);

  /// Of a virtual port among a node's registers.
  [[nodiscard]] unsigned register_of(const VirtualPort& at) {
    return at.port * node(at.node).config.virtual_ports + at.virtual_port;
  }
  [[nodiscard]] const std::optional<Circuit>& row_of(const VirtualPort& at) {
    EthernetPort& port = external(at);
    return port.rows.or_else(at.virtual_port, port.circuits.of(at.virtual_port));
  }
  [[nodiscard]] std::uint16_t session_number(const VirtualPort& at) {
    EthernetPort& port = external(at);
    return port.numbers.or_else(at.virtual_port, port.session(at.virtual_port).number());
  }
  [[nodiscard]] VirtualPort virtual_port_of_register(unsigned number, unsigned at) {
    const unsigned each = node(number).config.virtual_ports;
    return {number, at / each, at % each};
  }
  void set_row(const VirtualPort& at, const std::optional<Circuit>& to) { node(at.node).commands->write(row(at, to)); }
  [[nodiscard]] Command row(const VirtualPort& at, const std::optional<Circuit>& to);
  void use_credits(const VirtualPort& at, std::uint64_t words) { node(at.node).commands->write(credits(at, words)); }
  [[nodiscard]] Command credits(const VirtualPort& at, std::uint64_t words);

  EthernetPort& external(const VirtualPort& place);
  static void check_places(const Node& of, unsigned number, unsigned output, std::optional<unsigned> input);
  // The instructions of a program's steps. Throw std::invalid_argument.
  std::vector<Instruction> compiled(unsigned number, unsigned, const Row& step);
  std::vector<Instruction> compiled(unsigned number, unsigned sequencer, const Connect& step);
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
                                     const std::vector<Segment>& segments);
  Node& checked(unsigned number, bool writes, unsigned engine, const Transfer& transfer);
  static void check_segments(const Node& of, unsigned number, unsigned engine, const std::vector<Segment>& segments);
  void follow(Node& of, unsigned number, const MakeCircuit& make);

  void watch(EthernetPort& external, unsigned number, unsigned port);
  void end(const Node& of, const Ended& transfer);

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
