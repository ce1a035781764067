// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <optional>

#include "accl/call_port.hpp"
#include "bisim/bisim.hpp"

namespace {

using thalweg::accl::CallPort, thalweg::accl::ExchangeMemory, thalweg::accl::kCallWords, thalweg::accl::Role,
    thalweg::accl::Scenario;
using top::Inputs, top::Outputs, top::Parameters;

constexpr std::uint64_t log_of(unsigned bytes) {
  return bytes == 0 ? 0 : static_cast<std::uint64_t>(std::countr_zero(bytes));
}

struct Twin {
  CallPort port{Parameters::Communicators, Parameters::Ranks, Parameters::Arithmetic != 0,
                Parameters::Conversions != 0};

  void outputs(const Inputs&, Outputs& out) const {
    out = {};
    out.word_ready_o.set(port.word_ready());
    out.number_ready_o.set(port.number_ready());
    out.access_valid_o.set(port.access().has_value());
    if (port.access()) out.access_at_o.set(*port.access());
    out.load_valid_o.set(port.load().has_value());
    if (port.load()) {
      out.load_call_o.set(port.number());
      out.load_register_o.set(static_cast<std::uint64_t>(port.load()->to));
      out.load_data_o.set(port.load()->data);
    }
    out.call_valid_o.set(port.begins());
    if (!port.begins()) return;
    const CallPort::Begins& made = port.call();
    const auto& call = made.call;
    out.call_o.set({.number = port.number(),
                    .port = made.port,
                    .begin_at = made.begin_at,
                    .code = made.code,
                    .scenario = static_cast<std::uint64_t>(call.scenario),
                    .setting = std::min<std::uint64_t>(call.function, 255),
                    .count = call.count,
                    .has_communicator = made.has_communicator,
                    .collective = made.collective,
                    .communicator = made.has_communicator ? made.communicator : 0,
                    .communicator_at = call.communicator & 0x1FFF,
                    .rank = made.rank,
                    .root = call.root & 0xFF,
                    .tag = call.tag,
                    .collective_number = made.collective_number,
                    .operation = made.unit ? static_cast<std::uint64_t>(made.unit->op) : 0,
                    .datatype = made.unit ? static_cast<std::uint64_t>(made.unit->type) : 0,
                    .x_size = log_of(made.bytes[0]),
                    .y_size = log_of(made.bytes[1]),
                    .z_size = log_of(made.bytes[2]),
                    .wire_size = log_of(made.wire_bytes),
                    .combined_size = log_of(made.combined_bytes),
                    .host = call.stream >> 8 & 7,
                    .streams = call.stream & 3});
  }
  void step(const Inputs& in) {
    CallPort::In next{.clear = in.clear_i.get() != 0,
                      .buffers = {.bytes = static_cast<std::uint32_t>(512 * in.grains_i.get()),
                                  .all = static_cast<std::size_t>(in.buffers_i.get())},
                      .port = static_cast<unsigned>(in.word_port_i.get()),
                      .access_ready = in.access_ready_i.get() != 0,
                      .load_ready = in.load_ready_i.get() != 0,
                      .call_ready = in.call_ready_i.get() != 0};
    if (in.set_valid_i.get())
      next.set = {.index = static_cast<unsigned>(in.set_index_i.get()),
                  .known = in.set_known_i.get() != 0,
                  .at = static_cast<std::uint32_t>(in.set_at_i.get())};
    if (in.word_valid_i.get()) next.word = static_cast<std::uint32_t>(in.word_data_i.get());
    if (in.number_valid_i.get()) next.number = static_cast<unsigned>(in.number_data_i.get());
    if (in.answer_valid_i.get()) next.answer = static_cast<std::uint32_t>(in.answer_data_i.get());
    port.step(next);
  }
};

/// Calls against an exchange memory with communicators, configurations and tuning, most of them valid. Lanes: words,
/// numbers, the exchange memory, loads, calls.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 5;

