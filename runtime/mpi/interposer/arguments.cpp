// SPDX-License-Identifier: Apache-2.0
#include "mpi/interposer/arguments.hpp"

namespace thalweg::mpi {
namespace {

MPI_Comm asked = MPI_COMM_NULL;

/// A communicator on which MPI checks an argument without calling the program's error handler.
MPI_Comm quiet() {
  if (asked == MPI_COMM_NULL) {
    PMPI_Comm_dup(own_communicator, &asked);
    PMPI_Comm_set_errhandler(asked, MPI_ERRORS_RETURN);
  }
  return asked;
}

}  // namespace

bool usable(MPI_Datatype type) {
  int bytes = 0;
  return type != MPI_DATATYPE_NULL && PMPI_Pack_size(0, type, quiet(), &bytes) == MPI_SUCCESS;
}

bool absent(const void* buffer, MPI_Count count, MPI_Datatype type) {
  if (count <= 0) return false;
  if (buffer != nullptr) return buffer == MPI_IN_PLACE;
  MPI_Count begin = 0, extent = 0;
  PMPI_Type_get_true_extent_x(type, &begin, &extent);
  return begin == 0 && extent > 0;  // a type with absolute addresses has another lower bound
}

int error_in(const void* buffer, MPI_Count count, MPI_Datatype type) {
  if (count < 0) return MPI_ERR_COUNT;
  if (!usable(type)) return MPI_ERR_TYPE;
  return absent(buffer, count, type) ? MPI_ERR_BUFFER : MPI_SUCCESS;
}

int largest_tag() {
  static const int largest = [] {
    void* value = nullptr;
    int found = 0;
    PMPI_Comm_get_attr(own_communicator == MPI_COMM_SELF ? MPI_COMM_WORLD : own_communicator, MPI_TAG_UB, &value,
                       &found);
    return found ? *static_cast<int*>(value) : INT_MAX;
  }();
  return largest;
}

bool aliased(const void* send, const void* receive) {
  if (send != receive || send == nullptr || send == MPI_IN_PLACE) return false;
  static const bool checked = [] {
    int value = 0;
    return PMPI_Allreduce(&value, &value, 1, MPI_INT, MPI_SUM, quiet()) != MPI_SUCCESS;
  }();
  return checked;
}

void forget_arguments() {
  if (asked != MPI_COMM_NULL) PMPI_Comm_free(&asked);
}

}  // namespace thalweg::mpi
