// The processes of the operations in flight: what each waits for, the packets that it moves, its way to its end.
#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "common/bits.hpp"
#include "node/collective_unit.hpp"
#include "reduce/join.hpp"

namespace thalweg {

namespace network_header = spec::network_header;

/// At most one step is issued in a cycle; processes take turns.
void CollectiveUnit::issue(Tick now) {
  const auto one_of = [&](std::uint32_t first, std::uint32_t end) {
    for (std::uint32_t process = pending_.next(first); process < end; process = pending_.next(process + 1)) {
      pending_.remove(process);
      if (!attempt(process, now)) continue;
      next_process_ = process + 1;
      return true;
    }
    return false;
  };
  const std::uint32_t start = next_process_;
  if (!one_of(start, ProcessSet::kSize)) one_of(0, start);
}

bool CollectiveUnit::attempt(std::uint32_t process, Tick now) {
  const OperationId id = process / Program::kMaxProcesses;
  const unsigned p = process % Program::kMaxProcesses;
  Operation& op = operation(id);
  const Execution& execution = op.execution[p];
  if (!op.active || !execution.running || now < execution.free_at || blockage(id, p, now)) return false;
  const Step& step = op.program.steps[op.program.processes[p].first + execution.step];
  const Share& share = config_.router.share;
  if (!share.open(now)) {
    events_.add({share.next(now), Event::Kind::process, process});
    return false;
  }
  const bool combines = execution.packet > 0;  // descriptors are equal, one of them goes on
  const Tick latency =
      1 + share.delay() + (combines ? static_cast<Tick>(join_depth(step.inputs()) * op.lane_latency) : 0);
  Tick later = kNever;
  const auto unit = choose_unit(id, p, latency, now, later);
  if (!unit) {
    stalled_.add(process);
    if (later != kNever) events_.add({later, Event::Kind::process, process});
    return false;
  }
  execute(id, p, *unit, latency, now);
  return true;
}

/// Edges that operations before this one are not done with, in one direction.
std::uint32_t CollectiveUnit::held_by_earlier(const Context& context, const Operation& op,
                                              std::uint32_t Operation::* edges) const {
  std::uint32_t held = 0;
  for (const Operation& other : context.operations)
    if (other.active && other.number < op.number) held |= other.*edges;
  return held;
}

/// What keeps a process from its next packet, aggregation units and their queues apart.
std::optional<Blockage> CollectiveUnit::blockage(OperationId id, unsigned p, Tick now) const {
  const Operation& op = operation(id);
  const Context& context = contexts_[context_of(id)];
  const Execution& execution = op.execution[p];
  const Step& step = op.program.steps[op.program.processes[p].first + execution.step];
  const auto blocked = [&](unsigned edge, Blockage::Need need) {
    return Blockage{context_of(id), op.request.rank, edge, need, execution.since};
  };
  if (const std::uint32_t held = step.from_edges & held_by_earlier(context, op, &Operation::reading))
    return blocked(static_cast<unsigned>(std::countr_zero(held)), Blockage::Need::turn);
  if (const std::uint32_t held = step.to_edges & held_by_earlier(context, op, &Operation::writing))
    return blocked(static_cast<unsigned>(std::countr_zero(held)), Blockage::Need::turn);
  if (step.from_host && (op.upload[p].queue.empty() || pool_[op.upload[p].queue.front()].ready > now))
    return blocked(kMaxEdges, Blockage::Need::data);
  for (std::uint64_t rest = step.from_stages; rest; rest &= rest - 1)
    if (const auto& stage = op.staged[static_cast<std::size_t>(std::countr_zero(rest))];
        stage.empty() || stage.front().whole > now)
      return blocked(kMaxEdges, Blockage::Need::stage);
  for (std::uint32_t rest = step.from_edges; rest; rest &= rest - 1)
    if (const auto edge = static_cast<unsigned>(std::countr_zero(rest)); context.edges[edge].slot.empty())
      return blocked(edge, Blockage::Need::data);
  const unsigned needed = step.to_edges ? next_operand(context, op, p).flits : 0;
  for (std::uint32_t rest = step.to_edges; rest; rest &= rest - 1)
    if (const auto edge = static_cast<unsigned>(std::countr_zero(rest)); context.edges[edge].credits < needed)
      return blocked(edge, Blockage::Need::credit);
  for (std::uint64_t rest = step.to_stages; rest; rest &= rest - 1)
    if (op.staged[static_cast<std::size_t>(std::countr_zero(rest))].full())
      return blocked(kMaxEdges, Blockage::Need::stage);
  return std::nullopt;
}

/// One of the packets that the process takes next; all have the same length.
const Packet& CollectiveUnit::next_operand(const Context& context, const Operation& op, unsigned p) const {
  const Step& step = op.program.steps[op.program.processes[p].first + op.execution[p].step];
  if (step.from_host) return pool_[op.upload[p].queue.front()];
  if (step.from_edges)
    return pool_[context.edges[static_cast<unsigned>(std::countr_zero(step.from_edges))].slot.front()];
  return pool_[op.staged[static_cast<std::size_t>(std::countr_zero(step.from_stages))].front().packet];
}

/// A unit that can take the step now: its input and, `latency` later, its output are free, and so are its queues. Where
/// an edge still has packets queued, their unit, so that order is kept; else the one with the least of them. None: `later` is
/// when time alone might give one.
std::optional<unsigned> CollectiveUnit::choose_unit(OperationId id, unsigned p, Tick latency, Tick now,
                                                    Tick& later) const {
  const Operation& op = operation(id);
  const Context& context = contexts_[context_of(id)];
  const Step& step = op.program.steps[op.program.processes[p].first + op.execution[p].step];
  const unsigned flits = next_operand(context, op, p).flits;
  std::uint64_t allowed = ~std::uint64_t{0};
  std::uint32_t ports = 0;
  each_bit(step.to_edges, [&](unsigned k) {
    const Edge& edge = context.edges[k];
    ports |= 1u << edge.port;
    if (edge.queued > 0) allowed &= std::uint64_t{1} << edge.unit;
  });
  std::optional<unsigned> chosen;
  for (unsigned i = 0; i < units(); ++i) {
    const unsigned index = (process_id(id, p) + i) % units();
    const Unit& unit = units_[index];
    if (!(allowed >> index & 1) || !unit.to_port.room(ports, flits) || (step.to_host && unit.host_room < flits))
      continue;
    const Tick free = std::max(unit.input_free, unit.output_free - latency);
    if (free > now)
      later = std::min(later, free);
    else if (!chosen || unit.queued < units_[*chosen].queued)
      chosen = index;
  }
  return chosen;
}

/// Moves one packet: takes it from every input, joins, and hands the result on.
void CollectiveUnit::execute(OperationId id, unsigned p, unsigned unit, Tick latency, Tick now) {
  Operation& op = operation(id);
  Context& context = contexts_[context_of(id)];
  Execution& execution = op.execution[p];
  const Process& process = op.program.processes[p];
  const Step& step = op.program.steps[process.first + execution.step];

  std::array<PacketId, kMaxEdges + 1> operands;
  unsigned n = 0;
  bool own = false;  // the host's and the stages' packets are among the operands
  const auto take_own = [&] {
    own = true;
    if (step.from_host) {
      operands[n++] = op.upload[p].queue.front();
      op.upload[p].queue.pop();
    }
    each_bit(step.from_stages, [&](unsigned stage) {
      operands[n++] = op.staged[stage].front().packet;
      op.staged[stage].pop();
      wake(process_id(id, op.stage_writer[stage]));
    });
  };
  each_bit(step.from_edges, [&](unsigned edge) {
    if (!own && n == step.place) take_own();
    operands[n++] = context.edges[edge].slot.front();
    context.edges[edge].slot.pop();
  });
  if (!own) take_own();
  const Packet& first = pool_[operands[0]];
  const bool last = network_header::last(first.words[0]);
  // A turn that fills a slot comes again only when all of the slot's credits are back.
  const bool fills = process.turns == Turns::packet && 2 * step.streams > config_.collective.slot_packets;
  const bool final = (last || fills) && execution.stream + 1 == step.streams;
  each_bit(step.from_edges, [&](unsigned edge) { owe(context, edge, first.flits, final); });

  if (execution.packet == 0) {
    const auto descriptor = std::span(first.words).first<4>();
    execution.block = spec::descriptor::block(descriptor);
    execution.count = spec::descriptor::count(descriptor);
    execution.layout = layout_of(op, execution.count);
  }
  if (process.turns == Turns::packet) execution.block = step.block ^ execution.stream;
  if (process.turns == Turns::burst) execution.block = op.group->rank(step.label(execution.stream, context.row.ranks));
  const Share& share = config_.router.share;
  units_[unit].input_free = execution.free_at = share.after(now, first.flits);
  // Where reading pauses, the result begins as much later, and goes on without a pause.
  const Tick ready = execution.free_at - share.time(first.flits) + latency;
  units_[unit].output_free = ready + share.time(first.flits);
  execution.since = now;
  events_.add({execution.free_at, Event::Kind::process, process_id(id, p)});

  const std::uint64_t elements =
      execution.packet == 0 ? 0 : execution.layout.elements_in(execution.packet - 1, execution.count);
  const PacketId result = n > 1 && elements > 0 ? combine(op, {operands.data(), n}, elements) : operands[0];
  hand_on(id, p, unit, result, elements, ready);
  for (unsigned i = 1; i < n; ++i) pool_.release(operands[i]);
  pool_.release(result);
  proceed(id, p, last);
}

/// Puts a result, whose first flit is there at `ready`, into the queues of all of its step's outputs.
void CollectiveUnit::hand_on(OperationId id, unsigned p, unsigned unit, PacketId result, std::uint64_t elements,
                             Tick ready) {
  Operation& op = operation(id);
  const Execution& execution = op.execution[p];
  const Step& step = op.program.steps[op.program.processes[p].first + execution.step];
  Packet& packet = pool_[result];
  for (std::uint32_t rest = step.to_edges; rest;) {  // one entry per port, for all of the port's edges
    auto& edges = contexts_[context_of(id)].edges;
    const unsigned port = edges[static_cast<unsigned>(std::countr_zero(rest))].port;
    Copies copies{result, static_cast<std::uint8_t>(context_of(id)), op.upwards_first && p == 0, 0, ready};
    each_bit(rest, [&](unsigned k) {
      if (edges[k].port != port) return;
      copies.edges |= 1u << k;
      edges[k].credits -= packet.flits;
      ++edges[k].queued;
      edges[k].unit = static_cast<std::uint8_t>(unit);
    });
    rest &= ~copies.edges;
    units_[unit].to_port.push(port, copies, packet.flits);
    ++units_[unit].queued;
    ports_[port].waiting |= std::uint64_t{1} << unit;
    to_send_ |= 1u << port;
    ++packet.references;
  }
  if (step.to_host) {
    const std::uint64_t first = elements ? (execution.packet - 1) * execution.layout.elements_per_packet() : 0;
    Tick passed = ready;
    if (op.units && op.units->after.map) {
      passed = after_.pass(ready, packet.flits * kFlitBytes) - config_.router.share.time(packet.flits) +
               op.units->after.latency;
      events_.add({passed, Event::Kind::output});
    }
    units_[unit].to_host.push_growing(
        {result, id, (place(op, execution) + first) * op.packetizer.element_bytes(), elements, passed});
    units_[unit].host_room -= packet.flits;
    with_result_ |= std::uint64_t{1} << unit;
    ++op.to_host;
    ++packet.references;
  }
  each_bit(step.to_stages, [&](unsigned stage) {
    const Tick whole = ready + config_.router.share.time(packet.flits);
    op.staged[stage].push({result, whole});
    events_.add({whole, Event::Kind::process, process_id(id, op.stage_reader[stage])});
    ++packet.references;
  });
  if (step.to_edges || step.to_host) events_.add({ready, Event::Kind::output});
}

/// The element of the receive buffer at which the block of the stream begins.
std::uint64_t CollectiveUnit::place(const Operation& op, const Execution& execution) const {
  return op.gets == Holding::block_per_rank ? op.request.receive_block(execution.block).first
                                            : op.request.own_block().first;
}

/// Joins the operands into the first one's packet, or, where that is still on its way to another output, into a new one
/// that takes its place.
PacketId CollectiveUnit::combine(const Operation& op, std::span<const PacketId> operands, std::uint64_t elements) {
  PacketId id = operands[0];
  if (pool_[id].references > 1) {
    const Packet& first = pool_[id];
    id = pool_.take();
    Packet& copy = pool_[id];
    copy.flits = first.flits;
    std::copy_n(first.words.begin(), std::size_t{first.flits} * kFlitBytes / 8, copy.words.begin());
    pool_.release(operands[0]);
  }
  std::byte* result = pool_[id].bytes();
  op.packetizer.pieces(elements, [&](std::size_t at, std::uint64_t, std::uint64_t n) {
    std::array<const std::byte*, kMaxEdges + 1> pieces;
    pieces[0] = result + at;
    for (std::size_t i = 1; i < operands.size(); ++i) pieces[i] = pool_[operands[i]].bytes() + at;
    join(op.combine, {pieces.data(), operands.size()}, n, n * op.packetizer.element_bytes(), result + at,
         scratch_.data());
  });
  return id;
}

/// Room in an edge's slot has become free: reading it has begun, and it goes on without a pause, ahead of whatever may
/// be written there.
void CollectiveUnit::owe(Context& context, unsigned k, unsigned flits, bool final) {
  Edge& edge = context.edges[k];
  edge.owed += flits;
  if (edge.due || (!final && edge.owed < credit_batch_)) return;
  edge.due = true;
  to_send_ |= 1u << edge.port;
  ports_[edge.port].due.push(static_cast<std::uint16_t>((&context - contexts_.data()) * kMaxEdges + k));
}

void CollectiveUnit::proceed(OperationId id, unsigned p, bool last) {
  Operation& op = operation(id);
  Execution& execution = op.execution[p];
  const Process& process = op.program.processes[p];
  const std::uint64_t packets = at_a_time(op, process), first = execution.packet / packets * packets;
  if (!last && (execution.packet + 1) % packets > 0) {
    ++execution.packet;
    return;
  }
  execution.packet = first;
  if (++execution.stream < op.program.steps[process.first + execution.step].streams) return;
  execution.stream = 0;
  if (++execution.step < process.steps) return;
  if (last && execution.round + 1 == process.rounds) return finish(id, p);
  execution.step = 0;
  if (++execution.round < process.rounds) return;
  execution.round = 0;
  execution.packet = first + packets;
}

void CollectiveUnit::finish(OperationId id, unsigned p) {
  Operation& op = operation(id);
  op.execution[p].running = false;
  op.reading &= ~op.reads[p];
  op.writing &= ~op.writes[p];
  const std::uint32_t context = context_of(id);
  for (std::uint32_t place = 0; place < in_flight_; ++place) {
    const OperationId other = context * in_flight_ + place;
    if (!operation(other).active || other == id) continue;
    for (unsigned process = 0; process < operation(other).program.process_count; ++process)
      wake(process_id(other, process));
  }
  const bool rank = contexts_[context].row.has_rank();
  if (!rank) arrived_ |= 1u << context;
  if (--op.running > 0 || !over(op)) return;
  if (rank)
    ended_.push_back(id);
  else
    op.active = false;
}

/// Starts the next operations of a vertex without a rank, which no host submits: each begins with the first descriptor in
/// front of a slot that no earlier operation reads. Every edge of the tree carries all that take it, at least one way, so a
/// neighbour is no more operations ahead than it may have in flight, and the 2 bits of the sequence tell them apart.
void CollectiveUnit::start_arrived(std::uint32_t id, Tick now) {
  Context& context = contexts_[id];
  if (!context.loaded || context.row.has_rank()) return;
  std::uint32_t reading = 0;
  for (const Operation& op : context.operations)
    if (op.active) reading |= op.reading;
  for (std::uint32_t rest = context.row.tree() & ~reading; rest; rest &= rest - 1) {
    const auto& slot = context.edges[static_cast<unsigned>(std::countr_zero(rest))].slot;
    if (slot.empty()) continue;
    const std::span head = std::span(pool_[slot.front()].words).first<4>();
    if (network_header::kind(head[0]) != spec::Kind::descriptor ||
        network_header::sequence(head[0]) != (context.on_tree & 3))
      continue;
    CollectiveRequest request;
    request.collective = network_header::collective(head[0]);
    request.op = network_header::operation(head[0]);
    request.type = spec::descriptor::type(head);
    request.root = spec::descriptor::root(head);
    if (start(request, network_header::algorithm(head[0]), nullptr, id, now)) arrived_ |= 1u << id;
    return;
  }
}

void CollectiveUnit::release_stalled() {
  if (!stalled_.empty()) pending_.add(std::move(stalled_));
}

}  // namespace thalweg
