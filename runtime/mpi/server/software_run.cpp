// SPDX-License-Identifier: Apache-2.0
#include "mpi/server/software_run.hpp"

#include <algorithm>
#include <utility>

namespace thalweg::mpi {

SoftwareRun::SoftwareRun(Timeline& timeline, Rounds rounds, std::vector<NodeId> nodes, Tick overhead, Tick at,
                         Done done)
    : timeline_(timeline),
      rounds_(std::move(rounds)),
      nodes_(std::move(nodes)),
      overhead_(overhead),
      done_(std::move(done)),
      members_(nodes_.size(),
               {0, 0, at, std::vector<std::uint32_t>(rounds_.size()), std::vector<Tick>(rounds_.size())}) {
  for (std::size_t round = 0; round < rounds_.size(); ++round)
    for (const Transfer& transfer : rounds_[round]) members_[transfer.destination].missing[round] += 1;
}

void SoftwareRun::start(Timeline& timeline, Rounds rounds, std::vector<NodeId> nodes, Tick overhead, Tick at,
                        Done done) {
  const std::shared_ptr<SoftwareRun> run(
      new SoftwareRun(timeline, std::move(rounds), std::move(nodes), overhead, at, std::move(done)));
  timeline.at(at, [run] {
    for (std::uint32_t rank = 0; rank < run->members_.size(); ++rank) run->begin_round(rank);
  });
}

/// Sends the messages of `rank` in its current round, and ends the round if nothing is outstanding.
void SoftwareRun::begin_round(std::uint32_t rank) {
  Member& member = members_[rank];
  if (member.round == rounds_.size()) return done_(rank, member.reached);
  const std::uint32_t round = member.round;
  Tick start = member.reached;
  for (const Transfer& transfer : rounds_[round]) {
    if (transfer.source != rank) continue;
    const std::uint32_t to = transfer.destination;
    start += overhead(rank, to);
    member.leaving += 1;
    timeline_.send(nodes_[rank], nodes_[to], transfer.bytes, start,
                   [run = shared_from_this(), rank, to, round](const Completion& sent) {
                     const Tick at = sent.at;
                     if (!sent.last) {
                       run->members_[rank].leaving -= 1;
                       run->members_[rank].reached = std::max(run->members_[rank].reached, at);
                       return run->end_round(rank);
                     }
                     Member& receiver = run->members_[to];
                     receiver.missing[round] -= 1;
                     receiver.arrived[round] = std::max(receiver.arrived[round], at) + run->overhead(rank, to);
                     if (receiver.round == round) run->end_round(to);
                   });
  }
  end_round(rank);
}

void SoftwareRun::end_round(std::uint32_t rank) {
  Member& member = members_[rank];
  if (member.leaving != 0 || member.missing[member.round] != 0) return;
  member.reached = std::max(member.reached, member.arrived[member.round]);
  member.round += 1;
  begin_round(rank);
}

Tick software_ticks(CollectiveEngine& idle, HostMemory memory, const SoftwareCall& call,
                    const std::vector<NodeId>& nodes, Tick overhead) {
  Timeline timeline(idle, memory);
  const Tick begin = timeline.now();
  Tick last = begin;
  SoftwareRun::start(timeline, software_rounds(call), nodes, overhead, begin,
                     [&](std::uint32_t, Tick at) { last = std::max(last, at); });
  while (!timeline.idle()) timeline.step(kNever);
  return last - begin;
}

}  // namespace thalweg::mpi
