// SPDX-License-Identifier: Apache-2.0
// The reduction calculator: reduces records that are written to it, field by field. C++ model of rtl/peach2/tw_calculator.sv.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/arbiter.hpp"
#include "common/skid.hpp"
#include "core/types.hpp"
#include "reduce/lane.hpp"

namespace thalweg::peach2 {

inline constexpr unsigned kMostSums = 64;  ///< beats of partial sums per context

class Calculator {
 public:
  struct Config {
    unsigned bytes = 16;    ///< of a beat: 16 or 32
    unsigned contexts = 4;  ///< a power of two
    unsigned sums = 16;     ///< beats of partial sums, a power of two
    unsigned latency = 8;   ///< of the lanes, cycles
    unsigned records = 8;   ///< maximum beats of a record
  };
  struct Setup {
    std::uint32_t beats = 0;  ///< of a reduction; 0: drops all beats
    spec::Operator op{};
    spec::Datatype type{};
    unsigned record = 1;  ///< log2 of a record's beats
    bool tree = false;    ///< reduces all fields to one
  };
  struct Beat {
    unsigned context, place;  ///< place: index of the partial sum, the lowest bits of the beat's address
    Word<256> data;
    std::uint64_t address = 0;  ///< in beats; for reports only, not in the hardware
  };

  explicit Calculator(const Config& config)
      : config_(config),
        of_(config.contexts),
        sums_(2ul * config.contexts * config.sums),
        results_(config.contexts * config.records),
        folds_(config.sums),
        fold_there_(config.sums),
        lane_(config.latency),
        fold_lane_(config.latency) {}

  [[nodiscard]] bool ready() const { return in_.ready(); }
  /// Read data of the previous cycle's address.
  [[nodiscard]] const Word<256>& data() const { return read_; }
  /// The context whose result was completed in the previous cycle.
  [[nodiscard]] const std::optional<unsigned>& done() const { return done_; }
  /// True if a beat was dropped in the previous cycle, because its context is not set up.
  [[nodiscard]] bool stray() const { return stray_.has_value(); }
  /// Its address, in beats.
  [[nodiscard]] const std::optional<std::uint64_t>& stray_address() const { return stray_; }
  [[nodiscard]] bool idle(std::uint64_t kept) const {
    return !in_.valid() && !operands_ && under_way_ == 0 && requests(kept) == 0 && state_ == State::idle && !done_ &&
           !stray();
  }

  /// One clock edge. `kept`: contexts whose result must not be overwritten yet, from the cycle after done().
  void step(const std::optional<std::pair<unsigned, Setup>>& setup, const Beat* write, unsigned read_context,
            unsigned read_beat, std::uint64_t kept = 0) {
    const auto* summed = lane_.result();
    const auto* folded = fold_lane_.result();
    const bool adding = under_way_ > 0;
    const bool touches = sum(write);
    fold(summed, folded, read_context, read_beat, kept);
    if (summed) {
      sums_[summed->tag >> 1].value = summed->data;
      sums_[summed->tag >> 1].busy = false;
      --under_way_;
    }
    if (touches) touch();
    if (copied_all_) release();
    if (setup) begin(setup->first, setup->second);
    if (adding) lane_.step(operands_now_ ? &*operands_now_ : nullptr);
  }

 private:
  struct Sum {
    Word<256> value{};
    bool touched = false, busy = false;
  };
  struct Context {
    Setup setup;
    std::uint32_t left = 0;
    unsigned set = 0;
    bool full[2] = {false, false};
    bool summed[2] = {false, false};  ///< all sums of a set are complete
    unsigned next_set = 0;            ///< the next set to fold
  };
  struct Request {
    unsigned context, set;
  };
  struct Half {
    bool alone, within;
    unsigned place, shift;
    Word<256> a, b;
  };
  enum class State { idle, copy, choose, halve, store };

  [[nodiscard]] std::size_t index(unsigned context, unsigned set, unsigned place) const {
    return (std::size_t{context} * 2 + set) * config_.sums + place;
  }

