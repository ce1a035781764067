// SPDX-License-Identifier: Apache-2.0
// Takes calls for the hardware's sequencer, cycle by cycle, as Node::prepare does, from a call's words and the words of
// the exchange memory. C++ model of rtl/accl/tw_call_port.sv.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "accl/arithmetic.hpp"
#include "accl/call.hpp"
#include "accl/call_checks.hpp"
#include "accl/collective_plan.hpp"
#include "accl/config.hpp"
#include "accl/context.hpp"
#include "accl/exchange_memory.hpp"
#include "accl/memory.hpp"
#include "accl/move_engine.hpp"
#include "core/types.hpp"

namespace thalweg::accl {

class CallPort {
 public:
  /// Latency from a call's first word to its start, for calls without divisions.
  static constexpr Tick kCycles = 28;

  struct Communicator {
    unsigned index = 0;
    bool known = false;
    std::uint32_t at = 0;  ///< address in the exchange memory
  };
  struct In {
    std::optional<Communicator> set{};
    bool clear = false;
    MoveEngine::Buffers buffers{};
    std::optional<std::uint32_t> word{};  ///< taken if word_ready()
    unsigned port = 0;
    std::optional<unsigned> number{};
    bool access_ready = false, load_ready = false, call_ready = false;
    std::optional<std::uint32_t> answer{};
  };
  struct Load {
    Register to{};
    std::uint64_t data = 0;
  };
  /// A call that starts, with number(). Its element sizes are 0 if it moves no elements.
  struct Begins {
    unsigned port = 0;
    std::uint16_t begin_at = 0;
    std::uint32_t code = 0;
    bool has_communicator = false, collective = false;
    unsigned communicator = 0;
    std::uint32_t rank = 0, collective_number = 0;
    std::optional<Unit> unit;
    std::array<unsigned, 3> bytes{};  ///< element sizes
    unsigned wire_bytes = 0, combined_bytes = 0;
    bool exists = true;  ///< false: the scenario is unknown
    Call call{};
  };

  CallPort(unsigned communicators, unsigned ranks, bool arithmetic, bool conversions)
      : config_{.arithmetic = arithmetic, .compression = conversions}, known_(communicators), most_ranks_(ranks) {}

  [[nodiscard]] bool word_ready() const { return words_ < kCallWords; }
  [[nodiscard]] bool number_ready() const { return !number_; }
  [[nodiscard]] unsigned number() const { return number_.value_or(0); }
  /// The exchange-memory address to read.
  [[nodiscard]] std::optional<std::uint32_t> access() const { return access_; }
  [[nodiscard]] const std::optional<Load>& load() const { return load_; }
  [[nodiscard]] bool begins() const { return loads_ == kLoads.size() && !load_; }
  /// The call that starts; valid if begins().
  [[nodiscard]] const Begins& call() const { return made_; }

  void step(const In& in) {
    const bool done = begins() && in.call_ready;
    const State before{words_, reads_, answers_, loads_, number_.has_value(), prepared_ && left_ == 0};
    plan(in, before);
    if (!access_ || in.access_ready) {
      access_.reset();
      if (before.reads < 4 ? before.words > 2 : before.reads < kReads && before.words > 6)
        access_ = address_of(reads_++);
    }
    if (!load_ || in.load_ready) {
      load_.reset();
      if (before.has_number && loadable(before)) load_ = {kLoads[loads_], value(kLoads[loads_])}, ++loads_;
    }
    if (in.answer) {
      asked_[answers_] = *in.answer;
      ++answers_;
    }
    if (in.word && before.words < kCallWords) {
      if (words_ == 0) port_ = in.port;
      word_[words_++] = *in.word;
      call_ = Call::of(word_);
    }
    if (!number_) number_ = in.number;
    if (in.set) {
      known_[in.set->index].known = in.set->known;
      known_[in.set->index].at = in.set->at;
    }
    if (in.clear)
      for (Known& one : known_) one.collectives = 0;
    if (!done) return;
    words_ = reads_ = answers_ = 0;
    loads_ = 0;
    number_.reset();
    prepared_ = false;
  }

 private:
  static constexpr unsigned kReads = 11;
  static constexpr Tick kPrepares = 4;  ///< cycles after the last answer
  static constexpr std::array kLoads{Register::a,    Register::b,    Register::c,     Register::i,    Register::j,
                                     Register::k,    Register::left, Register::count, Register::n,    Register::root,
                                     Register::rank, Register::size, Register::next,  Register::prev, Register::op0,
                                     Register::op1,  Register::res,  Register::e0,    Register::er,   Register::spare,
                                     Register::e1,   Register::most, Register::flat,  Register::part};
  struct Known {
    bool known = false;
    std::uint32_t at = 0;
    std::uint32_t collectives = 0;
  };
  struct State {
    unsigned words, reads, answers;
    std::size_t loads;
    bool has_number, ready;
  };

