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
    received_ = {.valid = true, .number = number, .received = received};
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
    if (stage_ != Stage::idle || received_.valid || waiting_.valid || selects_ || releases_ || lost_ != any_lost())
      return cycle_;
    Tick at = std::max(chosen_ < cycle_ ? kNever : chosen_, cycle_);
    if (is_read_) at = std::min(at, std::max(read_, cycle_));
    at = std::min(at, std::max(timer_, cycle_));
    if (!has_candidate_)
      return lost_ ? cycle_
                   : std::min(at, in_flight_ < window_ ? std::max(buffer_->whole_at(in_flight_), cycle_) : kNever);
    return is_offered_ || is_read_ ? at : cycle_;
  }

  /// True if a frame may be chosen; `offset` counts from the oldest frame.
  [[nodiscard]] bool is_offered() const { return is_offered_; }
  [[nodiscard]] unsigned offset() const { return offset_; }
  [[nodiscard]] bool is_new() const { return is_new_; }
  [[nodiscard]] std::uint32_t number() const { return base_ + offset_; }
  [[nodiscard]] std::uint32_t base() const { return base_; }
  /// Number of unacknowledged frames.
  [[nodiscard]] unsigned under_way() const { return in_flight_; }
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
  struct Acknowledgement {
    bool valid = false;
    std::uint32_t number = 0;
    std::uint64_t received = 0;
  };

  [[nodiscard]] bool any_lost() const { return std::ranges::any_of(flights_, &Flight::lost); }
  [[nodiscard]] Flight& at(unsigned offset) { return flights_[(base_ + offset) % window_]; }
  [[nodiscard]] static bool is_before(std::uint16_t one, std::uint16_t other) {
    return static_cast<std::int16_t>(static_cast<std::uint16_t>(one - other)) < 0;
  }
  void enter(Stage stage) {
    stage_ = stage;
    index_ = 0;
  }

  void step() {
    const Tick now = cycle_++;
    const bool was_offered = is_offered_, was_selected = std::exchange(selects_, false), was_read = is_read_;
    const bool had_lost = std::exchange(lost_, any_lost());
    if (std::exchange(releases_, false)) buffer_->release(now);
    is_offered_ |= was_selected;
    is_read_ &= read_ != now;
    const bool is_received = waiting_.valid;
    if (stage_ == Stage::low) load_acknowledgement();
    if (received_.valid) waiting_ = std::exchange(received_, {});
    if (chosen_ == now) {
      sent(now);
      if (stage_ == Stage::idle) return;
    }
    switch (stage_) {
      case Stage::idle:
        if (is_received || timer_ <= now) {
          has_candidate_ = is_offered_ = false;
          enter(was_offered ? Stage::withdraw : is_received ? Stage::low : Stage::expire);
        } else if (!has_candidate_ && had_lost) {
          enter(Stage::search);
        } else if (!has_candidate_) {
          has_candidate_ = is_new_ = in_flight_ < window_ && buffer_->whole_at(in_flight_) <= now;
          offset_ = in_flight_;
        } else {
          selects_ = !was_offered && !was_selected && !was_read;
        }
        return;
      case Stage::withdraw:
        return enter(is_received ? Stage::low : Stage::expire);
      case Stage::low:
        return enter(Stage::high);
      case Stage::high:
        return enter(Stage::check);
      case Stage::check:
        releasing_ = current_.number - base_;
        progress_ = false;
        return enter(releasing_ <= in_flight_ ? Stage::first : Stage::idle);
      case Stage::first:
        return acknowledge(was_read);
      case Stage::second:
        return mark_lost(now);
      case Stage::search:
        if (index_ == in_flight_) return enter(Stage::idle);
        if (at(index_).lost) return offer();
        ++index_;
        return;
      case Stage::expire:
        if (at(index_).received) {
          ++index_;
          return;
        }
        at(index_).lost = true;
        timer_ = kNever;
        ++timeouts_;
        return offer();
    }
  }
  void load_acknowledgement() { current_ = std::exchange(waiting_, {}); }
  void sent(Tick now) {
    at(offset_) = {.order = ++order_};
    if (is_new_) ++in_flight_;
    reading_ = (base_ + offset_) % window_;
    is_read_ = read_ > now;
    has_candidate_ = is_offered_ = false;
    if (timer_ == kNever) timer_ = now + resend_;
  }
  void offer() {
    has_candidate_ = true;
    is_new_ = false;
    offset_ = index_;
    enter(Stage::idle);
  }
  /// Releases frames that have left the receive buffer, except one that is being read; then marks received frames.
  void acknowledge(bool is_read) {
    if (index_ == in_flight_) return enter(Stage::second);
    Flight& of = at(index_);
    if (releasing_ > 0) {
      if (is_read && reading_ == base_ % window_) return;
      mark_received(of);
      of.received = false;
      releases_ = true;
      --releasing_;
      ++base_;
      --in_flight_;
      return;
    }
    if ((current_.received & 1) && !of.received) mark_received(of);
    current_.received >>= 1;
    ++index_;
  }
  void mark_received(Flight& of) {
    if (is_before(newest_, of.order)) newest_ = of.order;
    of.received = progress_ = true;
    of.lost = false;
  }
  void mark_lost(Tick now) {
    if (index_ == 0) all_received_ = true;
    if (index_ == in_flight_) {
      if (all_received_)
        timer_ = kNever;
      else if (progress_)
        timer_ = now + resend_;
      return enter(Stage::idle);
    }
    Flight& of = at(index_++);
    all_received_ &= of.received;
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
  unsigned in_flight_ = 0;
  std::uint16_t order_ = 0, newest_ = 0;
  Tick timer_ = kNever;
  unsigned timeouts_ = 0;
  bool has_candidate_ = false, is_new_ = false, is_offered_ = false;  ///< candidate frame to be sent
  unsigned offset_ = 0;
  bool selects_ = false, releases_ = false;
  bool lost_ = false;  ///< a frame counted as lost one cycle ago
  Tick chosen_ = -1, read_ = -1;
  bool is_read_ = false;  ///< a frame is being read
  unsigned reading_ = 0;  ///< its index in the window
  Acknowledgement received_, waiting_, current_;
  unsigned index_ = 0;
  std::uint32_t releasing_ = 0;
  bool progress_ = false, all_received_ = false;
};

}  // namespace thalweg::ethernet
