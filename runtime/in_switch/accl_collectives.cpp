// SPDX-License-Identifier: Apache-2.0
#include "in_switch/accl_collectives.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "accl/arithmetic.hpp"
#include "core/require.hpp"

namespace thalweg::in_switch {

namespace {

/// Packets per block of a piece: few, so that reading, the units and writing overlap. In an allreduce operands go up the tree and results
/// down, so an operation takes both latencies; algorithms other than the tree take many steps. Their pieces are longer in long calls.
std::uint64_t packets_of_piece(mpi_fpga::spec::Collective collective, mpi_fpga::spec::Algorithm algorithm,
                               std::uint64_t packets) {
  constexpr std::uint64_t kMinPackets = 8, kPieces = 4, kMaxPackets = 64, kMaxPacketsOfSteps = 32;
  const auto max_packets = collective == mpi_fpga::spec::Collective::allreduce ? kMaxPackets
                           : algorithm == mpi_fpga::spec::Algorithm::tree      ? kMinPackets
                                                                               : kMaxPacketsOfSteps;
  return std::clamp((packets + kPieces - 1) / kPieces, kMinPackets, max_packets);
}

std::optional<mpi_fpga::spec::Collective> collective_of(accl::Scenario scenario) {
  using accl::Scenario;
  using mpi_fpga::spec::Collective;
  switch (scenario) {
    case Scenario::bcast:
      return Collective::broadcast;
    case Scenario::scatter:
      return Collective::scatter;
    case Scenario::gather:
      return Collective::gather;
    case Scenario::reduce:
      return Collective::reduce;
    case Scenario::allgather:
      return Collective::allgather;
    case Scenario::allreduce:
      return Collective::allreduce;
    case Scenario::reduce_scatter:
      return Collective::reduce_scatter;
    case Scenario::barrier:
      return Collective::barrier;
    case Scenario::alltoall:
      return Collective::alltoall;
    default:
      return std::nullopt;
  }
}

}  // namespace

AcclCollectives::AcclCollectives(accl::Network& boards, Domain& clock, const mpi_fpga::FabricConfig& config,
                                 unsigned ranks, mpi_fpga::Choice choice)
    : units_(clock, config, ranks), ranks_(ranks), choice_(std::move(choice)) {
  for (unsigned rank = 0; rank < ranks; ++rank) boards.board(rank).use_units(*this);
}

/// The members only have the type on the wire in common: each converts its own operands. A member's arithmetic configuration may be one
/// for compressed numbers, with their functions.
std::optional<accl::UnitCall> AcclCollectives::begin(const accl::Context& context, Tick tick) {
  const accl::Call& call = context.call;
  const auto collective = collective_of(call.scenario);
  const auto& members = context.communicator.members;
  if (!collective || members.size() < 2 || call.compressed_on_wire()) return std::nullopt;
  if (!std::ranges::all_of(members, [this](const accl::Member& member) { return member.session < ranks_; }))
    return std::nullopt;
  accl::UnitCall created;
  if (call.scenario != accl::Scenario::barrier) {
    const auto& arithmetic = context.arithmetic;
    if (call.count == 0 || arithmetic.functions.empty()) return std::nullopt;
    const auto unit = accl::unit_of(arithmetic.functions[accl::combines(call.scenario) ? call.function : 0]);
    if (!unit) return std::nullopt;
    created.type = arithmetic.bytes == arithmetic.compressed_bytes ? unit->type : spec::Datatype::float32;
    if (spec::size_of(created.type) != context.wire_bytes()) return std::nullopt;
    if (accl::combines(call.scenario)) created.op = unit->op;
    if (accl::combines(call.scenario) && !spec::supported(created.op, created.type)) return std::nullopt;
  }
  const auto units = communicator(context, units_.clock().clock.cycle_after(tick)).context;
  if (!units_.computes(units, *collective)) return std::nullopt;
  const auto algorithm = algorithm_of(context, units, *collective);
  created.algorithm = static_cast<unsigned>(algorithm);
  if (*collective != mpi_fpga::spec::Collective::barrier) {
    const std::uint64_t elements = units_.elements_per_packet(context.wire_bytes());
    created.piece = elements * packets_of_piece(*collective, algorithm, (call.count + elements - 1) / elements);
  }
  return created;
}

/// Chosen by measured results from values that all ranks know. Broadcasts and reductions of a block use the tree, in whose order operands
/// are combined.
mpi_fpga::spec::Algorithm AcclCollectives::algorithm_of(const accl::Context& context, mpi_fpga::ContextId units,
                                                        mpi_fpga::spec::Collective collective) const {
  using mpi_fpga::spec::Collective, mpi_fpga::spec::Algorithm;
  if (collective != Collective::allgather && collective != Collective::reduce_scatter) return Algorithm::tree;
  const auto ranks = static_cast<std::uint32_t>(context.communicator.members.size());
  const auto bytes = std::uint64_t{context.call.count} * context.wire_bytes();
  return choice_.of(collective, ranks, bytes, units_.algorithms(units, collective)).value_or(Algorithm::tree);
}

AcclCollectives::Communicator& AcclCollectives::communicator(const accl::Context& context, Tick cycle) {
  const auto found = communicators_.find(context.communicator_id);
  if (found != communicators_.end()) return found->second;
  std::vector<NodeId> nodes;
  for (const accl::Member& member : context.communicator.members) nodes.push_back(member.session);
  const auto created = units_.create(nodes, cycle);
  require(created.has_value(), "the switches' communicator table has no free row for a communicator of " +
                                   std::to_string(nodes.size()) + " ranks");
  return communicators_[context.communicator_id] = {*created, std::vector<Tick>(nodes.size())};
}

void AcclCollectives::submit(const accl::Context& context, const std::shared_ptr<accl::UnitPiece>& piece, Tick tick,
                             std::function<void(Tick)> done) {
  Communicator& of = communicators_.at(context.communicator_id);
  const auto rank = context.communicator.rank;
  of.last[rank] = std::max(of.last[rank], units_.clock().clock.cycle_after(tick));
  const accl::UnitCall& call = *context.units;
  const bool rooted = accl::is_rooted(context.call.scenario);
  mpi_fpga::CollectiveRequest request{{.collective = *collective_of(context.call.scenario),
                                       .algorithm = static_cast<mpi_fpga::spec::Algorithm>(call.algorithm),
                                       .op = call.op,
                                       .type = call.type,
                                       .root = rooted ? context.call.root : 0,
                                       .count = piece->elements},
                                      units_.expect([piece, clock = units_.clock().clock, done = std::move(done)](
                                                        const Completion& ended) { done(clock.edge(ended.at)); }),
                                      of.context,
                                      rank,
                                      piece->send,
                                      piece->receive};
  units_.submit(request, of.last[rank]);
}

void AcclCollectives::stop(const accl::Context& context) {
  stopped_.try_emplace(context.communicator_id,
                       "rank " + std::to_string(context.communicator.rank) + " has failed: " + context.why);
}

std::string AcclCollectives::stopped(const accl::Context& context) const {
  const auto found = stopped_.find(context.communicator_id);
  return found == stopped_.end() ? "" : found->second;
}

accl::CollectiveUnits::Waits AcclCollectives::waits(const accl::Context& context) const {
  const auto& of = communicators_.at(context.communicator_id);
  const auto found = units_.waits(of.context, context.communicator.rank);
  if (!found) return {"for the switches", std::nullopt};
  return {"for rank " + std::to_string(found->peer) + " of its communicator in the switches: " + found->what,
          context.communicator.members[found->peer].session};
}

}  // namespace thalweg::in_switch
