// SPDX-License-Identifier: Apache-2.0
#include "bisim/bisim.hpp"
#include "blocks/link/faulty_wire.hpp"
#include "blocks/random_port.hpp"
#include "link/replay.hpp"

namespace {

using blocks::Fault, blocks::FaultyWire;
using top::Inputs, top::Outputs, top::Parameters;
using Word = bisim::Word<Parameters::Width>::Value;
using Frame = thalweg::ReplayFrame<Word>;
using Replay = thalweg::Replay<Word>;

constexpr unsigned kSequences = 2 * Parameters::Window;

struct Twin {
  Replay replay{Parameters::Window, Parameters::Slack, Parameters::DownCycles};

  void outputs(const Inputs&, Outputs& out) const {
    out.in_ready_o.set(replay.ready());
    out.up_o.set(replay.up());
    out.out_valid_o.set(replay.received() != nullptr);
    if (replay.received()) out.out_word_o.set(*replay.received());
    const Frame& frame = replay.frame();
    out.tx_valid_o.set(frame.carries);
    out.tx_word_o.set(frame.word);
    out.sequence_o.set(frame.sequence);
    out.epoch_o.set(frame.epoch);
    out.expected_o.set(frame.expected);
    out.request_o.set(frame.request);
  }

  void step(const Inputs& in) {
    const Word word = in.in_word_i.get();
    Frame peer{.word = in.peer_word_i.get(),
               .carries = in.peer_word_valid_i.get() != 0,
               .sequence = static_cast<std::uint16_t>(in.peer_sequence_i.get()),
               .expected = static_cast<std::uint16_t>(in.peer_expected_i.get()),
               .epoch = in.peer_epoch_i.get() != 0,
               .request = in.peer_request_i.get() != 0};
    replay.step(in.in_valid_i.get() ? &word : nullptr, in.wire_ready_i.get() != 0,
                in.peer_valid_i.get() ? &peer : nullptr);
  }
};

Word random_word(bisim::Dice& dice) {
  decltype(Inputs::in_word_i) word;
  blocks::fill(word, dice);
  return word.get();
}

/// A peer sends and receives words over a wire that loses, repeats and pauses; in some runs frames are forged, with
/// contents that no peer would send. Lanes: words, wire ready, the peer's words, the wire to this end, the wire to the
/// peer, forgery.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 6;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 900, 100)),
        peer_load_(run.pick(1000, 100, 0)),
        stall_(run.pick(0, 0, 100, 700)),
        fault_(run.pick(0, 3, 30, 300)),
        forge_(run.pick(0, 0, 2, 500)),
        dark_(run.pick(0, 0, 2)),
        here_(1 + run.below(2 * Parameters::Window)),
        there_(1 + run.below(10)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice sender = draws.lane(0), stall = draws.lane(1), peer_sender = draws.lane(2);
    if (seen.in_ready_o.get()) late_ = Parameters::Slack;
    if ((seen.in_ready_o.get() || late_ > 0) && sender.chance(load_)) {
      if (!seen.in_ready_o.get()) --late_;
      next.in_valid_i.set(true);
      next.in_word_i.set(random_word(sender));
    }
    const bool taken = !stall.chance(stall_);
    next.wire_ready_i.set(taken);

    std::optional<Frame> sent;
    if (taken) {
      sent = Frame{.word = seen.tx_word_o.get(),
                   .carries = seen.tx_valid_o.get() != 0,
                   .sequence = static_cast<std::uint16_t>(seen.sequence_o.get()),
                   .expected = static_cast<std::uint16_t>(seen.expected_o.get()),
                   .epoch = seen.epoch_o.get() != 0,
                   .request = seen.request_o.get() != 0};
    }
    const auto arrived = there_.step(sent, fault(draws.lane(3)));
    std::optional<Word> word;
    if (peer_.ready() && peer_sender.chance(peer_load_)) word = random_word(peer_sender);
    const auto came = here_.step(peer_.frame(), fault(draws.lane(4)));
    peer_.step(word ? &*word : nullptr, true, arrived ? &*arrived : nullptr);
    if (came) put(*came, draws.lane(5), next);
  }

 private:
  Fault fault(bisim::Dice dice) {
    if (dice.chance(dark_)) darkness_ = 1 + dice.below(2 * Parameters::DownCycles);
    if (darkness_ > 0) {
      --darkness_;
      return Fault::loss;
    }
    if (!dice.chance(fault_)) return Fault::none;
    constexpr Fault kFaults[] = {Fault::loss, Fault::repetition, Fault::pause};
    return kFaults[dice.below(3)];
  }

  void put(const Frame& frame, bisim::Dice dice, Inputs& next) const {
    next.peer_valid_i.set(true);
    next.peer_word_valid_i.set(frame.carries);
    next.peer_word_i.set(frame.word);
    next.peer_sequence_i.set(frame.sequence);
    next.peer_expected_i.set(frame.expected);
    next.peer_epoch_i.set(frame.epoch);
    next.peer_request_i.set(frame.request);
    if (!dice.chance(forge_)) return;
    switch (dice.below(5)) {
      case 0:
        next.peer_word_valid_i.set(dice.below(2));
        break;
      case 1:
        next.peer_sequence_i.set(dice.below(kSequences));
        break;
      case 2:
        next.peer_expected_i.set(dice.below(kSequences));
        break;
      case 3:
        next.peer_epoch_i.set(dice.below(2));
        break;
      default:
        next.peer_request_i.set(dice.below(2));
    }
  }

  unsigned load_, peer_load_, stall_, fault_, forge_, dark_;
  unsigned late_ = 0, darkness_ = 0;
  Replay peer_{Parameters::Window, 0, Parameters::DownCycles};
  FaultyWire<Frame> here_, there_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
