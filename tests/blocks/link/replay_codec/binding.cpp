// SPDX-License-Identifier: Apache-2.0
#include "bisim/bisim.hpp"
#include "blocks/link/faulty_wire.hpp"
#include "blocks/link/session_port.hpp"
#include "blocks/random_port.hpp"
#include "link/replay_codec.hpp"

namespace {

using blocks::Fault, blocks::FaultyWire;
using thalweg::ReplayCodec, thalweg::FrameFormat, thalweg::LinkWord, thalweg::SessionFields, thalweg::WireFrame;
using top::Inputs, top::Outputs, top::Parameters;
using Frame = thalweg::ReplayFrame<LinkWord>;

constexpr unsigned kVcs = Parameters::Vcs, kFrameBits = Parameters::FrameBits;
constexpr FrameFormat kFormat{
    .word_bits = Parameters::Width,
    .sequence_bits = Parameters::SequenceBits,
    .vcs = kVcs,
    .flow = Parameters::Credits ? thalweg::FlowControl::credits : thalweg::FlowControl::margin,
    .count_bits = Parameters::CountBits};

/// A value of the twin of any width, as 32-bit words of a port.
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

struct Twin {
  ReplayCodec codec{kFormat};

  void outputs(const Inputs&, Outputs& out) const {
    if (const WireFrame* frame = codec.wire()) {
      out.wire_valid_o.set(true);
      put(out.wire_frame_o, *frame);
    } else {
      out.wire_valid_o.set(false);
    }
    const Frame* peer = codec.peer();
    out.peer_valid_o.set(peer != nullptr);
    if (peer) {
      out.peer_word_valid_o.set(peer->carries);
      put(out.peer_word_o, peer->word);
      out.peer_sequence_o.set(peer->sequence);
      out.peer_epoch_o.set(peer->epoch);
      out.peer_expected_o.set(peer->expected);
      out.peer_request_o.set(peer->request);
      blocks::put_session(out.peer_session_o, codec.peer_session());
    }
    out.back_o.set(codec.back());
  }

  void step(const Inputs& in) {
    Frame next{.word = get<5>(in.tx_word_i),
               .carries = in.tx_valid_i.get() != 0,
               .sequence = static_cast<std::uint16_t>(in.sequence_i.get()),
               .expected = static_cast<std::uint16_t>(in.expected_i.get()),
               .epoch = in.epoch_i.get() != 0,
               .request = in.request_i.get() != 0};
    const auto frame = get<6>(in.wire_frame_i);
    codec.step(next, blocks::get_session(in.session_i), in.flush_i.get() != 0,
               static_cast<std::uint32_t>(in.back_i.get()), in.wire_ready_i.get() != 0,
               in.wire_valid_i.get() ? &frame : nullptr);
  }
};

/// A peer sends random frames over a wire that loses, repeats, pauses and flips bits; some frames have flipped bits
/// with a valid check. Most frames belong to the session. Lanes: the frame here, the peer's frame, credits or stop bits
/// here, the peer's, the wire's pace, the wire, damage, sessions.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 8;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 500, 50)),
        back_(run.pick(500, 1000, 20)),
        stall_(run.pick(0, 0, 300)),
        fault_(run.pick(0, 3, 300)),
        damage_(run.pick(0, 50, 500)),
        forge_(run.pick(0, 0, 300)),
        others_(run.pick(0, 10, 300)),
        wire_(1 + run.below(20)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice here = draws.lane(0), there = draws.lane(1), pace = draws.lane(4), fault = draws.lane(5);
    Inputs other;
    draw_frame(next, here);
    draw_frame(other, there);
    next.back_i.set(draw_back(draws.lane(2)));
    next.wire_ready_i.set(!pace.chance(stall_));
    const SessionFields granted = sessions(draws.lane(7), next);

    const std::uint64_t back = limited(draw_back(draws.lane(3)), seen.back_o.get());
    std::optional<WireFrame> sent;
    if (peer_.wire()) sent = *peer_.wire();
    constexpr Fault kFaults[] = {Fault::loss, Fault::repetition, Fault::pause};
    auto arrived = wire_.step(sent, fault.chance(fault_) ? kFaults[fault.below(3)] : Fault::none);
    Frame frame{.word = get<5>(other.tx_word_i),
                .carries = other.tx_valid_i.get() != 0,
                .sequence = static_cast<std::uint16_t>(other.sequence_i.get()),
                .expected = static_cast<std::uint16_t>(other.expected_i.get()),
                .epoch = other.epoch_i.get() != 0,
                .request = other.request_i.get() != 0};
    peer_.step(frame, granted, false, static_cast<std::uint32_t>(back), true, nullptr);
    if (!arrived) return;
    damage(*arrived, draws.lane(6));
    next.wire_valid_i.set(true);
    put(next.wire_frame_i, *arrived);
  }