  [[nodiscard]] bool loadable(const State& at) const {
    constexpr std::array<unsigned, 17> kWords{1, 1, 1, 1, 1, 1, 1, 2, 2, 4, 1, 1, 1, 1, 11, 13, 15};
    if (at.loads == kLoads.size()) return false;
    if (at.loads < 17) return at.words >= kWords[at.loads] && (at.loads != 10 || at.answers > 2);
    return at.loads < 19 ? at.answers > 9 : at.ready;
  }
  [[nodiscard]] std::uint32_t address_of(unsigned read) const {
    const std::uint32_t communicator = call_.communicator & 0x1FFF, arithmetic = call_.arithmetic & 0x1FFF;
    const bool rooted = scenario() == Scenario::reduce || scenario() == Scenario::bcast;
    const std::array<std::uint32_t, kReads> all{communicator,
                                                communicator + 4,
                                                ExchangeMemory::kSpare,
                                                ExchangeMemory::kSpare + 4,
                                                arithmetic,
                                                arithmetic + 4,
                                                arithmetic + 20,
                                                arithmetic + 24,
                                                arithmetic + 28 + 4 * (call_.function & 31),
                                                rooted ? ExchangeMemory::kReduceFlat : ExchangeMemory::kGatherFlat,
                                                ExchangeMemory::kBroadcastFlat};
    return all[read];
  }
  /// From the lowest 8 bits, since it is used before the scenario is checked.
  [[nodiscard]] Scenario scenario() const {
    return static_cast<Scenario>(static_cast<std::uint32_t>(call_.scenario) & 0xFF);
  }
  [[nodiscard]] bool has_elements() const {
    using enum Scenario;
    return call_.count > 0 && scenario() != config && scenario() != nop && scenario() != barrier;
  }
  [[nodiscard]] static bool is_local(Scenario of) {
    using enum Scenario;
    return of == copy || of == combine || of == config || of == nop;
  }