  // Words have the bus's width; the rest of a lane's word is zero.
  [[nodiscard]] Word<256> shifted(const Word<256>& word, unsigned bytes) const {
    Word<256> result{};
    for (unsigned i = 0; i + bytes < config_.bytes; ++i)
      result[i / 8] |= (word[(i + bytes) / 8] >> (i + bytes) % 8 * 8 & 0xFF) << i % 8 * 8;
    return result;
  }

  /// True if the beat at the front enters the lane; otherwise it waits or is dropped.
  bool sum(const Beat* write) {
    operands_now_ = pair_;
    pair_ = operands_;
    operands_.reset();
    bool enters = false;
    stray_.reset();
    if (in_.valid()) {
      const Beat& beat = in_.front();
      Context& context = of_[beat.context];
      Sum& at = sums_[index(beat.context, context.set, beat.place)];
      if (context.setup.beats == 0) stray_ = beat.address;
      enters = !stray_ && !context.full[context.set] && !at.busy;
      if (enters) {
        const bool last = context.left == 1;
        operands_ = FlitPair{.op = at.touched ? context.setup.op : spec::Operator::bor,
                             .type = at.touched ? context.setup.type : spec::Datatype::byte,
                             .head = false,
                             .bytes = config_.bytes,
                             .a = at.touched ? at.value : beat.data,
                             .b = beat.data,
                             .tag = index(beat.context, context.set, beat.place) << 1 | (last ? 1u : 0u)};
        ++under_way_;
        entered_ = {beat.context, beat.place};
      }
    }
    in_.step(write, enters || stray());
    return enters;
  }
  void touch() {
    Context& context = of_[entered_.first];
    Sum& at = sums_[index(entered_.first, context.set, entered_.second)];
    at.touched = at.busy = true;
    if (context.left == 1) {
      context.left = context.setup.beats;
      context.full[context.set] = true;
      context.set ^= 1;
    } else {
      --context.left;
    }
  }
  /// Frees the set that was copied.
  void release() {
    copied_all_ = false;
    of_[request_.context].full[request_.set] = false;
    for (unsigned place = 0; place < config_.sums; ++place)
      sums_[index(request_.context, request_.set, place)].touched = false;
  }
  void begin(unsigned context, const Setup& setup) {
    of_[context].setup = setup;
    of_[context].left = setup.beats;
    for (std::size_t i = index(context, 0, 0); i < index(context + 1, 0, 0); ++i) sums_[i].touched = false;
  }

