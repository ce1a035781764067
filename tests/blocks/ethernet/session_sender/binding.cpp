// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <memory>

#include "bisim/bisim.hpp"
#include "ethernet/session_sender.hpp"

namespace {

using thalweg::Tick;
using top::Inputs, top::Outputs, top::Parameters;
namespace ethernet = thalweg::ethernet;

constexpr unsigned kWindow = Parameters::Window;
constexpr std::uint32_t kNumbers = static_cast<std::uint32_t>((std::uint64_t{1} << Parameters::NumberBits) - 1);

/// A send buffer's state, as visible now.
struct Buffer {
  std::uint64_t frames = 0;

  [[nodiscard]] Tick whole_at(std::size_t number) const { return number < frames ? 0 : thalweg::kNever; }
  void release(Tick) {}
};

struct Twin {
  std::unique_ptr<Buffer> buffer = std::make_unique<Buffer>();
  ethernet::SessionSender<Buffer> sender{
      {.window = kWindow, .resend = Parameters::Resend, .reorder = Parameters::Reorder}, *buffer, 0};
  Tick now = 0;
  unsigned timeouts = 0;  ///< before this cycle

  void outputs(const Inputs&, Outputs& out) const {
    out.select_valid_o.set(sender.selects());
    out.select_offset_o.set(sender.offset());
    out.release_o.set(sender.releases());
    out.next_valid_o.set(sender.is_offered());
    out.next_new_o.set(sender.is_new());
    out.next_number_o.set(sender.number() & kNumbers);
    out.base_o.set(sender.base() & kNumbers);
    out.timed_out_o.set(sender.timeouts() != timeouts);
  }
  void step(const Inputs& in) {
    timeouts = sender.timeouts();
    buffer->frames = in.frames_i.get();
    if (in.chosen_i.get()) sender.choose(now);
    if (in.done_i.get()) sender.reads_until(now);
    if (in.rx_valid_i.get()) {
      const auto number = static_cast<std::uint32_t>(in.rx_number_i.get());
      sender.hear(sender.base() + ((number - sender.base()) & kNumbers), in.rx_received_i.get(), now);
    }
    sender.run(++now);
  }
};

/// A buffer that fills, a line that reads frames at any pace, and acknowledgements of sent frames: late ones, old ones,
/// and ones of any number.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 3;

  explicit Stimulus(bisim::Dice run)
      : fills_(run.pick(1000, 300, 20)),
        chooses_(run.pick(1000, 300, 30)),
        reads_(run.pick(1000, 300, 50)),
        hears_(run.pick(300, 50, 5)),
        receives_(run.pick(950, 800, 300)),
        leaves_(run.pick(900, 300)),
        wild_(run.pick(0, 100)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice fill = draws.lane(0), line = draws.lane(1), peer = draws.lane(2);
    if (frames_ < Parameters::Frames && fill.chance(fills_)) ++frames_;
    next.frames_i.set(shown_);
    shown_ = frames_ -= seen.release_o.get() ? 1 : 0;

    // The choice of the cycle before.
    next.chosen_i.set(chooses_now_);
    if (chooses_now_) {
      is_read_ = true;
      received_ |= std::uint64_t{line.chance(receives_)} << chosen_ % kWindow;
      if (is_new_) sent_ = (chosen_ + 1) & kNumbers;
    }
    next.done_i.set(is_read_ && line.chance(reads_));
    if (next.done_i.get()) is_read_ = false;
    chooses_now_ = seen.next_valid_o.get() && !chooses_now_ && !is_read_ && line.chance(chooses_);
    if (chooses_now_) {
      chosen_ = static_cast<std::uint32_t>(seen.next_number_o.get());
      is_new_ = seen.next_new_o.get();
    }

    // The peer: `left_` frames have left, and the later frames whose bits are set have arrived.
    while (((sent_ - left_) & kNumbers) > 0 && (received_ >> left_ % kWindow & 1) && peer.chance(leaves_)) {
      received_ &= ~(std::uint64_t{1} << left_ % kWindow);
      left_ = (left_ + 1) & kNumbers;
    }
    next.rx_valid_i.set(peer.chance(hears_));
    std::uint64_t bits = 0;
    for (unsigned k = 0; k < kWindow; ++k) bits |= (received_ >> (left_ + k) % kWindow & 1) << k;
    const std::uint32_t back = peer.chance(200) ? peer.below(2 * kWindow) : 0;
    next.rx_number_i.set(peer.chance(wild_) ? peer.bits() & kNumbers : (left_ - back) & kNumbers);
    const bool is_wild = ((left_ - next.rx_number_i.get()) & kNumbers) >= 4 * kWindow;
    if (is_wild && ((next.rx_number_i.get() - left_) & kNumbers) <= kWindow) next.rx_number_i.set(left_);
    next.rx_received_i.set(next.rx_number_i.get() == left_ ? bits : 0);
  }

 private:
  unsigned fills_, chooses_, reads_, hears_, receives_, leaves_, wild_;
  unsigned frames_ = 0, shown_ = 0;
  bool chooses_now_ = false, is_read_ = false, is_new_ = false;
  std::uint32_t chosen_ = 0, sent_ = 0, left_ = 0;
  std::uint64_t received_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
