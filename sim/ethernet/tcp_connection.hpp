// SPDX-License-Identifier: Apache-2.0
// An end of a TCP connection (RFC 9293): a byte stream in each direction, over a network that loses, duplicates,
// reorders and damages segments. Each end keeps sent data until acknowledged, and advertises no larger window than it
// has memory for.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "core/types.hpp"
#include "ethernet/tcp.hpp"
#include "ethernet/tcp_buffers.hpp"
#include "ethernet/tcp_rate.hpp"

namespace thalweg::ethernet {

/// Times are cycles of the MAC's clock.
struct TcpConfig {
  unsigned segment = 1460;        ///< maximum data bytes of a segment
  std::uint64_t window = 65'535;  ///< bytes of receive memory
  bool scaling = false;           ///< window scaling; without it windows have 16 bits
  Tick resend = 6'000;            ///< minimum and initial retransmission time-out
  Tick most = 1'000'000'000;      ///< maximum retransmission time-out
  Tick delay = 1'500;             ///< maximum delay of an acknowledgement
  unsigned tries = 16;            ///< retransmissions without any answer before the connection ends

  /// Window scale.
  [[nodiscard]] unsigned shift() const {
    unsigned shift = 0;
    while (scaling && shift < kMostShift && window >> shift > 0xFFFF) ++shift;
    return shift;
  }
};

enum class TcpState : std::uint8_t {
  syn_sent,
  syn_received,
  established,
  fin_wait_1,
  fin_wait_2,
  close_wait,
  closing,
  last_ack,
  time_wait,
  closed,
  silent,  ///< the peer did not answer
  reset    ///< the peer no longer has this connection
};
[[nodiscard]] constexpr std::string_view name(TcpState state) {
  constexpr std::array<std::string_view, 12> names{"syn-sent",   "syn-received", "established", "fin-wait-1",
                                                   "fin-wait-2", "close-wait",   "closing",     "last-ack",
                                                   "time-wait",  "closed",       "silent",      "reset"};
  return names[static_cast<std::size_t>(state)];
}

struct TcpCounts {
  std::uint64_t sent = 0;      ///< segments with data
  std::uint64_t resent = 0;    ///< of these, retransmissions
  std::uint64_t timeouts = 0;  ///< retransmission time-outs
  std::uint64_t fast = 0;      ///< fast retransmits
  std::uint64_t probes = 0;    ///< window probes
  std::uint64_t repeated = 0;  ///< received segments without new data, or beyond the receive window
  std::uint64_t late = 0;      ///< segments received after a gap

  TcpCounts& operator+=(const TcpCounts& other) {
    sent += other.sent;
    resent += other.resent;
    timeouts += other.timeouts;
    fast += other.fast;
    probes += other.probes;
    repeated += other.repeated;
    late += other.late;
    return *this;
  }
};

class TcpConnection {
 public:
  /// The next segment to send, and its bytes in the send buffer.
  struct Saying {
    TcpHeading heading;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
  };

  /// `active`: opens the connection; otherwise it waits for a SYN. `send` must outlive the object.
  TcpConnection(const TcpConfig& config, TcpSendBuffer& send, UdpEnd own_end, UdpEnd peer_end, std::uint32_t first,
                bool active)
      : own(own_end),
        peer(peer_end),
        config_(config),
        send_(&send),
        first_(first),
        shift_(config.shift()),
        segment_(config.segment),
        timeout_(config.resend, config.most),
        rate_(config.segment),
        state_(active ? TcpState::syn_sent : TcpState::closed),
        advertised_(std::min<std::uint64_t>(config.window, 0xFFFF)),
        syn_due_(active) {}

  UdpEnd own, peer;
  std::function<void(std::span<const std::byte>)> received;  ///< called with the next bytes in order

