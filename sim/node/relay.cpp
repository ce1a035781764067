#include "node/relay.hpp"

#include <algorithm>
#include <utility>

namespace thalweg {

Relay::Relay(const FabricConfig& config, const Graph& graph, NodeId self, unsigned lanes)
    : config_(config),
      graph_(graph),
      self_(self),
      lanes_(lanes),
      classes_(static_cast<unsigned>(config.router.vc_mask.back().size())),
      capacity_(config.collective.relay_flits),
      batch_(std::max(1u, capacity_ / 4)),
      buffers_(std::size_t{config.router.link_ports} * classes_),
      queued_(lanes),
      turn_(lanes),
      due_(lanes, Ring<std::uint16_t>(buffers_.size())) {
  for (Buffer& buffer : buffers_) buffer.credits = capacity_;
}

Relay::Hop Relay::next(NodeId receiver, unsigned route_class) const {
  const RouteEntry entry = config_.routes[std::size_t{self_} * config_.nodes + receiver];
  return {entry.port, entry.route_class == kKeepClass ? static_cast<std::uint8_t>(route_class) : entry.route_class};
}

Relay::Hop Relay::first(NodeId receiver) const {
  return next(receiver, config_.layer.empty() ? 0 : config_.layer[std::size_t{self_} * config_.nodes + receiver]);
}

void Relay::address(Hop hop, Packet& packet) {
  const Graph::End end = peer(hop.link);
  buffer(hop).credits -= packet.flits;
  std::uint64_t& head = packet.words[0];
  head = spec::network_header::with_destination(head, static_cast<std::uint16_t>(end.node));
  head = spec::network_header::with_edge(head, static_cast<std::uint8_t>(lane_of(end.port)));
  packet.words[1] = spec::RelayHeader{.receiver = spec::relay_header::receiver(packet.words[1]),
                                      .link = static_cast<std::uint8_t>(end.port),
                                      .route_class = hop.route_class}
                        .pack();
}

void Relay::queue(Hop hop, bool announcement, PacketId packet) {
  buffer(hop).waiting[announcement].push_growing(packet);
  ++queued_[lane_of(hop.link)];
}

std::optional<Relay::Hop> Relay::ready(unsigned lane, bool announcement, const PacketPool& pool) const {
  if (!queued_[lane]) return std::nullopt;
  const auto count = static_cast<unsigned>(buffers_.size());
  for (unsigned i = 0, index = turn_[lane]; i < count; ++i, index = index + 1 < count ? index + 1 : 0) {
    const Hop hop{static_cast<std::uint8_t>(index / classes_), static_cast<std::uint8_t>(index % classes_)};
    const Ring<PacketId>& waiting = buffer(hop).waiting[announcement];
    if (lane_of(hop.link) == lane && !waiting.empty() && room(hop, pool[waiting.front()])) return hop;
  }
  return std::nullopt;
}

PacketId Relay::leave(Hop hop, bool announcement) {
  Ring<PacketId>& waiting = buffer(hop).waiting[announcement];
  const PacketId packet = waiting.front();
  waiting.pop();
  const unsigned lane = lane_of(hop.link);
  --queued_[lane];
  turn_[lane] = static_cast<unsigned>((hop.link * classes_ + hop.route_class + 1) % buffers_.size());
  return packet;
}

bool Relay::free(Hop place, unsigned flits) {
  if (place.link == kNoLink) return false;
  Buffer& freed = buffer(place);
  freed.owed += flits;
  if (freed.owed < batch_ || freed.due) return false;
  freed.due = true;
  due_[lane_of(place.link)].push(static_cast<std::uint16_t>(place.link * classes_ + place.route_class));
  return true;
}

spec::RelayCredit Relay::take_credit(unsigned lane) {
  const unsigned index = due_[lane].front();
  due_[lane].pop();
  const Graph::End end = peer(index / classes_);
  buffers_[index].due = false;
  return {.destination = static_cast<std::uint16_t>(end.node),
          .edge = static_cast<std::uint8_t>(lane_of(end.port)),
          .last = true,
          .count = std::exchange(buffers_[index].owed, 0u),
          .link = static_cast<std::uint8_t>(end.port),
          .route_class = static_cast<std::uint8_t>(index % classes_)};
}

std::int64_t Relay::places_out() const {
  std::int64_t out = 0;
  for (const Buffer& buffer : buffers_) out += std::int64_t{capacity_} - buffer.credits - buffer.owed;
  return out;
}

}  // namespace thalweg
