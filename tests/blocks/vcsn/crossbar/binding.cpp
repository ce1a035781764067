// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <memory>
#include <optional>

#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"
#include "blocks/vcsn/words.hpp"
#include "vcsn/crossbar.hpp"

namespace {

using thalweg::kNever, thalweg::Tick;
using top::Inputs, top::Outputs, top::Parameters;
namespace vcsn = thalweg::vcsn;

constexpr unsigned kInputs = Parameters::Inputs, kOutputs = Parameters::Outputs;

std::array<bool, kInputs> taken;  ///< words of the cycle before, for the stimulus: acceptance depends on inputs

/// The word offered in a cycle. The crossbar may take it in the next one, in which it is still offered.
struct Offered final : vcsn::Source {
  Tick at = kNever, taken = -1;
  vcsn::Word word;

  [[nodiscard]] Tick offers() const override { return at; }
  [[nodiscard]] const vcsn::Word& front() const override { return word; }
  void take(Tick cycle) override {
    taken = cycle;
    at = kNever;
  }
};

/// Takes the word at a ready output.
struct Taking final : vcsn::Sink {
  Tick at = kNever;

  [[nodiscard]] Tick accepts() const override { return at; }
  void put(Tick, const vcsn::Word&) override { at = kNever; }
};

struct Twin {
  struct State {
    thalweg::Domains domains;
    std::array<Offered, kInputs> sources;
    std::array<Taking, kOutputs> sinks;
    vcsn::Crossbar crossbar{domains.add({1, 0})};
  };
  std::unique_ptr<State> state = std::make_unique<State>();
  Tick now = 0;
  bool refused = false;

  Twin() {
    taken = {};
    for (auto& source : state->sources) state->crossbar.add(source);
    for (auto& sink : state->sinks) state->crossbar.add(sink);
  }

  void outputs(const Inputs& in, Outputs& out) const {
    out = {};
    out.refused_o.set(refused);
    offer(in);
    for (unsigned i = 0; i < kInputs; ++i) out.in_ready_o.set_bit(i, state->sources[i].taken == now);
    for (unsigned o = 0; o < kOutputs; ++o) {
      if (const auto input = state->crossbar.moves(o, now)) out.in_ready_o.set_bit(*input, true);
      const vcsn::Word* word = state->crossbar.front(o, now);
      if (!word) continue;
      out.out_valid_o.set_bit(o, true);
      out.out_data_o.set(blocks::data_of(*word), o);
      out.out_first_o.set_bit(o, word->first);
      out.out_last_o.set_bit(o, word->last);
      out.out_channel_o.set(word->channel, o);
    }
  }
  void step(const Inputs& in) {
    offer(in);
    for (unsigned o = 0; o < kOutputs; ++o)
      state->sinks[o].at = in.out_ready_i.bit(o) && state->crossbar.front(o, now) ? now : kNever;
    state->crossbar.step(now);
    for (unsigned i = 0; i < kInputs; ++i) taken[i] = state->sources[i].taken == now;
    refused = in.set_valid_i.get() &&
              !state->crossbar.set(
                  static_cast<unsigned>(in.set_output_i.get()),
                  in.set_open_i.get() ? std::optional(static_cast<unsigned>(in.set_input_i.get())) : std::nullopt);
    ++now;
  }

 private:
  void offer(const Inputs& in) const {
    for (unsigned i = 0; i < kInputs; ++i) {
      Offered& source = state->sources[i];
      source.at = in.in_valid_i.bit(i) && source.taken < now ? now : kNever;
      source.word =
          blocks::word_of(in.in_data_i.get(i), in.in_first_i.bit(i), in.in_last_i.bit(i), in.in_channel_i.get(i));
    }
  }
};

/// Packets, some of which have lost their first or last word, while outputs are set to other inputs. Lanes: settings,
/// each input, readiness.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2 + kInputs;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 900, 300, 50)),
        ends_(run.pick(10, 200, 800)),
        lost_(run.pick(0, 50, 500)),
        ready_(run.pick(1000, 900, 500, 100)),
        sets_(run.pick(5, 50, 500)) {}

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice settings = draws.lane(0), ready = draws.lane(1);
    for (unsigned o = 0; o < kOutputs; ++o) next.out_ready_i.set_bit(o, ready.chance(ready_));
    for (unsigned i = 0; i < kInputs; ++i) {
      bisim::Dice dice = draws.lane(2 + i);
      Offer& offer = offers_[i];
      if (offer.valid && taken[i]) offer.valid = false;
      if (!offer.valid && dice.chance(load_)) {
        offer.valid = true;
        offer.first = dice.chance(lost_) ? dice.chance(500) : offer.begins;
        offer.last = dice.chance(ends_);
        offer.begins = dice.chance(lost_) ? dice.chance(500) : offer.last;
        offer.channel = dice.below(256);
        for (auto& word : offer.data) word = std::uint64_t{dice.bits()} << 32 | dice.bits();
      }
      next.in_valid_i.set_bit(i, offer.valid);
      next.in_first_i.set_bit(i, offer.first);
      next.in_last_i.set_bit(i, offer.last);
      next.in_channel_i.set(offer.channel, i);
      next.in_data_i.set(offer.data, i);
    }
    if (!settings.chance(sets_)) return;
    next.set_valid_i.set(true);
    next.set_output_i.set(settings.below(kOutputs));
    next.set_open_i.set(settings.chance(700));
    next.set_input_i.set(settings.below(kInputs));
  }

 private:
  struct Offer {
    bool valid = false, first = false, last = false, begins = true;
    unsigned channel = 0;
    blocks::WordData data{};
  };
  unsigned load_, ends_, lost_, ready_, sets_;
  std::array<Offer, kInputs> offers_{};
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
