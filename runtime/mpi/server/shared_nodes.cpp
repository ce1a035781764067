// SPDX-License-Identifier: Apache-2.0
// Nodes with several ranks: mapping of ranks to nodes, and collectives through the host's memory.
#include <algorithm>
#include <ranges>

#include "mpi/server/server.hpp"
#include "mpi_fpga/user_operators.hpp"
#include "reduce/lane.hpp"

namespace thalweg::mpi {

RankMap Server::rank_map_of(const std::vector<std::uint32_t>& members) const {
  std::vector<NodeId> nodes;
  for (const std::uint32_t member : members) nodes.push_back(options_.nodes[member]);
  return RankMap(std::move(nodes));
}

/// Minimum time until a rank's action can affect another rank.
Tick Server::lookahead() const {
  const Tick far = timeline_.engine().lookahead();
  return one_rank_a_node_ ? far : std::min(far, options_.memory.ticks(0));
}

void Server::enter_node(Communicator& communicator, Meeting& operation, const CollectiveRequest& request, Tick at) {
  if (!operation.on_nodes) {
    const UserOperator* own = user_operator(options_.operators, request.op);
    operation.on_nodes = std::make_shared<NodeCollective>(
        communicator.rank_map, communicator.memory_free,
        NodeCollective::Setting{
            .timeline = timeline_,
            .combine = own != nullptr ? own->combine : lane(request.op, request.type),
            .submit =
                [this, number = operation.number, &communicator](const CollectiveRequest& part, std::uint64_t bytes,
                                                                 Tick when, std::function<void(Tick)> done) {
                  submit(communicator, communicator.operation(number), part, bytes, when, std::move(done));
                },
            .done =
                [this, number = operation.number, &communicator](std::uint32_t member, Tick when) {
                  end_part(communicator.number, number, communicator.members[member],
                           *communicator.operation(number).ids[member], when);
                },
        });
  }
  if (const auto wrong = operation.on_nodes->enter(request, at))
    throw Disagreement{"the ranks disagree on collective " + std::to_string(operation.number + 1) + " of " +
                       communicator.name + ": " + *wrong};
}

}  // namespace thalweg::mpi
