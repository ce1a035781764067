// All-to-all: packets that go straight from one host's memory to another's, without slots.
#include <bit>
#include <stdexcept>

#include "node/collective_unit.hpp"

namespace thalweg {

namespace personal_header = spec::personal_header;

void CollectiveUnit::start_personal(OperationId id) {
  Operation& op = operation(id);
  op.personal.start(op.request, contexts_[context_of(id)].row.ranks, std::min(ports(), Program::kMaxProcesses),
                    op.packetizer);
  op.uploads = op.personal.lanes();
  op.running = static_cast<std::uint32_t>(std::popcount(op.uploads));
  if (over(op)) ended_.push_back(id);
}

bool CollectiveUnit::upload_personal(OperationId id, unsigned lane) {
  Operation& op = operation(id);
  const CollectiveRequest& request = op.request;
  Context& context = contexts_[context_of(id)];
  const Packetizer& layout = op.packetizer;
  const Personal::Next next = op.personal.next(lane);
  const NodeId destination = op.group->vertices()[next.peer].node;
  const PacketId packet_id = pool_.take();
  Packet& packet = pool_[packet_id];
  packet.clear(layout.flits(next.elements));
  const auto set_header = [&](spec::Kind kind, std::uint64_t word) {
    word |= header(op, context_of(id), kind, packet.flits, next.last);
    word = spec::network_header::with_edge(word, static_cast<std::uint8_t>(lane));
    packet.words[0] = spec::network_header::with_destination(word, static_cast<std::uint16_t>(destination));
  };
  if (next.announces) {
    const auto words = spec::Descriptor{.type = request.type,
                                        .block = static_cast<std::uint16_t>(request.rank),
                                        .ranks = static_cast<std::uint16_t>(context.row.ranks),
                                        .count = next.first}
                           .pack();
    std::ranges::copy(words, packet.words.begin());
    set_header(spec::Kind::descriptor, 0);
  } else {
    set_header(spec::Kind::data, spec::PersonalHeader{.source = static_cast<std::uint16_t>(request.rank)}.pack());
    layout.pieces(next.elements, [&](std::size_t at, std::uint64_t first, std::uint64_t n) {
      std::copy_n(request.send.data() + (next.first + first) * layout.element_bytes(), n * layout.element_bytes(),
                  packet.bytes() + at);
    });
    if (next.last)
      context.announced[next.peer] = static_cast<std::uint8_t>(context.announced[next.peer] & ~(1u << (op.number & 3)));
  }
  Port& port = ports_[lane];
  --port.uploading;
  port.personal.push(packet_id);
  port.waiting |= std::uint64_t{1} << units();
  to_send_ |= 1u << lane;
  if (!op.personal.done(lane)) return true;
  --op.running;
  if (over(op)) ended_.push_back(id);
  return false;
}

bool CollectiveUnit::begin_personal(Port& port) {
  port.packet = &pool_[port.personal.front()];
  port.header = port.packet->words[0];
  port.edge = nullptr;
  port.vc = channel_to(spec::network_header::destination(port.header));
  return true;
}

void CollectiveUnit::receive_personal(unsigned index, std::uint64_t head, PacketId id, Tick now) {
  Context& context = contexts_[spec::network_header::context(head)];
  const unsigned sequence = spec::network_header::sequence(head);
  if (spec::network_header::kind(head) == spec::Kind::descriptor) {
    const std::uint32_t rank = spec::descriptor::block(std::span(pool_[id].words).first<4>());
    if (context.announced.size() <= rank) context.announced.resize(rank + std::size_t{1});
    context.announced[rank] = static_cast<std::uint8_t>(context.announced[rank] | 1u << sequence);
    pool_.release(id);
    return;
  }
  for (Operation& op : context.operations) {
    if (!op.active || (op.number & 3) != sequence) continue;
    const Personal::Place place = op.personal.arrived(personal_header::source(head));
    const auto operation = static_cast<OperationId>(&op - context.operations.data());
    const auto row = static_cast<OperationId>(&context - contexts_.data());
    Port& port = ports_[index];
    if (port.to_host.full()) throw std::logic_error("more came straight to the host than its port has room for");
    port.to_host.push({id, row * in_flight_ + operation, place.first * op.packetizer.element_bytes(), place.elements,
                       now - pool_[id].flits});
    port.behind = port.to_host.size() >= kForkPackets;
    with_result_ |= std::uint64_t{1} << (units() + index);
    ++op.to_host;
    return;
  }
  throw std::logic_error("data for an all-to-all that has not begun: its sender ignores announcements");
}

void CollectiveUnit::hold(Port& port, unsigned vc) {
  ++port.held[vc];
  port.holding |= 1u << vc;
}

void CollectiveUnit::give_back(Port& port) {
  for (std::uint32_t rest = port.holding; rest; rest &= rest - 1) {
    const auto vc = static_cast<unsigned>(std::countr_zero(rest));
    port.receiver.release(vc);
    if (--port.held[vc] == 0) port.holding &= ~(1u << vc);
  }
}

}  // namespace thalweg