  [[nodiscard]] TcpState state() const { return state_; }
  [[nodiscard]] const TcpCounts& counts() const { return counts_; }
  /// False during the handshake.
  [[nodiscard]] bool opened() const { return state_ != TcpState::syn_sent && state_ != TcpState::syn_received; }
  /// True if nothing is sent or received any more.
  [[nodiscard]] bool ended() const { return state_ >= TcpState::time_wait; }
  /// Stream offset up to which bytes have been sent.
  [[nodiscard]] std::uint64_t sent() const { return std::min(sent_, send_->end()); }
  [[nodiscard]] const TcpSendBuffer& buffer() const { return *send_; }
  [[nodiscard]] std::uint64_t window() const { return peer_window_; }
  [[nodiscard]] unsigned segment() const { return segment_; }

  /// True from close() until the peer has acknowledged the FIN.
  [[nodiscard]] bool closing() const { return fin_requested_ && !ended() && state_ != TcpState::fin_wait_2; }
  /// Ends the stream after the data in the send buffer.
  void close() {
    if (state_ == TcpState::syn_sent) state_ = TcpState::closed;
    fin_requested_ = true;
  }
  /// Call when data were added to the send buffer.
  void more(Tick now) { arm(now); }
  /// Ends the connection at once. Returns the reset for the peer.
  [[nodiscard]] Saying abort() {
    state_ = TcpState::reset;
    return {.heading = {.sequence = sequence(next_), .rst = true}};
  }
  /// True if a segment completes the handshake of this connection, which the peer has started.
  [[nodiscard]] bool is_opened_by(const TcpSegment& segment) const {
    const TcpHeading& heading = segment.heading;
    return state_ == TcpState::syn_received && heading.ack && !heading.rst && !heading.syn &&
           heading.acknowledgement == first_ + 1;
  }
  /// The user has taken `bytes` received bytes, from this cycle on.
  void take(std::uint64_t bytes, Tick cycle) { taking_.push_back({cycle, bytes}); }

  /// The next cycle with an internal event; kNever if none.
  [[nodiscard]] Tick acts_at() const {
    if (ended()) return kNever;
    return std::min({timer_, acknowledge_at_, probe_at_, repeat_at_, taking_.empty() ? kNever : taking_.front().first});
  }
  void run(Tick now) {
    for (; !taking_.empty() && taking_.front().first <= now; taking_.pop_front())
      open_window(taking_.front().second, now);
    if (ended()) return;
    if (acknowledge_at_ <= now) acknowledge();
    if (repeat_at_ <= now) repeat_window(now);
    if (timer_ <= now) {
      time_out();
      arm(now);
    }
    if (probe_at_ <= now) probe(now);
  }

  /// Receives a segment of this connection with a right checksum. Returns false if it must be answered with a reset.
  [[nodiscard]] bool hear(const TcpSegment& segment, Tick now) {
    run(now);
    const bool known = hear_segment(segment, now);
    arm(now);
    return known;
  }

  /// The first cycle in which it has a segment to send, as far as known.
  [[nodiscard]] Tick says_at(Tick now) const {
    if (plan(now)) return now;
    if (!can_send() || next_ >= send_->end()) return kNever;
    const Tick available = send_->there_at(next_);
    return available > now && room() > 0 ? available : kNever;
  }
  /// The segment to send in this cycle, if any.
  [[nodiscard]] std::optional<Saying> say(Tick now) {
    const auto planned = plan(now);
    if (!planned) return std::nullopt;
    Saying made{.heading = heading(*planned), .offset = planned->offset, .size = planned->size};
    did(*planned, now);
    arm(now);
    return made;
  }

 private:
  enum class SegmentKind : std::uint8_t { syn, acknowledgement, repeated, data, is_repeat, probe, fin };
  struct Plan {
    SegmentKind kind;
    std::uint64_t offset = 0, size = 0;
  };

  // Sequence numbers: the SYN precedes offset 0 of a stream, a FIN follows its end.

