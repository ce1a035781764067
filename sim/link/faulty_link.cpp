// SPDX-License-Identifier: Apache-2.0
#include "link/faulty_link.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace thalweg {
namespace {

// Router stages after the grant, whose flits still arrive when the replay is no longer ready.
constexpr unsigned kSlack = 2;
// docs/links.md: a word's entry is free after 2 L + 9 cycles, and the slack is kept free.
constexpr unsigned kRoundTrip = 9 + kSlack, kSpare = 8;
// Registers on a frame's path apart from its wire, for both ends.
constexpr Tick kFrameStages = 6;

// The word of a flit: data, virtual channel, head, tail.
LinkWord pack(const Flit& flit) {
  LinkWord word{};
  std::copy(flit.data.begin(), flit.data.end(), word.begin());
  word[4] = flit.vc | std::uint64_t{flit.head} << 4 | std::uint64_t{flit.tail} << 5;
  return word;
}

Flit unpack(const LinkWord& word) {
  Flit flit;
  std::copy_n(word.begin(), flit.data.size(), flit.data.begin());
  flit.vc = word[4] & 15;
  flit.head = word[4] >> 4 & 1;
  flit.tail = word[4] >> 5 & 1;
  return flit;
}

}  // namespace

unsigned replay_window(Tick latency) {
  return std::bit_ceil(2 * static_cast<unsigned>(latency) + kRoundTrip + kSpare);
}

unsigned replay_reach(unsigned window) {
  return (window - kRoundTrip) / 2;
}

FrameFormat FaultyLinkConfig::frame() const {
  return {.sequence_bits = static_cast<unsigned>(std::bit_width(replay_window(latency))),
          .vcs = virtual_channels,
          .flow = flow,
          .count_bits = static_cast<unsigned>(std::bit_width(buffer_flits))};
}

FaultyLink::Side FaultyLink::side(const FaultyLinkConfig& config, const WireFaults& faults, std::uint64_t seed) {
  const FrameFormat format = config.frame();
  return {.end = LinkEnd(format, replay_window(config.latency), kSlack, static_cast<unsigned>(config.silence)),
          .wire = NoisyWire(faults, format.frame_bits(), config.latency - 1, seed),
          .rate = RateLimit(config.rate_flits, config.rate_cycles)};
}

FaultyLink::FaultyLink(const FaultyLinkConfig& config, Scheduler& scheduler)
    : flow_(config.flow),
      silence_(config.silence),
      flush_((config.latency + kFrameStages + config.virtual_channels) * config.rate_cycles / config.rate_flits),
      scheduler_(scheduler),
      sides_{side(config, config.from_a, config.seeds[0]), side(config, config.from_b, config.seeds[1])} {
  const ComponentId id = scheduler.add(*this);
  for (Side& side : sides_) {
    side.end.bring_up();
    side.last_good_frame = scheduler.now();
    if (const Tick at = side.wire.faults().reset_at; at >= scheduler.now()) side.reset_at = at;
    side.sent.inbox().bind(scheduler, id);
    side.returned.bind(scheduler, id);
    // Latency from the grant to the output register.
    side.from_output = side.sent.connect(2);
  }
  scheduler.wake(id, scheduler.now());
}

void FaultyLink::connect(unsigned end, Deliver to_input, EventWire to_output) {
  sides_[end].to_input = std::move(to_input);
  sides_[end].to_output = to_output;
}

bool FaultyLink::step(Tick now) {
  if (silent_since_ != kNever || lost_by_) return false;
  if (const Tick skipped = now - stepped_ - 1; skipped > 0 && stepped_ >= 0)
    for (unsigned i = 0; i < 2; ++i) {
      sides_[i].end.skip(skipped);
      sides_[i].last_good_frame =
          std::min(now - 1, std::max(sides_[i].last_good_frame, sides_[1 - i].wire.faults().down_at));
    }
  stepped_ = now;

  std::array<bool, 2> taken;
  std::array<const WireFrame*, 2> arrived;
  for (unsigned i = 0; i < 2; ++i) {
    taken[i] = sides_[i].rate.ready(now);
    if (taken[i]) sides_[i].rate.send(now);
    arrived[1 - i] = sides_[i].wire.step(now, taken[i] ? sides_[i].end.wire() : nullptr);
  }
  reset_ends(now);
  bool news = false;
  for (unsigned i = 0; i < 2; ++i) news |= step_side(sides_[i], taken[i], arrived[i], now);
  if (notices_reset()) {
    lost_by_ = reset_;
    stop(now);
    return false;
  }
  for (const Side& side : sides_)
    if (!side.end.up() && now - side.last_good_frame >= silence_) {
      silent_since_ = side.last_good_frame;
      stop(now);
      return false;
    }
  quiet_ = news || !sides_[0].end.settled(sides_[1].end) || !sides_[1].end.settled(sides_[0].end) ? 0 : quiet_ + 1;
  return !settled(now);
}

/// Executes resets that are due. A reset of an idle link takes effect at its next use.
void FaultyLink::reset_ends(Tick now) {
  for (unsigned i = 0; i < 2; ++i) {
    if (now < sides_[i].reset_at) continue;
    reset_ = {.end = i, .at = std::exchange(sides_[i].reset_at, kNever)};
    sides_[i].end.reset();
  }
}

bool FaultyLink::notices_reset() const {
  return reset_ && (sides_[0].end.lost() || sides_[1].end.lost() || (sides_[0].end.up() && sides_[1].end.up()));
}

void FaultyLink::stop(Tick now) {
  for (Side& side : sides_) side.ready.write(now, false);
  scheduler_.interrupt();
}

/// True if the frames made before the last new information have left the wires, and the stop bits are up to date.
bool FaultyLink::settled(Tick now) const {
  if (quiet_ < flush_ || sides_[0].wire.cut(now) || sides_[1].wire.cut(now)) return false;
  return flow_ == FlowControl::credits ||
         (sides_[0].reported_levels == sides_[1].stop_levels && sides_[1].reported_levels == sides_[0].stop_levels);
}

bool FaultyLink::step_side(Side& side, bool taken, const WireFrame* arrived, Tick now) {
  const Flit* flit = side.sent.receive(now);
  const auto events = static_cast<std::uint32_t>(side.returned.take(now).events);
  side.stop_levels ^= events;
  if (side.end.received_frame()) side.last_good_frame = now;

  const std::uint32_t returned = flow_ == FlowControl::credits ? events : side.stop_levels;
  if (flit) {
    const LinkWord word = pack(*flit);
    side.end.step(&word, returned, taken, arrived);
  } else {
    side.end.step(nullptr, returned, taken, arrived);
  }

  side.ready.write(now, side.end.ready());
  const LinkWord* word = side.end.received();
  if (word) side.to_input(unpack(*word), now);
  std::uint32_t back = side.end.back();
  if (flow_ == FlowControl::margin) back ^= std::exchange(side.reported_levels, back);
  if (back) side.to_output.write(now, back);
  return flit || events || word;
}

}  // namespace thalweg
