// SPDX-License-Identifier: Apache-2.0
// Collectives: executed in the network if possible, otherwise by MPI itself, with the timing of software messages.
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

/// Call form of a collective: blocking, non-blocking, or persistent.
struct Form {
  MPI_Request* request = nullptr;
  bool persistent = false;
  /// For a persistent collective: its own communicator with its own row in the network, as ranks may start several
  /// persistent collectives in different orders, interleaved with others.
  std::shared_ptr<const CommunicatorInfo> own{};
};

/// A collective in the network's form. Buffers are contiguous: `fill` copies this rank's data into one of `send_bytes`,
/// `empty` copies the result out of one of `receive_bytes`. Both are called for each start of a persistent request, so
/// they outlive the call.
struct Offload {
  mpi_fpga::Operation operation{};
  std::uint64_t bytes = 0;  ///< of a block; in a v-form, of the largest block known to the rank
  std::uint64_t send_bytes = 0, receive_bytes = 0;
  std::function<int(std::byte*)> fill{};
  std::function<int(const std::byte*)> empty{};
  /// In a v-form, the blocks per rank if this rank sends, or receives, a block per rank.
  std::vector<mpi_fpga::Block> send_blocks{}, receive_blocks{};
};
int in_network(MPI_Comm comm, Offload offload, Form form);

/// A collective without data, which completes at once. It is not passed to MPI, which might exchange messages for it and
/// block for a rank that waits in the run.
int without_data(MPI_Comm comm, Form form);

/// A collective executed by MPI: the members synchronize, MPI executes it, and they wait for its messages' virtual time.
struct SoftwareCollective {
  Pattern pattern = Pattern::none;
  Reason reason = Reason::not_in_network;
  const char* detail = "";
  std::uint64_t bytes = 0;
  int root = 0;
  std::vector<ListEntry> list{};
};
int in_software(Native native, MPI_Comm comm, const SoftwareCollective& collective, Form form);

/// This rank's position in a communicator. `apart`: the communicator is an intercommunicator or not tracked, so its
/// arguments are not checked.
struct OwnRank {
  explicit OwnRank(MPI_Comm comm);
  int rank = 0;
  int size = 0;
  bool apart = true;
};
/// A collective on a communicator that is `apart`.
int apart(Native native, MPI_Comm comm, Form form);

/// A collective on a communicator that the run does not track.
int unfollowed(Native native, Form form);

/// Reason why a collective is not executed in the network, or none; `against` is a reason known already. Gives a
/// persistent collective its own communicator.
Reason outside_network(CommunicatorInfo& communicator, spec::Collective collective, Form& form,
                       Reason against = Reason::none);

/// True if MPI rejects the root.
inline bool refused(int root, const CommunicatorInfo& communicator) {
  return root < 0 || root >= communicator.size;
}

/// Synchronizes the members, so that none blocks in MPI for another that waits in the run.
void meet(const CommunicatorInfo& communicator);

namespace on {

int Barrier(Native native, MPI_Comm comm, Form form = {});

}  // namespace on
}  // namespace thalweg::mpi
