// SPDX-License-Identifier: Apache-2.0
// Processes of the operations in flight: their waits, packets and completion.
#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "common/bits.hpp"
#include "mpi_fpga/collective_unit.hpp"
#include "reduce/join.hpp"

namespace thalweg::mpi_fpga {

/// Tries the selected process: it executes its next packet, or waits for the missing resource.
void CollectiveUnit::attempt(std::uint32_t process, Tick now) {
  const OperationId id = process / Program::kMaxProcesses;
  const unsigned p = process % Program::kMaxProcesses;
  OperationState& op = operation(id);
  if (!steps_.known(process, now)) return pick_.time(process);
  if (const auto lacks = lack(id, p, now)) return await(*lacks, id, p);
  const Execution& execution = op.execution[p];
  const Step& step = step_of(op, p, execution.progress);
  const Share& share = config_.router.share;
  const bool combines = !execution.progress.descriptor();  // descriptors are equal: one of them is forwarded
  const Tick latency =
      2 + share.delay() + (combines ? static_cast<Tick>(join_depth(step.inputs()) * op.lane_latency) : 0);
  const Dispatch::Step step_request = this->step_request(id, p, latency);
  const Dispatch::Choice choice = dispatch_.choose(step_request, now);
  if (choice.unit && share.open(now))
    if (const Reads reads = reads_of(id, step); banks_free(reads, now))
      return execute(id, p, *choice.unit, step_request, reads, now);
  if (choice.room)
    pick_.time(process);
  else
    pick_.room(process);
}

/// Registers a process with the resource that it waits for.
void CollectiveUnit::await(const Lack& lack, OperationId id, unsigned p) {
  const std::uint32_t process = process_id(id, p);
  awaits_ = true;
  switch (lack.of) {
    case Lack::Of::turn:
      return pick_.turn(process);
    case Lack::Of::upload:
      return uploads_.await(process);
    case Lack::Of::staged:
      return stages_.await(id, lack.index, process);
    case Lack::Of::packet:
      return slots_.await(context_of(id), lack.index, false, process);
    case Lack::Of::credit:
      return slots_.await(context_of(id), lack.index, true, process);
    case Lack::Of::stage_room:
      return pick_.room(process);
  }
}

/// The resource missing for a process's next packet, apart from aggregation units and their queues.
std::optional<CollectiveUnit::Lack> CollectiveUnit::lack(OperationId id, unsigned p, Tick now) const {
  using Of = Lack::Of;
  const OperationState& op = operation(id);
  const Step& step = step_of(op, p, op.execution[p].progress);
  const auto of = [](Of what, std::uint64_t among) {
    return Lack{what, static_cast<unsigned>(std::countr_zero(among))};
  };
  const Precedence::Edges held = precedence_.held(context_of(id), id % in_flight_);
  if (const std::uint32_t edges = step.from_edges & held.reading) return of(Of::turn, edges);
  if (const std::uint32_t edges = step.to_edges & held.writing) return of(Of::turn, edges);
  if (step.from_host && uploads_.there(process_id(id, p)) == 0) return Lack{Of::upload};
  if (const std::uint64_t stages = stages_.empty(id, step.from_stages, now)) return of(Of::staged, stages);
  for (std::uint32_t rest = step.from_edges; rest; rest &= rest - 1)
    if (slots_.packets(context_of(id), static_cast<unsigned>(std::countr_zero(rest))).empty())
      return of(Of::packet, rest);
  const unsigned needed = next_part(op, p).flits;
  for (std::uint32_t rest = step.to_edges; rest; rest &= rest - 1)
    if (slots_.credits(context_of(id), static_cast<unsigned>(std::countr_zero(rest))) < needed)
      return of(Of::credit, rest);
  if (const std::uint64_t stages = stages_.full(id, step.to_stages, needed, home(process_id(id, p)), now))
    return of(Of::stage_room, stages);
  return std::nullopt;
}

std::optional<Blockage> CollectiveUnit::blockage(OperationId id, unsigned p, Tick now) const {
  const auto lacks = lack(id, p, now);
  if (!lacks) return std::nullopt;
  using Need = Blockage::Need;
  constexpr std::array<Need, 6> needs{Need::turn, Need::data, Need::stage, Need::data, Need::credit, Need::stage};
  const bool of_edge = lacks->of == Lack::Of::turn || lacks->of == Lack::Of::packet || lacks->of == Lack::Of::credit;
  const OperationState& op = operation(id);
  return Blockage{context_of(id), op.request.rank, of_edge ? lacks->index : kMaxEdges,
                  needs[static_cast<std::size_t>(lacks->of)], op.execution[p].since};
}

CollectiveUnit::Reads CollectiveUnit::reads_of(OperationId id, const Step& step) const {
  Reads reads;
  each_bit(step.from_edges, [&](unsigned k) { reads.add(slots_.link(context_of(id), k)); });
  each_bit(step.from_stages,
           [&](unsigned k) { reads.add(static_cast<unsigned>(links_.size()) + stages_.unit(id, k)); });
  return reads;
}

/// Cycles per flit position: a bank has two read ports, and a result is written to one stage after another.
CollectiveUnit::Pace CollectiveUnit::pace(const Step& step, const Reads& reads) {
  unsigned most = 1;
  for (const auto& [bank, packets] : reads) most = std::max<unsigned>(most, packets);
  const unsigned read = (most + ReadPorts::kPorts - 1) / ReadPorts::kPorts;
  const unsigned written = std::max(1u, static_cast<unsigned>(std::popcount(step.to_stages)));
  return {read, written, std::max(read, written)};
}

bool CollectiveUnit::banks_free(const Reads& reads, Tick now) const {
  return std::ranges::all_of(reads, [&](const auto& read) { return bank(read.bank).choose(read.packets, now) != 0; });
}

void CollectiveUnit::take_banks(const Reads& reads, Tick now, Tick until) {
  for (const auto& [index, packets] : reads) bank(index).take(bank(index).choose(packets, now), until);
}

/// Output ports of a step's result, as bits.
std::uint32_t CollectiveUnit::ports_of(const Context& context, const Step& step) {
  std::uint32_t ports = 0;
  each_bit(step.to_edges, [&](unsigned k) { ports |= 1u << context.edges[k].port; });
  return ports;
}

/// A process's step as seen by the dispatcher; `room`: units with room in all queues of its packet.
Dispatch::Step CollectiveUnit::step_request(OperationId id, unsigned p, Tick latency) const {
  const OperationState& op = operation(id);
  const Context& context = contexts_[context_of(id)];
  const Step& step = step_of(op, p, op.execution[p].progress);
  const unsigned flits = next_part(op, p).flits;
  const std::uint32_t ports = ports_of(context, step);
  Dispatch::Step step_request{.row = context_of(id),
                              .to_edges = step.to_edges,
                              .to_stages = step.to_stages != 0,
                              .own = home(process_id(id, p)).unit,
                              .room = 0,
                              .kept = kept_,
                              .latency = latency};
  for (unsigned i = 0; i < units(); ++i)
    if (units_[i].to_port.room(ports, flits) && (!step.to_host || units_[i].host_room >= flits))
      step_request.room |= std::uint64_t{1} << i;
  return step_request;
}

/// Executes one packet: takes an operand from every input, joins them, and forwards the result.
void CollectiveUnit::execute(OperationId id, unsigned p, unsigned unit, const Dispatch::Step& step_request,
                             const Reads& reads, Tick now) {
  OperationState& op = operation(id);
  const Context& context = contexts_[context_of(id)];
  Execution& execution = op.execution[p];
  const Process& process = op.program.processes[p];
  const Step& step = step_of(op, p, execution.progress);
  const Pace pace = CollectiveUnit::pace(step, reads);
  const Progress::Part part = next_part(op, p);

  std::array<PacketId, kMaxEdges + 1> operands;
  unsigned n = 0;
  bool own = false;  // operands from the host and the stages have been added
  const auto take_own = [&] {
    own = true;
    if (step.from_host) {
      operands[n++] = op.upload[p].queue.front();
      op.upload[p].queue.pop();
      if (rtl_) {
        const Packet& packet = pool_[operands[n - 1]];
        rtl_->take({process_id(id, p), unit, packet.flits, pace.cycles}, packet, now);
      }
      uploads_.take(process_id(id, p));
    }
    each_bit(step.from_stages,
             [&](unsigned stage) { operands[n++] = stages_.take(id, stage, part.flits, pace.cycles, now); });
  };
  each_bit(step.from_edges, [&](unsigned edge) {
    if (!own && n == step.place) take_own();
    operands[n++] = slots_.packets(context_of(id), edge).front();
  });
  if (!own) take_own();
  const Packet& first = pool_[operands[0]];
  // A turn that fills more than half a slot repeats only when all of the slot's credits have returned.
  const bool fills = process.turns == Turns::packet && 2 * step.streams > config_.collective.slot_packets;
  const bool final = (part.last || fills) && execution.progress.stream() + 1 == step.streams;
  each_bit(step.from_edges, [&](unsigned edge) {
    if (slots_.take(context_of(id), edge, first.flits, final, pace.cycles, now)) to_send_ |= 1u << slots_.port(edge);
  });

  const bool descriptor = execution.progress.descriptor();
  if (descriptor) {
    const auto words = first.words.first<4>();
    const std::uint64_t count = spec::descriptor::count(words);
    execution.block = spec::descriptor::block(words);
    execution.progress.describe(count, layout_of(op, count));
  }
  const std::uint32_t stream = execution.progress.stream();
  if (process.turns == Turns::packet) execution.block = step.block ^ stream;
  if (process.turns == Turns::burst) execution.block = op.group->rank(step.label(stream, context.row.ranks));
  const Share& share = config_.router.share;
  const Tick held = pace.cycles > 1 ? share.after(now, Tick{pace.cycles - 1} * first.flits) : now;
  if (held > now + 1) {
    if (step.from_edges) slots_.hold(unit, context_of(id), step.from_edges, held);
    if (step.from_stages) stages_.hold(unit, id, step.from_stages, held);
    if (step.from_edges || step.from_stages) events_.step_in(held - 1);
  } else if (step.from_stages) {
    pick_.room_freed();
  }
  const Tick read = share.after(now, Tick{pace.cycles} * first.flits);
  take_banks(reads, now, read);
  // A result is sent without gaps: if its flits are read with gaps, only when it is complete.
  const Tick last_flit = read + step_request.latency - 1 - (pace.cycles - pace.read);
  const Tick ready = pace.cycles > 1 ? last_flit + 1 : read + step_request.latency - share.time(first.flits);
  const auto queues = static_cast<unsigned>(std::popcount(ports_of(context, step)));
  dispatch_.take(unit, step_request, queues, read, last_flit + pace.written);
  execution.since = now;

  const PacketId result = n > 1 && part.elements > 0 ? combine(op, {operands.data(), n}, part.elements) : operands[0];
  hand_on(id, p, unit, result, part, ready, last_flit, now);
  for (unsigned i = 1; i < n; ++i) pool_.release(operands[i]);
  pool_.release(result);
  const Progress::Next next = execution.progress.advance(process, step.streams, at_a_time(op, process), part.last);
  if (next == Progress::Next::over) return finish(id, p);
  const Tick at = std::max(read, now + (descriptor ? 3 : 2)) - 1;  // a descriptor's fields are stored one cycle later
  if (next == Progress::Next::other_step) {  // already requested; now request the one after it: first its row
    const std::uint32_t process_number = process_id(id, p);
    starter_.reserve(now + 2);
    steps_.keep(process_number, steps_.advance(process_number), now + 2 + Starter::kAnswer);
  }
  pick_.unit(unit, process_id(id, p), at);
  events_.step_in(at);
}

/// Puts a result into the queues of all outputs of its step. It can be sent from `ready`; its last flit arrives at
/// `last`.
void CollectiveUnit::hand_on(OperationId id, unsigned p, unsigned unit, PacketId result, const Progress::Part& part,
                             Tick ready, Tick last, Tick now) {
  OperationState& op = operation(id);
  const Execution& execution = op.execution[p];
  const Step& step = step_of(op, p, execution.progress);
  Packet& packet = pool_[result];
  for (std::uint32_t rest = step.to_edges; rest;) {  // one entry per port, for all of the port's edges
    auto& edges = contexts_[context_of(id)].edges;
    const unsigned port = edges[static_cast<unsigned>(std::countr_zero(rest))].port;
    Copies copies{result, static_cast<std::uint8_t>(context_of(id)), op.upwards_first && p == 0, 0, ready};
    each_bit(rest, [&](unsigned k) {
      if (edges[k].port != port) return;
      copies.edges |= 1u << k;
      slots_.use_credits(context_of(id), k, packet.flits);
    });
    rest &= ~copies.edges;
    units_[unit].to_port.push(port, copies, packet.flits);
    ports_[port].waiting |= std::uint64_t{1} << unit;
    send_at(port, ready, now);
    ++packet.references;
  }
  if (step.to_host) {
    Tick passed = ready;
    if (op.units && op.units->after.map) {
      passed = after_.pass(ready, packet.flits * kFlitBytes) - config_.router.share.time(packet.flits) +
               op.units->after.latency;
      events_.step_in(passed);
    }
    units_[unit].to_host.push_growing({result, id,
                                       (first_element(op, execution) + part.first) * op.packetizer.element_bytes(),
                                       part.elements, passed});
    units_[unit].host_room -= packet.flits;
    with_result_ |= std::uint64_t{1} << unit;
    if (rtl_)
      rtl_->result(unit,
                   {process_id(id, p), execution.progress.step(), execution.progress.round(),
                    execution.progress.stream(), part.first, part.elements, execution.progress.descriptor()},
                   packet, ready);
    ++op.to_host;
    ++packet.references;
  }
  each_bit(step.to_stages, [&](unsigned stage) {
    stages_.reserve(id, stage, packet.flits, last);
    stages_.fill(id, stage, result, last);
    events_.step_in(last);
    ++last;
    ++packet.references;
  });
  if (step.to_edges || step.to_host) events_.step_in(ready);
}

/// The port has a packet that can be sent from `ready`.
void CollectiveUnit::send_at(unsigned port, Tick ready, Tick now) {
  const std::uint32_t bit = 1u << port;
  if (ready <= now + 1 || to_send_ & bit) {
    to_send_ |= bit;
  } else {
    early_ |= bit;
    ready_ = std::min(ready_, ready);
  }
}

/// First element of the stream's block in the receive buffer.
std::uint64_t CollectiveUnit::first_element(const OperationState& op, const Execution& execution) const {
  return op.receive_holding == Holding::block_per_rank ? op.request.receive_block(execution.block).first
                                                       : op.request.own_block().first;
}

/// Joins the operands into the first one's packet or, if that still has other references, into a copy that replaces it.
PacketId CollectiveUnit::combine(const OperationState& op, std::span<const PacketId> operands, std::uint64_t elements) {
  PacketId id = operands[0];
  if (pool_[id].references > 1) {
    const Packet& first = pool_[id];
    id = pool_.take();
    Packet& copy = pool_[id];
    copy.flits = first.flits;
    std::copy_n(first.words.begin(), std::size_t{first.flits} * kFlitBytes / 8, copy.words.begin());
    pool_.release(operands[0]);
  }
  thread_local std::array<std::byte, kMaxPacketFlits * kFlitBytes> scratch;
  std::byte* result = pool_[id].bytes();
  op.packetizer.pieces(elements, [&](std::size_t at, std::uint64_t, std::uint64_t n) {
    std::array<const std::byte*, kMaxEdges + 1> pieces;
    pieces[0] = result + at;
    for (std::size_t i = 1; i < operands.size(); ++i) pieces[i] = pool_[operands[i]].bytes() + at;
    join(op.combine, {pieces.data(), operands.size()}, n, n * op.packetizer.element_bytes(), result + at,
         scratch.data());
  });
  return id;
}

void CollectiveUnit::finish(OperationId id, unsigned p) {
  OperationState& op = operation(id);
  op.execution[p].running = false;
  if (rtl_) rtl_->ended(process_id(id, p));
  precedence_.end(context_of(id), id % in_flight_, p);
  pick_.process_ended();
  const std::uint32_t context = context_of(id);
  const bool rank = contexts_[context].row.has_rank();
  openings_.seek(context);
  if (--op.running > 0 || !over(op)) return;
  if (rank)
    ended_.push_back(id);
  else
    op.active = false;
}

}  // namespace thalweg::mpi_fpga
