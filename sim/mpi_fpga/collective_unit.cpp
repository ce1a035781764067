// SPDX-License-Identifier: Apache-2.0
#include "mpi_fpga/collective_unit.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include "common/bits.hpp"
#include "mpi_fpga/user_operators.hpp"
#include "reduce/join.hpp"

namespace thalweg::mpi_fpga {

CollectiveUnit::CollectiveUnit(const FabricConfig& config, const Graph& graph, NodeId self, std::span<FlitSink> links,
                               Agenda& arrivals, PacketPool& pool, Events& events)
    : config_(config),
      graph_(graph),
      self_(self),
      pool_(pool),
      events_(events),
      in_flight_(config.collective.operations_in_flight),
      sizes_(config.collective, config.router.link_ports),
      slots_(static_cast<unsigned>(links.size()), config.router.local_ports - 1, config.collective.aggregation_units,
             sizes_.slot, sizes_.credit_batch),
      contexts_(config.collective.contexts, [entries = in_flight_] { return Context(entries); }),
      precedence_(in_flight_),
      units_(config.collective.aggregation_units),
      ports_(config.router.local_ports - 1),
      relay_(config, graph, self, ports()),
      pick_(static_cast<unsigned>(links.size()), units()),
      dispatch_(units()),
      stages_(in_flight_ * config.collective.contexts, units(), 2 * ((Program::kMaxProcesses + units() - 1) / units()),
              slots_.slot_flits()),
      openings_(config.collective.contexts, in_flight_),
      before_(kFlitBytes * static_cast<double>(config.router.share.flits) / config.router.share.cycles),
      after_(before_) {
  for (Unit& unit : units_) {
    unit.to_port = Fork<Copies>(static_cast<unsigned>(ports_.size()), sizes_.queue);
    unit.host_room = sizes_.queue;
  }
  for (FlitSink& sink : links) {
    sink.inbox().note_in(arrivals, static_cast<unsigned>(links_.size()));
    links_.push_back({.sink = &sink});
  }
  of_ports_ = ((std::uint64_t{1} << ports()) - 1) << links_.size();
  for (unsigned index = 0; index < ports(); ++index) {
    Port& port = ports_[index];
    port.sender.inbox().note_in(arrivals, static_cast<unsigned>(links_.size()) + index);
    port.injector = Injector(units() + 1);
    port.host_room = sizes_.host_queue;
    relay_.host_room(index, port.host_room);
  }
  if (const auto& library = config.collective.library) {
    if (!config.collective.operators.empty() || !config.collective.units.empty() || config.router.share.delay() > 0)
      throw std::invalid_argument(
          "the RTL collective unit supports neither user-defined operators and units nor sharing between jobs");
    rtl_ = std::make_unique<RtlUnit>(*library, config.router.flow == FlowControl::credits, relay_routes());
  }
}

void CollectiveUnit::load(std::uint32_t id, const Row& row, Tick from) {
  Context& context = contexts_[id];
  context.row = row;
  context.started = context.on_tree = 0;
  precedence_.load(id);
  const auto edges = static_cast<unsigned>(std::bit_width(row.used));
  context.edges.reserve(edges);
  slots_.reserve(id, edges);
  each_bit(row.used, [&](unsigned k) {
    Edge& edge = context.edges[k];
    edge.neighbour = row.edges[k].neighbour;
    edge.there = row.edges[k].there;
    edge.port = static_cast<std::uint8_t>(slots_.port(k));
    edge.vc = static_cast<std::uint8_t>(channel_to(edge.neighbour));
    slots_.load(id, k, last_link(config_, graph_, edge.neighbour, self_));
  });
  if (!rtl_) return;
  std::array<RtlUnit::EdgePath, kMaxEdges> paths{};
  each_bit(row.used,
           [&](unsigned k) { paths[k] = {context.edges[k].vc, static_cast<std::uint8_t>(slots_.link(id, k))}; });
  rtl_->load(id, row, paths, from);
}

void CollectiveUnit::loaded_now(std::uint32_t id) {
  contexts_[id].loaded = true;
  const Row& row = contexts_[id].row;
  openings_.load(id, row.has_rank(), row.tree());
}

unsigned CollectiveUnit::channel(const FabricConfig& config, NodeId from, NodeId to) {
  return static_cast<unsigned>(std::countr_zero(config.channels(config.router.vc_mask.size() - 1, from, to)));
}

unsigned CollectiveUnit::last_link(const FabricConfig& config, const Graph& graph, NodeId from, NodeId to) {
  Graph::End end{from, 0};
  while (end.node != to) end = graph.peer(end.node, config.route(end.node, to).port);
  return end.port;
}

UnitModel::RelayRoutes CollectiveUnit::relay_routes() const {
  UnitModel::RelayRoutes routes{
      .self = self_, .routes = Relay::routes_of(config_, graph_, self_), .layers = relay_.layers(), .peers = {}};
  for (unsigned link = 0; link < relay_.peers().size(); ++link)
    if (const Graph::End peer = relay_.peers()[link]; peer.node != Graph::kNone)
      routes.peers.push_back({link, peer.node, peer.port, channel_to(peer.node)});
  return routes;
}

std::optional<OperationId> CollectiveUnit::start(const CollectiveRequest& request, const Group* group,
                                                 std::uint32_t context_id, Tick now) {
  Context& context = contexts_[context_id];
  const OperationId id = context_id * in_flight_ + context.started % in_flight_;
  OperationState& op = operation(id);
  if (op.active) return std::nullopt;
  started_ = now;
  op.active = true;
  op.request = request;
  const spec::Algorithm algorithm = request.algorithm;
  op.group = group;
  const bool at_root = context.row.has_rank() && context.row.label == request.root;
  op.send_holding = send_holding(request.collective, at_root);
  op.receive_holding = receive_holding(request.collective, request.rank, at_root);
  op.number = context.started++;
  precedence_.begin(context_id);
  op.sequence = algorithm == spec::Algorithm::tree ? context.on_tree++ : op.number;
  op.packetizer = request.collective == spec::Collective::alltoall
                      ? Packetizer(spec::size_of(request.type), config_.collective.long_packet_flits,
                                   2 * kHeaderBytes)  // plus the relay header
                      : Packetizer(spec::size_of(request.type), config_.collective.packet_flits);
  const UserOperator* user = user_operator(config_.collective, request.op);
  op.combine = user ? user->combine : lane(request.op, request.type);
  op.lane_latency = user ? user->latency : config_.collective.lane_latency;
  op.units = thalweg::mpi_fpga::user_units(config_.collective, request.collective, request.op);
  op.to_host = 0;
  if (request.collective == spec::Collective::alltoall) {
    start_personal(id);
    if (rtl_) rtl_->start(start_of(id, false), now);
    return id;
  }
  compile(request.collective, algorithm, context.row, request.root, op.program);
  const Turns turns =  // the same for all processes
      op.program.processes.empty() ? Turns::stream : op.program.processes.front().turns;
  const bool one_stream = request.collective == spec::Collective::broadcast ||
                          request.collective == spec::Collective::reduce ||
                          (request.collective == spec::Collective::allreduce && algorithm != spec::Algorithm::exchange);
  const unsigned quarter = std::max(1u, config_.collective.slot_packets / 4) * config_.collective.packet_flits;
  op.lengths = {.element_bytes = op.packetizer.element_bytes(),
                .shortest = one_stream ? sizes_.shortest_packet : config_.collective.packet_flits,
                .longest = turns == Turns::packet ? config_.collective.packet_flits
                           : turns == Turns::burst
                               ? std::min(config_.collective.long_packet_flits, std::bit_floor(quarter))
                               : config_.collective.long_packet_flits,
                .ring = turns == Turns::burst,
                .together = has_vector(request.collective) ? context.row.ranks : 1};
  op.upwards_first = request.collective == spec::Collective::allreduce && algorithm == spec::Algorithm::trees &&
                     request.count / request.pieces * spec::size_of(request.type) <=
                         std::uint64_t{context.row.up_and_down} * kFlitBytes;
  op.burst = burst(op);
  op.uploads = 0;
  op.running = static_cast<std::uint32_t>(op.program.processes.size());
  op.execution.assign(op.program.processes.size(), {});
  for (unsigned p = 0; p < op.program.processes.size(); ++p) {
    const Process& process = op.program.processes[p];
    op.execution[p].running = true;
    op.execution[p].since = now;
    bool uploads = false;
    std::uint64_t stages = 0;
    for (unsigned s = 0; s < process.steps; ++s) {
      const Step& step = op.program.steps[process.first + s];
      precedence_.add(context_id, id % in_flight_, p, s == 0, {step.from_edges, step.to_edges});
      uploads |= step.from_host;
      stages |= step.to_stages;
    }
    stages_.load(id, stages, home(process_id(id, p)));
    if (!uploads) continue;
    op.uploads |= 1u << p;
    if (op.upload.size() <= p) op.upload.resize(p + 1);
    Upload& upload = op.upload[p];
    if (upload.queue.capacity() == 0) upload.queue = Ring<PacketId>(config_.collective.slot_packets);
    upload.progress = {};
    while (!step_of(op, p, upload.progress).from_host)
      upload.progress.leave_step(process, at_a_time(op, process), false);
    begin_stream(id, p);
  }
  if (rtl_ && group) rtl_->start(start_of(id, !over(op)), now);
  if (over(op)) {  // nothing to do: an exclusive scan of one rank
    ended_.push_back(id);
    return id;
  }
  starter_.add(id, algorithm != spec::Algorithm::exchange && !has_vector(request.collective), now);
  events_.step_in(starter_.next(now));
  return id;
}

UnitModel::Start CollectiveUnit::start_of(OperationId id, bool has_processes) const {
  const OperationState& op = operation(id);
  UnitModel::Start start{.operation = id,
                         .collective = op.request.collective,
                         .algorithm = op.request.algorithm,
                         .op = op.request.op,
                         .type = op.request.type,
                         .root = op.request.root,
                         .element_bytes = static_cast<unsigned>(op.packetizer.element_bytes()),
                         .shortest = op.lengths.shortest,
                         .longest = op.lengths.longest,
                         .ring = op.lengths.ring,
                         .together = op.lengths.together,
                         .burst = op.burst,
                         .upwards_first = op.upwards_first,
                         .has_processes = has_processes};
  if (has_processes && op.request.piece) {  // the same for all pieces, whatever their lengths
    const Packetizer layout = layout_of(op, 0);
    start.shortest = start.longest = layout.flits(layout.elements_per_packet());
  }
  return start;
}

/// Packets per burst: at most half a slot, and balanced so that all bursts of a stream have about the same length.
std::uint64_t CollectiveUnit::burst(const OperationState& op) const {
  const std::uint64_t elements = op.request.own_block().count;
  const Packetizer layout = layout_of(op, elements);
  const std::uint64_t packets = layout.packets(elements) + 1, places = config_.collective.slot_packets / 2,
                      most = std::max<std::uint64_t>(
                          1, places * config_.collective.packet_flits / layout.flits(layout.elements_per_packet())),
                      turns = (packets + most - 1) / most;
  return (packets + turns - 1) / turns;
}

std::uint64_t CollectiveUnit::header(const OperationState& op, std::uint32_t context, spec::Kind kind, unsigned flits,
                                     bool last) const {
  return spec::NetworkHeader{.context = static_cast<std::uint8_t>(context),
                             .operation = op.request.op,
                             .algorithm = op.request.algorithm,
                             .size = static_cast<std::uint8_t>(std::countr_zero(flits)),
                             .collective = op.request.collective,
                             .sequence = static_cast<std::uint8_t>(op.sequence & 3),
                             .kind = kind,
                             .last = last}
      .pack();
}

// ------------------------------------------------------------------------------------------------------ Results

HostPacket CollectiveUnit::take_result(unsigned index, Tick now) {
  Ring<HostPacket>& results = queue(index);
  const HostPacket result = results.front();
  results.pop();
  if (results.empty()) with_result_ &= ~(std::uint64_t{1} << index);
  if (index < units()) {
    Unit& unit = units_[index];
    const unsigned flits = pool_[result.packet].flits;
    unit.host_reads_until = std::max(now, unit.host_reads_until) + flits;
    unit.host_reads.push_growing({unit.host_reads_until, flits});
    host_reads_end_ = std::min(host_reads_end_, unit.host_reads_until);
    events_.step_in(unit.host_reads_until);
    if (rtl_) rtl_->read(index, flits, unit.host_reads_until);
  } else {
    taken_personal(index - units(), result.packet);
  }
  return result;
}

bool CollectiveUnit::over(const OperationState& op) const {
  return op.running == 0 && op.to_host == 0 &&
         (op.request.collective != spec::Collective::alltoall || op.personal.expected() == 0);
}

bool CollectiveUnit::delivered(const HostPacket& result) {
  OperationState& op = operation(result.operation);
  if (--op.to_host > 0 || !over(op)) return false;
  op.active = false;
  return true;
}

void CollectiveUnit::step(Tick now, std::uint64_t arrivals) {
  const std::uint64_t links = arrivals & ((std::uint64_t{1} << links_.size()) - 1);
  if (rtl_) show_personal(now);
  if (relay_.due(now)) relay(now);
  if (now >= ready_) {
    to_send_ |= std::exchange(early_, 0);
    ready_ = kNever;
  }
  each_bit(to_send_, [&](unsigned port) { inject(port, now); });
  slots_.begin();
  each_bit(links, [&](unsigned link) { receive(link, now); });
  stages_.begin(now);
  uploads_.begin();
  if (const auto upload = uploads_.received(); rtl_ && upload) rtl_->announced(*upload);
  const bool received = !slots_.arrivals().empty(), arrives = received || stages_.arrives() || uploads_.received();
  if (received || !openings_.idle()) open(now);
  if (arrives) wake();
  if (!starter_.empty()) ask(now);
  kept_ = pick_.kept();
  const std::uint32_t next = pick_.choose(now).value_or(kNoProcess);
  if (picked_ != kNoProcess) attempt(picked_, now);
  picked_ = next;
  if (arrives) keep_arrivals(now);
  each_bit(to_send_, [&](unsigned port) {
    if (ports_[port].left) sent(ports_[port], port);
  });
  if (host_reads_end_ <= now) host_has_read(now);
  if (stages_.freed(now)) pick_.room_freed();
  if (arrivals & of_ports_) take_credits(now, arrivals);
  if (rtl_) rtl_->clock(now);
}

void CollectiveUnit::take_credits(Tick now, std::uint64_t arrivals) {
  each_bit((arrivals & of_ports_) >> links_.size(), [&](unsigned port) {
    const std::uint64_t back = ports_[port].sender.update(now);
    if (rtl_ && back) rtl_->back(port, back);
  });
}

/// The host has read a packet's last flit in this cycle: frees its room.
void CollectiveUnit::host_has_read(Tick now) {
  host_reads_end_ = kNever;
  for (Unit& unit : units_) {
    if (!unit.host_reads.empty() && unit.host_reads.front().last <= now) {
      unit.host_room += unit.host_reads.front().flits;
      unit.host_reads.pop();
      pick_.room_freed();
    }
    if (!unit.host_reads.empty()) host_reads_end_ = std::min(host_reads_end_, unit.host_reads.front().last);
  }
}

bool CollectiveUnit::active(Tick now) const {
  bool sends = relay_.changed() || ready_ == now + 1;
  each_bit(to_send_, [&](unsigned port) { sends |= can_send(port, now + 1); });
  return sends || picked_ != kNoProcess || pick_.waiting() || uploads_.announced() || starter_.next(now) == now + 1 ||
         !openings_.idle();
}

// ------------------------------------------------------------------------------------------------------- Reports

std::vector<Blockage> CollectiveUnit::blockages(Tick now) const {
  std::vector<Blockage> result;
  for (OperationId id = 0; id < contexts_.size() * in_flight_; ++id) {
    const Context* context = contexts_.find(id / in_flight_);
    if (!context || !context->operations.find(id % in_flight_)) continue;
    const OperationState& op = operation(id);
    for (unsigned p = 0; op.active && p < op.program.processes.size(); ++p)
      if (op.execution[p].running)
        if (const auto blocked = blockage(id, p, now)) result.push_back(*blocked);
  }
  return result;
}

std::uint64_t CollectiveUnit::credits_out() const {
  return slots_.credits_out() + static_cast<std::uint64_t>(relay_.outstanding_flits());
}

}  // namespace thalweg::mpi_fpga