  explicit Stimulus(bisim::Dice run)
      : pause_(run.pick(0, 0, 300, 900)),
        numbers_(run.pick(1000, 100)),
        busy_(run.pick(0, 200, 700)),
        loads_(run.pick(0, 200, 700)),
        stall_(run.pick(0, 500)),
        wrong_(run.pick(0, 10, 50, 300)),
        long_(run.pick(0, 500)),
        spares_(run.pick(1000, 500)),
        buffers_(run.pick(0, 2, 4, 8, 16, 33, 64)),
        grains_(run.pick(0, 1, 8, 16, 512)) {
    fill(run);
  }

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice words = draws.lane(0), numbers = draws.lane(1), exchange = draws.lane(2), loads = draws.lane(3),
                calls = draws.lane(4);
    next.buffers_i.set(buffers_);
    next.grains_i.set(grains_);
    next.set_valid_i.set(set_ < Parameters::Communicators);
    next.clear_i.set(0);
    if (set_ < Parameters::Communicators) {
      next.set_index_i.set(set_);
      next.set_known_i.set(set_ + 1 < Parameters::Communicators);
      next.set_at_i.set(at_[set_]);
      ++set_;
      return;
    }
    if (word_ && seen.word_ready_o.get()) {
      word_.reset();
      if (++given_ == kCallWords) given_ = 0;
    }
    if (!word_ && !words.chance(pause_)) {
      if (given_ == 0 && !inside_) {
        draw(words);
        inside_ = true;
        next.clear_i.set(words.chance(20));
      }
      word_ = call_[given_];
    }
    next.word_valid_i.set(word_.has_value());
    next.word_data_i.set(word_.value_or(0));
    next.word_port_i.set(words.below(4));
    if (number_ && seen.number_ready_o.get()) number_.reset();
    if (!number_ && numbers.chance(numbers_)) number_ = numbers.below(256);
    next.number_valid_i.set(number_.has_value());
    next.number_data_i.set(number_.value_or(0));

