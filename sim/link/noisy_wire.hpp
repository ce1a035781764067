// SPDX-License-Identifier: Apache-2.0
// One direction of a link, one frame per cycle, with faults: flipped bits, lost and duplicated frames, and
// interruptions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "core/types.hpp"
#include "link/replay_codec.hpp"

namespace thalweg {

/// Faults of the frames of one direction of a link.
struct WireFaults {
  double bit_error_rate = 0;     ///< fraction of flipped bits
  double frames_lost = 0;        ///< fraction of lost frames
  double frames_duplicated = 0;  ///< fraction of frames whose copy replaces the next frame
  Tick down_at = kNever;         ///< no frame passes from then
  Tick up_at = kNever;           ///< frames pass again from then
  Tick reset_at = kNever;        ///< the sending end alone is reset then

  [[nodiscard]] bool any() const {
    return bit_error_rate > 0 || frames_lost > 0 || frames_duplicated > 0 || down_at != kNever || reset_at != kNever;
  }
};

/// Independent trials with the same success probability, below 1; drawn as the distance to the next success.
class Trials {
 public:
  Trials(double probability, std::uint64_t seed) : random_(seed), probability_(probability), left_(gap()) {}

  /// Calls visit(i) for each success among the next `count` trials.
  template <class Visit>
  void each(std::uint64_t count, Visit&& visit) {
    for (; left_ < count; left_ += 1 + gap()) visit(static_cast<unsigned>(left_));
    left_ -= count;
  }
  bool next() {
    bool success = false;
    each(1, [&](unsigned) { success = true; });
    return success;
  }

 private:
  static constexpr double kNone = 0x1p62;  ///< beyond any number of trials

  std::uint64_t gap() {
    if (probability_ <= 0) return static_cast<std::uint64_t>(kNone);
    return static_cast<std::uint64_t>(std::min(kNone, std::log(random_.unit()) / std::log1p(-probability_)));
  }

  Random random_;
  double probability_;
  std::uint64_t left_;
};

/// Counters of a wire, in frames.
struct WireUse {
  std::uint64_t frames = 0;   ///< frames sent
  std::uint64_t damaged = 0;  ///< of these, with bit errors
  std::uint64_t lost = 0;     ///< including those replaced by a copy
  std::uint64_t duplicated = 0;
};

class NoisyWire {
 public:
  /// Frames leave `delay` cycles after they enter.
  NoisyWire(const WireFaults& faults, unsigned frame_bits, Tick delay, std::uint64_t seed)
      : faults_(faults),
        bits_(frame_bits),
        in_flight_(static_cast<std::size_t>(delay)),
        errors_(faults.bit_error_rate, mix(seed) + 1),
        losses_(faults.frames_lost, mix(seed) + 2),
        repetitions_(faults.frames_duplicated, mix(seed) + 3) {}

  [[nodiscard]] bool cut(Tick now) const { return now >= faults_.down_at && now < faults_.up_at; }
  [[nodiscard]] const WireFaults& faults() const { return faults_; }
  [[nodiscard]] const WireUse& use() const { return use_; }

  /// One cycle: takes and returns a frame; nullptr: none. Valid until the next call.
  const WireFrame* step(Tick now, const WireFrame* in) {
    std::optional<WireFrame> frame;
    if (in) frame = *in;
    if (!in_flight_.empty()) std::swap(frame, in_flight_[static_cast<std::size_t>(now) % in_flight_.size()]);
    if (!frame) return nullptr;
    ++use_.frames;
    const bool repeats = std::exchange(repeat_next_, false);
    if (cut(now) || losses_.next()) {
      ++use_.lost;
      return nullptr;
    }
    if (repeats) {
      ++use_.lost;
      return &out_;
    }
    out_ = *frame;
    bool damaged = false;
    errors_.each(bits_, [&](unsigned bit) {
      out_[bit / 64] ^= std::uint64_t{1} << bit % 64;
      damaged = true;
    });
    use_.damaged += damaged;
    repeat_next_ = repetitions_.next();
    use_.duplicated += repeat_next_;
    return &out_;
  }

 private:
  WireFaults faults_;
  unsigned bits_;
  std::vector<std::optional<WireFrame>> in_flight_;  ///< by the cycle of entry, modulo the delay
  Trials errors_, losses_, repetitions_;
  bool repeat_next_ = false;
  WireFrame out_{};
  WireUse use_;
};

}  // namespace thalweg
