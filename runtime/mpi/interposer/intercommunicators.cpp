// SPDX-License-Identifier: Apache-2.0
#include "mpi/interposer/intercommunicators.hpp"

#include <algorithm>

#include "mpi/interposer/arguments.hpp"
#include "mpi/interposer/duplicates.hpp"

namespace thalweg::mpi {
namespace {

using Ranks = std::vector<std::uint32_t>;

/// Synchronizes the two leaders, which pass the same origin.
void meet_leader(std::uint32_t other, Origin origin, const char* function) {
  CommunicatorInfo leaders;
  leaders.between = true;
  leaders.members = {static_cast<std::uint32_t>(process().rank()), other};
  std::ranges::sort(leaders.members);
  note_creation(leaders, process().wait(post_creation(leaders, origin, function, Reason::none)));
}

bool disjoint(const Ranks& one, const Ranks& other) {
  return std::ranges::find_first_of(one, other) == one.end();
}

/// Exchanges the groups' members with the leader `remote`; both leaders are in the call.
Ranks exchanged(const Ranks& own, MPI_Comm peer, int remote, int tag) {
  int size = static_cast<int>(own.size()), count = 0;
  PMPI_Sendrecv(&size, 1, MPI_INT, remote, tag, &count, 1, MPI_INT, remote, tag, peer, MPI_STATUS_IGNORE);
  Ranks others(static_cast<std::size_t>(count));
  PMPI_Sendrecv(own.data(), size, MPI_UINT32_T, remote, tag, others.data(), count, MPI_UINT32_T, remote, tag, peer,
                MPI_STATUS_IGNORE);
  return others;
}

/// Broadcasts the leader's ranks to the members of `local`.
void pass_on(Ranks& ranks, int leader, MPI_Comm local) {
  int count = static_cast<int>(ranks.size());
  PMPI_Bcast(&count, 1, MPI_INT, leader, local);
  ranks.resize(static_cast<std::size_t>(count));
  PMPI_Bcast(ranks.data(), count, MPI_UINT32_T, leader, local);
}

/// Creates the intercommunicator; called by all members of both groups. `others` is empty if the run does not track them, or if
/// MPI rejects the call.
int create_between(Native native, CommunicatorInfo info, const Ranks& others, Origin origin, const char* function,
                   MPI_Comm* made, MPI_Comm local) {
  if (others.empty()) return on::Create_apart(native, made, origin, function, local);
  info = {.between = true, .rank = info.rank, .size = info.size, .members = std::move(info.members)};
  set_members(info, info.members, others);
  note_creation(info, process().wait(post_creation(info, origin, function, Reason::none)));
  const int error = process().natively(native);
  return error == MPI_SUCCESS ? attach(*made, info) : error;
}

}  // namespace

namespace on {

int Intercomm_create(Native native, MPI_Comm local, int leader, MPI_Comm peer, int remote_leader, int tag,
                     MPI_Comm* made) {
  constexpr auto kName = "MPI_Intercomm_create";
  const CommunicatorInfo* own = known(local);
  if (own == nullptr || own->between || leader < 0 || leader >= own->size)
    return Create_apart(native, made, {}, kName, local);
  Ranks others;
  if (own->rank == leader) {
    const CommunicatorInfo* both = known(peer);
    const bool followed = both != nullptr && remote_leader >= 0 &&
                          static_cast<std::size_t>(remote_leader) < both->peers.size() && tag >= 0 &&
                          tag <= largest_tag();
    const std::uint32_t other = followed ? both->peers[static_cast<std::size_t>(remote_leader)] : 0;
    if (followed && disjoint(own->members, {other})) {
      meet_leader(other, tagged(tag, peer), kName);
      process().natively([&] { return others = exchanged(own->members, peer, remote_leader, tag), MPI_SUCCESS; });
      if (!disjoint(own->members, others)) others.clear();
    }
  }
  meet(*own);
  begin_duplicates(local);
  process().natively([&] { return pass_on(others, leader, local), MPI_SUCCESS; });
  return create_between(native, *own, others, {}, kName, made, local);
}

#if THALWEG_SESSIONS
int Intercomm_create_from_groups(Native native, MPI_Group local, int leader, MPI_Group remote, int remote_leader,
                                 const char* tag, MPI_Comm* made) {
  constexpr auto kName = "MPI_Intercomm_create_from_groups";
  const Origin origin = tagged(tag);
  CommunicatorInfo own;
  if (process().joined() && local != MPI_GROUP_NULL) {
    PMPI_Group_rank(local, &own.rank);
    PMPI_Group_size(local, &own.size);
    own.members = in_world(local);
  }
  if (own.members.empty() || !followed(own.members) || leader < 0 || leader >= own.size)
    return Create_apart(native, made, origin, kName);
  Ranks others;
  if (own.rank == leader && remote != MPI_GROUP_NULL) {
    others = in_world(remote);
    if (!followed(others) || !disjoint(own.members, others) || remote_leader < 0 ||
        static_cast<std::size_t>(remote_leader) >= others.size())
      others.clear();
    else
      meet_leader(others[static_cast<std::size_t>(remote_leader)], origin, kName);
  }
  CommunicatorInfo met = own;
  met.between = true;
  note_creation(met, process().wait(post_creation(met, origin, kName, Reason::none)));
  process().natively([&] {
    MPI_Comm group = MPI_COMM_NULL;
    const int error = PMPI_Comm_create_from_group(local, "thalweg", MPI_INFO_NULL, MPI_ERRORS_RETURN, &group);
    if (error != MPI_SUCCESS) return error;
    pass_on(others, leader, group);
    return PMPI_Comm_free(&group);
  });
  return create_between(native, own, others, origin, kName, made, MPI_COMM_NULL);
}
#endif

}  // namespace on
}  // namespace thalweg::mpi
