// SPDX-License-Identifier: Apache-2.0
// Retransmission and congestion control of TCP: the time-out of RFC 6298, and the congestion window of RFC 5681 and
// 6582 (NewReno).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/types.hpp"

namespace thalweg::ethernet {

class TcpTimeout {
 public:
  /// Minimum, which is also the initial value, and maximum, in cycles.
  TcpTimeout(Tick least, Tick most) : least_(least), most_(most), now_(least) {}

  [[nodiscard]] Tick cycles() const { return now_; }
  /// Measures the round trip of a segment that was sent once.
  void measure(Tick cycles) {
    const auto took = static_cast<double>(cycles);
    if (!measured_) {
      mean_ = took;
      deviation_ = took / 2;
      measured_ = true;
    } else {
      deviation_ = 0.75 * deviation_ + 0.25 * std::abs(mean_ - took);
      mean_ = 0.875 * mean_ + 0.125 * took;
    }
    now_ = std::clamp<Tick>(std::llround(mean_ + std::max(1.0, 4 * deviation_)), least_, std::max(least_, most_));
  }
  /// Doubles the time-out until the next measurement.
  void back_off() { now_ = std::min(2 * now_, std::max(least_, most_)); }

 private:
  Tick least_, most_, now_;
  bool measured_ = false;
  double mean_ = 0, deviation_ = 0;
};

class TcpCongestion {
 public:
  enum class Heard : std::uint8_t { nothing, lost };

  /// `segment`: in bytes. The initial window is 10 segments (RFC 6928).
  explicit TcpCongestion(std::uint64_t segment) : segment_(segment), window_(10 * segment) {}

  /// Maximum bytes in flight; the first two duplicate acknowledgements add a segment each (RFC 3042).
  [[nodiscard]] std::uint64_t window() const {
    return window_ + (recovering_ ? 0 : std::min<std::uint64_t>(repeated_, 2) * segment_);
  }
  [[nodiscard]] bool recovering() const { return recovering_; }
  /// All bytes before offset `to` are acknowledged, `count` of them newly; `most`: the receiver's window. Returns lost
  /// if the segment at `to` is lost.
  [[nodiscard]] Heard acknowledge(std::uint64_t to, std::uint64_t count, std::uint64_t under_way, std::uint64_t most) {
    repeated_ = 0;
    if (recovering_ && to < recover_) {
      window_ -= std::min(window_, count);
      if (count >= segment_) window_ += segment_;
      window_ = std::max(window_, segment_);
      return Heard::lost;
    }
    if (recovering_) {
      recovering_ = false;
      window_ = std::min(threshold_, std::max(under_way, segment_) + segment_);
    } else if (window_ < threshold_) {
      window_ += std::min(count, 2 * segment_);  // RFC 3465, as a receiver may acknowledge every second segment
    } else {
      credit_ += count;
      if (credit_ >= window_) {
        credit_ -= window_;
        window_ += segment_;
      }
    }
    window_ = std::min(window_, std::max(most, 2 * segment_));
    return Heard::nothing;
  }
  /// A duplicate acknowledgement; `all`: offset up to which bytes have been sent. Returns lost if the segment at `from`
  /// is lost.
  [[nodiscard]] Heard repeat(std::uint64_t from, std::uint64_t all, std::uint64_t under_way) {
    ++repeated_;
    if (recovering_) {
      window_ += segment_;
      return Heard::nothing;
    }
    if (repeated_ != 3 || from < recover_) return Heard::nothing;
    halve(under_way);
    window_ = threshold_ + 3 * segment_;
    recover_ = all;
    recovering_ = true;
    return Heard::lost;
  }
  /// A retransmission time-out; `again`: of the segment that was retransmitted after the previous one.
  void time_out(std::uint64_t all, std::uint64_t under_way, bool again) {
    if (!again) halve(under_way);
    window_ = segment_;
    recover_ = all;
    recovering_ = false;
    repeated_ = 0;
    credit_ = 0;
  }

 private:
  void halve(std::uint64_t under_way) { threshold_ = std::max(under_way / 2, 2 * segment_); }

  std::uint64_t segment_, window_;
  std::uint64_t threshold_ = ~std::uint64_t{0};
  std::uint64_t recover_ = 0, credit_ = 0, repeated_ = 0;
  bool recovering_ = false;
};

}  // namespace thalweg::ethernet
