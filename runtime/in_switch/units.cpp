// SPDX-License-Identifier: Apache-2.0
#include "in_switch/units.hpp"

#include <string>

#include "core/require.hpp"
#include "mpi_fpga/packetizer.hpp"

namespace thalweg::in_switch {

Units::Units(Domain& clock, const mpi_fpga::FabricConfig& config, std::size_t ranks)
    : clock_(clock),
      fabric_(config, mpi_fpga::Endpoint::kernel, &clock.scheduler),
      id_(clock.scheduler.add(*this)) {  // after the fabric's components, so that it is stepped last in a cycle
  const auto nodes = config.nodes - config.switches;
  require(ranks <= nodes, std::to_string(ranks) + " ranks, but the switches of their collectives have only " +
                              std::to_string(nodes) + " nodes");
}

std::uint32_t Units::elements_per_packet(std::size_t element_bytes) const {
  return static_cast<std::uint32_t>(
      mpi_fpga::Packetizer(element_bytes, fabric_.config().collective.packet_flits).elements_per_packet());
}

std::optional<mpi_fpga::ContextId> Units::create(std::span<const NodeId> members, Tick cycle) {
  std::vector<Handle> rows;  // ignored: a unit itself waits until its row is loaded
  for (std::size_t i = 0; i < members.size(); ++i) rows.push_back(expect([](const Completion&) {}));
  const auto made = fabric_.create_communicator(members, rows, cycle);
  if (made) clock_.wake(id_, cycle);
  return made;
}

void Units::submit(const mpi_fpga::CollectiveRequest& request, Tick cycle) {
  fabric_.submit(request, cycle);
  clock_.wake(id_, cycle);
}

std::optional<mpi_fpga::Waiting> Units::waits(mpi_fpga::ContextId context, std::uint32_t rank) const {
  for (const auto& waiting : fabric_.waiting())
    if (waiting.context == context && waiting.rank == rank) return waiting;
  return std::nullopt;
}

bool Units::step(Tick now) {
  fabric_.take_completed(completed_);
  operations_.deliver(completed_);
  completed_.clear();
  const bool more = stepped && stepped(now);
  if (const auto next = clock_.scheduler.next_due(); next != kNever) clock_.scheduler.wake(id_, next);
  return more;
}

}  // namespace thalweg::in_switch