 private:
  void draw_frame(Inputs& in, bisim::Dice& dice) const {
    in.tx_valid_i.set(dice.chance(load_));
    blocks::fill(in.tx_word_i, dice);
    blocks::fill(in.sequence_i, dice);
    blocks::fill(in.epoch_i, dice);
    blocks::fill(in.expected_i, dice);
    blocks::fill(in.request_i, dice);
  }

  /// Returns the peer's session; when this end is flushed, the peer restarts, too.
  SessionFields sessions(bisim::Dice dice, Inputs& next) {
    SessionFields own{.up = true, .echo_valid = true, .echo = true},
        peer{.up = true, .echo_valid = true, .number = true};
    if (dice.chance(others_)) own = SessionFields::of(dice.below(1u << SessionFields::kBits));
    if (dice.chance(others_)) peer = SessionFields::of(dice.below(1u << SessionFields::kBits));
    if (dice.chance(others_ / 10)) {
      next.flush_i.set(true);
      own = {};
      peer_ = ReplayCodec{kFormat};
      away_ = {};
    }
    blocks::put_session(next.session_i, own);
    return peer;
  }

  [[nodiscard]] std::uint64_t draw_back(bisim::Dice dice) const {
    std::uint64_t back = 0;
    for (unsigned vc = 0; vc < kVcs; ++vc) back |= std::uint64_t{dice.chance(back_)} << vc;
    return back;
  }

  /// No more credits in flight than a buffer has entries.
  [[nodiscard]] std::uint64_t limited(std::uint64_t back, std::uint64_t given) {
    if (!Parameters::Credits) return back;
    for (unsigned vc = 0; vc < kVcs; ++vc) {
      away_[vc] -= static_cast<int>(given >> vc & 1);
      if (away_[vc] + 1 >= 1 << Parameters::CountBits) back &= ~(std::uint64_t{1} << vc);
      away_[vc] += static_cast<int>(back >> vc & 1);
    }
    return back;
  }

  void damage(WireFrame& frame, bisim::Dice dice) const {
    const auto flip = [&](unsigned bit) { frame[bit / 64] ^= std::uint64_t{1} << (bit % 64); };
    if (dice.chance(damage_)) {
      for (unsigned i = dice.below(5) + 1; i > 0; --i) flip(dice.below(kFrameBits));
    } else if (dice.chance(forge_)) {
      const unsigned body = kFormat.body_bits();
      flip(dice.below(body));
      const std::uint64_t check = thalweg::get_bits(frame, body, 32) ^ thalweg::crc32(frame, body);
      for (unsigned bit = 0; bit < 32; ++bit)
        if (check >> bit & 1) flip(body + bit);
    }
  }

  unsigned load_, back_, stall_, fault_, damage_, forge_, others_;
  ReplayCodec peer_{kFormat};
  FaultyWire<WireFrame> wire_;
  std::array<int, kVcs> away_{};
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
