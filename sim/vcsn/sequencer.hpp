// SPDX-License-Identifier: Apache-2.0
// Runs a program in an FPGA, so that transfers follow each other without a host: issues commands to the node, waits for the completion of
// transfers, and exchanges words with sequencers of other nodes over circuits. C++ model of rtl/vcsn/tw_sequencer.sv.
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

/// An instruction as the hardware has it.
struct Instruction {
  Command command;
  unsigned number = 0;           ///< of the program's step that it is of, from 1 on
  std::optional<Circuit> row{};  ///< that it writes
  bool ends_transfer = false;    ///< it is done when the engine has ended the transfer

  [[nodiscard]] commands::Kind kind() const { return static_cast<commands::Kind>(command.word.high >> 56); }
  [[nodiscard]] unsigned place() const { return command.word.high >> 48 & 0xFF; }
};

class Sequencer final : public Component, public Source, public Sink {
 public:
  /// Cycles between the end of an instruction and the next one, in which a command for an external port crosses into its clock.
  static constexpr Tick kSpacing = 8;
  static constexpr unsigned kInstructions =
      1024;  ///< that its memory holds, the last one included, which ends a program

  explicit Sequencer(Domain& domain) : domain_(&domain), id_(domain.scheduler.add(*this)) {}

  std::function<bool(Tick, const Command&)> offer;  ///< a command in a cycle; whether it is taken
  std::function<void()> offered, freed;             ///< it offers a word to the crossbar, and takes one
  std::function<void(Tick)> ended;                  ///< the program

  [[nodiscard]] bool runs() const { return !program_.empty(); }
  [[nodiscard]] const std::vector<Instruction>& program() const { return program_; }
  /// The step of the program that it is at, and what that waits for.
  [[nodiscard]] std::string at() const {
    if (!begun_) return "its begin";
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
  /// Why the node has refused a command; empty: it has refused none.
  [[nodiscard]] const std::string& refused() const { return refused_; }
  void refuse(std::string why) { refused_ = std::move(why); }

  /// The command that it gives in this cycle, or nullptr.
  [[nodiscard]] const Command* gives(Tick now) const {
    return from_ <= now && program_[next_].kind() < commands::Kind::send_word ? &program_[next_].command : nullptr;
  }
  /// A transfer of this engine has to end.
  [[nodiscard]] bool waits_for(commands::Kind kind, unsigned engine) const {
    if (!runs() || !begun_ || from_ != kNever) return false;
    const Instruction& at = program_[next_];
    return at.ends_transfer && at.kind() == kind && at.place() == engine;
  }

  /// The instructions, which are on their way; it begins when the last one, `Finish`, is there.
  void load(std::vector<Instruction> program) {
    program_ = std::move(program);
    begun_ = false;
    refused_.clear();
  }
  /// The last one has come in this cycle.
  void begin(Tick now) {
    begun_ = true;
    next_ = 0;
    after(now);
  }
  /// The transfer that it waits for ends in this cycle.
  void complete(Tick cycle) { done(cycle); }
  /// A restart: it forgets its program.
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
  /// The crossbar knows a cycle before that a word is offered, or taken.
  void after(Tick cycle) {
    from_ = cycle + kSpacing;
    domain_->wake(id_, from_ - 1);
  }

  Domain* domain_;
  ComponentId id_;
  std::vector<Instruction> program_;
  std::size_t next_ = 0;  ///< the instruction that is done
  bool begun_ = false;
  std::string refused_;
  Tick from_ = kNever;  ///< it is begun; kNever: it is waited for, or there is none
  Tick offers_ = kNever, accepts_ = kNever;
};

}  // namespace thalweg::vcsn
