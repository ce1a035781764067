// SPDX-License-Identifier: Apache-2.0
#include "link/faulty_link.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace thalweg {
namespace {

// Stages of the router behind the grant, whose flits still come when the replay is not ready any more.
constexpr unsigned kSlack = 2;
// docs/links.md: a word's place is free again after 2 L + 9 cycles, and the slack is kept free.
constexpr unsigned kRoundTrip = 9 + kSlack, kSpare = 8;
// Registers that a frame passes beside its wire, both ends together.
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

FaultyLink::End FaultyLink::end(const FaultyLinkConfig& config, const WireFaults& faults, std::uint64_t seed) {
  const FrameFormat format = config.frame();
  return {.replay = Replay<LinkWord>(replay_window(config.latency), kSlack, static_cast<unsigned>(config.silence)),
          .codec = ReplayCodec(format),
          .wire = NoisyWire(faults, format.frame_bits(), config.latency - 1, seed),
          .rate = RateLimit(config.rate_flits, config.rate_cycles)};
}

FaultyLink::FaultyLink(const FaultyLinkConfig& config, Scheduler& scheduler)
    : flow_(config.flow),
      silence_(config.silence),
      flush_((config.latency + kFrameStages + config.virtual_channels) * config.rate_cycles / config.rate_flits),
      scheduler_(scheduler),
      ends_{end(config, config.from_a, config.seeds[0]), end(config, config.from_b, config.seeds[1])} {
  const ComponentId id = scheduler.add(*this);
  for (End& end : ends_) {
    end.heard = scheduler.now();
    end.sent.inbox().bind(scheduler, id);
    end.returned.bind(scheduler, id);
    // From the grant to the output register.
    end.from_output = end.sent.connect(2, config.virtual_channels);
  }
  scheduler.wake(id, scheduler.now());
}

void FaultyLink::connect(unsigned end, Deliver to_input, EventWire to_output) {
  ends_[end].to_input = std::move(to_input);
  ends_[end].to_output = to_output;
}

bool FaultyLink::step(Tick now) {
  if (silent_since_ != kNever) return false;
  if (const Tick skipped = now - stepped_ - 1; skipped > 0 && stepped_ >= 0)
    for (unsigned i = 0; i < 2; ++i) {
      ends_[i].codec.skip(skipped);
      ends_[i].heard = std::min(now - 1, std::max(ends_[i].heard, ends_[1 - i].wire.faults().down_at));
    }
  stepped_ = now;

  std::array<bool, 2> taken;
  std::array<const WireFrame*, 2> arrived;
  for (unsigned i = 0; i < 2; ++i) {
    taken[i] = ends_[i].rate.ready(now);
    if (taken[i]) ends_[i].rate.send(now);
    arrived[1 - i] = ends_[i].wire.step(now, taken[i] ? ends_[i].codec.wire() : nullptr);
  }
  bool news = false;
  for (unsigned i = 0; i < 2; ++i) news |= step_end(ends_[i], taken[i], arrived[i], now);
  for (const End& end : ends_)
    if (!end.replay.up() && now - end.heard >= silence_) {
      silent_since_ = end.heard;
      for (End& either : ends_) either.ready.write(now, false);
      scheduler_.interrupt();
      return false;
    }
  quiet_ = news || !ends_[0].replay.settled(ends_[1].replay) || !ends_[1].replay.settled(ends_[0].replay) ||
                   !ends_[0].codec.settled(ends_[1].codec) || !ends_[1].codec.settled(ends_[0].codec)
               ? 0
               : quiet_ + 1;
  return !settled(now);
}

/// Frames that were made before all was said have left the wire, and stop bits are known.
bool FaultyLink::settled(Tick now) const {
  if (quiet_ < flush_ || ends_[0].wire.cut(now) || ends_[1].wire.cut(now)) return false;
  return flow_ == FlowControl::credits ||
         (ends_[0].told_levels == ends_[1].stop_levels && ends_[1].told_levels == ends_[0].stop_levels);
}

bool FaultyLink::step_end(End& end, bool taken, const WireFrame* arrived, Tick now) {
  const Flit* flit = end.sent.receive(now);
  const auto events = static_cast<std::uint32_t>(end.returned.take(now).events);
  end.stop_levels ^= events;
  if (end.codec.peer()) end.heard = now;

  const ReplayFrame<LinkWord> next = end.replay.frame();
  if (flit) {
    const LinkWord word = pack(*flit);
    end.replay.step(&word, taken, end.codec.peer());
  } else {
    end.replay.step(nullptr, taken, end.codec.peer());
  }
  end.codec.step(next, flow_ == FlowControl::credits ? events : end.stop_levels, taken, arrived);

  end.ready.write(now, end.replay.ready());
  const LinkWord* word = end.replay.received();
  if (word) end.to_input(unpack(*word), now);
  std::uint32_t back = end.codec.back();
  if (flow_ == FlowControl::margin) back ^= std::exchange(end.told_levels, back);
  if (back) end.to_output.write(now, back);
  return flit || events || word;
}

}  // namespace thalweg