  void plan(const In& in, const State& before) {
    if (prepared_) {
      if (left_ > 0) --left_;
    } else if (before.words == kCallWords && before.answers == kReads) {
      prepared_ = true;
      left_ = kPrepares - 1 + prepare(in.buffers);
    }
  }
  /// Prepares a call as the simulator does. Returns the cycles of its divisions.
  Tick prepare(const MoveEngine::Buffers& buffers) {
    ExchangeMemory exchange;
    for (unsigned k = kReads; k-- > 0;) static_cast<void>(exchange.write(address_of(k), asked_[k]));
    made_ = {};
    made_.port = port_;
    made_.exists = !name_of(static_cast<std::uint32_t>(call_.scenario)).empty();
    Context& context = context_ = {};
    context.call = call_;
    context.call.scenario = scenario();
    const bool remote = made_.exists && !is_local(scenario());
    const auto index = static_cast<std::size_t>(
        std::ranges::find_if(known_,
                             [&](const Known& one) { return one.known && one.at == (call_.communicator & 0x1FFF); }) -
        known_.begin());
    context.communicator.rank = asked_[1] & 127;
    context.communicator.members.resize(is_local(scenario()) ? 0 : asked_[0] & 127);
    const auto found = exchange.communicator(call_.communicator);
    const bool fits = found && index < known_.size() && found->members.size() <= most_ranks_;
    if (remote && (!fits || (is_rooted(scenario()) && call_.root >= found->members.size())))
      context.code |= code::kSize;
    made_.has_communicator = remote && fits;
    made_.communicator = static_cast<unsigned>(index % known_.size());
    made_.collective = made_.has_communicator && scenario() != Scenario::send && scenario() != Scenario::recv;
    if (made_.collective) made_.collective_number = known_[index].collectives++;

    const CallChecks check{config_, exchange, memory_, memory_};
    if (!made_.exists) {
      context.code = code::kNotImplemented;
      if (const auto type = exchange.arithmetic(call_.arithmetic); type && has_elements()) context.arithmetic = *type;
    } else {
      static_cast<void>(check.elements(context));
      check.plugin(context);
      if (context.arithmetic.bytes != 0) check_addresses(context);
    }
    if (context.arithmetic.bytes != 0 && made_.exists && combines(scenario())) made_.unit = MoveEngine::unit(context);
    const Tick cycles = CollectivePlan{config_, exchange}(context, buffers, std::max<std::uint64_t>(1, call_.count));
    const bool in_parts = scenario() == Scenario::bcast && context[Register::part] != call_.count;
    if (in_parts && context.communicator.rank != call_.root && call_.streams(Role::res))
      context.code |= code::kNotImplemented;  // the hardware has one packet per move
    made_.rank = asked_[1] & 127;
    made_.code = context.code;
    made_.begin_at = begin_of(context.code == 0 ? call_ : Call{});
    for (const Role role : {Role::op0, Role::op1, Role::res})
      made_.bytes[static_cast<std::size_t>(role)] = context.bytes(role);
    made_.wire_bytes = context.wire_bytes();
    made_.combined_bytes =
        context.arithmetic.compressed ? context.arithmetic.compressed_bytes : context.arithmetic.bytes;
    made_.call = context.call;
    made_.call.scenario = made_.exists ? scenario() : Scenario::nop;
    return cycles;
  }
  /// Fails a call whose addresses exceed 48 bits.
  static void check_addresses(Context& context) {
    const auto blocks = blocks_of(context);
    for (const Role role : {Role::op0, Role::op1, Role::res}) {
      const auto at = static_cast<std::size_t>(role);
      if (blocks[at] != 0 && !context.call.streams(role) && context.call.address[at] >> 48 != 0)
        context.code |= code::kSize;
    }
  }
  [[nodiscard]] static std::uint16_t begin_of(const Call& call) {
    auto name = name_of(static_cast<std::uint32_t>(call.scenario));
    if (call.scenario == Scenario::send && call.streams(Role::res)) name = "put";
    if (call.scenario == Scenario::config) name = "nop";
    return std::ranges::find(spec::programs::kBegin, name, &std::pair<std::string_view, std::uint16_t>::first)->second;
  }
  [[nodiscard]] std::uint64_t value(Register name) const {
    const std::uint32_t size = is_local(scenario()) ? 0 : asked_[0] & 127,
                        rank = is_local(scenario()) ? 0 : asked_[1] & 127;
    const auto address = [&](Role role) {
      return call_.address[static_cast<std::size_t>(role)] & ((std::uint64_t{1} << spec::programs::kRegisterBits) - 1);
    };
    switch (name) {
      case Register::count:
      case Register::n:
        return call_.count;
      case Register::root:
        return call_.root;
      case Register::rank:
        return rank;
      case Register::size:
        return size;
      case Register::next:
        return rank + 1 == size ? 0 : is_local(scenario()) ? 0 : (rank + 1) & 127;
      case Register::prev:
        return rank != 0 ? rank - 1 : std::max(size, 1U) - 1;
      case Register::op0:
        return address(Role::op0);
      case Register::op1:
        return address(Role::op1);
      case Register::res:
        return address(Role::res);
      case Register::e0:
        return bytes_of(Role::op0);
      case Register::er:
        return bytes_of(Role::res);
      case Register::e1:
        return made_.bytes[static_cast<std::size_t>(Role::op1)];
      case Register::spare:
      case Register::most:
      case Register::flat:
      case Register::part:
        return context_[name];
      default:
        return 0;
    }
  }
  /// Element size of an operand or the result, before the call is prepared.
  [[nodiscard]] unsigned bytes_of(Role role) const {
    ExchangeMemory exchange;
    for (unsigned k = 10; k-- > 0;) static_cast<void>(exchange.write(address_of(k), asked_[k]));
    const auto found = exchange.arithmetic(call_.arithmetic);
    if (!found || !has_elements()) return 0;
    return call_.compressed(role) ? found->compressed_bytes : found->bytes;
  }

  const NodeConfig config_;
  std::vector<Known> known_;
  unsigned most_ranks_;
  Memory memory_{"", 1};  ///< unused by the checks made here
  std::array<std::uint32_t, kCallWords> word_{};
  std::array<std::uint32_t, kReads> asked_{};  ///< words read from the exchange memory
  Call call_{};
  unsigned words_ = 0, reads_ = 0, answers_ = 0, port_ = 0;
  std::size_t loads_ = 0;
  std::optional<unsigned> number_;
  std::optional<std::uint32_t> access_;
  std::optional<Load> load_;
  bool prepared_ = false;
  Tick left_ = 0;  ///< cycles until all registers are known
  Context context_;
  Begins made_;
};

}  // namespace thalweg::accl
