// SPDX-License-Identifier: Apache-2.0
/* Partitioned messages without blocking waits: polled by MPI_Parrived, MPI_Test and MPI_Request_get_status, while
 * the other side also polls, or waits for a message. */
#include "check.h"

enum { PARTS = 2 };

static void send_parts(int waits) {
  int parts[PARTS] = {7, 8}, flag = 0;
  MPI_Request request;
  MPI_Psend_init(parts, PARTS, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  MPI_Pready(1, request);
  MPI_Pready(0, request);
  if (waits) MPI_Recv(&flag, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (flag = 0; !flag;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
}

static void receive_parts(int waits) {
  int parts[PARTS] = {-1, -1}, flag = 0;
  MPI_Request request;
  MPI_Precv_init(parts, PARTS, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  if (waits)
    while (!flag) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
  for (int i = 0; i < PARTS; i++)
    for (flag = 0; !flag;) MPI_Parrived(request, i, &flag);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  printf("got %d %d\n", parts[0], parts[1]);
  if (waits) MPI_Send(&flag, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
  MPI_Request_free(&request);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  for (int waits = 0; waits < 2; waits++) {
    if (rank == 0) send_parts(waits);
    if (rank == 1) receive_parts(waits);
  }
  return end();
}
