// SPDX-License-Identifier: Apache-2.0
// Uploads: packets of the host's streams, for the processes that take them.
#include <algorithm>

#include "mpi_fpga/collective_unit.hpp"

namespace thalweg::mpi_fpga {
namespace {

/// Block of stream `i` of a turn.
std::uint32_t block_in_turn(const Process& process, const Step& step, std::uint32_t i) {
  if (!process.reversed) return step.block ^ i;
  std::uint32_t reversed = 0;
  for (unsigned bit = 0; bit < process.reversed; ++bit) reversed |= (i >> bit & 1) << (process.reversed - 1 - bit);
  return step.block ^ reversed;
}

}  // namespace

bool CollectiveUnit::upload_room(std::uint32_t process) {
  OperationState& op = operation(process / Program::kMaxProcesses);
  const unsigned p = process % Program::kMaxProcesses;
  if (op.request.collective != spec::Collective::alltoall) return !op.upload[p].queue.full();
  Port& port = ports_[p];
  const Context& context = contexts_[context_of(process / Program::kMaxProcesses)];
  if (relay_.own_packets(p) + port.uploading == kForkPackets ||
      !op.personal.choose(p, [&](std::uint32_t peer) { return may_upload(op, context, port, peer); }))
    return false;
  ++port.uploading;
  return true;
}

std::uint64_t CollectiveUnit::upload_bytes(std::uint32_t process) const {
  const OperationState& op = operation(process / Program::kMaxProcesses);
  const unsigned p = process % Program::kMaxProcesses;
  if (op.request.collective == spec::Collective::alltoall) {
    const Personal::Next next = op.personal.next(p);
    return next.announces ? kHeaderBytes : next.elements * op.packetizer.element_bytes();
  }
  const Upload& upload = op.upload[p];
  if (upload.progress.descriptor()) return kHeaderBytes;
  return upload.progress.part(false).elements * op.packetizer.element_bytes();
}

/// Sets the block of the upload's next stream.
void CollectiveUnit::begin_stream(OperationId id, unsigned p) {
  OperationState& op = operation(id);
  const CollectiveRequest& request = op.request;
  Upload& upload = op.upload[p];
  const Process& process = op.program.processes[p];
  const Step& step = step_of(op, p, upload.progress);
  const std::uint32_t ranks = contexts_[context_of(id)].row.ranks;
  const std::uint32_t stream = upload.progress.stream();
  const std::uint32_t position =
      (upload.progress.round() * process.steps + upload.progress.step()) * step.streams + stream;
  upload.rank = process.turns == Turns::packet ? block_in_turn(process, step, position)
                                               : op.group->rank(step.label(stream, ranks));
  upload.block = op.send_holding == Holding::block_per_rank ? request.send_block(upload.rank) : request.own_block();
  upload.progress.describe(upload.block.count, layout_of(op, upload.block.count));
}

bool CollectiveUnit::upload(std::uint32_t process_number, Tick now) {
  const OperationId id = process_number / Program::kMaxProcesses;
  const unsigned p = process_number % Program::kMaxProcesses;
  OperationState& op = operation(id);
  const CollectiveRequest& request = op.request;
  if (request.collective == spec::Collective::alltoall) return upload_personal(id, p, now);
  Upload& upload = op.upload[p];
  const Packetizer& layout = op.packetizer;
  const Progress::Part part = upload.progress.part(descriptors_alone(op));
  const PacketId packet_id = pool_.take();
  Packet& packet = pool_[packet_id];
  packet.clear(part.flits);
  if (upload.progress.descriptor()) {
    const auto words = spec::Descriptor{.type = request.type,
                                        .root = static_cast<std::uint16_t>(request.root),
                                        .block = static_cast<std::uint16_t>(upload.rank),
                                        .ranks = static_cast<std::uint16_t>(contexts_[context_of(id)].row.ranks),
                                        .count = upload.block.count}
                           .pack();
    std::ranges::copy(words, packet.words.begin());
    packet.words[0] = header(op, context_of(id), spec::Kind::descriptor, 1, part.last);
  } else {
    packet.words[0] = header(op, context_of(id), spec::Kind::data, part.flits, part.last);
    const std::uint64_t from = upload.block.first + part.first;
    layout.pieces(part.elements, [&](std::size_t at, std::uint64_t first, std::uint64_t n) {
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
  const std::uint64_t packets = at_a_time(op, process);
  const std::uint32_t streams = step_of(op, p, upload.progress).streams;
  auto next = upload.progress.advance(process, streams, packets, part.last);
  while (next != Progress::Next::over && !step_of(op, p, upload.progress).from_host)
    next = upload.progress.leave_step(process, packets, part.last);
  if (next == Progress::Next::over) return false;
  if (upload.progress.descriptor() || process.turns != Turns::stream) begin_stream(id, p);
  return true;
}

}  // namespace thalweg::mpi_fpga
