// SPDX-License-Identifier: Apache-2.0
#include "mpi/interposer/topology.hpp"

#include <algorithm>
#include <numeric>

#include "mpi/interposer/software.hpp"

namespace thalweg::mpi {
namespace {

struct Edge {
  int source, destination, weight;
};
constexpr int kInts = sizeof(Edge) / sizeof(int);

/// The edges that a rank specifies. `wrong`: MPI rejects the arguments.
struct Named {
  Named(int ranks, int count, const int* sources, const int* degrees, const int* destinations, const int* weights) {
    const auto is_rank = [&](int rank) { return rank >= 0 && rank < ranks; };
    wrong = count < 0 || (count > 0 && (sources == nullptr || degrees == nullptr));
    for (int node = 0, next = 0; node < count && !wrong; ++node) {
      wrong = !is_rank(sources[node]) || degrees[node] < 0 ||
              (degrees[node] > 0 && (destinations == nullptr || weights == nullptr));
      for (int i = 0; !wrong && i < degrees[node]; ++i, ++next) {
        wrong = !is_rank(destinations[next]);
        edges.push_back({sources[node], destinations[next], weights == MPI_UNWEIGHTED ? 0 : weights[next]});
      }
    }
  }
  std::vector<Edge> edges;
  bool wrong = false;
};

/// All edges from or to this rank, ordered by the rank that specifies them.
int exchange(MPI_Comm comm, int ranks, const std::vector<Edge>& named, std::vector<Edge>* own) {
  const auto size = static_cast<std::size_t>(ranks);
  std::vector<std::vector<Edge>> parts(size);
  for (const Edge& edge : named) {
    parts[static_cast<std::size_t>(edge.source)].push_back(edge);
    if (edge.destination != edge.source) parts[static_cast<std::size_t>(edge.destination)].push_back(edge);
  }
  std::vector<int> sent(size), received(size), sent_at(size), received_at(size);
  std::vector<Edge> all;
  for (std::size_t rank = 0; rank < size; ++rank) {
    sent[rank] = static_cast<int>(parts[rank].size()) * kInts;
    all.insert(all.end(), parts[rank].begin(), parts[rank].end());
  }
  if (const int error = PMPI_Alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, comm)) return error;
  std::exclusive_scan(sent.begin(), sent.end(), sent_at.begin(), 0);
  std::exclusive_scan(received.begin(), received.end(), received_at.begin(), 0);
  own->resize(static_cast<std::size_t>(received_at.back() + received.back()) / kInts);
  return PMPI_Alltoallv(all.data(), sent.data(), sent_at.data(), MPI_INT, own->data(), received.data(),
                        received_at.data(), MPI_INT, comm);
}

/// Incoming or outgoing neighbours of a rank, in MPI's form.
struct Side {
  void add(int rank, int weight) {
    ranks.push_back(rank);
    weights.push_back(weight);
  }
  [[nodiscard]] int count() const { return static_cast<int>(ranks.size()); }
  [[nodiscard]] const int* given(bool weighted) const {
    return !weighted ? MPI_UNWEIGHTED : weights.empty() ? MPI_WEIGHTS_EMPTY : weights.data();
  }
  std::vector<int> ranks, weights;
};

}  // namespace

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

int Dist_graph_create(Native native, MPI_Comm parent, int count, const int* sources, const int* degrees,
                      const int* destinations, const int* weights, MPI_Info info, int reorder, MPI_Comm* made) {
  const CommunicatorInfo* communicator = known(parent);
  if (communicator == nullptr) return Create_apart(native, made, {}, "MPI_Dist_graph_create");
  const int ranks = communicator->size;
  const Named named(ranks, count, sources, degrees, destinations, weights);
  if (named.wrong || communicator->between) return native();
  const auto create = [&] {
    std::vector<Edge> own;
    if (const int error = exchange(parent, ranks, named.edges, &own)) return error;
    Side in, out;
    for (const Edge& edge : own) {
      if (edge.destination == communicator->rank) in.add(edge.source, edge.weight);
      if (edge.source == communicator->rank) out.add(edge.destination, edge.weight);
    }
    const bool weighted = weights != MPI_UNWEIGHTED;
    return PMPI_Dist_graph_create_adjacent(parent, in.count(), in.ranks.data(), in.given(weighted), out.count(),
                                           out.ranks.data(), out.given(weighted), info, reorder, made);
  };
  return Create(create, parent, made, "MPI_Dist_graph_create");
}

}  // namespace on
}  // namespace thalweg::mpi
