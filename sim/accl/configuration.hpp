// SPDX-License-Identifier: Apache-2.0
// Executes the hardware's config calls, cycle by cycle, as Node::configure does. C++ model of
// rtl/accl/parts/tw_configuration.sv.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "accl/call.hpp"
#include "accl/exchange_memory.hpp"
#include "accl/exchange_ports.hpp"
#include "accl/move_engine.hpp"
#include "accl/node_circuit.hpp"

namespace thalweg::accl {

class Configuration {
 public:
  struct Call {
    unsigned setting = 0;
    std::uint32_t count = 0;
  };
  struct In {
    std::optional<Call> call{};  ///< held until done()
    bool access_ready = false, empty_ready = false;
    std::optional<std::uint32_t> answer{};
  };

  /// Maximum number of receive buffers, packets per buffer, and bytes per packet.
  Configuration(unsigned buffers, unsigned packets, std::uint32_t packet_bytes)
      : most_(buffers),
        most_bytes_(std::min<std::uint64_t>(std::uint64_t{packets} * packet_bytes / kGrain, 512) * kGrain),
        packet_bytes_(packet_bytes) {}

  [[nodiscard]] bool done() const { return state_ == State::done; }
  [[nodiscard]] std::uint32_t code() const { return code_; }
  [[nodiscard]] std::optional<ExchangePorts::Access> access() const {
    if (state_ == State::mark) return ExchangePorts::Access{.write = true, .at = ExchangeMemory::kConfigured};
    if (state_ == State::ask) return ExchangePorts::Access{.write = false, .at = at_};
    return std::nullopt;
  }
  [[nodiscard]] std::optional<NodeCircuit::Setting> set() const {
    if (state_ == State::judge && word_ == kHigh)
      return NodeCircuit::Setting{NodeCircuit::Sets::buffer, buffer_, {low_, data_, 0}};
    if (state_ != State::sizes) return std::nullopt;
    const std::uint32_t last = next_.all == 0 ? 0 : static_cast<std::uint32_t>(next_.all - 1);
    return NodeCircuit::Setting{
        NodeCircuit::Sets::sizes, buffer_, {last << 24 | next_.bytes / 64 << 8 | packet_bytes_ / 64, 0, 0}};
  }
  /// Request to the move engine to empty all receive buffers.
  [[nodiscard]] bool empties() const { return state_ == State::empty; }
  [[nodiscard]] bool clears() const { return state_ == State::sizes && (starts_ || resets_); }
  [[nodiscard]] const MoveEngine::Buffers& buffers() const { return buffers_; }
  [[nodiscard]] std::uint32_t time_out() const { return time_out_; }

  void step(const In& in) {
    switch (state_) {
      case State::start:
        state_ = State::sizes;
        break;
      case State::idle:
        starts_ = resets_ = false;
        code_ = 0;
        buffer_ = 0;
        if (in.call) begin(*in.call);
        break;
      case State::ask:
        if (in.access_ready) state_ = State::answer;
        break;
      case State::answer:
        if (!in.answer) break;
        data_ = *in.answer;
        state_ = State::judge;
        break;
      case State::judge:
        state_ = in.call && in.call->setting == 1 ? judge() : State::compare;
        break;
      case State::compare:
        if (in.call->setting == 3) {
          if (in.call->count < data_) code_ = code::kEagerLimit;
          eager_ = in.call->count;
        } else if (in.call->count <= eager_) {
          code_ = code::kRendezvousLimit;
        }
        state_ = State::done;
        break;
      case State::sizes:
        buffers_ = next_;
        if (resets_ || starts_) time_out_ = 0;
        state_ = State::empty;
        break;
      case State::empty:
        if (in.empty_ready) state_ = starts_ ? State::idle : resets_ ? State::mark : State::done;
        break;
      case State::mark:
        if (in.access_ready) state_ = State::done;
        break;
      case State::done:
        state_ = State::idle;
        break;
    }
  }

 private:
  enum class State : std::uint8_t { start, idle, ask, answer, judge, compare, sizes, empty, mark, done };
  static constexpr std::uint32_t kGrain = 512;
  static constexpr unsigned kCount = 0, kBytes = 1, kLow = 2, kHigh = 3;  ///< words to read

  void begin(const Call& call) {
    word_ = call.setting == 3 ? kBytes : kCount;
    at_ = word_ == kBytes ? ExchangeMemory::kBufferBytes : ExchangeMemory::kBuffers;
    state_ = State::done;
    switch (call.setting) {
      case 0:
        next_ = {};
        resets_ = true;
        state_ = State::sizes;
        break;
      case 1:
      case 3:
        state_ = State::ask;
        break;
      case 2:
        time_out_ = call.count;
        break;
      case 4:
        state_ = State::judge;
        break;
      default:
        code_ = code::kNotImplemented;
    }
  }
  /// Evaluates a word of the receive buffers' configuration.
  State judge() {
    const unsigned word = word_;
    switch (word) {
      case kCount:
        if (data_ > most_ || data_ == 1) code_ = code::kSize;
        low_ = data_;
        at_ = ExchangeMemory::kBufferBytes;
        word_ = kBytes;
        return State::ask;
      case kBytes:
        if (data_ % kGrain != 0 || data_ > most_bytes_) code_ = code::kSize;
        if (code_ != 0) return State::done;
        next_ = {.bytes = data_, .all = low_};
        at_ = ExchangeMemory::kFirstBuffer + 4;
        word_ = kLow;
        return next_.all == 0 ? State::sizes : State::ask;
      case kLow:
        low_ = data_;
        at_ += 4;
        word_ = kHigh;
        return State::ask;
      default:
        at_ = (at_ + 24) & 0x1FFF;
        word_ = kLow;
        return ++buffer_ == next_.all ? State::sizes : State::ask;
    }
  }

  unsigned most_;
  std::uint64_t most_bytes_;
  std::uint32_t packet_bytes_;
  State state_ = State::start;
  bool starts_ = true, resets_ = false;
  unsigned word_ = 0, buffer_ = 0;
  std::uint32_t at_ = 0, data_ = 0, low_ = 0, eager_ = 0, code_ = 0, time_out_ = 0;
  MoveEngine::Buffers buffers_{}, next_{};
};

}  // namespace thalweg::accl
