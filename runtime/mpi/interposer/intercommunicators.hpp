// SPDX-License-Identifier: Apache-2.0
// Intercommunicators: the leaders of the two groups meet, each group learns from its leader whom the other one has, and MPI makes
// its part when all members of both have come. So none of them blocks in MPI on ranks that virtual time has yet to bring there.
#pragma once

#include "mpi/interposer/software.hpp"

namespace thalweg::mpi::on {

int Intercomm_create(Native native, MPI_Comm local, int leader, MPI_Comm peer, int remote_leader, int tag,
                     MPI_Comm* made);
int Intercomm_create_from_groups(Native native, MPI_Group local, int leader, MPI_Group remote, int remote_leader,
                                 const char* tag, MPI_Comm* made);

}  // namespace thalweg::mpi::on