  [[nodiscard]] std::uint32_t sequence(std::uint64_t offset) const {
    return first_ + 1 + static_cast<std::uint32_t>(offset);
  }
  /// The offset nearest to `near` with a sequence number, in a stream whose SYN has number `first`.
  static std::int64_t offset_of(std::uint32_t sequence, std::uint32_t first, std::uint64_t near) {
    const auto ahead = static_cast<std::int32_t>(sequence - first - 1 - static_cast<std::uint32_t>(near));
    return static_cast<std::int64_t>(near) + ahead;
  }
  static bool is_before(std::uint32_t one, std::uint32_t other) { return static_cast<std::int32_t>(one - other) < 0; }

  [[nodiscard]] bool can_send() const {
    using enum TcpState;
    return state_ == established || state_ == close_wait || state_ == fin_wait_1 || state_ == closing ||
           state_ == last_ack;
  }
  [[nodiscard]] bool can_receive() const {
    using enum TcpState;
    return state_ == established || state_ == fin_wait_1 || state_ == fin_wait_2;
  }
  /// Bytes in flight, plus 1 for a FIN.
  [[nodiscard]] std::uint64_t under_way() const { return next_ - acknowledged_; }
  /// Number of bytes that the windows allow to send now.
  [[nodiscard]] std::uint64_t room() const {
    const auto most = std::min(peer_window_, rate_.window());
    return most - std::min(most, under_way());
  }
  /// Size of the next segment with new data; small ones only as allowed by RFC 9293, section 3.8.6.2.1.
  [[nodiscard]] std::uint64_t sendable(Tick now) const {
    if (!can_send() || next_ >= send_->end()) return 0;
    const auto room = this->room();
    if (room == 0) return 0;
    const auto available = send_->there(next_, segment_, now);
    if (available <= room) return available;
    return 2 * room >= greatest_window_ && room == peer_window_ - under_way() ? room : 0;
  }
  /// True if only the receiver's window prevents sending.
  [[nodiscard]] bool shut() const {
    if (!can_send() || under_way() > 0 || next_ >= send_->end()) return false;
    const auto want = std::min<std::uint64_t>(segment_, send_->end() - next_);
    return peer_window_ < want && 2 * peer_window_ < greatest_window_;
  }

  [[nodiscard]] std::optional<Plan> plan(Tick now) const {
    if (syn_due_) return Plan{SegmentKind::syn};
    if (!opened() || state_ == TcpState::closed || state_ == TcpState::silent || state_ == TcpState::reset)
      return std::nullopt;
    if (repeats_ > 0) return Plan{SegmentKind::repeated, sent_};
    if (must_retransmit_) {
      if (acknowledged_ >= send_->end()) return Plan{SegmentKind::fin, send_->end()};
      return Plan{SegmentKind::is_repeat, acknowledged_,
                  std::min<std::uint64_t>(segment_, std::min(sent_, send_->end()) - acknowledged_)};
    }
    if (const auto size = sendable(now); size > 0) return Plan{SegmentKind::data, next_, size};
    if (probe_due_ && shut() && send_->there_at(next_) <= now)
      return Plan{SegmentKind::probe, next_,
                  std::max<std::uint64_t>(1, std::min(peer_window_, send_->there(next_, segment_, now)))};
    if (fin_requested_ && can_send() && next_ == send_->end()) return Plan{SegmentKind::fin, next_};
    if (acknowledge_now_) return Plan{SegmentKind::acknowledgement, next_};
    return std::nullopt;
  }

