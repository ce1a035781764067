// SPDX-License-Identifier: Apache-2.0
/* Point to point, in all its forms: does every message arrive at the receive and with the status that MPI
 * prescribes? */
#include "check.h"

static int right, left;

static void blocking(void) {
  MPI_Status status;
  int mine = rank, got = -1, count = 0;
  if (rank % 2 == 0) MPI_Send(&mine, 1, MPI_INT, right, 5, MPI_COMM_WORLD);
  MPI_Recv(&got, 1, MPI_INT, left, 5, MPI_COMM_WORLD, &status);
  if (rank % 2 != 0) MPI_Send(&mine, 1, MPI_INT, right, 5, MPI_COMM_WORLD);
  CHECK(got == left && status.MPI_SOURCE == left && status.MPI_TAG == 5);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == 1);

  got = -1;
  MPI_Sendrecv(&mine, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &status);
  CHECK(got == left);
  got = rank;
  MPI_Sendrecv_replace(&got, 1, MPI_INT, right, 1, left, 1, MPI_COMM_WORLD, &status);
  CHECK(got == left);
  MPI_Sendrecv(&mine, 1, MPI_INT, rank == ranks - 1 ? MPI_PROC_NULL : right, 2, &got, 1, MPI_INT,
               rank == 0 ? MPI_PROC_NULL : left, 2, MPI_COMM_WORLD, &status);
  CHECK(status.MPI_SOURCE == (rank == 0 ? MPI_PROC_NULL : left));
  MPI_Sendrecv(&mine, 1, MPI_INT, rank, 3, &got, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &status);
  CHECK(got == rank && status.MPI_SOURCE == rank);
}

/* Every rank sends more than a library buffers before it receives; one of the requests is MPI's own. */
static void large(void) {
  const int count = 300000;
  double* out = malloc(count * sizeof *out);
  double* in = malloc(count * sizeof *in);
  MPI_Request requests[4];
  MPI_Status statuses[4];
  int unused = 0;
  for (int i = 0; i < count; i++) out[i] = rank + i;
  MPI_Send(out, count, MPI_DOUBLE, right, 6, MPI_COMM_WORLD);
  MPI_Irecv(in, count, MPI_DOUBLE, left, 7, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, count, MPI_DOUBLE, right, 7, MPI_COMM_WORLD, &requests[1]);
  requests[2] = MPI_REQUEST_NULL;
  MPI_Irecv(&unused, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[3]);
  memset(out, 0, count * sizeof *out); /* not allowed, but shows that the message was copied */
  MPI_Waitall(4, requests, statuses);
  CHECK(in[0] == left && in[count - 1] == left + count - 1);
  CHECK(statuses[0].MPI_SOURCE == left && statuses[3].MPI_SOURCE == MPI_PROC_NULL);
  for (int i = 0; i < 4; i++) CHECK(requests[i] == MPI_REQUEST_NULL);
  MPI_Recv(in, count, MPI_DOUBLE, left, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in[count - 1] == left + count - 1);
  free(out);
  free(in);
}

static void wildcards(void) {
  MPI_Status status;
  MPI_Request requests[2];
  int value = rank * 10, seen[128] = {0}, a = -1, b = -1;
  if (rank != 0) MPI_Ssend(&value, 1, MPI_INT, 0, rank, MPI_COMM_WORLD);
  for (int i = 1; rank == 0 && i < ranks; i++) {
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    CHECK(value == status.MPI_SOURCE * 10 && status.MPI_TAG == status.MPI_SOURCE && !seen[status.MPI_SOURCE]++);
  }
  /* Two receives that accept the same messages get them in the order of sending, in any order of waiting. */
  if (rank == 0) {
    MPI_Irecv(&a, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&b, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &requests[1]);
    MPI_Wait(&requests[1], &status);
    MPI_Wait(&requests[0], &status);
    CHECK(a == 1 && b == 2);
  } else if (rank == 1) {
    for (int i = 1; i <= 2; i++) MPI_Send(&i, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
  }
}

static void probes(void) {
  MPI_Status status;
  MPI_Message message;
  int flag = 0, count = 0, value = 0;
  if (rank == 1)
    for (int i = 0; i < 3; i++) {
      value = 70 + i;
      MPI_Send(&value, 1, MPI_INT, 0, 9 + i, MPI_COMM_WORLD);
    }
  if (rank != 0) return;
  while (!flag) MPI_Iprobe(1, 9, MPI_COMM_WORLD, &flag, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == 1);
  MPI_Probe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &status);
  MPI_Recv(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &status);
  CHECK(value == 70);
  MPI_Mprobe(MPI_ANY_SOURCE, 10, MPI_COMM_WORLD, &message, &status);
  MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
  CHECK(value == 71 && message == MPI_MESSAGE_NULL);
  for (flag = 0; !flag;) MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status);
  MPI_Request request;
  MPI_Imrecv(&value, 1, MPI_INT, &message, &request);
  MPI_Wait(&request, &status);
  CHECK(value == 72 && status.MPI_TAG == 11);
}

