#include "fabric/faulty_link.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "common/bits.hpp"
#include "thalweg_spec.hpp"

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

}  // namespace

unsigned replay_window(Tick latency) {
  return std::bit_ceil(2 * static_cast<unsigned>(latency) + kRoundTrip + kSpare);
}

unsigned replay_reach(unsigned window) {
  return (window - kRoundTrip) / 2;
}

FrameFormat frame_format(const RouterConfig& router, Tick latency) {
  return {.sequence_bits = static_cast<unsigned>(std::bit_width(replay_window(latency))),
          .vcs = router.virtual_channels,
          .flow = router.flow,
          .count_bits = static_cast<unsigned>(std::bit_width(router.buffer_flits))};
}

std::string link_name(const LinkConfig& link) {
  const auto end = [](NodeId node, unsigned port) {
    return "port " + std::to_string(port) + " of node " + std::to_string(node);
  };
  return "the link between " + end(link.node_a, link.port_a) + " and " + end(link.node_b, link.port_b);
}

FaultyLink::End FaultyLink::end(const FabricConfig& config, const LinkConfig& link, NodeId node,
                                const WireFaults& faults, std::uint64_t seed) {
  const FrameFormat format = frame_format(config.router, link.latency);
  return {.node = node,
          .replay = Replay<LinkWord>(replay_window(link.latency), kSlack, static_cast<unsigned>(config.faults.silence)),
          .framer = Framer(format),
          .wire = NoisyWire(faults, format.frame_bits(), link.latency - 1, seed),
          .rate = RateLimit(link.rate_flits, link.rate_cycles),
          .from_router = {}};
}

FaultyLink::FaultyLink(const FabricConfig& config, std::size_t index, VcRouter& a, VcRouter& b, Scheduler& scheduler)
    : config_(config.links[index]),
      flow_(config.router.flow),
      silence_(config.faults.silence),
      flush_((config_.latency + kFrameStages + config.router.virtual_channels) * config_.rate_cycles /
             config_.rate_flits),
      scheduler_(scheduler),
      ends_{end(config, config_, config_.node_a, config_.from_a, mix(config.faults.seed) + 2 * index),
            end(config, config_, config_.node_b, config_.from_b, mix(config.faults.seed) + 2 * index + 1)} {
  const ComponentId id = scheduler.add(*this);
  const unsigned channels = config.router.virtual_channels;
  join(ends_[0], a, config_.port_a, b.depth(config_.port_b), channels, id);
  join(ends_[1], b, config_.port_b, a.depth(config_.port_a), channels, id);
  scheduler.wake(id, scheduler.now());
}

void FaultyLink::join(End& end, VcRouter& router, unsigned port, unsigned peer_depth, unsigned channels,
                      ComponentId id) {
  end.heard = scheduler_.now();
  end.from_router.inbox().bind(scheduler_, id);
  end.returned.bind(scheduler_, id);
  // From the grant to the output register.
  const FlitWire out = end.from_router.connect(2, channels);
  router.connect_output(port, out, peer_depth, RateLimit(config_.rate_flits, config_.rate_cycles), out, &end.ready);
  end.to_router = router.connect_input(port, 1, EventWire(end.returned, 0, 1));
  if (!router.ejected().empty()) end.to_unit = router.connect_ejection(port, 1);
  end.to_output = router.events(port, 1);
}

bool FaultyLink::step(Tick now) {
  if (silent_since_ != kNever) return false;
  if (const Tick skipped = now - stepped_ - 1; skipped > 0 && stepped_ >= 0)
    for (unsigned i = 0; i < 2; ++i) {
      ends_[i].framer.skip(skipped);
      ends_[i].heard = std::min(now - 1, std::max(ends_[i].heard, ends_[1 - i].wire.faults().down_at));
    }
  stepped_ = now;

  std::array<bool, 2> taken;
  std::array<const WireFrame*, 2> arrived;
  for (unsigned i = 0; i < 2; ++i) {
    taken[i] = ends_[i].rate.ready(now);
    if (taken[i]) ends_[i].rate.send(now);
    arrived[1 - i] = ends_[i].wire.step(now, taken[i] ? ends_[i].framer.wire() : nullptr);
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
                   !ends_[0].framer.settled(ends_[1].framer) || !ends_[1].framer.settled(ends_[0].framer)
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
  const Flit* flit = end.from_router.receive(now);
  const auto events = static_cast<std::uint32_t>(end.returned.take(now).events);
  end.stop_levels ^= events;
  if (end.framer.peer()) end.heard = now;

  const ReplayFrame<LinkWord> next = end.replay.frame();
  if (flit) {
    const LinkWord word = pack(*flit);
    end.replay.step(&word, taken, end.framer.peer());
  } else {
    end.replay.step(nullptr, taken, end.framer.peer());
  }
  end.framer.step(next, flow_ == FlowControl::credits ? events : end.stop_levels, taken, arrived);

  end.ready.write(now, end.replay.ready());
  const LinkWord* word = end.replay.received();
  if (word) deliver(end, *word, now);
  std::uint32_t back = end.framer.back();
  if (flow_ == FlowControl::margin) back ^= std::exchange(end.told_levels, back);
  if (back) end.to_output.write(now, back);
  return flit || events || word;
}

/// What is on the input wires in the next cycle: to the router's buffers, or past them to the unit.
void FaultyLink::deliver(End& end, const LinkWord& word, Tick now) {
  const unsigned vc = word[4] & 15;
  const bool head = word[4] >> 4 & 1;
  if (head) {
    const bool ejects = end.to_unit.connected() && spec::network_header::destination(word[0]) == end.node &&
                        spec::network_header::collective(word[0]) != spec::Collective::point_to_point;
    end.ejecting = (end.ejecting & ~(1u << vc)) | std::uint32_t{ejects} << vc;
  }
  Flit& flit = (end.ejecting >> vc & 1 ? end.to_unit : end.to_router).write(now, vc);
  std::copy_n(word.begin(), flit.data.size(), flit.data.begin());
  flit.head = head;
  flit.tail = word[4] >> 5 & 1;
}

}  // namespace thalweg
