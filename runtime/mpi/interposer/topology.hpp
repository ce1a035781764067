// SPDX-License-Identifier: Apache-2.0
// Topologies of communicators: the neighbours of each rank.
#pragma once

#include <vector>

#include "mpi/interposer/request.hpp"

namespace thalweg::mpi {

/// Destinations of a neighbourhood's messages, in the order of the topology.
std::vector<int> neighbours_out(MPI_Comm comm);

namespace on {

/// Tells each rank its neighbours, ordered by the rank that names an edge and by that rank's order. MPICH (up to 5.0.2) leaves
/// the order to chance, and finds wrong neighbours over libfabric's TCP: it probes for a message from any rank, and receives another.
int Dist_graph_create(Native native, MPI_Comm parent, int count, const int* sources, const int* degrees,
                      const int* destinations, const int* weights, MPI_Info info, int reorder, MPI_Comm* made);

}  // namespace on
}  // namespace thalweg::mpi
