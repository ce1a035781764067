// SPDX-License-Identifier: Apache-2.0
#include "mpi/interposer/software.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

namespace thalweg::mpi {

std::vector<int> neighbours_out(MPI_Comm comm) {
  int kind = MPI_UNDEFINED;
  PMPI_Topo_test(comm, &kind);
  std::vector<int> out;
  if (kind == MPI_CART) {
    int dimensions = 0;
    PMPI_Cartdim_get(comm, &dimensions);
    for (int d = 0; d < dimensions; ++d) {
      int below = 0, above = 0;
      PMPI_Cart_shift(comm, d, 1, &below, &above);
      out.insert(out.end(), {below, above});
    }
  } else if (kind == MPI_GRAPH) {
    int count = 0;
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Graph_neighbors_count(comm, rank, &count);
    out.resize(static_cast<std::size_t>(count));
    PMPI_Graph_neighbors(comm, rank, count, out.data());
  } else if (kind == MPI_DIST_GRAPH) {
    int in = 0, count = 0, weighted = 0;
    PMPI_Dist_graph_neighbors_count(comm, &in, &count, &weighted);
    out.resize(static_cast<std::size_t>(count));
    std::vector<int> sources(static_cast<std::size_t>(in)), in_weights(sources.size()), out_weights(out.size());
    PMPI_Dist_graph_neighbors(comm, in, sources.data(), in_weights.data(), count, out.data(), out_weights.data());
  }
  return out;
}

Origin tagged(int tag, MPI_Comm parent) {
  const CommunicatorInfo* communicator = known(parent);
  return {communicator == nullptr ? 0 : communicator->number, static_cast<std::uint64_t>(tag)};
}

Origin tagged(const char* tag) {
  return {0, std::hash<std::string_view>{}(tag)};
}

namespace on {

int Create(Native native, MPI_Comm parent, MPI_Comm* made, const char* function) {
  CommunicatorInfo* communicator = known(parent);
  if (communicator == nullptr) return Create_apart(native, made, {}, function);
  const Origin origin = next_on(*communicator);
  meet(*communicator);
  const int error = process().natively(native);
  if (error == MPI_SUCCESS) adopt(*made, origin, function);
  return error;
}

int Comm_dup(Native native, MPI_Comm parent, MPI_Comm* made) {
  CommunicatorInfo* communicator = known(parent);
  if (communicator == nullptr) return Create_apart(native, made, {}, "MPI_Comm_dup");
  // Its members are known: that all are told of it at once is their meeting, too.
  const CommunicatorInfo twin = twin_of(*communicator, "MPI_Comm_dup");
  const int error = process().natively(native);
  return error == MPI_SUCCESS ? attach(*made, twin) : error;
}

/// Ranks share memory where they share a node of the cluster. Each may want to be in no part.
int Comm_split_type(Native native, MPI_Comm parent, int type, int key, MPI_Comm* made) {
  const auto split = [&] {
    int shared = type == MPI_COMM_TYPE_SHARED, any = 0, between = 0;
    PMPI_Comm_test_inter(parent, &between);
    // Between two groups each hears only of the other one, and so of its own from that.
    for (int step = 0; step <= between; ++step) {
      if (const int error = PMPI_Allreduce(&shared, &any, 1, MPI_INT, MPI_MAX, parent)) return error;
      shared = std::max(shared, any);
    }
    if (!shared) return native();
    return PMPI_Comm_split(parent, type == MPI_UNDEFINED ? MPI_UNDEFINED : process().node(), key, made);
  };
  return Create(process().joined() ? Native(split) : native, parent, made, "MPI_Comm_split_type");
}

int Create_apart(Native native, MPI_Comm* made, Origin origin, const char* function) {
  const int error = process().outside(native);
  if (error == MPI_SUCCESS) adopt(*made, origin, function);
  return error;
}

int Create_of(Native native, MPI_Group group, MPI_Comm* made, Origin origin, const char* function) {
  if (!process().joined() || group == MPI_GROUP_NULL) return native();
  CommunicatorInfo info;
  PMPI_Group_rank(group, &info.rank);
  PMPI_Group_size(group, &info.size);
  if (info.rank == MPI_UNDEFINED) return native();
  info.members = info.peers = in_world(group);
  if (std::ranges::find(info.members, static_cast<std::uint32_t>(MPI_UNDEFINED)) != info.members.end())
    return process().outside(native);
  note_creation(info, process().wait(post_creation(info, origin, function, Reason::none)));
  const int error = process().natively(native);
  return error == MPI_SUCCESS ? attach(*made, info) : error;
}

int Comm_idup(Native native, MPI_Comm parent, MPI_Comm* made, MPI_Request* request) {
  CommunicatorInfo* communicator = known(parent);
  const int error = process().natively(native);
  if (communicator == nullptr || error != MPI_SUCCESS) return error;
  // All members have called it when its creation is replied to: nobody has to wait for it before.
  auto wrapped = std::make_unique<Request>();
  auto info = std::make_shared<CommunicatorInfo>(*communicator);
  info->created = 0;
  wrapped->communicator = parent;
  wrapped->native = *request;
  wrapped->post = [info, origin = next_on(*communicator)] {
    return post_creation(*info, origin, "MPI_Comm_idup", Reason::none);
  };
  wrapped->finish = [info](const Reply& reply) {
    note_creation(*info, reply);
    return Outcome{};
  };
  // Until it is made MPI may block for the others in whatever call lets it get on.
  process().begin_native();
  wrapped->after_native = [info, made] {
    process().end_native();
    return attach(*made, *info);
  };
  *request = make_request(std::move(wrapped));
  return MPI_SUCCESS;
}

int Meet(Native native, MPI_Comm comm) {
  const CommunicatorInfo* communicator = known(comm);
  if (communicator == nullptr) return process().outside(native);
  meet(*communicator);
  return process().natively(native);
}

int Outside(Native native) {
  return process().outside(native);
}

int Aside(Native native) {
  return process().aside(native);
}

/// What the others did before a collective of the fabric is in MPI's queues after it, which a look of MPI need not empty.
int Win_test(Native native, const int* flag) {
  constexpr int kLooks = 64;
  return process().aside([&] {
    int error = native();
    for (int look = 1; look < kLooks && error == MPI_SUCCESS && *flag == 0; ++look) error = native();
    return error;
  });
}

}  // namespace on
}  // namespace thalweg::mpi
