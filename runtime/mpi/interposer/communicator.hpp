// SPDX-License-Identifier: Apache-2.0
// The run's data of a communicator, stored as its attribute.
#pragma once

#include "mpi/interposer/process.hpp"

namespace thalweg::mpi {

struct SendBuffer;

struct CommunicatorInfo {
  std::uint32_t number = 0;
  std::uint64_t created = 0;      ///< number of creations that this rank has started on it
  bool in_network = false;        ///< it has a row in the network's tables, or all its ranks are on one node
  bool shared = false;            ///< several of its ranks are on one node
  std::uint32_t collectives = 0;  ///< bit c is set if the network computes spec::Collective c on it
  bool between = false;           ///< an intercommunicator
  int rank = 0;
  int size = 0;                        ///< of the local group
  std::vector<std::uint32_t> peers;    ///< world ranks of the possible destinations
  std::vector<std::uint32_t> members;  ///< world ranks of all; in the same order on both sides of an intercommunicator
  std::shared_ptr<SendBuffer> buffer;  ///< for MPI_Bsend, if the program has attached one to it
  std::shared_ptr<void> use;           ///< reference count: released once freed by the program and without requests
};

/// Identifies a creation: the server matches its members' submissions by this.
struct Origin {
  std::uint32_t parent = 0;  ///< the parent communicator, or 0
  std::uint64_t order = 0;   ///< number among the parent's creations; or a tag, if `apart`
  bool apart = true;         ///< only its members call, not all of the parent's
};
/// Origin of the next creation that is collective over `parent`.
Origin next_on(CommunicatorInfo& parent);

/// World ranks of a group's members.
std::vector<std::uint32_t> in_world(MPI_Group group);
/// Sets the members: groups `own` and `others` of an intercommunicator, otherwise `own` alone.
void set_members(CommunicatorInfo& info, std::vector<std::uint32_t> own, const std::vector<std::uint32_t>& others);
/// Creates and frees the attribute key; called after MPI's initialization and before its finalization.
void begin_communicators();
void end_communicators();
/// Registers the predefined communicators; called once, after join().
void adopt_world();
/// True if all members are ranks of the run.
bool followed(const std::vector<std::uint32_t>& members);
/// Registers a communicator that MPI has just created; all its members call this. Ignores MPI_COMM_NULL.
/// All members must be ranks of the run. They exchange their ranks rather than read the group: MPICH (5.0.2) returns the
/// parent's whole group for a topology on part of it.
void adopt(MPI_Comm communicator, Origin origin, const char* made_by);
/// Registers a communicator that may have members outside the run, which do not reply. Members are read from its groups,
/// or from the communicator `own` of its local group.
void adopt_by_groups(MPI_Comm communicator, Origin origin, const char* made_by, MPI_Comm own = MPI_COMM_NULL);
/// The steps of adopt: post the creation, which requests a row in the network unless there is a `reason` against it;
/// record the reply; set the attribute.
std::uint64_t post_creation(const CommunicatorInfo& info, Origin origin, const char* made_by, Reason reason);
void note_creation(CommunicatorInfo& info, const Reply& reply);
int attach(MPI_Comm communicator, const CommunicatorInfo& info);
/// Creates a communicator with the same members in the run; MPI creates its own later or never.
CommunicatorInfo twin_of(CommunicatorInfo& parent, const char* made_by, Reason reason = Reason::none);
/// The run's data of a communicator; nullptr if the run does not track it (spawned programs, some of sessions).
CommunicatorInfo* known(MPI_Comm communicator);

}  // namespace thalweg::mpi
