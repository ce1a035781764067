// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bisim/bisim.hpp"
#include "blocks/clocks.hpp"
#include "blocks/random_port.hpp"
#include "blocks/vcsn/words.hpp"
#include "vcsn/receive_buffer.hpp"

namespace {

using bisim::Clocks, bisim::Instant, blocks::clock, blocks::cycle;
using top::Inputs, top::Outputs, top::Parameters;
namespace vcsn = thalweg::vcsn;

constexpr unsigned kMac = 0, kShell = 1;
constexpr unsigned kWindow = Parameters::Window;

struct Twin {
  std::unique_ptr<thalweg::ethernet::Frames> frames = std::make_unique<thalweg::ethernet::Frames>();
  mutable vcsn::ReceiveBuffer buffer;  ///< discards past times when it is asked for room
  std::vector<vcsn::Word> words;       ///< of the arriving frame
  bool has_slots = false, is_free = false, has_come = false;
  std::uint64_t number = 0;  ///< of that frame, if frames have slots
  struct Ended {
    thalweg::ethernet::FrameRef frame;
    vcsn::Waiting of;
    std::uint64_t number = 0;
  };
  std::array<std::optional<Ended>, 2> ended;  ///< in the cycles before

  explicit Twin(const Clocks& clocks)
      : buffer(clock(clocks, kShell), clock(clocks, kMac), Parameters::Words, Parameters::FrameWords) {}

  void outputs(const Inputs& in, const Instant& now, Outputs& out) const {
    out = {};
    const auto mac = cycle(now, kMac);
    out.mac_room_o.set(in.mac_slots_i.get() ? is_free : buffer.has_room(mac));
    out.mac_idle_o.set(buffer.idle_from() <= mac && !has_come);
    auto last = static_cast<std::int64_t>(buffer.left()) - 1;
    while (last >= 0 && buffer.left(last) >= mac) --last;
    out.mac_word_left_o.set(last >= 0 && buffer.left(last) == mac - 1);
    if (has_slots) {
      const auto left = buffer.frames_left(mac);
      out.mac_left_o.set(buffer.in_order() > left && buffer.frame_left_at(left) == mac + 1);
      for (std::uint64_t number = left; number < left + kWindow; ++number)
        out.mac_held_o.set_bit(number % kWindow, buffer.holds(number));
    }
    out.shell_valid_o.set(buffer.offers() <= cycle(now, kShell));
    if (!out.shell_valid_o.get()) return;
    const vcsn::Word& word = buffer.front();
    out.shell_data_o.set(blocks::data_of(word));
    out.shell_first_o.set(word.first);
    out.shell_last_o.set(word.last);
    out.shell_channel_o.set(word.channel);
  }
  void step(const Inputs& in, const Instant& now) {
    if (const auto at = cycle(now, kShell); now.edge(kShell) && in.shell_ready_i.get() && buffer.offers() <= at)
      buffer.take(at);
    if (!now.edge(kMac)) return;
    const auto at = cycle(now, kMac);
    if (const bool slots = in.mac_slots_i.get() != 0; slots != has_slots) {
      has_slots = slots;
      buffer.set_slots(has_slots ? kWindow : 0);
    }
    if (in.mac_begin_again_i.get()) {
      buffer.set_slots(has_slots ? kWindow : 0);
      is_free = has_come = false;
      ended = {};
      return;
    }
    has_come = has_slots ? in.mac_keep_i.get() != 0 : in.mac_commit_i.get() != 0;
    std::optional<Ended> ends;
    if (in.mac_valid_i.get())
      words.push_back(
          blocks::word_of(in.mac_data_i.get(), in.mac_first_i.get(), in.mac_last_i.get(), in.mac_channel_i.get()));
    if (in.mac_commit_i.get()) ends = end(at);
    if (in.mac_keep_i.get())
      buffer.place(ended[1]->number, {ended[1]->frame, thalweg::ethernet::kHeader, ended[1]->of}, at);
    if (in.mac_commit_i.get() || in.mac_drop_i.get()) words.clear();
    if (has_slots && in.mac_begin_i.get()) {
      const auto left = buffer.frames_left(at);
      number = left + (in.mac_slot_i.get() - left) % kWindow;
      is_free = !buffer.holds(number) && !(ends && is_same(*ends)) && !(ended[0] && is_same(*ended[0])) &&
                !(ended[1] && is_same(*ended[1]));
    }
    ended[1] = ended[0];
    ended[0] = ends;
  }

