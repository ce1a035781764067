// What the run knows of a communicator, kept as an attribute of it.
#pragma once

#include "mpi/interposer/process.hpp"

namespace thalweg::mpi {

struct CommunicatorInfo {
  std::uint32_t number = 0;
  bool in_network = false;        ///< it has a row in the network's tables, or is on one node
  bool shared = false;            ///< several of its ranks are on one node
  std::uint32_t collectives = 0;  ///< bit c: the network computes spec::Collective c on it
  bool between = false;           ///< an intercommunicator
  int rank = 0;
  int size = 0;                        ///< of the own group
  std::vector<std::uint32_t> peers;    ///< world ranks of those that can be sent to
  std::vector<std::uint32_t> members;  ///< world ranks of all; on both sides of an intercommunicator in the same order
  std::shared_ptr<void> use;           ///< it is released when the program has freed it and no request is left on it
};

/// Makes the world's communicators known; once, after join().
void adopt_world();
/// Makes a communicator known that MPI has just made; all its members do the same. MPI_COMM_NULL is left alone.
void adopt(MPI_Comm communicator, const char* made_by);
/// The steps of adopt: the creation is posted; what its reply says is noted; the attribute is set.
std::uint64_t post_creation(const CommunicatorInfo& info, const char* made_by);
void note_creation(CommunicatorInfo& info, const Reply& reply);
int attach(MPI_Comm communicator, const CommunicatorInfo& info);
/// What is known of it; nothing for communicators that the run does not follow (of sessions, of spawned programs).
CommunicatorInfo* known(MPI_Comm communicator);

}  // namespace thalweg::mpi
