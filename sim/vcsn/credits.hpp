// SPDX-License-Identifier: Apache-2.0
// Credits of a virtual port, both directions: a frame is sent only if the other end's receive buffer has space for the
// longest frame besides all words in flight. Credit frames report how many words have left this end's buffer. C++ model
// of rtl/vcsn/tw_credits.sv.
//
// Word counts start when the circuit is opened, and are modulo 2^32 in frames. A delayed frame has a lower count than
// the latest one, and is ignored.
#pragma once

#include <cstdint>
#include <string>

#include "core/require.hpp"
#include "core/types.hpp"

namespace thalweg::vcsn {

inline constexpr unsigned kMostCredits = 1U << 15;

struct CreditsConfig {
  unsigned words = 0;   ///< a frame may start if fewer words are in flight; 0: credits are not used
  unsigned report = 0;  ///< number of words that leave the receive buffer until a credit frame reports them
};

class Credits {
 public:
  static constexpr Tick kReports = 3;  ///< cycles from a word's leaving the receive buffer to the choice of its report

  /// Throws std::invalid_argument if the hardware's counters are too small.
  static void check(const CreditsConfig& config) {
    require(config.words < kMostCredits && config.report < kMostCredits,
            "a circuit has credits for " + std::to_string(config.words) + " words, and reports after " +
                std::to_string(config.report) + "; the maximum is " + std::to_string(kMostCredits - 1));
  }
  /// Both ends must be set while no words are in flight. `left`: words that had left the receive buffer. Throws like
  /// `check`.
  void set(const CreditsConfig& config, std::uint64_t left) {
    check(config);
    *this = {};
    config_ = config;
    before_ = left;
  }
  [[nodiscard]] bool used() const { return config_.words > 0; }

  // Sending side.

  [[nodiscard]] bool may_send() const { return !used() || under_way_ < std::int64_t{config_.words}; }
  void sends(unsigned words) { under_way_ += words; }
  /// The other end has reported a total of `taken` words.
  void credit(std::uint32_t taken) {
    const auto more = static_cast<std::int32_t>(taken - taken_);
    if (more <= 0) return;
    taken_ = taken;
    under_way_ -= more;
  }

  // Receiving side. `left_at(number)`: cycle in which a word has left the receive buffer; kNever if unknown.

  /// First cycle in which a report is due; kNever if unknown.
  template <class LeftAt>
  [[nodiscard]] Tick reports_at(LeftAt&& left_at) const {
    const Tick at = left_at(before_ + reported_ + config_.report - 1);
    return at == kNever ? kNever : at + kReports;
  }
  /// The number of words to report in this cycle.
  template <class LeftAt>
  [[nodiscard]] std::uint32_t report(Tick now, LeftAt&& left_at) {
    while (left_at(before_ + reported_) < now) ++reported_;
    return static_cast<std::uint32_t>(reported_);
  }

 private:
  CreditsConfig config_;
  std::int64_t under_way_ = 0;  ///< words in flight, as far as known here
  std::uint32_t taken_ = 0;
  std::uint64_t before_ = 0, reported_ = 0;
};

}  // namespace thalweg::vcsn
