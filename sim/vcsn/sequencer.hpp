// SPDX-License-Identifier: Apache-2.0
// Runs a program of commands in an FPGA, so that transfers follow each other without a host: it writes rows of the circuit table, sets the
// crossbar, starts DMA engines and waits for them, and exchanges words with other nodes' sequencers over circuits of their own data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/clock.hpp"
#include "vcsn/circuit_table.hpp"
#include "vcsn/crossbar.hpp"
#include "vcsn/external.hpp"
#include "vcsn/kernel_port.hpp"
#include "vcsn/read_dma.hpp"
#include "vcsn/write_dma.hpp"

namespace thalweg::vcsn {

/// Writes a virtual port's row, whose circuit then has so many credits; 0: none are used.
struct RowCommand {
  unsigned port = 0, virtual_port = 0;
  std::optional<Circuit> to;
  std::uint64_t credits = 0;
};
struct ConnectCommand {
  unsigned output = 0;
  std::optional<unsigned> input;
};
/// A word, which is a packet, from the sequencer's input of the crossbar; until it was taken.
struct SendCommand {};
/// Until a word came to the sequencer's output of the crossbar.
struct ReceiveCommand {};
/// A packet from the memory; until its last word has left the engine.
struct ReadCommand {
  unsigned engine = 0;
  std::vector<Segment> segments;
};
/// A packet to the memory; until it is there.
struct WriteCommand {
  unsigned engine = 0;
  std::vector<Segment> segments;
};
using Command = std::variant<RowCommand, ConnectCommand, SendCommand, ReceiveCommand, ReadCommand, WriteCommand>;

class Sequencer final : public Component {
 public:
  /// Of each command, before the next one: it is read and decoded, and a register is written over the shell's control bus, from where it
  /// crosses into the MAC's clock.
  static constexpr Tick kCommand = 8;
  static constexpr unsigned kMost = 1024;  ///< commands that its memory holds

  /// `number`: of it at its node, whose operations have handles of their own.
  Sequencer(Domain& domain, Handle handle, Crossbar& crossbar, std::deque<ReadDma>& reads, std::deque<WriteDma>& writes,
            std::vector<std::unique_ptr<External>>& externals)
      : stream(domain),
        domain_(&domain),
        id_(domain.scheduler.add(*this)),
        handle_(handle),
        crossbar_(&crossbar),
        reads_(&reads),
        writes_(&writes),
        externals_(&externals) {}

  KernelPort stream;  ///< at the crossbar
  std::function<void(const Ended&)> ended;

  [[nodiscard]] bool runs() const { return !program_.empty(); }
  /// Why it cannot go on; empty: it can.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] const std::vector<Command>& program() const { return program_; }
  /// The number of the command that it is at, and what that waits for.
  [[nodiscard]] std::string at() const {
    static constexpr std::array kWaits{"a row", "a crossbar", "room for a word", "a word", "a read", "a write"};
    if (next_ == 0) return "its begin";
    return "command " + std::to_string(next_) + ", for " + kWaits[program_[next_ - 1].index()];
  }
  /// Begins in the next cycle. Completes under a handle.
  void start(Handle handle, std::vector<Command> program) {
    program_ = std::move(program);
    program_handle_ = handle;
    next_ = 0;
    failure_.clear();
    from_ = domain_->scheduler.next() + 1;
    domain_->wake(id_, from_);
  }
  /// A restart: it forgets its program.
  std::uint64_t reset() {
    program_.clear();
    return stream.reset();
  }
  /// The operation that it waits for is complete.
  void complete(Tick now) {
    if (program_.empty()) return;
    from_ = now + kCommand;
    domain_->wake(id_, from_);
  }

  bool step(Tick now) override {
    if (program_.empty() || now < from_) return false;
    if (next_ == program_.size()) {
      program_.clear();
      ended({program_handle_, now + 1, 0});
      return false;
    }
    try {
      if (!std::visit([this](const auto& command) { return run(command); }, program_[next_++])) complete(now);
    } catch (const std::invalid_argument& error) {  // another one's output has the input by now
      failure_ = error.what();
    }
    return false;
  }

 private:
  // True: it completes later.
  bool run(const RowCommand& command) {
    (*externals_)[command.port]->set_circuit(command.virtual_port, command.to, command.credits);
    return false;
  }
  bool run(const ConnectCommand& command) {
    crossbar_->set(command.output, command.input);
    return false;
  }
  bool run(const SendCommand&) {
    static constexpr std::array<std::byte, kWord> kNothing{};
    stream.send(handle_, kNothing, true, 0);
    return true;
  }
  bool run(const ReceiveCommand&) {
    stream.receive(handle_, 1);
    return true;
  }
  bool run(const ReadCommand& command) {
    (*reads_)[command.engine].submit({.handle = handle_, .segments = command.segments});
    return true;
  }
  bool run(const WriteCommand& command) {
    (*writes_)[command.engine].submit({.handle = handle_, .segments = command.segments});
    return true;
  }

  Domain* domain_;
  ComponentId id_;
  Handle handle_;
  Crossbar* crossbar_;
  std::deque<ReadDma>* reads_;
  std::deque<WriteDma>* writes_;
  std::vector<std::unique_ptr<External>>* externals_;
  std::vector<Command> program_;
  Handle program_handle_ = 0;
  std::string failure_;
  std::size_t next_ = 0;
  Tick from_ = 0;
};

}  // namespace thalweg::vcsn
