// SPDX-License-Identifier: Apache-2.0
#include <deque>

#include "bisim/main.hpp"
#include "blocks/random_port.hpp"
#include "peach2/bus.hpp"

namespace {

using thalweg::peach2::Bus, thalweg::peach2::BusBeat;
using top::Inputs, top::Outputs, top::Parameters;

BusBeat beat_of(const Inputs& in) {
  return {in.beat_write_i.get() != 0, in.beat_address_i.get(), in.beat_data_i.get(),
          static_cast<std::uint32_t>(in.beat_enable_i.get())};
}
Bus::Ready ready_of(const Inputs& in) {
  return {in.memory_ready_i.get() != 0, in.calculator_ready_i.get() != 0, in.register_ready_i.get() != 0};
}

class Twin {
 public:
  void outputs(const Inputs& in, Outputs& out) const {
    using Target = Bus::Target;
    const BusBeat beat = beat_of(in);
    const bool valid = in.beat_valid_i.get() != 0;
    const Target target = bus_.target(beat);
    out.beat_ready_o.set(bus_.takes(beat, ready_of(in)));
    out.memory_valid_o.set(valid && target == Target::memory && bus_.memory_takes(beat));
    out.memory_write_o.set(beat.write);
    out.memory_address_o.set(beat.address % (1U << 25));
    out.memory_data_o.set(beat.data);
    out.memory_enable_o.set(beat.enable);
    out.calculator_valid_o.set(valid && beat.write && target == Target::calculator);
    out.calculator_context_o.set(bus_.context(beat.address));
    out.calculator_place_o.set(bus_.place(beat.address));
    out.calculator_read_o.set(bus_.record(beat.address));
    out.ram_write_o.set(valid && beat.write && target == Target::ram);
    out.ram_address_o.set(bus_.ram(beat.address));
    out.register_write_o.set(valid && beat.write && target == Target::registers);
    out.register_address_o.set(beat.address % thalweg::peach2::kRegisters);
    out.reply_valid_o.set(bus_.reply().has_value());
    if (bus_.reply()) out.reply_data_o.set(*bus_.reply());
    out.stray_valid_o.set(bus_.stray().has_value());
    if (bus_.stray()) out.stray_address_o.set(*bus_.stray());
  }
  void step(const Inputs& in) {
    const BusBeat beat = beat_of(in);
    const auto reply = in.memory_reply_data_i.get();
    bus_.step(in.beat_valid_i.get() ? &beat : nullptr, ready_of(in),
              {in.calculator_data_i.get(), in.ram_data_i.get(), in.register_data_i.get()},
              in.memory_reply_valid_i.get() ? &reply : nullptr);
  }
  [[nodiscard]] const Bus& bus() const { return bus_; }

 private:
  Bus bus_{{.ram_bits = Parameters::RamBits,
            .contexts = Parameters::Contexts,
            .sums = Parameters::Sums,
            .records = Parameters::Records}};
};

/// Beats of every target; memory answers late, and in bursts. Whether a beat is taken depends on what is shown with it: the stimulus
/// asks a twin of its own. Lanes: beats, those who take them, replies.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 3;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 500)),
        writes_(run.pick(500, 100, 900)),
        ready_(run.pick(1000, 700, 200)),
        replies_(run.pick(800, 100)) {}

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice beats = draws.lane(0), takers = draws.lane(1), replies = draws.lane(2);
    next.memory_ready_i.set(takers.chance(ready_));
    next.calculator_ready_i.set(takers.chance(ready_));
    next.register_ready_i.set(takers.chance(ready_));
    blocks::fill(next.calculator_data_i, replies);
    blocks::fill(next.ram_data_i, replies);
    blocks::fill(next.register_data_i, replies);
    blocks::fill(next.memory_reply_data_i, replies);
    if (due_ > 0 && replies.chance(replies_)) {
      --due_;
      next.memory_reply_valid_i.set(true);
    }
    if (!waiting_ && beats.chance(load_)) {
      waiting_ = true;
      write_ = beats.chance(writes_);
      address_ = beats.bits() & 0x7FFFFFFFF;
      if (beats.chance(700)) address_ &= ~std::uint64_t{0x7FFF00};  // of RAM and registers some that there are
      enable_ = beats.chance(800) ? 0xFFFF : beats.below(65536);
      blocks::fill(data_, beats);
    }
    next.beat_valid_i.set(waiting_);
    next.beat_write_i.set(write_);
    next.beat_address_i.set(address_);
    next.beat_enable_i.set(enable_);
    next.beat_data_i = data_;
    const BusBeat beat = beat_of(next);
    if (waiting_ && own_.bus().takes(beat, ready_of(next))) {
      waiting_ = false;
      if (!write_ && own_.bus().target(beat) == Bus::Target::memory) ++due_;
    }
    own_.step(next);
  }

 private:
  unsigned load_, writes_, ready_, replies_;
  unsigned due_ = 0;
  bool waiting_ = false, write_ = false;
  std::uint64_t address_ = 0;
  unsigned enable_ = 0;
  decltype(Inputs::beat_data_i) data_{};
  Twin own_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
