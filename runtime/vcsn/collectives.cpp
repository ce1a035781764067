// SPDX-License-Identifier: Apache-2.0
#include "vcsn/collectives.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "core/require.hpp"

namespace thalweg::vcsn {
namespace {

unsigned place(Network& network, unsigned node, const Port& port) {
  return network.node(node).place(port.first, port.second);
}
VirtualPort virtual_port_of(unsigned node, const Port& port) {
  return {node, port.first, port.second};
}
bool contains(const std::vector<unsigned>& nodes, unsigned node) {
  return std::ranges::find(nodes, node) != nodes.end();
}

}  // namespace

Schedule transfer_schedule(const VirtualPort& from, const VirtualPort& to) {
  return {.root = to.node,
          .stages = {{{Move{from.node, {from.port, from.virtual_port}, to.node, {to.port, to.virtual_port}, {0}}}}},
          .steps = true};
}

Collective::Collective(const Cluster& cluster, Schedule schedule, std::uint64_t size)
    : cluster_(cluster), schedule_(std::move(schedule)), size_(size) {
  require(size > 0, "a block must have at least one byte");
  for (const unsigned node : schedule_.nodes()) {
    cluster.check(node);
    require(cluster.server_of(node).has_value(),
            "FPGA " + std::to_string(node) + " is in no server (kind vcsn-server), whose program starts transfers");
  }
  lay_out();
}

void Collective::lay_out() {
  const auto& fpga = cluster_.fpga(cluster_.fpgas().front());
  const std::uint64_t padded = words_of(size_) * kWord;
  const unsigned root = schedule_.root;
  std::map<std::pair<unsigned, unsigned>, std::uint64_t> used;  // bytes used in each node's bank
  std::map<unsigned, unsigned> came;
  const auto put = [&](unsigned node, unsigned bank, unsigned block) {
    bank %= fpga.banks;
    std::uint64_t& bytes = used[{node, bank}];
    const std::uint64_t at = bank * fpga.bank_bytes + bytes;
    bytes += padded;
    most_bytes_ = std::max(most_bytes_, bytes);
    return after_[{node, block}] = at;
  };

  std::map<unsigned, const Move*> first;  // first move of each block
  for (const Stage& stage : schedule_.stages)
    for (const Move& move : stage.moves)
      for (const unsigned block : move.blocks) first.emplace(block, &move);
  for (const auto& [block, move] : first) put(move->source, move->source == root ? move->source_port.first : 0, block);
  before_ = after_;

  Handle handle = 0;
  for (std::size_t number = 0; number < schedule_.stages.size(); ++number) {
    auto& placed = stages_.emplace_back();
    for (const Move& move : schedule_.stages[number].moves) {
      Placed one{.move = move, .handle = handle++};
      for (const unsigned block : move.blocks) one.read.push_back({after_.at({move.source, block}), padded});
      unsigned bank = move.destination_port.first;
      if (schedule_.everywhere)
        bank = 2 * bank + 1 - static_cast<unsigned>(number % 2);
      else if (move.destination != root)
        bank = 1 + ++came[move.destination] % std::max(1U, std::min(2U, fpga.banks - 1));
      for (const unsigned block : move.blocks) one.write.push_back({put(move.destination, bank, block), padded});
      one.read.back().bytes = one.write.back().bytes = size_;
      const auto engine = [&](unsigned node, const Port& port) {
        return (node == root || schedule_.everywhere) && !schedule_.steps ? port.first : 0;
      };
      one.read_engine = engine(move.source, move.source_port);
      one.write_engine = engine(move.destination, move.destination_port);
      placed.push_back(std::move(one));
    }
  }
}

Addresses Collective::ends() const {
  std::map<unsigned, unsigned> last;  // the destination of each block's last move
  for (const Stage& stage : schedule_.stages)
    for (const Move& move : stage.moves)
      for (const unsigned block : move.blocks) last[block] = move.destination;
  Addresses found;
  for (const auto& [block, destination] : last)
    if (schedule_.everywhere)
      for (const auto& [node, of] : last) found[{node, block}] = after_.at({node, block});
    else
      found[{destination, block}] = after_.at({destination, block});
  return found;
}

double Collective::run(Network& network, const RunOptions& options) const {
  std::map<std::int64_t, Server> servers;
  for (const unsigned node : schedule_.nodes()) {
    const unsigned server = cluster_.slot_of(node).server;
    if (!servers.contains(server)) servers[server] = {cluster_.servers().at(server), program(network, server)};
  }
  return vcsn::run(network, servers, {}, options);
}

Program Collective::program(Network& network, unsigned server) const {
  const ServerCosts& costs = cluster_.servers().at(server);
  Nodes own;
  for (const unsigned node : cluster_.fpgas())
    if (cluster_.server_of(node) == server) own.push_back(node);

  if (!cluster_.is_direct()) {
    for (Program part = wire(network, costs, own, 0); const auto step = part();) co_yield *step;
    co_yield Barrier{};
  }
  co_yield Work{costs.crossbar};
  set(network, own, stages_.front(), {});
  co_yield Barrier{};
  for (std::size_t number = 0; number < stages_.size(); ++number) {
    for (const Placed& placed : stages_[number])
      if (contains(own, placed.move.destination)) {
        co_yield Work{costs.start};
        network.write(placed.move.destination, placed.write_engine,
                      {.handle = placed.handle, .segments = placed.write});
      }
    for (const Placed& placed : stages_[number])
      if (contains(own, placed.move.source)) {
        co_yield Work{costs.start};
        network.read(placed.move.source, placed.read_engine,
                     {.handle = kReads + placed.handle, .segments = placed.read});
      }
    for (const Placed& placed : stages_[number]) {
      if (contains(own, placed.move.destination)) co_yield Interrupt{placed.handle};
      // Data still in the engine would pass the crossbar as set for the next stage.
      if (contains(own, placed.move.source)) co_yield Interrupt{kReads + placed.handle};
    }
    if (number + 1 == stages_.size()) break;
    const bool again = schedule_.sends_again(number + 1);
    if (!again)
      for (Program part = wire(network, costs, own, number + 1); const auto step = part();) co_yield *step;
    co_yield Work{costs.crossbar};
    set(network, own, stages_[number + 1], stages_[number]);
    co_yield Barrier{};
    if (again) {  // everything that these ports sent has arrived
      for (Program part = wire(network, costs, own, number + 1); const auto step = part();) co_yield *step;
      co_yield Barrier{};
    }
  }
}

/// Writes circuit tables: before the first stage all rows, so that no earlier circuit remains, and before later stages
/// the rows that change.
Program Collective::wire(Network& network, const ServerCosts& costs, const Nodes& own, std::size_t stage) const {
  if (cluster_.is_direct()) co_return;
  std::map<VirtualPort, VirtualPort> peers;
  for (const auto& [source, source_port, destination, destination_port] : schedule_.circuits(stage)) {
    peers[virtual_port_of(source, source_port)] = virtual_port_of(destination, destination_port);
    peers[virtual_port_of(destination, destination_port)] = virtual_port_of(source, source_port);
  }
  for (const unsigned node : own)
    for (unsigned port = 0; port < cluster_.ports(node); ++port)
      for (unsigned each = 0; each < cluster_.virtual_ports(node); ++each) {
        const auto peer = peers.find({node, port, each});
        if (peer == peers.end() && (stage > 0 || schedule_.steps)) continue;
        co_yield Work{costs.circuit};
        network.set_circuit({node, port, each}, peer == peers.end() ? std::nullopt : std::optional(peer->second));
      }
}

/// Sets the crossbars of a server's FPGAs to this stage's moves. Routes of packets that pass through in the previous
/// stage remain, since this server does not see their end.
void Collective::set(Network& network, const Nodes& own, const std::vector<Placed>& stage,
                     const std::vector<Placed>& before) const {
  std::set<std::pair<unsigned, unsigned>> passing;
  for (const Placed& placed : before)
    for (const auto& [node, comes, leaves_by] : placed.move.passes)
      passing.emplace(node, place(network, node, leaves_by));
  for (const unsigned node : own) {
    const auto& config = network.node(node).config;
    const unsigned outputs = place(network, node, {0, 0}) + config.ports * config.virtual_ports;
    for (unsigned output = 0; output < outputs; ++output)
      if (!passing.contains({node, output})) network.connect(node, output, std::nullopt);
  }
  for (const Placed& placed : stage) {
    const Move& move = placed.move;
    if (contains(own, move.source))
      network.connect(move.source, place(network, move.source, move.source_port), placed.read_engine);
    for (const auto& [node, comes, leaves_by] : move.passes)
      if (contains(own, node)) network.connect(node, place(network, node, leaves_by), place(network, node, comes));
    if (contains(own, move.destination))
      network.connect(move.destination, placed.write_engine, place(network, move.destination, move.destination_port));
  }
}

}  // namespace thalweg::vcsn
