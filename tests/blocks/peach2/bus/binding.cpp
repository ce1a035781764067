// SPDX-License-Identifier: Apache-2.0
#include <deque>

#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"
#include "peach2/bus.hpp"

namespace {

using thalweg::peach2::Bus, thalweg::peach2::BusBeat;
using top::Inputs, top::Outputs, top::Parameters;

/// The beats that the lanes show.
struct Shown {
  std::array<BusBeat, Bus::kLanes> beats;
  std::array<const BusBeat*, Bus::kLanes> lanes{};

  explicit Shown(const Inputs& in) {
    for (unsigned l = 0; l < Bus::kLanes; ++l) {
      beats[l] = {in.beat_write_i.bit(l), in.beat_address_i.get(l), in.beat_data_i.get(l),
                  static_cast<std::uint32_t>(in.beat_enable_i.get(l))};
      if (in.beat_valid_i.bit(l)) lanes[l] = &beats[l];
    }
  }
};
Bus::Ready ready_of(const Inputs& in) {
  return {in.memory_ready_i.get() != 0, in.calculator_ready_i.get() != 0, in.register_ready_i.get() != 0};
}

class Twin {
 public:
  void outputs(const Inputs& in, Outputs& out) const {
    using Target = Bus::Target;
    const Shown shown(in);
    const unsigned lane = bus_.lane(shown.lanes);
    const BusBeat& beat = shown.beats[lane];
    const bool valid = shown.lanes[lane] != nullptr;
    const Target target = bus_.target(beat);
    out.beat_ready_o.set(std::uint64_t{bus_.takes(beat, lane, ready_of(in))} << lane);
    out.memory_valid_o.set(valid && target == Target::memory && bus_.memory_takes(beat, lane));
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
    if (bus_.reply()) {
      out.reply_side_o.set(bus_.reply()->lane);
      out.reply_failed_o.set(bus_.reply()->reply.failed);
      out.reply_data_o.set(bus_.reply()->reply.data);
    }
    out.stray_valid_o.set(bus_.stray().has_value());
    if (bus_.stray()) out.stray_address_o.set(*bus_.stray());
  }
  void step(const Inputs& in) {
    const Shown shown(in);
    const auto reply = in.memory_reply_data_i.get();
    bus_.step(shown.lanes, ready_of(in), {in.calculator_data_i.get(), in.ram_data_i.get(), in.register_data_i.get()},
              in.memory_reply_valid_i.get() ? &reply : nullptr);
  }
  [[nodiscard]] const Bus& bus() const { return bus_; }

 private:
  Bus bus_{{.ram_bits = Parameters::RamBits,
            .contexts = Parameters::Contexts,
            .sums = Parameters::Sums,
            .records = Parameters::Records}};
};

/// Beats for every target; memory answers late, and in bursts. Whether a beat is accepted depends on the beats shown
/// with it: the stimulus asks a twin of its own. Lanes: the beats of each lane of the bus, their receivers, replies.
class Stimulus {
 public:
  static constexpr unsigned kLanes = Bus::kLanes + 2;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 500)),
        writes_(run.pick(500, 100, 900)),
        ready_(run.pick(1000, 700, 200)),
        replies_(run.pick(800, 100)) {}

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice takers = draws.lane(Bus::kLanes), replies = draws.lane(Bus::kLanes + 1);
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
    for (unsigned l = 0; l < Bus::kLanes; ++l) {
      bisim::Dice beats = draws.lane(l);
      auto& shows = shows_[l];
      if (!shows && beats.chance(load_)) {
        shows = BusBeat{beats.chance(writes_), beats.bits() & 0x7FFFFFFFF, {beats.bits(), beats.bits()}, 0xFFFF};
        if (beats.chance(700)) shows->address &= ~std::uint64_t{0x7FFF00};  // existing addresses of RAM and registers
        if (!beats.chance(800)) shows->enable = beats.below(65536);
      }
      next.beat_valid_i.set_bit(l, shows.has_value());
      if (!shows) continue;
      next.beat_write_i.set_bit(l, shows->write);
      next.beat_address_i.set(shows->address, l);
      next.beat_enable_i.set(shows->enable, l);
      next.beat_data_i.set(shows->data, l);
    }
    const Shown shown(next);
    const unsigned lane = own_.bus().lane(shown.lanes);
    const BusBeat& beat = shown.beats[lane];
    if (shows_[lane] && own_.bus().takes(beat, lane, ready_of(next))) {
      shows_[lane].reset();
      if (!beat.write && own_.bus().target(beat) == Bus::Target::memory) ++due_;
    }
    own_.step(next);
  }

 private:
  unsigned load_, writes_, ready_, replies_;
  unsigned due_ = 0;
  std::array<std::optional<BusBeat>, Bus::kLanes> shows_;
  Twin own_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
