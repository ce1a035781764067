// SPDX-License-Identifier: Apache-2.0
// Topologies of communicators: the neighbours of each rank.
#pragma once

#include <vector>

#include "mpi/interposer/request.hpp"

namespace thalweg::mpi {

/// Destinations of a neighbourhood collective, in the order of the topology.
std::vector<int> neighbours_out(MPI_Comm comm);

namespace on {

/// Sends each rank its neighbours, ordered by the rank that specifies an edge and by that rank's order. In MPICH (up to 5.0.2) the
/// order is random, and neighbours are wrong over libfabric's TCP: it probes for a message from any rank, and receives another.
int Dist_graph_create(Native native, MPI_Comm parent, int count, const int* sources, const int* degrees,
                      const int* destinations, const int* weights, MPI_Info info, int reorder, MPI_Comm* made);

}  // namespace on
}  // namespace thalweg::mpi