 private:
  [[nodiscard]] bool is_same(const Ended& of) const { return (number - of.number) % kWindow == 0; }
  [[nodiscard]] std::optional<Ended> end(thalweg::Tick now) {
    const auto frame = frames->make(0, 0, 0, words.size() * vcsn::kWord, [this](std::span<std::byte> payload) {
      for (std::size_t k = 0; k < words.size(); ++k)
        std::memcpy(payload.data() + k * vcsn::kWord, words[k].bytes.data(), vcsn::kWord);
    });
    const vcsn::Waiting of{.words = static_cast<unsigned>(words.size()),
                           .first = words.front().first,
                           .last = words.back().last,
                           .channel = words.front().channel,
                           .whole = now + 1};
    if (has_slots) return Ended{frame, of, number};
    buffer.add(frame, thalweg::ethernet::kHeader, of);
    return {};
  }
};

/// Frames that begin when there is room, with pauses; some are dropped at their ends. In some runs they have slots, of
/// which the next in order is drawn more often.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 900, 300, 20)),
        pauses_(run.pick(0, 100, 600)),
        bad_(run.pick(0, 100, 600)),
        short_(run.pick(0, 500, 1000)),
        takes_(run.pick(1000, 900, 500, 50)),
        has_slots_(run.chance(700)),
        in_order_(run.pick(1000, 900, 300)),
        begins_(run.pick(0, 5, 100)) {}

  void drive(const Outputs& seen, const Instant& now, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice mac = draws.lane(kMac), shell = draws.lane(kShell);
    if (now.edge(kShell)) next.shell_ready_i.set(shell.chance(takes_));
    if (!now.edge(kMac)) return;
    if (seen.mac_left_o.get()) oldest_ = (oldest_ + 1) % kWindow;
    next.mac_valid_i.set(false);
    next.mac_commit_i.set(false);
    next.mac_drop_i.set(false);
    const bool ended = std::exchange(ended_[1], std::exchange(ended_[0], false));
    next.mac_keep_i.set(has_slots_ && ended && mac.chance(900));
    next.mac_slots_i.set(has_slots_);
    next.mac_begin_i.set(false);
    next.mac_begin_again_i.set(false);
    if (std::exchange(begins_again_, false)) {
      next.mac_begin_again_i.set(true);
      has_slots_ = mac.chance(700);
      oldest_ = 0;
      began_ = false;
      return;
    }
    const bool may = !has_slots_ || std::exchange(began_, false);
    if (!inside_ && may && seen.mac_room_o.get() && mac.chance(load_)) {
      inside_ = true;
      come_ = 0;
      words_ = 1 + mac.below(mac.chance(short_) ? std::min(2U, kMost) : kMost);
      first_ = mac.chance(300);
      last_ = mac.chance(300);
      next.mac_channel_i.set(mac.below(256));
    }
    begins_again_ = !inside_ && !ended_[0] && !ended_[1] && !ended && seen.mac_idle_o.get() && mac.chance(begins_);
    if (begins_again_) return;
    if (!inside_ && has_slots_) begin(seen, mac, next);
    if (!inside_ || mac.chance(pauses_)) return;
    if (come_ < words_) {
      next.mac_valid_i.set(true);
      next.mac_first_i.set(first_ && come_ == 0);
      ++come_;
      next.mac_last_i.set(last_ && come_ == words_);
      blocks::fill(next.mac_data_i, mac);
      return;
    }
    const bool bad = mac.chance(bad_);
    ended_[0] = !bad;
    next.mac_commit_i.set(!bad);
    next.mac_drop_i.set(bad);
    inside_ = false;
    if (has_slots_ && mac.chance(500)) begin(seen, mac, next);  // the next one's header may have arrived
  }

 private:
  static constexpr unsigned kMost = Parameters::FrameWords;

  void begin(const Outputs& seen, bisim::Dice& mac, Inputs& next) {
    began_ = true;
    next.mac_begin_i.set(true);
    unsigned slot = mac.below(kWindow);
    if (mac.chance(in_order_)) {
      slot = oldest_;
      while (seen.mac_held_o.bit(slot) && slot != (oldest_ + kWindow - 1) % kWindow) slot = (slot + 1) % kWindow;
    }
    next.mac_slot_i.set(slot);
  }

  unsigned load_, pauses_, bad_, short_, takes_;
  bool has_slots_;
  unsigned in_order_, begins_;
  std::array<bool, 2> ended_{};  ///< a frame, in the cycles before
  bool begins_again_ = false;
  bool began_ = false;   ///< in the cycle before
  unsigned oldest_ = 0;  ///< slot
  bool inside_ = false, first_ = false, last_ = false;
  unsigned words_ = 0, come_ = 0;  ///< of the frame; number of those that have arrived
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
