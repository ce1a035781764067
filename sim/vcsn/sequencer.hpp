// SPDX-License-Identifier: Apache-2.0
// Runs a program in an FPGA, so that transfers follow each other without a host: issues commands to the node, waits for
// the completion of transfers, and exchanges words with sequencers of other nodes over circuits. C++ model of
// rtl/vcsn/tw_sequencer.sv.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "vcsn/circuit_table.hpp"
#include "vcsn/commands.hpp"
#include "vcsn/word.hpp"

namespace thalweg::vcsn {

/// An instruction in the hardware's encoding.
struct Instruction {
  Command command;
  unsigned number = 0;           ///< number of its step in the program, from 1
  std::optional<Circuit> row{};  ///< circuit-table row that it writes
  bool ends_transfer = false;    ///< it is done when the engine has ended the transfer

  [[nodiscard]] commands::Kind kind() const { return static_cast<commands::Kind>(command.word.high >> 56); }
  [[nodiscard]] unsigned place() const { return command.word.high >> 48 & 0xFF; }
};

class Sequencer final : public Component, public Source, public Sink {
 public:
  /// Cycles between the end of an instruction and the next one, during which a command for an external port crosses
  /// into its clock.
  static constexpr Tick kSpacing = 8;
  static constexpr unsigned kInstructions =
      1024;  ///< capacity of its memory, including the last instruction, which ends a program

  explicit Sequencer(Domain& domain) : domain_(&domain), id_(domain.scheduler.add(*this)) {}

  std::function<bool(Tick, const Command&)> offer;  ///< offers a command in a cycle; returns whether it is accepted
  std::function<void()> offered, freed;             ///< called when it offers a word to the crossbar, or accepts one
  std::function<void(Tick)> ended;                  ///< called when the program has ended

  [[nodiscard]] bool runs() const { return !program_.empty(); }
  [[nodiscard]] const std::vector<Instruction>& program() const { return program_; }
  /// The current step of the program, and what it waits for.
  [[nodiscard]] std::string at() const {
    if (!begun_) return "its start";
    const Instruction& at = program_[next_];
    const auto waits = [&] {
      switch (at.kind()) {
        case commands::Kind::send_word:
          return "for room for a word";
        case commands::Kind::await_word:
          return "for a word";
        case commands::Kind::read:
          return "for a read";
        case commands::Kind::write:
          return "for a write";
        default:
          return "for its turn";
      }
    };
    return "command " + std::to_string(at.number) + ", " + waits();
  }
  /// Reason for which the node has refused a command; empty if none.
  [[nodiscard]] const std::string& refused() const { return refused_; }
  void refuse(std::string why) { refused_ = std::move(why); }

  /// The command offered in this cycle, or nullptr.
  [[nodiscard]] const Command* gives(Tick now) const {
    return from_ <= now && program_[next_].kind() < commands::Kind::send_word ? &program_[next_].command : nullptr;
  }
  /// True if the program waits for the end of a transfer of this engine.
  [[nodiscard]] bool waits_for(commands::Kind kind, unsigned engine) const {
    if (!runs() || !begun_ || from_ != kNever) return false;
    const Instruction& at = program_[next_];
    return at.ends_transfer && at.kind() == kind && at.place() == engine;
  }

  /// Sets the instructions, whose commands are in flight; the program starts when the last one, `Finish`, has arrived.
  void load(std::vector<Instruction> program) {
    program_ = std::move(program);
    begun_ = false;
    refused_.clear();
  }
  /// The last instruction has arrived in this cycle.
  void begin(Tick now) {
    begun_ = true;
    next_ = 0;
    after(now);
  }
  /// The awaited transfer ends in this cycle.
  void complete(Tick cycle) { done(cycle); }
  /// Restarts: forgets its program.
  void reset() {
    program_.clear();
    from_ = offers_ = accepts_ = kNever;
  }

  [[nodiscard]] Tick offers() const override { return offers_; }
  [[nodiscard]] const Word& front() const override {
    static constexpr Word kPacket{.first = true, .last = true};
    return kPacket;
  }
  void take(Tick cycle) override {
    offers_ = kNever;
    done(cycle);
  }
  [[nodiscard]] Tick accepts() const override { return accepts_; }
  void put(Tick cycle, const Word&) override {
    accepts_ = kNever;
    done(cycle);
  }

  bool step(Tick now) override {
    if (from_ == kNever || now + 1 < from_) return false;
    const Instruction& next = program_[next_];
    switch (next.kind()) {
      case commands::Kind::send_word:
        offers_ = std::exchange(from_, kNever);
        offered();
        return false;
      case commands::Kind::await_word:
        accepts_ = std::exchange(from_, kNever);
        freed();
        return false;
      case commands::Kind::finish:
        from_ = kNever;
        program_.clear();
        ended(now + 2);
        return false;
      default:
        if (now < from_ || !offer(now, next.command)) return true;
        from_ = kNever;
        if (!next.ends_transfer) done(now);
        return false;
    }
  }

 private:
  void done(Tick cycle) {
    ++next_;
    after(cycle);
  }
  /// The crossbar needs one cycle of notice before a word is offered or accepted.
  void after(Tick cycle) {
    from_ = cycle + kSpacing;
    domain_->wake(id_, from_ - 1);
  }

  Domain* domain_;
  ComponentId id_;
  std::vector<Instruction> program_;
  std::size_t next_ = 0;  ///< index of the current instruction
  bool begun_ = false;
  std::string refused_;
  Tick from_ = kNever;  ///< start cycle of the current instruction; kNever: it has started, or there is none
  Tick offers_ = kNever, accepts_ = kNever;
};

}  // namespace thalweg::vcsn