/* A persistent pair of a derived type that the program frees before it is used. */
static void persistent(void) {
  MPI_Datatype every_other;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  int out[8], in[8];
  MPI_Type_vector(4, 1, 2, MPI_INT, &every_other);
  MPI_Type_commit(&every_other);
  MPI_Send_init(out, 1, every_other, right, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(in, 1, every_other, left, 3, MPI_COMM_WORLD, &requests[1]);
  MPI_Type_free(&every_other);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 8; i++) {
      out[i] = rank * 100 + i + round;
      in[i] = -1;
    }
    int flag = 0;
    MPI_Startall(2, requests);
    while (!flag) MPI_Testall(2, requests, &flag, statuses);
    for (int i = 0; i < 8; i++) CHECK(in[i] == (i % 2 ? -1 : left * 100 + i + round));
    CHECK(requests[0] != MPI_REQUEST_NULL);
    MPI_Wait(&requests[1], &statuses[0]); /* inactive: returns at once, with an empty status */
    CHECK(statuses[0].MPI_SOURCE == MPI_ANY_SOURCE);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  CHECK(requests[0] == MPI_REQUEST_NULL);
}

static void arrays(void) {
  MPI_Request requests[3];
  MPI_Status status, statuses[3];
  int in[3] = {-1, -1, -1}, index, done = 0, flag, count, indices[3];
  for (int i = 0; i < 2; i++) MPI_Irecv(&in[i], 1, MPI_INT, left, 20 + i, MPI_COMM_WORLD, &requests[i]);
  MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]);
  for (int i = 0; i < 2; i++) {
    int value = 30 + i;
    MPI_Send(&value, 1, MPI_INT, right, 20 + i, MPI_COMM_WORLD);
  }
  for (MPI_Waitany(3, requests, &index, &status); index != MPI_UNDEFINED; MPI_Waitany(3, requests, &index, &status))
    done |= 1 << index;
  CHECK(done == 7 && in[0] == 30 && in[1] == 31);
  MPI_Testany(3, requests, &index, &flag, &status);
  CHECK(flag && index == MPI_UNDEFINED);

  for (int i = 0; i < 3; i++) MPI_Irecv(&in[i], 1, MPI_INT, left, 40 + i, MPI_COMM_WORLD, &requests[i]);
  for (int i = 2; i >= 0; i--) {
    int value = 50 + i;
    MPI_Send(&value, 1, MPI_INT, right, 40 + i, MPI_COMM_WORLD);
  }
  for (done = 0; done < 3; done += count) {
    MPI_Waitsome(3, requests, &count, indices, statuses);
    for (int i = 0; i < count; i++) CHECK(statuses[i].MPI_TAG == 40 + indices[i] && in[indices[i]] == 50 + indices[i]);
  }
}

static void rest(void) {
  MPI_Request request;
  MPI_Status status;
  int value = 0, flag = 0, tag_99 = rank;
  MPI_Irecv(&value, 1, MPI_INT, left, 98, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(flag);

  MPI_Isend(&tag_99, 1, MPI_INT, right, 99, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
  MPI_Irecv(&value, 1, MPI_INT, left, 99, MPI_COMM_WORLD, &request);
  for (flag = 0; !flag;) MPI_Request_get_status(request, &flag, &status);
  CHECK(request != MPI_REQUEST_NULL && status.MPI_SOURCE == left);
  MPI_Test(&request, &flag, &status);
  CHECK(flag && value == left && request == MPI_REQUEST_NULL);

  /* A message that is too long is an error of the receive. */
  int two[2] = {1, 2}, error;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Isend(two, 2, MPI_INT, right, 1, MPI_COMM_WORLD, &request);
  error = MPI_Recv(&value, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &status);
  MPI_Error_class(error, &error);
  CHECK(error == MPI_ERR_TRUNCATE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  error = MPI_Send(&value, 1, MPI_INT, ranks, 1, MPI_COMM_WORLD);
  MPI_Error_class(error, &error);
  CHECK(error == MPI_ERR_RANK);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  right = (rank + 1) % ranks;
  left = (rank + ranks - 1) % ranks;
  void (*const parts[])(void) = {blocking, large, wildcards, probes, persistent, arrays, rest};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    parts[i]();
    MPI_Barrier(MPI_COMM_WORLD); /* a wildcard of one part must not match messages of the next */
  }
  return end();
}
