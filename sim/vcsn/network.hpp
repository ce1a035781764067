// SPDX-License-Identifier: Apache-2.0
// Engine of a cluster with virtual circuits: hosts write its tables and registers, and submit transfers to its DMA
// engines.
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
  /// Makes the hardware of a node whose external ports have these addresses; nullptr: only simulate that node.
  using MakeCircuit = std::function<std::unique_ptr<NodeCircuit>(unsigned number, const std::vector<std::uint64_t>&)>;

  /// `capture`: file to write, or empty. `make`: makes hardware that is compared with the simulator's nodes. Throws
  /// std::invalid_argument and std::runtime_error.
  Network(const Description& description, const std::string& capture, const MakeCircuit& make = {});
  ~Network() override;

  [[nodiscard]] unsigned nodes() const { return assembly_.nodes(); }
  /// Throws std::invalid_argument if the node has no shell.
  [[nodiscard]] Node& node(unsigned number) {
    require(number < nodes_.size() && nodes_[number], "node " + std::to_string(number) + " is not an FPGA");
    return *nodes_[number];
  }

  // Writes of hosts to registers: each is a command, which takes effect on arrival (commands.hpp). Queries of tables
  // and crossbars return the last written values.

  /// Writes a virtual port's row of the circuit table: frames go to, and are accepted from, exactly one other virtual
  /// port; none: no circuit. The row starts without credits and session. Throws std::invalid_argument with one line if
  /// there is no such port.
  void set_circuit(const VirtualPort& at, const std::optional<VirtualPort>& to);
  /// Returns the rows to write, ordered by node and port, so that these nodes have exactly these circuits of two ends.
  /// Throws std::invalid_argument.
  [[nodiscard]] std::vector<std::pair<VirtualPort, std::optional<VirtualPort>>> changes(
      const std::vector<std::pair<VirtualPort, VirtualPort>>& circuits, const std::vector<unsigned>& numbers);
  /// The peer in a virtual port's row. Throws std::invalid_argument.
  [[nodiscard]] std::optional<VirtualPort> circuit(const VirtualPort& at) {
    const auto& row = row_of(at);
    return row && !ethernet::is_group(row->address) ? std::optional(virtual_port_of(*row)) : std::nullopt;
  }
  /// Writes a row of a multicast circuit: frames go to a multicast address of this virtual port, and reach virtual port
  /// `virtual_port` of all external ports whose rows name the sender. No frames are accepted. Throws
  /// std::invalid_argument.
  void set_multicast(const VirtualPort& at, std::uint8_t virtual_port) {
    external(at);
    set_row(at, Circuit{group_of(circuit_to(at)), virtual_port});
  }
  [[nodiscard]] bool sends_to_group(const VirtualPort& at) {
    const auto& row = row_of(at);
    return row && ethernet::is_group(row->address);
  }
  /// Sets the ports of a switch to which multicasts of a virtual port are forwarded. Throws std::invalid_argument.
  void set_group(unsigned number, const VirtualPort& source, const std::vector<unsigned>& ports);
  /// Puts FPGAs into a partition: circuits join nodes of one partition, or nodes of none (an empty name). Throws
  /// std::invalid_argument, without a change, if a circuit would leave its partition. This includes a row that is being
  /// closed: until the command has crossed into the line's clock, frames still leave over the old circuit, and a word
  /// that the FPGA's new user sends at once could be among them.
  void set_partition(const std::vector<unsigned>& numbers, const std::string& name);
  /// Injects a frame at an external port as if received, after those in flight: its bytes from the destination address
  /// on, without FCS. Throws std::invalid_argument.
  void inject(unsigned number, unsigned port, std::span<const std::byte> bytes, bool damaged) {
    require(external({number, port, 0}).inject(frames_, bytes, damaged),
            "port " + std::to_string(port) + " of node " + std::to_string(number) + " has no line");
  }
  /// Outcomes of frames received at an external port. Throws std::invalid_argument.
  [[nodiscard]] const Received& received(unsigned number, unsigned port) {
    return external({number, port, 0}).decoder.received();
  }
  /// User logic of a node sends words to the crossbar, and receives words from it. Throw std::invalid_argument.
  void kernel_send(Handle handle, unsigned number, unsigned kernel, std::span<const std::byte> data, bool ends,
                   std::uint8_t channel);
  void kernel_receive(Handle handle, unsigned number, unsigned kernel, std::uint64_t words);
  [[nodiscard]] const KernelPort& kernel(unsigned number, unsigned kernel);
  /// True if an operation with this handle is outstanding.
  [[nodiscard]] bool has(Handle handle) const { return open_.contains(handle); }
  /// The first handle, from `first` on, that is above all outstanding ones.
  [[nodiscard]] Handle unused(Handle first) const {
    return open_.empty() ? first : std::max(first, open_.rbegin()->first + 1);
  }
  /// Returns and removes the words of a completed `kernel_receive`. Throws std::invalid_argument.
  [[nodiscard]] Taken taken(Handle handle);
  /// Selects the input of a crossbar output, or none. Order of indices: engines, virtual ports, sequencers, user logic.
  /// Throws std::invalid_argument.
  void connect(unsigned number, unsigned output, std::optional<unsigned> input);
  /// Steps of a sequencer's program. Row: writes a row of the circuit table; `credits`: the circuit uses them.
  struct Row {
    unsigned port = 0, virtual_port = 0;
    std::optional<VirtualPort> to;
    bool credits = false;
  };
  struct Connect {
    unsigned output = 0;
    std::optional<unsigned> input;
  };
  /// Sends a word, which is a packet, from the sequencer's crossbar input; done when it is taken.
  struct SendWord {};
  /// Waits for a word at the sequencer's crossbar output.
  struct AwaitWord {};
  /// Sends a packet from memory; done when its last word has left the engine.
  struct Read {
    unsigned engine = 0;
    std::vector<Segment> segments;
  };
  /// Receives a packet to memory; done when it is there.
  struct Write {
    unsigned engine = 0;
    std::vector<Segment> segments;
  };
  using Step = std::variant<Row, Connect, SendWord, AwaitWord, Read, Write>;
  /// Starts a program in an FPGA; completes under its handle. Engines used by the program accept no other transfers
  /// while it runs. Throws std::invalid_argument.
  void sequence(Handle handle, unsigned number, unsigned sequencer, const std::vector<Step>& program);
  void set_pace(const VirtualPort& at, const Pace& pace);

  /// Restarts an FPGA: its tables, crossbar and buffers are empty, its operations never complete, and forgotten words
  /// and operations are counted as lost. Its memory keeps its contents. Throws std::invalid_argument if it has serial
  /// links.
  void restart(unsigned number);

  /// Sets the reception monitor of an external port, and the reaction of a virtual port to indications. Throw
  /// std::invalid_argument.
  void set_monitor(unsigned number, unsigned port, const MonitorConfig& config);
  void set_reaction(const VirtualPort& at, const Reaction& reaction);
  /// Enables or disables credits at both ends of a virtual port's circuit: no more is sent than the peer's receive
  /// buffer can hold.
  void set_credits(const VirtualPort& at, bool used);
  /// True if all words given to a virtual port by its crossbar have been sent. Throws std::invalid_argument.
  [[nodiscard]] bool drained(const VirtualPort& at) { return external(at).drained(at.virtual_port); }
  /// Opens a session at an end of a circuit, with a number that is new on this circuit; 0: none. From then on, all
  /// words arrive once and in order, or both ends detect that their session has ended. The other end must open one,
  /// too. The former session ends at once; the new one starts when all received words have left the receive buffer.
  /// Throws std::invalid_argument.
  void set_session(const VirtualPort& at, std::uint16_t number);
  [[nodiscard]] const Session& session(const VirtualPort& at) { return external(at).session(at.virtual_port); }
  [[nodiscard]] std::uint64_t indications(const VirtualPort& at) {
    return external(at).encoder.indications(at.virtual_port);
  }

  /// Throw std::invalid_argument. A read with a handle completes when its last word has left the engine.
  void read(unsigned number, unsigned engine, Transfer transfer);
  /// Completes under its handle when the received packet is in memory.
  void write(unsigned number, unsigned engine, Transfer transfer);
  /// Number of bytes received by a completed write. They include the padding of a packet's last word, as far as the
  /// segments have space: frames do not contain the length of data.
  [[nodiscard]] std::uint64_t written(Handle handle) const;

  [[nodiscard]] SparseMemory& memory(unsigned number) { return node(number).memory.bytes; }
  [[nodiscard]] Assembly& assembly() { return assembly_; }
  [[nodiscard]] const Assembly& assembly() const { return assembly_; }
  /// Closes the capture. Throws std::runtime_error if it cannot be written.
  void close() {
    if (capture_) capture_->close();
  }

  [[nodiscard]] Tick now() const override { return assembly_.time().now(); }
  [[nodiscard]] std::int64_t ticks_per_second() const override { return assembly_.ticks_per_second(); }
  /// With kNever, it also returns if packets circulate forever in a cycle of circuits and crossbars, and nothing else
  /// moves: until the next call, `failure` describes the cycle.
  void advance(Tick until, std::vector<Completion>& completed) override;
  /// Ends the simulation: runs the Verilated nodes to the simulator's time, and compares their counters. Returns the
  /// number of evaluated cycles of all clocks and nodes. Throws NodeDifference.
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

  /// Advances until an operation completes, nothing is due, or packets circulate forever.
  void advance_without_end();
  KernelPort& kernel_of(Handle handle, unsigned number, unsigned kernel, bool receives);
  /// Credits in words for a virtual port of this node: its receive buffer accepts a frame if the longest one fits.
  [[nodiscard]] std::uint64_t credits_of(unsigned number) {
    const NodeConfig& config = node(number).config;
    return config.receive_words - config.frame_words + 1;
  }
  /// Checks that a circuit may join two virtual ports.
  void check(const VirtualPort& at, const VirtualPort& to);

  static Kinds kinds(Tick ticks_per_second, ethernet::Frames& frames);

  /// Index of a virtual port among its node's registers.
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
  // Compile a program's steps into instructions. Throw std::invalid_argument.
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
  std::vector<std::string> partitions_;  ///< by node; empty: none
  Circles circles_{kStride};
  std::optional<std::string> circle_;  ///< description of the cycle in which packets circulate
  std::map<Handle, Taken> taken_;
  std::map<Handle, Open> open_;
  std::map<Handle, std::uint64_t> ended_bytes_;
  std::vector<Completion> ended_;
};

}  // namespace thalweg::vcsn