  /// Folds the partial sums into a result.
  void fold(const FlitLane::Result* summed, const FlitLane::Result* folded, unsigned read_context, unsigned read_beat,
            std::uint64_t kept) {
    const unsigned goal = setup_.tree ? 1 : 1U << setup_.record;
    const std::optional<Half> half = half_;
    half_.reset();
    const unsigned at = at_;
    const unsigned pending = pending_;
    std::optional<std::pair<std::size_t, Word<256>>> stored;
    if (done_) kept |= std::uint64_t{1} << *done_;  // just done
    done_.reset();
    switch (state_) {
      case State::idle:
        start(kept);
        break;
      case State::copy:
        if (at > 0) folds_[at - 1] = copied_;
        if (at == config_.sums) {
          copied_all_ = true;
          state_ = State::choose;
        } else {
          copied_ = sums_[index(request_.context, request_.set, at)].value;
        }
        ++at_;
        break;
      case State::choose:
        if (pending == 0) choose(goal);
        break;
      case State::halve: {
        const unsigned other = at + width_;
        const bool within = width_ == 0;
        if (within || fold_there_[other])
          half_ = Half{!within && !fold_there_[at], within, at, shift_, folds_[at], folds_[other]};
        ++at_;
        if (within) {
          shift_ /= 2;
          state_ = State::choose;
        } else {
          fold_there_[at] = fold_there_[at] || fold_there_[other];
          if (at_ == width_) state_ = State::choose;
        }
        break;
      }
      case State::store: {
        Word<256> result = fold_there_[at] ? folds_[at] : Word<256>{};
        if (setup_.tree)
          for (auto i = static_cast<unsigned>(spec::size_of(setup_.type)); i < 32; ++i)
            result[i / 8] &= ~(std::uint64_t{0xFF} << i % 8 * 8);
        stored = {request_.context * config_.records + at, result};
        ++at_;
        if (at_ == goal) {
          done_ = request_.context;
          state_ = State::idle;
        }
        break;
      }
    }
    if (folded) folds_[folded->tag] = folded->data;
    pending_ += half_.has_value();
    pending_ -= folded != nullptr;
    std::optional<FlitPair> pair;
    if (half) {
      const Word<256> b = half->within ? shifted(half->b, half->shift) : half->b;
      pair = FlitPair{.op = half->alone ? spec::Operator::bor : setup_.op,
                      .type = half->alone ? spec::Datatype::byte : setup_.type,
                      .head = false,
                      .bytes = config_.bytes,
                      .a = half->alone ? b : half->a,
                      .b = b,
                      .tag = half->place};
    }
    if (pair || pending > 0) fold_lane_.step(pair ? &*pair : nullptr);
    read_ = results_[read_context * config_.records + read_beat];
    if (stored) results_[stored->first] = stored->second;
    if (summed && summed->tag & 1) {
      const auto set = (summed->tag >> 1) / config_.sums;
      of_[set / 2].summed[set % 2] = true;
      ++summed_;
    }
  }
  [[nodiscard]] std::uint64_t requests(std::uint64_t kept) const {
    std::uint64_t found = 0;
    if (summed_ > 0)
      for (unsigned i = 0; i < config_.contexts; ++i)
        if (of_[i].summed[of_[i].next_set] && !(kept >> i & 1)) found |= std::uint64_t{1} << i;
    return found;
  }
  /// Selects the next set whose sums are complete, of a context whose result may be overwritten.
  void start(std::uint64_t kept) {
    const std::uint64_t requests = this->requests(kept);
    if (requests == 0) return;
    const unsigned next = turn_.pick(requests);
    turn_.accept(next, config_.contexts);
    --summed_;
    state_ = State::copy;
    request_ = {next, of_[next].next_set};
    of_[next].summed[request_.set] = false;
    of_[next].next_set ^= 1;
    setup_ = of_[request_.context].setup;
    at_ = 0;
    width_ = config_.sums;
    shift_ = config_.bytes / 2;
    for (unsigned place = 0; place < config_.sums; ++place)
      fold_there_[place] = sums_[index(request_.context, request_.set, place)].touched;
  }
  void choose(unsigned goal) {
    at_ = 0;
    if (width_ > goal) {
      state_ = State::halve;
      width_ /= 2;
    } else if (setup_.tree && shift_ >= spec::size_of(setup_.type)) {
      state_ = State::halve;
      width_ = 0;
    } else {
      state_ = State::store;
    }
  }

  Config config_;
  std::vector<Context> of_;
  std::vector<Sum> sums_;
  std::vector<Word<256>> results_;
  std::vector<Word<256>> folds_;
  std::vector<bool> fold_there_;
  FlitLane lane_, fold_lane_;
  Arbiter turn_;
  unsigned summed_ = 0;  ///< waiting sets whose sums are complete
  Skid<Beat> in_;
  std::optional<FlitPair> operands_, pair_, operands_now_;  ///< pipeline stages: RAM output, register, lane input
  std::pair<unsigned, unsigned> entered_{};
  unsigned under_way_ = 0;  ///< beats between the input and the partial sums

  State state_ = State::idle;
  Request request_{};
  Setup setup_;
  unsigned at_ = 0, width_ = 0, shift_ = 0, pending_ = 0;
  bool copied_all_ = false;
  Word<256> copied_{};
  std::optional<Half> half_;

  Word<256> read_{};
  std::optional<unsigned> done_;
  std::optional<std::uint64_t> stray_;
};

}  // namespace thalweg::peach2
