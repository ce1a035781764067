// SPDX-License-Identifier: Apache-2.0
/* Communicates until it is ended, with a child that does nothing; its memory is shared if ranks share a node. */
#include <mpi.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (fork() == 0) {
    prctl(PR_SET_NAME, "child of a rank");
    pause();
    _exit(0);
  }
  for (double value = 0;; value += 1) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    fprintf(stderr, "%g\n", value);
  }
}