  [[nodiscard]] TcpHeading heading(const Plan& planned) {
    if (planned.kind == SegmentKind::syn) {
      const bool answers = state_ == TcpState::syn_received;
      return {.sequence = first_,
              .acknowledgement = peer_first_ + 1,
              .syn = true,
              .ack = answers,
              .window = static_cast<std::uint16_t>(std::min<std::uint64_t>(config_.window, 0xFFFF)),
              .most = static_cast<std::uint16_t>(config_.segment),
              .shift = config_.scaling && (!answers || scaled_)
                           ? std::optional(static_cast<std::uint8_t>(config_.shift()))
                           : std::nullopt};
    }
    const auto left = std::max(arrived_, edge()) - arrived_;
    const auto field = std::min<std::uint64_t>(0xFFFF, left >> shift_);
    advertised_ = std::max(advertised_, arrived_ + (field << shift_));
    return {.sequence = sequence(planned.offset),
            .acknowledgement = peer_first_ + 1 + static_cast<std::uint32_t>(arrived_) + (fin_received_ ? 1 : 0),
            .fin = planned.kind == SegmentKind::fin,
            .psh = planned.size > 0 && planned.offset + planned.size == send_->end(),
            .ack = true,
            .window = static_cast<std::uint16_t>(field)};
  }
  /// Offset up to which the peer may send. It never decreases, and increases only in large steps (RFC 9293, section
  /// 3.8.6.2.2).
  [[nodiscard]] std::uint64_t edge() const {
    const auto all = consumed_ + config_.window;
    return all >= advertised_ + min_window_step() ? all : std::min(advertised_, all);
  }
  [[nodiscard]] std::uint64_t min_window_step() const { return std::min<std::uint64_t>(config_.window / 2, segment_); }

  void did(const Plan& planned, Tick now) {
    if (planned.kind == SegmentKind::syn) {
      syn_due_ = false;
      if (timer_ == kNever) timer_ = now + timeout_.cycles();
      if (!timed_ && unanswered_ == 0) timed_ = {0, now};
      if (state_ == TcpState::syn_received) acknowledged();
      return;
    }
    acknowledged();
    switch (planned.kind) {
      case SegmentKind::repeated:
        --repeats_;
        return;
      case SegmentKind::is_repeat:
        must_retransmit_ = false;
        break;
      case SegmentKind::probe:
        probe_due_ = false;
        ++counts_.probes;
        sent_ = std::max(sent_, planned.offset + planned.size);
        return;
      case SegmentKind::fin:
        must_retransmit_ = false;
        if (state_ == TcpState::established) state_ = TcpState::fin_wait_1;
        if (state_ == TcpState::close_wait) state_ = TcpState::last_ack;
        next_ = std::max(next_, planned.offset + 1);
        sent_ = std::max(sent_, next_);
        break;
      default:
        break;
    }
    if (planned.size > 0) {
      ++counts_.sent;
      const auto to = planned.offset + planned.size;
      if (planned.offset < sent_)
        ++counts_.resent;
      else if (!timed_)
        timed_ = {to, now};
      next_ = std::max(next_, to);
      sent_ = std::max(sent_, to);
    }
    if (timer_ == kNever && under_way() > 0) timer_ = now + timeout_.cycles();
  }

  // Acknowledgements.

  void acknowledge() {
    acknowledge_now_ = true;
    acknowledge_at_ = kNever;
  }
  void acknowledged() {
    acknowledge_now_ = false;
    acknowledge_at_ = kNever;
    unacknowledged_ = 0;
  }
  void repeat() {
    if (repeats_ < 64) ++repeats_;
  }

  // Timers.

