// What the host gives: the packets of its streams, for the process that takes them.
#include <algorithm>

#include "node/collective_unit.hpp"

namespace thalweg {
namespace {

/// The block at place `i` of a turn.
std::uint32_t block_in_turn(const Process& process, const Step& step, std::uint32_t i) {
  if (!process.reversed) return step.block ^ i;
  std::uint32_t reversed = 0;
  for (unsigned bit = 0; bit < process.reversed; ++bit) reversed |= (i >> bit & 1) << (process.reversed - 1 - bit);
  return step.block ^ reversed;
}

}  // namespace

bool CollectiveUnit::upload_room(std::uint32_t process) {
  Operation& op = operation(process / Program::kMaxProcesses);
  const unsigned p = process % Program::kMaxProcesses;
  if (op.request.collective != spec::Collective::alltoall) return !op.upload[p].queue.full();
  Port& port = ports_[p];
  const Context& context = contexts_[context_of(process / Program::kMaxProcesses)];
  if (port.personal.size() + port.uploading == kForkPackets ||
      !op.personal.choose(p, [&](std::uint32_t peer) { return may_upload(op, context, port, peer); }))
    return false;
  ++port.uploading;
  return true;
}

std::uint64_t CollectiveUnit::upload_bytes(std::uint32_t process) const {
  const Operation& op = operation(process / Program::kMaxProcesses);
  const unsigned p = process % Program::kMaxProcesses;
  if (op.request.collective == spec::Collective::alltoall) {
    const Personal::Next next = op.personal.next(p);
    return next.announces ? kHeaderBytes : next.elements * op.packetizer.element_bytes();
  }
  const Upload& upload = op.upload[p];
  if (upload.packet == 0) return kHeaderBytes;
  return upload.layout.elements_in(upload.packet - 1, upload.block.count) * upload.layout.element_bytes();
}

/// Looks up which block the upload's stream is to carry.
void CollectiveUnit::begin_stream(OperationId id, unsigned p) {
  Operation& op = operation(id);
  const CollectiveRequest& request = op.request;
  Upload& upload = op.upload[p];
  const Process& process = op.program.processes[p];
  const Step& step = op.program.steps[process.first + upload.step];
  const std::uint32_t ranks = contexts_[context_of(id)].row.ranks;
  const std::uint32_t place = (upload.round * process.steps + upload.step) * step.streams + upload.stream;
  upload.rank = process.turns == Turns::packet ? block_in_turn(process, step, place)
                                               : op.group->rank(step.label(upload.stream, ranks));
  upload.block = op.gives == Holding::block_per_rank ? request.send_block(upload.rank) : request.own_block();
  upload.layout = layout_of(op, upload.block.count);
}

bool CollectiveUnit::upload(std::uint32_t process_number, Tick now) {
  const OperationId id = process_number / Program::kMaxProcesses;
  const unsigned p = process_number % Program::kMaxProcesses;
  Operation& op = operation(id);
  const CollectiveRequest& request = op.request;
  if (request.collective == spec::Collective::alltoall) return upload_personal(id, p, now);
  Upload& upload = op.upload[p];
  const Packetizer& layout = upload.layout;
  const PacketId packet_id = pool_.take();
  Packet& packet = pool_[packet_id];
  const bool last =
      upload.packet == (request.collective == spec::Collective::barrier ? 0 : layout.packets(upload.block.count));
  if (upload.packet == 0) {
    packet.clear(1);
    const auto words = spec::Descriptor{.type = request.type,
                                        .root = static_cast<std::uint16_t>(request.root),
                                        .block = static_cast<std::uint16_t>(upload.rank),
                                        .ranks = static_cast<std::uint16_t>(contexts_[context_of(id)].row.ranks),
                                        .count = upload.block.count}
                           .pack();
    std::ranges::copy(words, packet.words.begin());
    packet.words[0] = header(op, context_of(id), spec::Kind::descriptor, 1, last);
  } else {
    const std::uint64_t elements = layout.elements_in(upload.packet - 1, upload.block.count);
    packet.clear(layout.flits(elements));
    packet.words[0] = header(op, context_of(id), spec::Kind::data, packet.flits, last);
    const std::uint64_t from = upload.block.first + (upload.packet - 1) * layout.elements_per_packet();
    layout.pieces(elements, [&](std::size_t at, std::uint64_t first, std::uint64_t n) {
      const std::size_t size = n * layout.element_bytes();
      std::copy_n(request.send.data() + (from + first) * layout.element_bytes(), size, packet.bytes() + at);
      if (op.units && op.units->before.map) op.units->before.map(packet.bytes() + at, size / op.units->before.bytes);
    });
  }
  packet.ready = now;
  if (op.units && op.units->before.map) {
    const Tick passing = config_.router.share.time(packet.flits);
    packet.ready = std::max(now, before_.pass(now - passing, packet.flits * kFlitBytes)) + op.units->before.latency;
  }
  upload.queue.push(packet_id);
  if (packet.ready > now)
    events_.add({packet.ready, Event::Kind::ready, process_number});
  else
    announce(process_number);

  const Process& process = op.program.processes[p];
  const Step* const steps = &op.program.steps[process.first];
  if (!next_upload(upload, process, steps, at_a_time(op, process), last)) return false;
  if (upload.packet == 0 || process.turns != Turns::stream) begin_stream(id, p);
  return true;
}

/// On to the host's next packet for a process, which takes so many of a stream at a time. False: there is none.
bool CollectiveUnit::next_upload(Upload& upload, const Process& process, const Step* steps, std::uint64_t packets,
                                 bool last) {
  const std::uint64_t first = upload.packet / packets * packets;
  if (!last && (upload.packet + 1) % packets > 0) {
    ++upload.packet;
    return true;
  }
  upload.packet = first;
  if (++upload.stream < steps[upload.step].streams) return true;
  upload.stream = 0;
  do {
    if (++upload.step < process.steps) continue;
    if (last && upload.round + 1 == process.rounds) return false;
    upload.step = 0;
    if (++upload.round < process.rounds) continue;
    upload.round = 0;
    upload.packet = first + packets;
  } while (!steps[upload.step].from_host);
  return true;
}

}  // namespace thalweg
