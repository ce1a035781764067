// SPDX-License-Identifier: Apache-2.0
/* Hints from an MPI program to Thalweg. The header needs no library; without Thalweg it has no effect. */
#ifndef THALWEG_MPI_H
#define THALWEG_MPI_H

#include <dlfcn.h>
#include <mpi.h>

/* Declares that `op`, created by MPI_Op_create, is equivalent to the switches' operator `name` (thalweg_operator.hpp,
 * `thalweg run --operators`). Reductions with `op` are then computed in the network, for any datatype whose elements are
 * packed elements of the operator. All ranks must call this alike. Returns 1 on success; 0 if the run has no such operator
 * or `op` is not commutative, so that MPI still computes it. */
static inline int Thalweg_Op_in_network(MPI_Op op, const char* name) {
  typedef int (*function)(MPI_Op, const char*);
  void* all = dlopen(0, RTLD_LAZY);
  function found = all ? (function)dlsym(all, "thalweg_name_operation") : 0;
  int in_network = found ? found(op, name) : 0;
  if (all) dlclose(all);
  return in_network;
}

#endif