  void time_out() {
    timer_ = kNever;
    timed_.reset();
    if (unanswered_++ >= config_.tries) {
      state_ = TcpState::silent;
      return;
    }
    ++counts_.timeouts;
    timeout_.back_off();
    if (!opened()) {
      syn_due_ = true;
      return;
    }
    rate_.time_out(sent_, under_way(), unanswered_ > 1);
    next_ = acknowledged_;
    must_retransmit_ = false;
  }
  /// Sets the timer for a window probe if the window is closed.
  void arm(Tick now) {
    if (ended() || !shut()) {
      probe_at_ = kNever;
      probe_due_ = false;
      probed_ = 0;
    } else if (probe_at_ == kNever && !probe_due_ && probed_ <= config_.tries) {
      probe_wait_ = probed_ == 0 ? timeout_.cycles() : std::min(2 * probe_wait_, config_.most);
      probe_at_ = now + probe_wait_;
    }
  }
  void probe(Tick now) {
    probe_at_ = kNever;
    if (!shut()) return arm(now);
    if (unanswered_++ >= config_.tries) {
      state_ = TcpState::silent;
      return;
    }
    ++probed_;
    probe_due_ = true;
  }
  void open_window(std::uint64_t bytes, Tick now) {
    consumed_ += bytes;
    const auto all = consumed_ + config_.window;
    if (!can_receive() || all < advertised_ + min_window_step()) return;
    if (2 * (advertised_ - std::min(advertised_, arrived_)) < config_.window) acknowledge();
    if (was_probed_) {
      was_probed_ = false;
      repeated_windows_ = 0;
      repeat_wait_ = timeout_.cycles();
      repeat_at_ = now + repeat_wait_;
    }
  }
  /// Advertises an opened window repeatedly until data arrive, as the peer may have ended its probes.
  void repeat_window(Tick now) {
    acknowledge();
    repeat_wait_ = std::min(2 * repeat_wait_, config_.most);
    repeat_at_ = ++repeated_windows_ < config_.tries ? now + repeat_wait_ : kNever;
  }

  // Received segments.

  bool hear_segment(const TcpSegment& segment, Tick now) {
    const TcpHeading& heading = segment.heading;
    if (state_ == TcpState::closed && !was_opened_ && heading.syn && !heading.ack && !heading.rst) {
      begin(heading);
      state_ = TcpState::syn_received;
      syn_due_ = true;
      return true;
    }
    if (state_ >= TcpState::closed) return heading.rst;
    if (state_ == TcpState::syn_sent) return answered(heading, now);
    const auto at = offset_of(heading.sequence, peer_first_, arrived_);
    if (heading.rst) {
      if (at == static_cast<std::int64_t>(arrived_ + fin_received_))
        state_ = TcpState::reset;
      else if (at > static_cast<std::int64_t>(arrived_) && at < static_cast<std::int64_t>(advertised_))
        acknowledge();  // RFC 5961
      return true;
    }
    if (heading.syn) {
      const bool is_repeat = state_ == TcpState::syn_received && heading.sequence == peer_first_;
      if (is_repeat && heading.ack && heading.acknowledgement == first_ + 1) {  // simultaneous open
        open(heading, now);
        acknowledge();
      } else if (is_repeat) {
        syn_due_ = true;
      } else {
        acknowledge();  // RFC 5961
      }
      return true;
    }
    if (!heading.ack) return true;
    if (state_ == TcpState::syn_received) {
      if (heading.acknowledgement != first_ + 1) return false;
      open(heading, now);
    }
    if (is_unsent(heading)) {  // RFC 5961
      acknowledge();
      return true;
    }
    hear_acknowledgement(segment, now);
    if (state_ != TcpState::closed) hear_data(segment, at, now);
    return true;
  }
  /// Handles a SYN.
  void begin(const TcpHeading& heading) {
    was_opened_ = true;
    peer_first_ = heading.sequence;
    segment_ = std::min<unsigned>(config_.segment, std::max<unsigned>(heading.most.value_or(kDefaultSegment), 64));
    rate_ = TcpCongestion(segment_);
    scaled_ = config_.scaling && heading.shift;
    shift_ = scaled_ ? config_.shift() : 0;
    peer_shift_ = scaled_ ? *heading.shift : 0;
    if (!scaled_) advertised_ = std::min<std::uint64_t>(config_.window, 0xFFFF);
    set_window(heading, 0);
  }
  void open(const TcpHeading& heading, Tick now) {
    state_ = TcpState::established;
    timer_ = kNever;
    if (timed_ && unanswered_ == 0) timeout_.measure(now - timed_->second);
    timed_.reset();
    unanswered_ = 0;
    set_window(heading, heading.syn ? 0 : peer_shift_);
    if (consumed_ + config_.window >= advertised_ + min_window_step() && 2 * advertised_ < config_.window)
      acknowledge();
  }
  bool answered(const TcpHeading& heading, Tick now) {
    if (heading.ack && heading.acknowledgement != first_ + 1) return heading.rst;
    if (heading.rst) {
      if (heading.ack) state_ = TcpState::reset;
      return true;
    }
    if (!heading.syn) return true;
    begin(heading);
    if (heading.ack) {
      syn_due_ = false;
      open(heading, now);
      acknowledge();
    } else {  // simultaneous open
      state_ = TcpState::syn_received;
      syn_due_ = true;
    }
    return true;
  }
  void set_window(const TcpHeading& heading, unsigned shift) {
    peer_window_ = std::uint64_t{heading.window} << shift;
    greatest_window_ = std::max(greatest_window_, peer_window_);
    window_sequence_ = heading.sequence;
    window_acknowledgement_ = heading.acknowledgement;
  }

