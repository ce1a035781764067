// SPDX-License-Identifier: Apache-2.0
// The hardware's sequencer, cycle by cycle: ProgramRunner, with a register file per call. C++ model of
// rtl/accl/tw_sequencer.sv.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "accl/instructions.hpp"

namespace thalweg::accl {

class Sequencer {
 public:
  /// As in tw_sequencer_pkg.
  struct Move {
    spec::programs::Operation operation = spec::programs::Operation::move;
    spec::programs::OperandKind x{}, y{}, z{};
    std::array<std::uint64_t, 3> at{};
    std::uint64_t elements = 0;
    bool continues = false;
  };
  struct Load {
    unsigned call = 0;
    unsigned to = 0;  ///< register index
    std::uint64_t data = 0;
    bool begins = false;
    std::uint16_t program = 0;
  };
  struct Ended {
    unsigned call = 0;
    bool background = false, stops = false;
  };
  struct In {
    std::optional<Load> load;  ///< taken if ready()
    std::optional<Ended> ended;
    bool move_ready = false, end_ready = false;
  };

  explicit Sequencer(unsigned calls) : calls_(calls) {}

  [[nodiscard]] bool ready() const { return !ended_ && !writes_ && state_ != State::leave; }
  /// The offered move, of call().
  [[nodiscard]] const Move* move() const { return state_ == State::offer ? &move_ : nullptr; }
  /// True if call() has ended.
  [[nodiscard]] bool ends() const { return state_ == State::end; }
  [[nodiscard]] unsigned call() const { return call_; }

  void step(const In& in) {
    const bool takes = ready();
    const auto ended = std::exchange(ended_, in.ended);
    writes_ = false;
    run(in, ended);
    if (ended) {
      Call& of = calls_[ended->call];
      if (ended->stops) of.stops = true;
      if (!ended->background || std::exchange(of.blocked, false)) turns_.push_back(ended->call);
      if (ended->background) of.background = false;
    }
    if (!in.load || !takes) return;
    Call& of = calls_[in.load->call];
    if (in.load->to != 0 && in.load->to < of.registers.size()) of.registers[in.load->to] = in.load->data;
    if (!in.load->begins) return;
    of.position = {in.load->program, 0};
    of.stops = false;
    turns_.push_back(in.load->call);
  }

 private:
  enum class State : std::uint8_t { idle, turn, fetch, read, work, offer, end, leave };
  struct Call {
    Registers registers{};
    ProgramPosition position{};
    bool background = false;  ///< a background move is in flight
    bool blocked = false;     ///< waits for the background move
    bool stops = false;       ///< executes no more instructions
  };

  void run(const In& in, const std::optional<Ended>& ended) {
    using enum spec::programs::Operation;
    Call& of = calls_[call_];
    const Instruction& one = spec::programs::kInstructions[of.position.next % spec::programs::kInstructions.size()];
    switch (state_) {
      case State::idle:
        if (turns_.empty()) break;
        call_ = turns_.front();
        turns_.pop_front();
        state_ = State::turn;
        break;
      case State::turn:
        state_ = State::fetch;
        break;
      case State::fetch:
        stops_ = of.stops;
        state_ = State::read;
        break;
      case State::read:
        read(of, one, ended && ended->background && ended->call == call_);
        break;
      case State::work:
        if (--left_ == 0) work(of, one);
        break;
      case State::offer:
        if (!in.move_ready) break;
        if (move_.operation == start) of.background = true;
        state_ = move_.operation == start ? State::fetch : State::leave;
        break;
      case State::end:
        if (in.end_ready) state_ = State::leave;
        break;
      case State::leave:
        state_ = State::idle;
        break;
    }
  }
  void read(Call& of, const Instruction& one, bool ends_beside) {
    using enum spec::programs::Operation;
    const auto operation = stops_ ? end : one.operation;
    if (awaits_background(operation) && of.background && !ends_beside) {
      of.blocked = true;
      state_ = State::leave;
    } else if (operation == end) {
      state_ = State::end;
    } else if (const auto cycles = cycles_of(one, of.registers); cycles > 2) {
      left_ = cycles - 2;
      state_ = State::work;
    } else {
      execute(one, of.registers, of.position);
      state_ = State::fetch;
    }
  }
  void work(Call& of, const Instruction& one) {
    using enum spec::programs::Operation;
    const auto value = [&](Register name) { return of.registers[static_cast<std::size_t>(name)]; };
    state_ = State::fetch;
    if (!leaves_program(one.operation)) {
      execute(one, of.registers, of.position);
      writes_ = one.operation < eq;
      return;
    }
    ++of.position.next;
    const bool has_data = one.operation == spec::programs::Operation::move || one.operation == start;
    const std::uint64_t n = value(Register::n);
    if (has_data && n == 0) return;
    move_ = {.operation = one.operation,
             .x = one.x.kind,
             .y = one.y.kind,
             .z = one.z.kind,
             .at = has_data ? std::array{value(one.x.register_), value(one.y.register_), value(one.z.register_)}
                            : std::array{value(one.a), std::uint64_t{0}, value(one.a)},
             .elements = has_data ? n : 0,
             .continues = value(Register::left) > n};
    state_ = State::offer;
  }

  std::vector<Call> calls_;
  std::deque<unsigned> turns_;  ///< runnable calls, in FIFO order
  std::optional<Ended> ended_;
  State state_ = State::idle;
  unsigned call_ = 0;
  Tick left_ = 0;        ///< remaining cycles of the instruction
  bool stops_ = false;   ///< `stops` of the current call
  bool writes_ = false;  ///< an instruction writes its result register
  Move move_;
};

}  // namespace thalweg::accl
