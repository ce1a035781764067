// SPDX-License-Identifier: Apache-2.0
// Who waits for whom, on what, since when: what a person reads when a program cannot go on.
#include <algorithm>

#include "core/microseconds.hpp"
#include "mpi/server/server.hpp"

namespace thalweg::mpi {
namespace {

/// "rank 3", "ranks 0-2, 5".
std::string rank_list(const std::vector<unsigned>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (i != 0) text += ", ";
    text += std::to_string(ranks[i]);
    if (end - i > 1) text += (end - i > 2 ? "-" : ", ") + std::to_string(ranks[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace

/// What keeps `rank` from the completion of `part`.
std::string Server::waits_for(unsigned rank, const Submission& part) {
  const auto found = communicators_.find(part.communicator);
  switch (part.action) {
    case Action::create: {
      const std::vector<unsigned> missing = creations_.missing(rank, part.id);
      return missing.empty() ? "the other members" : rank_list(missing);
    }
    case Action::collective:
    case Action::meet:
    case Action::software: {
      const Communicator& communicator = found->second;
      const std::uint32_t member = communicator.rank_of(rank);
      for (const Operation& operation : communicator.operations) {
        if (operation.ids[member] != part.id) continue;
        std::vector<unsigned> missing;
        for (std::size_t i = 0; i < communicator.members.size(); ++i)
          if (!operation.ids[i]) missing.push_back(communicator.members[i]);
        const std::string which =
            " on " + communicator.name + ", collective " + std::to_string(operation.number + 1) + " there";
        return (missing.empty() ? "the network" : rank_list(missing)) + which;
      }
      return "the network on " + communicator.name;
    }
    default:
      break;
  }
  const std::string where = found == communicators_.end() ? "" : " on " + found->second.name;
  const std::string tag = part.tag == kAny ? ", any tag" : ", tag " + std::to_string(part.tag);
  if (part.action == Action::send) return "rank " + std::to_string(part.node) + " to receive its message" + tag + where;
  if (part.peer == kAny) return "a message from any rank" + tag + where;
  // On an intercommunicator the number is the peer's in its own group.
  const bool inside =
      found != communicators_.end() && static_cast<std::size_t>(part.peer) < found->second.members.size();
  const unsigned peer =
      inside ? found->second.members[static_cast<std::size_t>(part.peer)] : static_cast<unsigned>(part.peer);
  return "a message from rank " + std::to_string(peer) + tag + where;
}

/// That of a collective which is not complete.
std::optional<std::string> Server::disagreement() const {
  for (const auto& [number, communicator] : communicators_)
    for (const Operation& operation : communicator.operations)
      if (!operation.wrong.empty()) return operation.wrong;
  if (const auto mismatch = timeline_.engine().mismatch()) return "the ranks disagree on a collective: " + *mismatch;
  return std::nullopt;
}

std::vector<std::string> Server::who_waits() {
  std::vector<std::pair<std::string, std::vector<unsigned>>> groups;
  std::vector<Tick> since;
  for (unsigned rank = 0; rank < options_.ranks(); ++rank) {
    const Rank& waiting = ranks_[rank];
    const Slot& slot = memory_.slot(rank);
    std::string what;
    if (slot.state.load() == State::finished || slot.state.load() == State::resting) {
      what = "finished";
    } else if (slot.state.load() == State::outside) {
      what = "in " + options_.functions[slot.function] + ", of which the fabric knows nothing";
    } else if (slot.disagrees.load() != 0) {
      what = "in " + options_.functions[slot.function] + ", which failed";
    } else if (slot.state.load() != State::parked) {
      const bool lost = std::ranges::find(connections_.lost(), rank) != connections_.lost().end();
      const std::int64_t tenths = quiet_ns(rank) / 100'000'000;  // of a second
      what = lost                             ? "ended"
             : !connections_.has_joined(rank) ? "has not called MPI_Init"
             : tenths > 0
                 ? "computing or spinning: " + std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) +
                       " s of processor time without a call of MPI that takes time, which virtual time waits for"
                 : "computing, or blocked outside MPI";
    } else {
      what = "in " + options_.functions[slot.function] + ", waits for ";
      std::size_t named = 0;
      for (const std::uint64_t id : memory_.at<const std::uint64_t>(slot.wait_ids, slot.wait_count)) {
        const auto found = waiting.pending.find(id);
        if (found == waiting.pending.end()) continue;
        if (named == 3) {
          what += "; and more";
          break;
        }
        what += (named++ ? "; " : "") + waits_for(rank, found->second.part);
      }
      if (named == 0)
        what += slot.wait_count > 0 ? "an operation that has not begun" : "nothing in particular (it polls)";
    }
    const auto same = std::ranges::find(groups, what, [](const auto& group) { return group.first; });
    const auto index = static_cast<std::size_t>(same - groups.begin());
    if (same == groups.end()) {
      groups.push_back({what, {rank}});
      since.push_back(waiting.parked ? waiting.since : -1);
    } else {
      same->second.push_back(rank);
      since[index] = std::min(since[index], waiting.since);
    }
  }
  const auto ticks_per_second = static_cast<double>(timeline_.engine().ticks_per_second());
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::string line = rank_list(groups[i].second) + ": " + groups[i].first;
    if (since[i] >= 0) line += ", since " + in_microseconds(since[i], ticks_per_second);
    lines.push_back(line);
  }
  return lines;
}

}  // namespace thalweg::mpi