    answers_.push_back(std::nullopt);
    const bool takes = !exchange.chance(busy_);
    next.access_ready_i.set(takes);
    if (takes && seen.access_valid_o.get()) answers_.back() = memory_.read(seen.access_at_o.get()).value_or(0);
    next.answer_valid_i.set(0);
    if (answers_.size() > 3) {
      next.answer_valid_i.set(answers_.front().has_value());
      next.answer_data_i.set(answers_.front().value_or(0));
      answers_.pop_front();
    }
    next.load_ready_i.set(!loads.chance(loads_));
    const bool leaves = !calls.chance(stall_);
    next.call_ready_i.set(leaves);
    if (seen.call_valid_o.get() && leaves) inside_ = false;
  }

 private:
  static constexpr unsigned kTypes = 6;

  void write(std::uint32_t at, std::uint32_t value) { static_cast<void>(memory_.write(at, value)); }
  void fill(bisim::Dice& run) {
    std::uint32_t at = 64;
    for (auto& begin : at_) {
      begin = at;
      const std::uint32_t size = run.pick(1, 2, 3, Parameters::Ranks, 1 + run.below(Parameters::Ranks));
      write(at, run.chance(wrong_) ? size + 64 : size);
      write(at + 4, run.chance(wrong_) ? run.below(200) : run.below(size));
      at += 8 + 4 * run.below(200);
    }
    if (run.chance(200)) {  // ends at the end of the memory, or one word beyond it
      const std::uint32_t size = 1 + run.below(Parameters::Ranks);
      at_[0] = ExchangeMemory::kBytes - 8 - 24 * size + run.pick(0, 4);
      write(at_[0], size);
      write(at_[0] + 4, run.below(size));
    }
    at = 0x1A00;
    for (auto& begin : types_) {
      begin = at;
      // At the end of the memory: the configuration's table ends there, or one word beyond it.
      const bool at_end = &begin == types_.begin() && run.chance(200);
      if (at_end) at = begin = 0x1FE4 - 4 * run.below(4);
      const bool half = run.chance(500);
      const std::uint32_t bytes = half ? 4 : run.pick(1, 2, 4, 8);
      write(at, run.chance(wrong_) ? run.below(32) : bytes);
      write(at + 4, run.chance(wrong_) ? run.below(32) : half ? 2 : bytes);
      const unsigned functions = run.chance(wrong_) ? run.below(40) : 1 + run.below(at_end ? 3 : 8);
      write(at + 20, functions);
      write(at + 24, half && run.chance(500));
      for (std::uint32_t k = 0; k < std::min(functions, 32U); ++k)
        write(at + 28 + 4 * k, run.chance(wrong_) ? static_cast<std::uint32_t>(run.bits()) : run.below(25));
      at = at_end ? 0x1A00 : at + 28 + 4 * 32;
    }
    tune(run);
  }
  void tune(bisim::Dice& dice) {
    const auto bytes = [&] {
      return static_cast<std::uint32_t>(dice.bits() & 0xFFFF'FFFF) >> dice.pick(0, 8, 16, 20, 31);
    };
    write(ExchangeMemory::kGatherFlat, bytes());
    write(ExchangeMemory::kReduceFlat, bytes());
    write(ExchangeMemory::kBroadcastFlat, dice.pick(0, 3, dice.below(80), bytes()));
    const bool has = dice.chance(spares_);
    write(ExchangeMemory::kSpare, has ? bytes() : 0);
    write(ExchangeMemory::kSpare + 4, has ? dice.below(0x10000) : 0);
  }
  void draw(bisim::Dice& dice) {
    using enum Scenario;
    if (dice.chance(100)) tune(dice);
    const auto bits = [&] { return static_cast<std::uint32_t>(dice.bits() >> 20); };
    const bool parts = dice.chance(long_);
    call_[0] = parts ? static_cast<std::uint32_t>(bcast) : dice.below(14);
    if (dice.chance(30)) call_[0] = dice.pick(255, 14, 254, 256, bits());
    call_[1] = parts ? bits() : bits() >> dice.pick(31, 24, 20, 0);
    if (dice.chance(20)) call_[1] = 0;
    call_[2] = at_[dice.below(Parameters::Communicators)];
    if (dice.chance(wrong_)) call_[2] ^= 1U << dice.below(32);
    call_[3] = dice.chance(wrong_) ? bits() : dice.below(memory_.read(call_[2]).value_or(1) % 128 + 1);
    if (dice.chance(300)) call_[3] = memory_.read(call_[2] + 4).value_or(0) | (dice.chance(wrong_) ? 128 : 0);
    call_[4] = dice.chance(wrong_) ? bits() >> dice.pick(0, 26) : dice.below(4);
    call_[5] = dice.pick(~0U, bits());
    call_[6] = types_[dice.below(kTypes)];
    if (dice.chance(wrong_)) call_[6] ^= 1U << dice.below(32);
    call_[7] = dice.chance(500) ? 0 : dice.below(16);
    if (dice.chance(wrong_)) call_[7] = bits();
    call_[8] = dice.chance(700) ? 0 : dice.below(8) << 8 | dice.below(4);
    if (dice.chance(wrong_)) call_[8] = bits();
    for (unsigned k = 9; k < kCallWords; ++k) call_[k] = k % 2 != 0 || dice.chance(wrong_) ? bits() : bits() & 0xFFFF;
  }

  unsigned pause_, numbers_, busy_, loads_, stall_, wrong_, long_, spares_, buffers_, grains_;
  ExchangeMemory memory_;
  std::array<std::uint32_t, Parameters::Communicators> at_{};
  std::array<std::uint32_t, kTypes> types_{};
  std::array<std::uint32_t, kCallWords> call_{};
  unsigned set_ = 0, given_ = 0;
  bool inside_ = false;
  std::optional<std::uint32_t> word_;
  std::optional<unsigned> number_;
  std::deque<std::optional<std::uint32_t>> answers_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
