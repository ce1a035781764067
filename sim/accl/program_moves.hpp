// SPDX-License-Identifier: Apache-2.0
// Translates moves of call programs into moves of the hardware, cycle by cycle. C++ model of
// rtl/accl/tw_program_moves.sv.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "accl/arithmetic.hpp"
#include "accl/call_port.hpp"
#include "accl/configuration.hpp"
#include "accl/context.hpp"
#include "accl/instructions.hpp"
#include "accl/move_maker.hpp"
#include "accl/node_circuit.hpp"
#include "accl/sequencer.hpp"
#include "core/types.hpp"

namespace thalweg::accl {

class ProgramMoves {
 public:
  struct Identity {
    unsigned index = 0;
    std::uint32_t value = 0;
  };
  struct Begins {
    unsigned number = 0;
    CallPort::Begins call{};
  };
  struct Program {
    unsigned number = 0;
    Sequencer::Move move{};
  };
  struct Ended {
    unsigned slot = 0;
    NodeCircuit::How how{};
  };
  struct Status {
    unsigned port = 0, number = 0;
    std::uint32_t code = 0;
  };
  struct In {
    std::optional<Identity> set{};
    bool clear = false;
    std::optional<Begins> call{};
    std::optional<Program> move{};  ///< taken if ready(), as is `end`
    std::optional<unsigned> end{};  ///< a call's program has ended
    std::optional<Ended> ended{};   ///< a move has ended
    std::optional<std::uint32_t> answer{};
    bool access_ready = false, command_ready = false, status_ready = false;
    bool resets = false;
    std::optional<std::uint32_t> configured{};  ///< return code of config()
  };

  ProgramMoves(unsigned calls, unsigned communicators, unsigned ranks)
      : calls_(calls),
        identities_(communicators),
        counts_(4 * std::max(calls, communicators) * ranks),
        clears_(counts_) {}

  [[nodiscard]] bool ready() const { return state_ == State::idle && clears_ == 0; }
  [[nodiscard]] std::optional<std::uint32_t> access() const { return access_; }
  [[nodiscard]] std::optional<NodeCircuit::Command> command() const {
    if (state_ == State::offer) return command_;
    if (state_ == State::forget) return forgets_;
    return std::nullopt;
  }
  /// The config call to execute, if any.
  [[nodiscard]] std::optional<Configuration::Call> config() const {
    if (state_ != State::configure || !configures()) return std::nullopt;
    const Call& call = of().context.call;
    return Configuration::Call{.setting = call.function > 0xFF ? 0xFF : call.function, .count = call.count};
  }
  [[nodiscard]] std::optional<Status> status() const {
    if (state_ != State::status) return std::nullopt;
    return Status{of().port, number_, code_};
  }
  /// A move that has ended, for its call's program.
  [[nodiscard]] const std::optional<Sequencer::Ended>& ended() const { return ended_; }

  /// Sets the element sizes: of operand 0, operand 1, result, on the wire, and in arithmetic. The first four have at
  /// most two different values; 0 means the largest.
  static void set_sizes(Context& context, const std::array<unsigned, 5>& sizes) {
    const unsigned most = std::ranges::max(sizes);
    unsigned least = most;
    for (const unsigned size : sizes)
      if (size != 0) least = std::min(least, size);
    context.arithmetic.bytes = most;
    context.arithmetic.compressed_bytes = least;
    context.call.compression = 0;
    for (unsigned k = 0; k < 4; ++k)
      if (sizes[k] == least && least != most) context.call.compression |= 1U << k;
    context.arithmetic.compressed = sizes[4] == least && least != most;
  }

  void step(const In& in) {
    const bool clearing = clears_ > 0;
    if (clearing) --clears_;
    run(in, clearing);
    ended_.reset();
    if (in.ended) {
      const unsigned call = in.ended->slot / 2;
      ended_ = {.call = call, .background = in.ended->slot % 2 != 0, .stops = in.ended->how != NodeCircuit::How::moved};
      if (in.ended->how == NodeCircuit::How::differs) calls_[call].code |= code::kSize;
      if (in.ended->how == NodeCircuit::How::cancelled) calls_[call].cancelled = true;
    }
    if (in.call) begin(*in.call);
    if (in.set) identities_[in.set->index] = in.set->value;
    if (!in.clear) return;
    clears_ = counts_;
    moves_.reset();
  }

 private:
  enum class State : std::uint8_t { idle, busy, session, offer, configure, status, forget };
  struct Of {
    Context context{};
    unsigned port = 0, communicator = 0;
    std::uint32_t code = 0;  ///< without bits for cancelled moves
    bool cancelled = false;
  };
  static constexpr Tick kDescribes = 3, kCounts = 6;  ///< cycles

