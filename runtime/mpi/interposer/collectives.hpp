// SPDX-License-Identifier: Apache-2.0
// Collectives: executed in the network if it can, otherwise by MPI itself, with the timing of software messages.
#pragma once

#include <functional>
#include <vector>

#include "mpi/interposer/arguments.hpp"
#include "mpi/interposer/communicator.hpp"
#include "mpi/interposer/data.hpp"
#include "mpi/interposer/request.hpp"
#include "mpi_fpga/operation.hpp"
#include "thalweg_mpi_fpga_spec.hpp"
#include "thalweg_spec.hpp"

namespace thalweg::mpi {

namespace spec = mpi_fpga::spec;

/// How a collective is called: blocking, or with a request that is persistent or not.
struct Form {
  MPI_Request* request = nullptr;
  bool persistent = false;
  /// Of a persistent one: ranks may start several in any order, and each between any others. So it is a communicator of its
  /// own to the run, with a row of its own in the network.
  std::shared_ptr<const CommunicatorInfo> own{};
};

/// A collective as the network takes it. Buffers are contiguous; `fill` copies what this rank gives into one of
/// `send_bytes`, `empty` the result out of one of `receive_bytes`. Both are called again for each start of a
/// persistent request, and outlive the call.
struct Offload {
  mpi_fpga::Operation operation{};
  std::uint64_t bytes = 0;  ///< of a block; of a v-form of the largest that the rank knows
  std::uint64_t send_bytes = 0, receive_bytes = 0;
  std::function<int(std::byte*)> fill{};
  std::function<int(const std::byte*)> empty{};
  /// Of a v-form, where the rank gives, or gets, a block for each rank.
  std::vector<mpi_fpga::Block> send_blocks{}, receive_blocks{};
};
int in_network(MPI_Comm comm, Offload offload, Form form);

/// One without data, for which nobody waits. MPI itself may exchange messages for it, and so wait for a rank that waits in
/// the run.
int without_data(MPI_Comm comm, Form form);

/// A collective that MPI executes: its members meet, MPI executes it, and they wait as long as its messages take.
struct SoftwareCollective {
  Pattern pattern = Pattern::none;
  Reason reason = Reason::not_in_network;
  const char* detail = "";
  std::uint64_t bytes = 0;
  int root = 0;
  std::vector<ListEntry> list{};
};
int in_software(Native native, MPI_Comm comm, const SoftwareCollective& collective, Form form);

/// Where this rank is. `apart`: on an intercommunicator or one that is not followed, whose arguments are not looked at.
struct OwnRank {
  explicit OwnRank(MPI_Comm comm);
  int rank = 0;
  int size = 0;
  bool apart = true;
};
/// One there.
int apart(Native native, MPI_Comm comm, Form form);

/// One on a communicator that the run does not follow.
int unfollowed(Native native, Form form);

/// Why a collective on a communicator is not in the network, where it is not; `against` is what speaks against it
/// already. A persistent one gets its own communicator.
Reason outside_network(CommunicatorInfo& communicator, spec::Collective collective, Form& form,
                       Reason against = Reason::none);

/// True of a root that MPI refuses.
inline bool refused(int root, const CommunicatorInfo& communicator) {
  return root < 0 || root >= communicator.size;
}

/// Waits for the other members, so that none blocks in MPI for another that waits in the run.
void meet(const CommunicatorInfo& communicator);

namespace on {

int Barrier(Native native, MPI_Comm comm, Form form = {});

}  // namespace on
}  // namespace thalweg::mpi
