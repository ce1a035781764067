// SPDX-License-Identifier: Apache-2.0
/* Rules that are easily forgotten: the statuses with an error, the contents of MPI_BOTTOM, the room for a buffered
 * send. small_print truncate | bsend: ends by that fatal error instead. */
#include "check.h"

enum { MARK = 12345, COUNT = 5 };

static void show_statuses(void) {
  int x = rank, flag = 0, index, count, indices[2];
  MPI_Status status = {.MPI_ERROR = MARK}, statuses[2] = {{.MPI_ERROR = MARK}, {.MPI_ERROR = MARK}};
  MPI_Request requests[2];
  MPI_Message message;
  const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  MPI_Sendrecv(&x, 1, MPI_INT, right, 1, &x, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &status);
  CHECK(status.MPI_ERROR == MARK);
  for (int way = 0; way < 8; way++) {
    MPI_Send(&x, 1, MPI_INT, right, 2, MPI_COMM_WORLD);
    if (way == 0) MPI_Recv(&x, 1, MPI_INT, left, 2, MPI_COMM_WORLD, &status);
    if (way == 1) MPI_Mprobe(left, 2, MPI_COMM_WORLD, &message, &status), MPI_Mrecv(&x, 1, MPI_INT, &message, &status);
    if (way == 2) MPI_Probe(left, 2, MPI_COMM_WORLD, &status);
    if (way == 1) continue;
    if (way != 0) MPI_Irecv(&x, 1, MPI_INT, left, 2, MPI_COMM_WORLD, &requests[0]);
    requests[1] = MPI_REQUEST_NULL;
    if (way == 2) MPI_Wait(&requests[0], &status);
    if (way == 3)
      while (!flag) MPI_Test(&requests[0], &flag, &status);
    if (way == 4) MPI_Waitany(2, requests, &index, &status);
    if (way == 5) MPI_Waitall(2, requests, statuses);
    if (way == 6) MPI_Waitsome(2, requests, &count, indices, statuses);
    if (way == 7)
      for (flag = 0; !flag;) MPI_Testall(2, requests, &flag, statuses);
    CHECK(status.MPI_ERROR == MARK && (statuses[0].MPI_ERROR == MARK || statuses[0].MPI_ERROR == MPI_SUCCESS));
  }
}

static void show_errors_of_several(void) {
  int one = 0, two[2] = {0}, sent[2] = {1, 2};
  MPI_Status statuses[2] = {{.MPI_ERROR = MARK}, {.MPI_ERROR = MARK}};
  MPI_Request requests[2];
  const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Irecv(&one, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(two, 2, MPI_INT, left, 4, MPI_COMM_WORLD, &requests[1]);
  MPI_Send(sent, 2, MPI_INT, right, 3, MPI_COMM_WORLD);
  MPI_Send(sent, 2, MPI_INT, right, 4, MPI_COMM_WORLD);
  int error = MPI_Waitall(2, requests, statuses), class, first;
  MPI_Error_class(error, &class);
  MPI_Error_class(statuses[0].MPI_ERROR, &first);
  printf("rank %d: in status %d, truncated %d\n", rank, class == MPI_ERR_IN_STATUS, first == MPI_ERR_TRUNCATE);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE); /* MPI may have left it pending */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void show_bottom(void) {
  static int values[4 * COUNT], taken[4 * COUNT];
  const int block = 1, left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  MPI_Aint address;
  MPI_Datatype type = MPI_INT, from, to;
  MPI_Get_address(values, &address);
  MPI_Type_create_struct(1, &block, &address, &type, &from);
  MPI_Type_commit(&from);
  MPI_Get_address(taken, &address);
  MPI_Type_create_struct(1, &block, &address, &type, &to);
  MPI_Type_commit(&to);
  for (int count = 1; count <= COUNT; count++) {
    for (int i = 0; i < 4 * COUNT; i++) values[i] = 100 * rank + i, taken[i] = -1;
    MPI_Sendrecv(MPI_BOTTOM, count, from, right, 6, MPI_BOTTOM, count, to, left, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank %d: %d at the bottom: %d %d %d\n", rank, count, taken[0], taken[count - 1], taken[count]);
    MPI_Bcast(MPI_BOTTOM, count, from, ranks - 1, MPI_COMM_WORLD);
    printf("rank %d: %d of the last: %d %d %d\n", rank, count, values[0], values[count - 1], values[count]);
  }
  MPI_Type_free(&from);
  MPI_Type_free(&to);
}

static int class_of(int error) {
  int class;
  MPI_Error_class(error, &class);
  return class;
}

static void show_buffers(void) {
  static char buffer[4000 + MPI_BSEND_OVERHEAD], message[5000];
  void* detached;
  int size, right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  MPI_Request request;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  printf("rank %d: without a buffer %d\n", rank,
         class_of(MPI_Bsend(message, 1, MPI_CHAR, right, 7, MPI_COMM_WORLD)) == MPI_ERR_BUFFER);
  MPI_Buffer_attach(buffer, sizeof buffer);
  printf("rank %d: too much %d %d\n", rank,
         class_of(MPI_Bsend(message, 5000, MPI_CHAR, right, 7, MPI_COMM_WORLD)) == MPI_ERR_BUFFER,
         class_of(MPI_Ibsend(message, 5000, MPI_CHAR, right, 7, MPI_COMM_WORLD, &request)) == MPI_ERR_BUFFER);
  CHECK(MPI_Bsend(message, 4000, MPI_CHAR, right, 7, MPI_COMM_WORLD) == MPI_SUCCESS);
  MPI_Recv(message, 4000, MPI_CHAR, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Buffer_detach(&detached, &size);
  printf("rank %d: detached %d of %d bytes\n", rank, detached == buffer, size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int x[2] = {0};
  if (argc > 1 && rank == 1 && strcmp(argv[1], "truncate") == 0)
    MPI_Sendrecv(x, 2, MPI_INT, 1, 0, x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (argc > 1 && rank == 1 && strcmp(argv[1], "bsend") == 0) MPI_Bsend(x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  show_statuses();
  show_errors_of_several();
  show_bottom();
  show_buffers();
  return end();
}