  /// True if it acknowledges unsent data, or data acknowledged long ago: it is not from the peer.
  [[nodiscard]] bool is_unsent(const TcpHeading& heading) const {
    const auto to = offset_of(heading.acknowledgement, first_, acknowledged_);
    return to > static_cast<std::int64_t>(sent_) ||
           to < static_cast<std::int64_t>(acknowledged_) - static_cast<std::int64_t>(greatest_window_);
  }
  void hear_acknowledgement(const TcpSegment& segment, Tick now) {
    const TcpHeading& heading = segment.heading;
    const auto to = offset_of(heading.acknowledgement, first_, acknowledged_);
    if (to < static_cast<std::int64_t>(acknowledged_)) return;
    const bool same = peer_window_ == std::uint64_t{heading.window} << peer_shift_;
    if (is_before(window_sequence_, heading.sequence) ||
        (window_sequence_ == heading.sequence && !is_before(heading.acknowledgement, window_acknowledgement_)))
      set_window(heading, peer_shift_);
    if (to > static_cast<std::int64_t>(acknowledged_))
      advance(static_cast<std::uint64_t>(to), now);
    else if (same && segment.data.empty() && !heading.fin && under_way() > 0 &&
             rate_.repeat(acknowledged_, sent_, under_way()) == TcpCongestion::Heard::lost)
      resend();
    if (probed_ > 0) unanswered_ = 0;
  }
  void resend() {
    ++counts_.fast;
    must_retransmit_ = true;
    timed_.reset();
  }
  /// All bytes before offset `to` are acknowledged.
  void advance(std::uint64_t to, Tick now) {
    const auto count = to - acknowledged_;
    if (timed_ && to >= timed_->first) {
      timeout_.measure(now - timed_->second);
      timed_.reset();
    }
    unanswered_ = 0;
    acknowledged_ = to;
    next_ = std::max(next_, to);
    must_retransmit_ = false;
    send_->release(std::min(to, send_->end()));
    if (rate_.acknowledge(to, count, under_way(), greatest_window_) == TcpCongestion::Heard::lost &&
        sent_ > acknowledged_) {
      must_retransmit_ = true;
      timed_.reset();
    }
    timer_ = under_way() > 0 ? now + timeout_.cycles() : kNever;
    if (!fin_requested_ || to <= send_->end()) return;
    if (state_ == TcpState::fin_wait_1) state_ = TcpState::fin_wait_2;
    if (state_ == TcpState::closing) state_ = TcpState::time_wait;
    if (state_ == TcpState::last_ack) state_ = TcpState::closed;
  }

