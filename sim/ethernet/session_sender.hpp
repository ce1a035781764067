// SPDX-License-Identifier: Apache-2.0
// Sending half of a session: tracks frames in flight, received and lost frames, and the next frame to send. C++ model
// of rtl/ethernet/tw_session_sender.sv. It scans one frame per cycle, and is stepped only during a scan or when it has
// an event.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/types.hpp"
#include "ethernet/session_receiver.hpp"

namespace thalweg::ethernet {

/// `Buffer` is a SendBuffer, or a mock of one.
template <class Buffer>
class SessionSender {
 public:
  SessionSender(const SessionConfig& config, Buffer& buffer, Tick begin)
      : buffer_(&buffer),
        window_(config.window),
        resend_(config.resend),
        reorder_(static_cast<std::uint16_t>(config.reorder)),
        flights_(config.window),
        cycle_(begin) {}

  /// Receives an acknowledgement in this cycle: all frames below `number` have left the receive buffer; a bit in
  /// `received` marks a received frame.
  void hear(std::uint32_t number, std::uint64_t received, Tick now) {
    run(now);
    received_ = {.is = true, .number = number, .received = received};
  }
  /// The offered frame was chosen in the cycle before this one.
  void choose(Tick now) {
    chosen_ = now;
    read_ = kNever;
  }
  /// Its last word is read in this cycle.
  void reads_until(Tick cycle) { read_ = cycle; }
  /// Advances to the state of this cycle, or of the first one before it with a time-out.
  void run(Tick now) {
    const unsigned before = timeouts_;
    while (cycle_ < now && timeouts_ == before) {
      if (const Tick next = acts_at(); next > cycle_)
        cycle_ = std::min(next, now);
      else
        step();
    }
  }
  /// Cycle of the state.
  [[nodiscard]] Tick cycle() const { return cycle_; }
  /// First cycle with an internal event, starting with the current one, as far as known; kNever if none.
  [[nodiscard]] Tick acts_at() const {
    if (stage_ != Stage::idle || received_.is || waiting_.is || selects_ || releases_ || lost_ != any_lost())
      return cycle_;
    Tick at = std::max(chosen_ < cycle_ ? kNever : chosen_, cycle_);
    if (is_read_) at = std::min(at, std::max(read_, cycle_));
    at = std::min(at, std::max(timer_, cycle_));
    if (!has_)
      return lost_ ? cycle_ : std::min(at, under_ < window_ ? std::max(buffer_->whole_at(under_), cycle_) : kNever);
    return is_offered_ || is_read_ ? at : cycle_;
  }

  /// True if a frame may be chosen; `offset` counts from the oldest frame.
  [[nodiscard]] bool is_offered() const { return is_offered_; }
  [[nodiscard]] unsigned offset() const { return offset_; }
  [[nodiscard]] bool is_new() const { return is_new_; }
  [[nodiscard]] std::uint32_t number() const { return base_ + offset_; }
  [[nodiscard]] std::uint32_t base() const { return base_; }
  /// Number of unacknowledged frames.
  [[nodiscard]] unsigned under_way() const { return under_; }
  /// Accesses to the send buffer in this cycle.
  [[nodiscard]] bool selects() const { return selects_; }
  [[nodiscard]] bool releases() const { return releases_; }
  /// Number of retransmission time-outs.
  [[nodiscard]] unsigned timeouts() const { return timeouts_; }

 private:
  enum class Stage : std::uint8_t { idle, withdraw, low, high, check, first, second, search, expire };
  struct Flight {
    std::uint16_t order = 0;  ///< order number of its last transmission
    bool received = false, lost = false;
  };
  struct Heard {
    bool is = false;
    std::uint32_t number = 0;
    std::uint64_t received = 0;
  };

  [[nodiscard]] bool any_lost() const { return std::ranges::any_of(flights_, &Flight::lost); }
  [[nodiscard]] Flight& at(unsigned offset) { return flights_[(base_ + offset) % window_]; }
  [[nodiscard]] static bool is_before(std::uint16_t one, std::uint16_t other) {
    return static_cast<std::int16_t>(static_cast<std::uint16_t>(one - other)) < 0;
  }
  void go(Stage stage) {
    stage_ = stage;
    k_ = 0;
  }

