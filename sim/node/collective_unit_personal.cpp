// All-to-all: packets that go from one host's memory to another's without slots, from node to node.
#include <bit>
#include <stdexcept>

#include "node/collective_unit.hpp"

namespace thalweg {
namespace {

bool announces(const Packet& packet) {
  return spec::network_header::kind(packet.words[0]) == spec::Kind::descriptor;
}

}  // namespace

void CollectiveUnit::start_personal(OperationId id) {
  Operation& op = operation(id);
  op.personal.start(op.request, contexts_[context_of(id)].row.ranks, ports(), op.packetizer, [&](std::uint32_t peer) {
    const NodeId node = op.group->vertices()[peer].node;
    return Personal::Way{node == self_ ? ports() - 1 : relay_.lane_of(relay_.first(node).link), relay_.hops(node)};
  });
  op.uploads = op.personal.lanes();
  op.running = static_cast<std::uint32_t>(std::popcount(op.uploads));
  if (over(op)) ended_.push_back(id);
}

/// Whether there is a place for what this rank has for a peer: the peer has announced itself.
bool CollectiveUnit::may_upload(const Operation& op, const Context& context, const Port& port,
                                std::uint32_t peer) const {
  if (peer == op.request.rank) return port.to_itself < kForkPackets;
  return peer < context.announced.size() && context.announced[peer] >> (op.number & 3) & 1;
}

bool CollectiveUnit::upload_personal(OperationId id, unsigned lane, Tick now) {
  Operation& op = operation(id);
  const CollectiveRequest& request = op.request;
  Context& context = contexts_[context_of(id)];
  const Packetizer& layout = op.packetizer;
  const Personal::Next next = op.personal.next(lane);
  const NodeId receiver = op.group->vertices()[next.peer].node;
  const PacketId packet_id = pool_.take();
  Packet& packet = pool_[packet_id];
  Port& port = ports_[lane];
  --port.uploading;
  packet.clear(next.announces ? 1 : layout.flits(next.elements));
  packet.words[0] =
      spec::PersonalHeader{.source = static_cast<std::uint16_t>(request.rank)}.pack() |
      header(op, context_of(id), next.announces ? spec::Kind::descriptor : spec::Kind::data, packet.flits, next.last);
  packet.words[1] = spec::RelayHeader{.receiver = static_cast<std::uint16_t>(receiver), .link = Relay::kNoLink}.pack();
  if (!next.announces) {
    layout.pieces(next.elements, [&](std::size_t at, std::uint64_t first, std::uint64_t n) {
      std::copy_n(request.send.data() + (next.first + first) * layout.element_bytes(), n * layout.element_bytes(),
                  packet.bytes() + at);
    });
    if (next.last && receiver != self_)
      context.announced[next.peer] = static_cast<std::uint8_t>(context.announced[next.peer] & ~(1u << (op.number & 3)));
  }
  const bool more = !op.personal.done(lane);
  if (!more) --op.running;
  if (receiver == self_) {
    ++port.to_itself;
    deliver_personal(lane, packet_id, now);
  } else {
    port.personal.push(packet_id);
    port.waiting |= std::uint64_t{1} << units();
    to_send_ |= 1u << lane;
    if (over(op)) ended_.push_back(id);
  }
  return more;
}

/// What a port can send next of all-to-alls, as far as it finds room where it goes: announcements first, and what others have
/// sent before the own host's, since a place here is waited for.
std::optional<CollectiveUnit::Straight> CollectiveUnit::next_personal(unsigned index) const {
  const Port& port = ports_[index];
  const auto own = [&]() -> std::optional<Straight> {
    const Packet& packet = pool_[port.personal.front()];
    const Relay::Hop hop = relay_.first(spec::relay_header::receiver(packet.words[1]));
    return relay_.room(hop, packet) ? std::optional(Straight{hop, announces(packet), true}) : std::nullopt;
  };
  if (const auto hop = relay_.ready(index, true, pool_)) return Straight{*hop, true, false};
  if (!port.personal.empty() && announces(pool_[port.personal.front()]))
    if (const auto straight = own()) return straight;
  if (const auto hop = relay_.ready(index, false, pool_)) return Straight{*hop, false, false};
  return port.personal.empty() ? std::nullopt : own();
}

void CollectiveUnit::begin_personal(Port& port, unsigned index) {
  const Straight next = *next_personal(index);
  if (next.own) {
    port.straight = port.personal.front();
    port.personal.pop();
  } else {
    port.straight = relay_.leave(next.hop, next.announces);
  }
  port.place = Relay::place(pool_[port.straight]);
  relay_.address(next.hop, pool_[port.straight]);
  if (port.personal.empty() && !relay_.waiting(index)) port.waiting &= ~(std::uint64_t{1} << units());
  port.packet = &pool_[port.straight];
  port.header = port.packet->words[0];
  port.edge = nullptr;
  port.vc = channel_to(spec::network_header::destination(port.header));
}

void CollectiveUnit::receive_personal(unsigned lane, PacketId id, Tick now) {
  const Packet& packet = pool_[id];
  const auto way = spec::RelayHeader::unpack(packet.words[1]);
  if (way.receiver != self_) {
    const Relay::Hop hop = relay_.next(way.receiver, way.route_class);
    relay_.queue(hop, announces(packet), id);
    const unsigned next = relay_.lane_of(hop.link);
    ports_[next].waiting |= std::uint64_t{1} << units();
    to_send_ |= 1u << next;
  } else if (announces(packet)) {
    const std::uint64_t head = packet.words[0];
    auto& announced = contexts_[spec::network_header::context(head)].announced;
    const std::uint32_t rank = spec::personal_header::source(head);
    if (announced.size() <= rank) announced.resize(rank + std::size_t{1});
    announced[rank] = static_cast<std::uint8_t>(announced[rank] | 1u << spec::network_header::sequence(head));
    leave_place(Relay::place(packet), packet.flits);
    pool_.release(id);
  } else {
    deliver_personal(lane, id, now);
  }
}

void CollectiveUnit::deliver_personal(unsigned index, PacketId id, Tick now) {
  const std::uint64_t head = pool_[id].words[0];
  Context& context = contexts_[spec::network_header::context(head)];
  for (Operation& op : context.operations) {
    if (!op.active || (op.number & 3) != spec::network_header::sequence(head)) continue;
    const Personal::Place place = op.personal.arrived(spec::personal_header::source(head));
    const auto operation = static_cast<OperationId>(&op - context.operations.data());
    const auto row = static_cast<OperationId>(&context - contexts_.data());
    ports_[index].to_host.push_growing({id, row * in_flight_ + operation, place.first * op.packetizer.element_bytes(),
                                        place.elements, now - config_.router.share.time(pool_[id].flits)});
    with_result_ |= std::uint64_t{1} << (units() + index);
    ++op.to_host;
    return;
  }
  throw std::logic_error("data for an all-to-all that has not begun: its sender ignores announcements");
}

/// The host has taken a packet.
void CollectiveUnit::taken_personal(Port& port, PacketId id) {
  const Relay::Hop place = Relay::place(pool_[id]);
  if (place.link == Relay::kNoLink) --port.to_itself;
  leave_place(place, pool_[id].flits);
}

/// A packet's place in the buffer behind the link that it came over is free.
void CollectiveUnit::leave_place(Relay::Hop place, unsigned flits) {
  if (relay_.free(place, flits)) to_send_ |= 1u << relay_.lane_of(place.link);
}

void CollectiveUnit::send_relay_credit(unsigned index, Tick now) {
  Port& port = ports_[index];
  const unsigned vc = channel_to(relay_.credit_destination(index));
  if (!port.sender.ready(vc)) return;
  Flit& flit = port.sender.send(now, vc);
  flit.data = relay_.take_credit(index).pack();
  flit.head = flit.tail = true;
  if (idle(index)) to_send_ &= ~(1u << index);
}

}  // namespace thalweg
