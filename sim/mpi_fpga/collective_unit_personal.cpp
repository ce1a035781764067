// SPDX-License-Identifier: Apache-2.0
// All-to-all: packets that travel from one host's memory to another's, node by node, without slots.
#include <bit>
#include <stdexcept>

#include "common/bits.hpp"
#include "mpi_fpga/collective_unit.hpp"

namespace thalweg::mpi_fpga {

void CollectiveUnit::start_personal(OperationId id) {
  OperationState& op = operation(id);
  op.personal.start(op.request, contexts_[context_of(id)].row.ranks, ports(), op.packetizer, [&](std::uint32_t peer) {
    const NodeId node = op.group->vertices()[peer].node;
    return Personal::Path{node == self_ ? ports() - 1 : relay_.lane_of(relay_.first(node).link),
                          graph_.distances(self_)[node]};
  });
  op.uploads = op.personal.lanes();
  op.running = static_cast<std::uint32_t>(std::popcount(op.uploads));
  if (over(op)) ended_.push_back(id);
}

/// True if the peer can receive this rank's data: it has announced itself.
bool CollectiveUnit::may_upload(const OperationState& op, const Context& context, const Port& port,
                                std::uint32_t peer) const {
  if (peer == op.request.rank) return port.to_itself < kForkPackets;
  return peer < context.announced.size() && context.announced[peer] >> (op.number & 3) & 1;
}

bool CollectiveUnit::upload_personal(OperationId id, unsigned lane, Tick now) {
  OperationState& op = operation(id);
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
    deliver_personal(lane, packet_id, now - config_.router.share.time(packet.flits));
  } else {
    relay_.add_own(lane, packet_id, packet);
    if (over(op)) ended_.push_back(id);
  }
  return more;
}

/// Executes the relay's selections of this cycle.
void CollectiveUnit::relay(Tick now) {
  to_send_ |= relay_.settle(now);
  const Relay::Choices chosen = relay_.choose(now);
  to_send_ |= chosen.lanes;
  each_bit(chosen.lanes, [&](unsigned lane) { ports_[lane].waiting |= std::uint64_t{1} << units(); });
  const Share& share = config_.router.share;
  each_bit(chosen.hosts, [&](unsigned lane) {
    const PacketId id = relay_.host_packet(lane);
    const unsigned flits = pool_[id].flits;
    const Tick read = share.after(share.next(now + 1), flits);
    relay_.read(lane, read);
    if (rtl_) rtl_->personal(lane, pool_[id], now);
    events_.step_in(read);
    relay_.host_room(lane, ports_[lane].host_room -= flits);
    deliver_personal(lane, id, read - share.time(flits));
  });
}

void CollectiveUnit::begin_personal(Port& port, unsigned index) {
  Packet& packet = pool_[relay_.offered(index)];
  relay_.address(index, packet);
  port.packet = &packet;
  port.header = packet.words[0];
  port.edge = nullptr;
  port.vc = channel_to(spec::network_header::destination(port.header));
}

void CollectiveUnit::receive_personal(unsigned link, PacketId id) {
  const Packet& packet = pool_[id];
  if (spec::relay_header::receiver(packet.words[1]) != self_ || !Relay::announces(packet))
    return relay_.arrive(link, id, packet);
  const std::uint64_t head = packet.words[0];
  auto& announced = contexts_[spec::network_header::context(head)].announced;
  const std::uint32_t rank = spec::personal_header::source(head);
  if (announced.size() <= rank) announced.resize(rank + std::size_t{1});
  announced[rank] = static_cast<std::uint8_t>(announced[rank] | 1u << spec::network_header::sequence(head));
  if (rtl_) rtl_->announces(link, {spec::network_header::context(head), spec::network_header::sequence(head), rank});
  relay_.free(Relay::occupied_buffer(packet), packet.flits);
  pool_.release(id);
}

/// `ready`: when its first flit is available.
void CollectiveUnit::deliver_personal(unsigned index, PacketId id, Tick ready) {
  const std::uint64_t head = pool_[id].words[0];
  Context& context = contexts_[spec::network_header::context(head)];
  for (OperationId operation = 0; operation < in_flight_; ++operation) {
    if (!context.operations.find(operation)) continue;
    OperationState& op = context.operations[operation];
    if (!op.active || (op.number & 3) != spec::network_header::sequence(head)) continue;
    const Personal::ReceiveRange range = op.personal.arrived(spec::personal_header::source(head));
    ports_[index].to_host.push_growing({id, spec::network_header::context(head) * in_flight_ + operation,
                                        range.first * op.packetizer.element_bytes(), range.elements, ready});
    with_result_ |= std::uint64_t{1} << (units() + index);
    ++op.to_host;
    return;
  }
  throw std::logic_error("data for an all-to-all that has not begun: its sender ignores announcements");
}

/// The host has taken a packet: frees its room.
void CollectiveUnit::taken_personal(unsigned index, PacketId id) {
  Port& port = ports_[index];
  const Packet& packet = pool_[id];
  if (Relay::occupied_buffer(packet).link == Relay::kNoLink) {
    --port.to_itself;
  } else {
    relay_.host_room(index, port.host_room += packet.flits);
  }
}

void CollectiveUnit::send_relay_credit(unsigned index, Tick now) {
  Port& port = ports_[index];
  const unsigned vc = channel_to(relay_.credit_destination(index));
  if (!port.sender.ready(vc)) return;
  Flit& flit = port.sender.send(now, vc);
  flit.data = relay_.take_credit(index).pack();
  flit.head = flit.tail = true;
  if (rtl_) rtl_->sent(index, flit);
  if (idle(index)) to_send_ &= ~(1u << index);
}

}  // namespace thalweg::mpi_fpga
