// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "bisim/bisim.hpp"
#include "blocks/link/faulty_wire.hpp"
#include "blocks/random_port.hpp"
#include "link/link_end.hpp"

namespace {

using blocks::Fault, blocks::FaultyWire;
using thalweg::LinkEnd, thalweg::LinkWord, thalweg::WireFrame;
using top::Inputs, top::Outputs, top::Parameters;

constexpr unsigned kVcs = Parameters::Vcs, kSlack = 2;
constexpr thalweg::FrameFormat kFormat{
    .sequence_bits = std::bit_width(Parameters::Window),
    .vcs = kVcs,
    .flow = Parameters::Credits ? thalweg::FlowControl::credits : thalweg::FlowControl::margin,
    .count_bits = Parameters::CountBits};
static_assert(kFormat.frame_bits() == Parameters::FrameBits);

LinkEnd make_end() {
  return {kFormat, Parameters::Window, kSlack, Parameters::DownCycles};
}

/// The twin's arrays and the 32-bit words of a port.
template <class Port, std::size_t Size>
void put(Port& port, const std::array<std::uint64_t, Size>& words) {
  for (unsigned i = 0; i < std::size(port.words); ++i)
    port.words[i] = static_cast<std::uint32_t>(words[i / 2] >> (32 * (i % 2)));
}
template <std::size_t Size, class Port>
std::array<std::uint64_t, Size> get(const Port& port) {
  std::array<std::uint64_t, Size> words{};
  for (unsigned i = 0; i < std::size(port.words); ++i) words[i / 2] |= std::uint64_t{port.words[i]} << (32 * (i % 2));
  return words;
}

template <class Port>
void put_flit(Port& port, const LinkWord& word) {
  port.set({.data = {word[0], word[1], word[2], word[3]},
            .vc = word[4] & 15,
            .head = word[4] >> 4 & 1,
            .tail = word[4] >> 5 & 1});
}
template <class Port>
LinkWord get_flit(const Port& port) {
  const auto flit = port.get();
  return {flit.data[0], flit.data[1], flit.data[2], flit.data[3],
          static_cast<std::uint64_t>(flit.vc) | static_cast<std::uint64_t>(flit.head) << 4 |
              static_cast<std::uint64_t>(flit.tail) << 5};
}

struct Twin {
  LinkEnd end = make_end();

  void reset() { end.reset(); }

  void outputs(const Inputs& in, Outputs& out) const {
    out.ready_o.set(end.ready());
    out.flit_valid_o.set(end.received() != nullptr);
    if (end.received()) put_flit(out.flit_o, *end.received());
    out.back_o.set(end.back());
    out.frame_valid_o.set(end.wire() != nullptr);
    if (end.wire()) put(out.frame_o, *end.wire());
    out.up_o.set(end.up());
    out.lost_o.set(end.lost());
    out.repeated_o.set(moves(in) && end.repeats());
    out.damaged_o.set(end.damaged());
  }

  void step(const Inputs& in) {
    const LinkWord word = get_flit(in.flit_i);
    const auto frame = get<6>(in.frame_i);
    end.step(in.flit_valid_i.get() ? &word : nullptr, static_cast<std::uint32_t>(in.back_i.get()), moves(in),
             in.frame_valid_i.get() ? &frame : nullptr, in.hold_i.get() != 0);
  }

 private:
  /// The first frame is made without a request.
  [[nodiscard]] bool moves(const Inputs& in) const { return in.frame_ready_i.get() || !end.wire(); }
};

/// Another end, both with flits and credits or stop bits, over a wire that loses, repeats, pauses and flips bits; it
/// restarts sometimes, and this end with the harness's resets. Lanes: flits here, flits there, credits or stops here
/// and there, the wire's pace, the wire to the other end, the wire to this end, damage, restarts, hold.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 10;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 900, 100)),
        peer_load_(run.pick(1000, 100, 0)),
        back_(run.pick(0, 20, 500)),
        stall_(run.pick(0, 0, 100, 700)),
        fault_(run.pick(0, 3, 30, 300)),
        damage_(run.pick(0, 0, 50)),
        restart_(run.pick(0, 2, 20)),
        hold_(run.pick(0, 0, 20)),
        there_(1 + run.below(Parameters::Window)),
        here_(1 + run.below(10)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice here = draws.lane(0), there = draws.lane(1);
    if (seen.ready_o.get()) late_ = kSlack;
    if ((seen.ready_o.get() || late_ > 0) && here.chance(load_)) {
      if (!seen.ready_o.get()) --late_;
      next.flit_valid_i.set(true);
      blocks::fill(next.flit_i, here);
    }
    if (seen.lost_o.get()) away_ = {};
    const std::uint32_t peer_back = limited(draw_back(draws.lane(3)), static_cast<std::uint32_t>(seen.back_o.get()));
    next.back_i.set(draw_back(draws.lane(2)));
    next.frame_ready_i.set(!draws.lane(4).chance(stall_));
    if (draws.lane(9).chance(hold_)) held_ = 1 + draws.lane(9).below(50);
    next.hold_i.set(held_ > 0);
    held_ -= held_ > 0;

    std::optional<WireFrame> sent, answered;
    if (seen.frame_valid_o.get() && next.frame_ready_i.get()) sent = get<6>(seen.frame_o);
    if (peer_.wire()) answered = *peer_.wire();
    const auto arrived = there_.step(sent, fault(draws.lane(5)));
    auto came = here_.step(answered, fault(draws.lane(6)));
    if (draws.lane(8).chance(restart_) && draws.lane(8).chance(100)) {
      peer_.reset();
      away_ = {};
    } else {
      Inputs word;
      blocks::fill(word.flit_i, there);
      const LinkWord flit = get_flit(word.flit_i);
      peer_.step(peer_.ready() && there.chance(peer_load_) ? &flit : nullptr, peer_back, true,
                 arrived ? &*arrived : nullptr);
      if (peer_.lost()) away_ = {};
    }
    if (!came) return;
    bisim::Dice damage = draws.lane(7);
    if (damage.chance(damage_)) {
      const unsigned bit = damage.below(Parameters::FrameBits);
      (*came)[bit / 64] ^= std::uint64_t{1} << bit % 64;
    }
    next.frame_valid_i.set(true);
    put(next.frame_i, *came);
  }

 private:
  [[nodiscard]] Fault fault(bisim::Dice dice) const {
    constexpr Fault kFaults[] = {Fault::loss, Fault::repetition, Fault::pause};
    return dice.chance(fault_) ? kFaults[dice.below(3)] : Fault::none;
  }
  [[nodiscard]] std::uint32_t draw_back(bisim::Dice dice) const {
    std::uint32_t back = 0;
    for (unsigned vc = 0; vc < kVcs; ++vc) back |= std::uint32_t{dice.chance(back_)} << vc;
    return back;
  }
  /// No more credits in flight than a buffer has entries.
  [[nodiscard]] std::uint32_t limited(std::uint32_t back, std::uint32_t given) {
    if (!Parameters::Credits) return back;
    for (unsigned vc = 0; vc < kVcs; ++vc) {
      away_[vc] -= std::min(away_[vc], given >> vc & 1);
      if (away_[vc] + 1 >= 1u << Parameters::CountBits) back &= ~(1u << vc);
      away_[vc] += back >> vc & 1;
    }
    return back;
  }

  unsigned load_, peer_load_, back_, stall_, fault_, damage_, restart_, hold_;
  unsigned late_ = 0, held_ = 0;
  LinkEnd peer_ = make_end();
  FaultyWire<WireFrame> there_, here_;
  std::array<std::uint32_t, kVcs> away_{};
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
