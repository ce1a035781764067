// SPDX-License-Identifier: Apache-2.0
// Report of waiting ranks (for whom, for what, since when), printed when a program can make no progress.
#include <algorithm>
#include <array>

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

/// Describes what `rank` waits for to complete `part`.
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
      for (const Meeting& operation : communicator.operations) {
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
  // On an intercommunicator, `peer` is a rank in the remote group.
  const bool inside =
      found != communicators_.end() && static_cast<std::size_t>(part.peer) < found->second.members.size();
  const unsigned peer =
      inside ? found->second.members[static_cast<std::size_t>(part.peer)] : static_cast<unsigned>(part.peer);
  return "a message from rank " + std::to_string(peer) + tag + where;
}

/// The disagreement in an incomplete collective, if any.
std::optional<std::string> Server::disagreement() const {
  for (const auto& [number, communicator] : communicators_)
    for (const Meeting& operation : communicator.operations)
      if (!operation.wrong.empty()) return operation.wrong;
  const auto mismatch = timeline_.engine().mismatch();
  if (!mismatch) return std::nullopt;
  const auto of =
      std::ranges::find_if(communicators_, [&](const auto& one) { return one.second.context == mismatch->context; });
  return "the ranks disagree on a collective" +
         (of == communicators_.end() ? ": " + mismatch->line() : " of " + of->second.name + ": " + mismatch->what);
}

/// A thread's place among its rank's: 2.1 is the first child of the second child of the first one, 0.
std::string Server::name_of(unsigned rank, unsigned thread) {
  if (thread == 0) return "0";
  const ThreadSlot& slot = memory_.thread(rank, thread);
  std::string name;
  for (std::size_t i = 0; i < std::min<std::size_t>(slot.depth, kDepth); ++i)
    name.append(i == 0 ? "" : ".").append(std::to_string(slot.path[i]));
  return name;
}

/// Describes what a thread does or waits for.
std::string Server::state_text(unsigned rank, Client& client) {
  const Slot& shared = memory_.slot(rank);
  const ThreadSlot& slot = slot_of(rank, client);
  const State state = slot.state.load();
  const std::string& function = options_.functions[slot.function];
  if (state == State::finished || state == State::resting) return "finished";
  if (state == State::outside) return "in " + function + ", which is not simulated";
  if (state == State::leaving || !has_threads(rank)) {  // not of the other threads of a rank that ends
    if (shared.disagrees.load() != 0 || shared.failed) return "in " + function + ", which failed";
    if (shared.aborting.load() != 0) return "in " + function;
    if (shared.exiting.load() != 0) return "ended";
  }
  if (state == State::unused || (state == State::leaving && rank == first_lost())) return "ended";
  if (state != State::parked) {
    if (!connections_.has_joined(rank)) return "has not called MPI_Init";
    if (has_threads(rank) && rests(rank, client)) {
      const std::int32_t joined = slot.joins.load();
      const auto& all = ranks_[rank].clients;
      const auto other = std::ranges::find(all, static_cast<unsigned>(joined), &Client::slot);
      return joined < 0 || other == all.end()
                 ? "outside MPI, waits for another thread of its rank"
                 : "outside MPI, waits for the end of thread " + name_of(rank, other->slot);
    }
    const std::int64_t tenths = quiet_ns(rank, client) / 100'000'000;  // of a second
    if (tenths <= 0) return "computing, or blocked outside MPI";
    return "computing or spinning: " + std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) +
           " s of processor time since the last MPI call that takes time; virtual time waits for it";
  }
  std::string what = "in " + function + ", waits for ";
  std::size_t named = 0;
  for (const std::uint64_t id : memory_.at<const std::uint64_t>(slot.wait_ids, slot.wait_count)) {
    const Submission* part = session_.pending(rank, id);
    if (!part) continue;
    if (named == 3) return what + "; and more";
    what += (named++ ? "; " : "") + waits_for(rank, *part);
  }
  if (named > 0) return what;
  return what + (slot.wait_count > 0 ? "an operation that has not begun" : "nothing in particular (it polls)");
}

/// A program may end because it has not got the level of threads that it needs.
std::string Server::missing_level() {
  constexpr std::array kNames{"SINGLE", "FUNNELED", "SERIALIZED", "MULTIPLE"};
  for (unsigned rank = 0; rank < options_.ranks(); ++rank) {
    const ThreadLevel given = memory_.slot(rank).given_level.load(), wanted = memory_.slot(rank).wanted_level.load();
    if (given >= wanted) continue;
    return "; rank " + std::to_string(rank) + " asked for MPI_THREAD_" + kNames[static_cast<std::size_t>(wanted)] +
           ", but its MPI library only provides MPI_THREAD_" + kNames[static_cast<std::size_t>(given)];
  }
  return "";
}

std::vector<Blocked> Server::blocked() {
  std::vector<Blocked> all;
  for (unsigned rank = 0; rank < options_.ranks(); ++rank) {
    const auto listed = [&](const Client& client) {
      const State state = state_of(rank, client);
      return client.slot == 0 || (state != State::unused && state != State::helper);
    };
    std::vector<Client>& clients = ranks_[rank].clients;
    const bool threads = memory_.slot(rank).callers.load() > 1 || std::ranges::count_if(clients, listed) > 1;
    for (Client& client : clients) {
      if (!listed(client)) continue;
      all.push_back({.who = rank_list({rank}) + (threads ? ", thread " + name_of(rank, client.slot) : ""),
                     .what = state_text(rank, client),
                     .since = session_.is_parked(client.number) ? slot_of(rank, client).since : -1});
    }
  }
  return all;
}

std::vector<std::string> Outcome::waiting(double ticks_per_second) const {
  struct Group {
    std::vector<unsigned> ranks;  ///< or none: a thread of a rank
    Blocked first;
  };
  std::vector<Group> groups;
  for (const Blocked& one : blocked) {
    const bool thread = one.who.find(',') != std::string::npos;
    const auto same = std::ranges::find_if(
        groups, [&](const Group& group) { return !group.ranks.empty() && group.first.what == one.what; });
    std::vector<unsigned> ranks;
    if (!thread) ranks.push_back(static_cast<unsigned>(std::stoul(one.who.substr(one.who.find(' ')))));
    if (thread || same == groups.end()) {
      groups.push_back({std::move(ranks), one});
    } else {
      same->ranks.push_back(ranks.front());
      same->first.since = std::min(same->first.since, one.since);
    }
  }
  std::vector<std::string> lines;
  for (const Group& group : groups)
    lines.push_back((group.ranks.empty() ? group.first.who : rank_list(group.ranks)) + ": " + group.first.what +
                    (group.first.since < 0 ? "" : ", since " + in_microseconds(group.first.since, ticks_per_second)));
  return lines;
}

}  // namespace thalweg::mpi