  void hear_data(const TcpSegment& segment, std::int64_t at, Tick now) {
    auto data = segment.data;
    bool fin = segment.heading.fin;
    if (data.empty() && !fin) return;
    const auto end = at + static_cast<std::int64_t>(data.size());
    const auto limit = static_cast<std::int64_t>(consumed_ + config_.window);
    const auto arrived = static_cast<std::int64_t>(arrived_);
    if (!can_receive() || end + fin <= arrived || at >= limit) {
      was_probed_ |= at >= limit;
      ++counts_.repeated;
      return repeat();
    }
    repeat_at_ = kNever;
    was_probed_ = false;
    if (end > limit) {
      data = data.first(static_cast<std::size_t>(limit - at));
      fin = false;
    }
    if (fin) fin_at_ = static_cast<std::uint64_t>(end);
    if (at > arrived) {
      ++counts_.late;
      waiting_.add(static_cast<std::uint64_t>(at), data);
      return repeat();
    }
    const bool fills = !waiting_.empty();
    deliver(data.subspan(std::min(data.size(), static_cast<std::size_t>(arrived - at))));
    waiting_.take(arrived_, [this](std::span<const std::byte> more) { deliver(more); });
    if (fin_at_ == arrived_) return take_fin();
    unacknowledged_ += segment.data.size();
    // Every second full segment is acknowledged at once (RFC 9293, section 3.8.6.3).
    if (fills || unacknowledged_ >= 2 * std::uint64_t{segment_})
      acknowledge();
    else if (acknowledge_at_ == kNever)
      acknowledge_at_ = now + config_.delay;
  }
  void deliver(std::span<const std::byte> data) {
    arrived_ += data.size();
    if (!data.empty() && received) received(data);
  }
  void take_fin() {
    fin_received_ = true;
    acknowledge();
    if (state_ == TcpState::established) state_ = TcpState::close_wait;
    if (state_ == TcpState::fin_wait_1) state_ = TcpState::closing;
    if (state_ == TcpState::fin_wait_2) state_ = TcpState::time_wait;
  }

  TcpConfig config_;
  TcpSendBuffer* send_;
  std::uint32_t first_;           ///< sequence number of its SYN
  std::uint32_t peer_first_ = 0;  ///< sequence number of the peer's SYN
  unsigned shift_ = 0, peer_shift_ = 0;
  bool scaled_ = false;
  unsigned segment_;
  TcpTimeout timeout_;
  TcpCongestion rate_;
  TcpState state_;
  TcpCounts counts_;
  bool was_opened_ = false;
  // Sending side.
  std::uint64_t acknowledged_ = 0;  ///< all bytes before this offset are acknowledged
  std::uint64_t next_ = 0;          ///< offset of the next byte to send
  std::uint64_t sent_ = 0;          ///< all bytes before this offset have been sent once
  std::uint64_t peer_window_ = 0, greatest_window_ = 0;
  std::uint32_t window_sequence_ = 0, window_acknowledgement_ = 0;
  std::optional<std::pair<std::uint64_t, Tick>> timed_;  ///< start of a round-trip measurement: end offset of a
                                                         ///< segment, and its cycle
  unsigned unanswered_ = 0;
  Tick timer_ = kNever;
  bool must_retransmit_ = false;  ///< the segment at acknowledged_ must be retransmitted
  bool fin_requested_ = false;
  Tick probe_at_ = kNever, probe_wait_ = 0;
  unsigned probed_ = 0;
  bool probe_due_ = false;
  // Receiving side.
  std::uint64_t arrived_ = 0;     ///< all bytes before this offset have arrived
  std::uint64_t consumed_ = 0;    ///< all bytes before this offset have been taken
  std::uint64_t advertised_ = 0;  ///< offset up to which the peer knows that it may send
  TcpReorderBuffer waiting_;
  std::optional<std::uint64_t> fin_at_;
  bool fin_received_ = false;
  std::deque<std::pair<Tick, std::uint64_t>> taking_;
  std::uint64_t unacknowledged_ = 0;
  bool acknowledge_now_ = false;
  Tick acknowledge_at_ = kNever;
  unsigned repeats_ = 0;     ///< duplicate acknowledgements to send, without data so that the peer counts them
  bool was_probed_ = false;  ///< the peer waits for the window to open
  Tick repeat_at_ = kNever, repeat_wait_ = 0;
  unsigned repeated_windows_ = 0;
  bool syn_due_ = false;
};

}  // namespace thalweg::ethernet
