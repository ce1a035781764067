#include "mpi/interposer/software.hpp"

#include <algorithm>

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

namespace on {

int Create(Native native, MPI_Comm parent, MPI_Comm* made, const char* function) {
  const CommunicatorInfo* communicator = known(parent);
  if (communicator == nullptr) return Create_apart(native, made, function);
  meet(*communicator);
  const int error = process().natively(native);
  if (error == MPI_SUCCESS) adopt(*made, function);
  return error;
}

/// Ranks share memory where they share a node of the cluster. Each may want to be in no part.
int Comm_split_type(Native native, MPI_Comm parent, int type, int key, MPI_Comm* made) {
  const auto split = [&] {
    int shared = type == MPI_COMM_TYPE_SHARED;
    if (const int error = PMPI_Allreduce(MPI_IN_PLACE, &shared, 1, MPI_INT, MPI_MAX, parent)) return error;
    if (!shared) return native();
    return PMPI_Comm_split(parent, type == MPI_UNDEFINED ? MPI_UNDEFINED : process().node(), key, made);
  };
  return Create(process().joined() ? Native(split) : native, parent, made, "MPI_Comm_split_type");
}

int Create_apart(Native native, MPI_Comm* made, const char* function) {
  const int error = process().outside(native);
  if (error == MPI_SUCCESS) adopt(*made, function);
  return error;
}

int Comm_idup(Native native, MPI_Comm parent, MPI_Comm* made, MPI_Request* request) {
  const CommunicatorInfo* communicator = known(parent);
  const int error = process().natively(native);
  if (communicator == nullptr || error != MPI_SUCCESS) return error;
  // All members have called it when its creation is replied to: nobody has to wait for it before.
  auto wrapped = std::make_unique<Request>();
  auto info = std::make_shared<CommunicatorInfo>(*communicator);
  wrapped->communicator = parent;
  wrapped->native = *request;
  wrapped->post = [info] { return post_creation(*info, "MPI_Comm_idup"); };
  wrapped->finish = [info](const Reply& reply) {
    note_creation(*info, reply);
    return Outcome{};
  };
  wrapped->after_native = [info, made] { return attach(*made, *info); };
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

}  // namespace on
}  // namespace thalweg::mpi
