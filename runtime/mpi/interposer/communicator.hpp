// SPDX-License-Identifier: Apache-2.0
// The run's data of a communicator, stored as an attribute of it.
#pragma once

#include "mpi/interposer/process.hpp"

namespace thalweg::mpi {

struct SendBuffer;

struct CommunicatorInfo {
  std::uint32_t number = 0;
  std::uint64_t created = 0;      ///< so many creations this rank has begun on it
  bool in_network = false;        ///< it has a row in the network's tables, or is on one node
  bool shared = false;            ///< several of its ranks are on one node
  std::uint32_t collectives = 0;  ///< bit c: the network computes spec::Collective c on it
  bool between = false;           ///< an intercommunicator
  int rank = 0;
  int size = 0;                        ///< of the own group
  std::vector<std::uint32_t> peers;    ///< world ranks of those that can be sent to
  std::vector<std::uint32_t> members;  ///< world ranks of all; on both sides of an intercommunicator in the same order
  std::shared_ptr<SendBuffer> buffer;  ///< for MPI_Bsend, where the program has attached one to it
  std::shared_ptr<void> use;           ///< it is released when the program has freed it and no request is left on it
};

/// Which creation of its members one is: the run puts together what they post of it.
struct Origin {
  std::uint32_t parent = 0;  ///< the communicator that it is made of, or 0
  std::uint64_t order = 0;   ///< among the creations on that; or what distinguishes those that their members alone make
  bool apart = true;         ///< its members alone make it
};
/// That of the next creation which is collective over a communicator.
Origin next_on(CommunicatorInfo& parent);

/// The ranks of a group's members in the run.
std::vector<std::uint32_t> in_world(MPI_Group group);
/// Notes who is in it: the groups `own` and `others`, or `own` alone where it is no intercommunicator.
void set_members(CommunicatorInfo& info, std::vector<std::uint32_t> own, const std::vector<std::uint32_t>& others);
/// After MPI's beginning, and before its end: what is known of communicators is an attribute.
void begin_communicators();
void end_communicators();
/// Makes the world's communicators known; once, after join().
void adopt_world();
/// Whether all members are ranks of the run.
bool followed(const std::vector<std::uint32_t>& members);
/// Makes a communicator known that MPI has just made; all its members do the same. MPI_COMM_NULL is left alone.
/// The members of one whose members are all ranks of the run say themselves who they are: MPICH (5.0.2) takes all of the
/// parent's group for that of a topology on a part of it.
void adopt(MPI_Comm communicator, Origin origin, const char* made_by);
/// One that may have others, who answer nothing: its groups say who they are, or the communicator `own` that its own
/// group is that of.
void adopt_by_groups(MPI_Comm communicator, Origin origin, const char* made_by, MPI_Comm own = MPI_COMM_NULL);
/// The steps of adopt: the creation is posted, for a row in the network unless there is a `reason` against it; what its
/// reply says is noted; the attribute is set.
std::uint64_t post_creation(const CommunicatorInfo& info, Origin origin, const char* made_by, Reason reason);
void note_creation(CommunicatorInfo& info, const Reply& reply);
int attach(MPI_Comm communicator, const CommunicatorInfo& info);
/// One with the same members, of which MPI makes its part later or never.
CommunicatorInfo twin_of(CommunicatorInfo& parent, const char* made_by, Reason reason = Reason::none);
/// What is known of it; nothing for communicators that the run does not follow (of sessions, of spawned programs).
CommunicatorInfo* known(MPI_Comm communicator);

}  // namespace thalweg::mpi
