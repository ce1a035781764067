// SPDX-License-Identifier: Apache-2.0
// Intercommunicators: the leaders of the two groups synchronize, each group learns the remote group's members from its leader, and
// MPI executes its part when all members of both have called. So no rank blocks in MPI for a rank that is later in virtual time.
#pragma once

#include "mpi/interposer/software.hpp"

namespace thalweg::mpi::on {

int Intercomm_create(Native native, MPI_Comm local, int leader, MPI_Comm peer, int remote_leader, int tag,
                     MPI_Comm* made);
int Intercomm_create_from_groups(Native native, MPI_Group local, int leader, MPI_Group remote, int remote_leader,
                                 const char* tag, MPI_Comm* made);

}  // namespace thalweg::mpi::on