  [[nodiscard]] const Of& of() const { return calls_[number_]; }
  [[nodiscard]] bool configures() const { return of().context.call.scenario == Scenario::config; }
  [[nodiscard]] std::uint32_t code(const In& in) const {
    if (configures()) return in.configured.value_or(0);
    return of().code | (in.resets ? code::kNotReady : of().cancelled ? code::kReceiveTimeOut : 0);
  }

  void begin(const Begins& from) {
    Of& to = calls_[from.number];
    const CallPort::Begins& made = from.call;
    Context& context = to.context = {};
    context.call = made.call;
    if (made.has_communicator) context.communicator.members.resize(kMost);
    context.communicator.rank = made.rank;
    context.collective = made.collective_number;
    set_sizes(context, {made.bytes[0], made.bytes[1], made.bytes[2], made.wire_bytes, made.combined_bytes});
    context.call.function = made.call.scenario == Scenario::config ? made.call.function : 0;
    for (std::uint32_t k = 0; made.unit && k < 24; ++k)
      if (const auto one = unit_of(k); one->op == made.unit->op && one->type == made.unit->type)
        context.arithmetic.functions = {k};
    to.port = made.port;
    to.communicator = made.communicator;
    to.code = made.code;
    to.cancelled = false;
  }
  void run(const In& in, bool clearing) {
    const bool answered = there_;
    if (in.answer) {
      there_ = true;
      session_ = *in.answer & 0xFF;
    }
    if (access_ && in.access_ready) access_.reset();
    switch (state_) {
      case State::idle:
        there_ = false;
        if (clearing || (!in.move && !in.end)) break;
        number_ = in.move ? in.move->number : *in.end;
        ends_ = !in.move;
        if (in.move) make(in.move->move);
        left_ = ends_ ? 1 : kDescribes + kCounts * (takes_ + sends_);
        passed_ = 0;
        state_ = State::busy;
        break;
      case State::busy:
        if (++passed_ == kDescribes && sends_ && !ends_) access_ = address_;
        if (--left_ == 0) state_ = ends_ ? State::configure : sends_ ? State::session : State::offer;
        break;
      case State::session:
        if (!answered) break;
        command_.move.to = session_before_;
        state_ = State::offer;
        break;
      case State::offer:
      case State::forget:
        if (in.command_ready) state_ = State::idle;
        break;
      case State::configure:
        if (configures() && !in.configured) break;
        code_ = code(in);
        state_ = State::status;
        break;
      case State::status:
        if (!in.status_ready) break;
        moves_.release(of().context);
        forgets_ = {.does = NodeCircuit::Does::end_collective,
                    .move = {.from_communicator = of().communicator, .from_tag = of().context.collective}};
        state_ = of().context.is_collective() ? State::forget : State::idle;
        break;
    }
    session_before_ = session_;
  }
  void make(const Sequencer::Move& given) {
    Of& call = calls_[number_];
    Context& context = call.context;
    context.communicator_id = identities_[call.communicator];
    const Instruction what{.operation = given.operation,
                           .d = {},
                           .a = {},
                           .b = {},
                           .immediate = -1,
                           .target = 0,
                           .x = {given.x, {}},
                           .y = {given.y, {}},
                           .z = {given.z, {}},
                           .text = {}};
    Move move;
    move.what = &what;
    move.at = given.at;
    move.elements = given.elements;
    const bool background = given.operation == spec::programs::Operation::start;
    command_ = {.does = NodeCircuit::Does::begin,
                .slot = 2 * number_ + (background ? 1U : 0U),
                .move = moves_.make(context, move, call.communicator)};
    takes_ = command_.move.from_collective;
    sends_ = command_.move.target == NodeCircuit::Target::rank;
    address_ = (context.call.communicator & 0x1FFF) + 24 + 24 * (static_cast<std::uint32_t>(given.at[2]) & 127);
  }

  static constexpr std::size_t kMost = 64;  ///< ranks

  std::vector<Of> calls_;
  std::vector<std::uint32_t> identities_;
  Tick counts_, clears_;  ///< number of message counters, and of those still to be cleared
  MoveMaker moves_;
  State state_ = State::idle;
  unsigned number_ = 0;  ///< current call
  bool ends_ = false, takes_ = false, sends_ = false, there_ = false;
  Tick left_ = 0, passed_ = 0;
  std::optional<std::uint32_t> access_;
  std::uint32_t code_ = 0;
  std::uint32_t address_ = 0, session_ = 0, session_before_ = 0;
  NodeCircuit::Command command_, forgets_;
  std::optional<Sequencer::Ended> ended_;
};

}  // namespace thalweg::accl