  void step() {
    const Tick now = cycle_++;
    const bool was_offered = is_offered_, was_selected = std::exchange(selects_, false), was_read = is_read_;
    const bool had_lost = std::exchange(lost_, any_lost());
    if (std::exchange(releases_, false)) buffer_->release(now);
    is_offered_ |= was_selected;
    is_read_ &= read_ != now;
    const bool is_received = waiting_.is;
    if (stage_ == Stage::low) take();
    if (received_.is) waiting_ = std::exchange(received_, {});
    if (chosen_ == now) {
      sent(now);
      if (stage_ == Stage::idle) return;
    }
    switch (stage_) {
      case Stage::idle:
        if (is_received || timer_ <= now) {
          has_ = is_offered_ = false;
          go(was_offered ? Stage::withdraw : is_received ? Stage::low : Stage::expire);
        } else if (!has_ && had_lost) {
          go(Stage::search);
        } else if (!has_) {
          has_ = is_new_ = under_ < window_ && buffer_->whole_at(under_) <= now;
          offset_ = under_;
        } else {
          selects_ = !was_offered && !was_selected && !was_read;
        }
        return;
      case Stage::withdraw:
        return go(is_received ? Stage::low : Stage::expire);
      case Stage::low:
        return go(Stage::high);
      case Stage::high:
        return go(Stage::check);
      case Stage::check:
        releasing_ = taken_.number - base_;
        progress_ = false;
        return go(releasing_ <= under_ ? Stage::first : Stage::idle);
      case Stage::first:
        return acknowledge(was_read);
      case Stage::second:
        return look_for_lost(now);
      case Stage::search:
        if (k_ == under_) return go(Stage::idle);
        if (at(k_).lost) return offer();
        ++k_;
        return;
      case Stage::expire:
        if (at(k_).received) {
          ++k_;
          return;
        }
        at(k_).lost = true;
        timer_ = kNever;
        ++timeouts_;
        return offer();
    }
  }
  void take() { taken_ = std::exchange(waiting_, {}); }
  void sent(Tick now) {
    at(offset_) = {.order = ++order_};
    if (is_new_) ++under_;
    reading_ = (base_ + offset_) % window_;
    is_read_ = read_ > now;
    has_ = is_offered_ = false;
    if (timer_ == kNever) timer_ = now + resend_;
  }
  void offer() {
    has_ = true;
    is_new_ = false;
    offset_ = k_;
    go(Stage::idle);
  }
  /// Releases frames that have left the receive buffer, except one that is being read; then marks received frames.
  void acknowledge(bool is_read) {
    if (k_ == under_) return go(Stage::second);
    Flight& of = at(k_);
    if (releasing_ > 0) {
      if (is_read && reading_ == base_ % window_) return;
      hear_of(of);
      of.received = false;
      releases_ = true;
      --releasing_;
      ++base_;
      --under_;
      return;
    }
    if ((taken_.received & 1) && !of.received) hear_of(of);
    taken_.received >>= 1;
    ++k_;
  }
  void hear_of(Flight& of) {
    if (is_before(newest_, of.order)) newest_ = of.order;
    of.received = progress_ = true;
    of.lost = false;
  }
  void look_for_lost(Tick now) {
    if (k_ == 0) all_ = true;
    if (k_ == under_) {
      if (all_)
        timer_ = kNever;
      else if (progress_)
        timer_ = now + resend_;
      return go(Stage::idle);
    }
    Flight& of = at(k_++);
    all_ &= of.received;
    of.lost |= !of.received && is_before(of.order, static_cast<std::uint16_t>(newest_ - reorder_));
  }

  Buffer* buffer_;
  unsigned window_;
  Tick resend_;
  std::uint16_t reorder_;
  std::vector<Flight> flights_;
  Tick cycle_;
  Stage stage_ = Stage::idle;
  std::uint32_t base_ = 0;  ///< number of the oldest unacknowledged frame
  unsigned under_ = 0;
  std::uint16_t order_ = 0, newest_ = 0;
  Tick timer_ = kNever;
  unsigned timeouts_ = 0;
  bool has_ = false, is_new_ = false, is_offered_ = false;  ///< candidate frame to be sent
  unsigned offset_ = 0;
  bool selects_ = false, releases_ = false;
  bool lost_ = false;  ///< a frame counted as lost one cycle ago
  Tick chosen_ = -1, read_ = -1;
  bool is_read_ = false;  ///< a frame is being read
  unsigned reading_ = 0;  ///< its index in the window
  Heard received_, waiting_, taken_;
  unsigned k_ = 0;
  std::uint32_t releasing_ = 0;
  bool progress_ = false, all_ = false;
};

}  // namespace thalweg::ethernet
