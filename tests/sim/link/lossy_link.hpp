// SPDX-License-Identifier: Apache-2.0
// Both ends of a link and a wire in each direction that flips bits and loses, repeats and delays frames.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>

#include "../../blocks/link/faulty_wire.hpp"
#include "../../seed.hpp"
#include "link/link_end.hpp"

namespace thalweg {

/// Flips every bit with the same probability; draws the distance to the next error.
class BitErrors {
 public:
  BitErrors(double rate, std::uint64_t seed) : random_(seed), rate_(rate) { draw(); }

  void damage(WireFrame& frame, unsigned bits) {
    for (; distance_ < bits; draw(distance_ + 1)) frame[distance_ / 64] ^= std::uint64_t{1} << (distance_ % 64);
    distance_ -= bits;
  }

 private:
  void draw(std::uint64_t from = 0) {
    distance_ =
        from + (rate_ > 0 ? std::geometric_distribution<std::uint64_t>(rate_)(random_) : std::uint64_t{1} << 62);
  }

  std::mt19937_64 random_;
  double rate_;
  std::uint64_t distance_ = 0;  ///< bits until the next error
};

/// A link of `latency` cycles in each direction, counted as in docs/router.md, between ends of a class like LinkEnd.
template <class End>
class LossyLinkOf {
 public:
  LossyLinkOf(std::array<End, 2> given, unsigned frame_bits, unsigned latency, double bit_error_rate,
              std::uint64_t seed)
      : ends(std::move(given)),
        bits_(frame_bits),
        latency_(latency),
        errors_{BitErrors(bit_error_rate, 2 * seed), BitErrors(bit_error_rate, 2 * seed + 1)},
        wires_{Wire(latency - 1), Wire(latency - 1)} {}

  std::array<End, 2> ends;

  /// Stops all bit errors.
  void calm() { errors_ = {BitErrors(0, 0), BitErrors(0, 0)}; }
  /// Discards all frames in flight.
  void empty() { wires_ = {Wire(latency_ - 1), Wire(latency_ - 1)}; }

  /// One cycle. For each end: the word given to it, the credits or stops that its port returns, the fault of the frame
  /// that reaches it, whether it is held, and whether it is in reset.
  void cycle(std::array<const LinkWord*, 2> words, std::array<std::uint32_t, 2> back = {},
             std::array<blocks::Fault, 2> faults = {}, std::array<bool, 2> holds = {},
             std::array<bool, 2> resets = {}) {
    std::array<std::optional<WireFrame>, 2> arrived;
    for (unsigned from = 0; from < 2; ++from) {
      std::optional<WireFrame> frame;
      if (ends[from].wire()) frame = *ends[from].wire();
      if (frame) errors_[from].damage(*frame, bits_);
      arrived[1 - from] = wires_[from].step(frame, faults[1 - from]);
    }
    for (unsigned i = 0; i < 2; ++i) {
      if (resets[i]) {
        ends[i].reset();
      } else {
        ends[i].step(words[i], back[i], true, arrived[i] ? &*arrived[i] : nullptr, holds[i]);
      }
    }
  }

 private:
  using Wire = blocks::FaultyWire<WireFrame>;

  unsigned bits_, latency_;
  std::array<BitErrors, 2> errors_;
  std::array<Wire, 2> wires_;
};

/// A link whose ends are up.
class LossyLink : public LossyLinkOf<LinkEnd> {
 public:
  LossyLink(const FrameFormat& format, unsigned window, unsigned latency, double bit_error_rate, std::uint64_t seed,
            unsigned slack = 0)
      : LossyLinkOf({LinkEnd(format, window, slack, kDownCycles), LinkEnd(format, window, slack, kDownCycles)},
                    format.frame_bits(), latency, bit_error_rate, seed) {
    for (LinkEnd& each : ends) each.bring_up();
  }

 private:
  static constexpr unsigned kDownCycles = 1024;
};

}  // namespace thalweg
