// SPDX-License-Identifier: Apache-2.0
/* What an MPI program may tell Thalweg. Needs nothing but this header; without Thalweg it does nothing. */
#ifndef THALWEG_MPI_H
#define THALWEG_MPI_H

#include <dlfcn.h>
#include <mpi.h>

/* The switches' operator `name` (thalweg_operator.hpp, `thalweg run --operators`) does what `op`, which MPI_Op_create made,
 * does with two elements. Reductions with it are then computed in the network, of any datatype whose elements are packed
 * elements of the operator. All ranks call this alike. Returns 1 if it is so; 0 where the run has no such operator, or `op`
 * does not commute: MPI computes it, as before. */
static inline int Thalweg_Op_in_network(MPI_Op op, const char* name) {
  typedef int (*function)(MPI_Op, const char*);
  void* all = dlopen(0, RTLD_LAZY);
  function found = all ? (function)dlsym(all, "thalweg_name_operation") : 0;
  int in_network = found ? found(op, name) : 0;
  if (all) dlclose(all);
  return in_network;
}

#endif
