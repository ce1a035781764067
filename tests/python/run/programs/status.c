// SPDX-License-Identifier: Apache-2.0
/* MPI 4.1's status of several requests, which remain unchanged: the fabric's, MPI's own, inactive ones and none. */
#include "check.h"

enum { COLLECTIVE, MESSAGE, PERSISTENT, NATIVE, NONE, ALL };

static int no_query(void* state, MPI_Status* status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_INT, 3);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = status->MPI_TAG = 77;
  return MPI_SUCCESS;
}
static int nothing(void* state) {
  (void)state;
  return MPI_SUCCESS;
}
static int not_cancelled(void* state, int complete) {
  (void)state, (void)complete;
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  MPI_Request requests[ALL];
  MPI_Status statuses[ALL], status;
  int flag, index, count, indices[ALL], sum = 0, got = 0, number, elements;
  begin(&argc, &argv);
  const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;

  requests[PERSISTENT] = requests[NONE] = MPI_REQUEST_NULL;
  MPI_Request_get_status_all(0, requests, &flag, statuses);
  CHECK(flag);
  MPI_Request_get_status_any(1, &requests[NONE], &index, &flag, &status);
  CHECK(flag && index == MPI_UNDEFINED && status.MPI_SOURCE == MPI_ANY_SOURCE);
  MPI_Request_get_status_some(1, &requests[NONE], &count, indices, statuses);
  CHECK(count == MPI_UNDEFINED);

  MPI_Recv_init(&number, 1, MPI_INT, left, 9, MPI_COMM_WORLD, &requests[PERSISTENT]);
  MPI_Request_get_status_any(ALL - PERSISTENT - 2, &requests[PERSISTENT], &index, &flag, &status);
  CHECK(flag && index == MPI_UNDEFINED);

  MPI_Grequest_start(no_query, nothing, not_cancelled, NULL, &requests[NATIVE]);
  MPI_Irecv(&got, 1, MPI_INT, left, 5, MPI_COMM_WORLD, &requests[MESSAGE]);
  MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[COLLECTIVE]);

  do MPI_Request_get_status_any(ALL, requests, &index, &flag, &status);
  while (!flag);
  CHECK(index == COLLECTIVE && sum == ranks * (ranks - 1) / 2);
  MPI_Request_get_status_all(ALL, requests, &flag, statuses);
  CHECK(!flag);
  MPI_Request_get_status_some(ALL, requests, &count, indices, statuses);
  CHECK(count == 1 && indices[0] == COLLECTIVE);

  MPI_Barrier(MPI_COMM_WORLD); /* no message before this */
  MPI_Send(&rank, 1, MPI_INT, right, 5, MPI_COMM_WORLD);
  do MPI_Request_get_status_some(ALL, requests, &count, indices, statuses);
  while (count < 2);
  CHECK(count == 2 && indices[0] + indices[1] == COLLECTIVE + MESSAGE);
  const MPI_Status* of_message = &statuses[indices[1] == MESSAGE];
  MPI_Get_count(of_message, MPI_INT, &elements);
  CHECK(of_message->MPI_SOURCE == left && of_message->MPI_TAG == 5 && elements == 1 && got == left);
  MPI_Request_get_status_all(ALL, requests, &flag, MPI_STATUSES_IGNORE);
  CHECK(!flag);

  MPI_Grequest_complete(requests[NATIVE]);
  MPI_Request_get_status_all(ALL, requests, &flag, statuses);
  CHECK(flag && statuses[NATIVE].MPI_TAG == 77 && statuses[MESSAGE].MPI_TAG == 5);
  CHECK(statuses[PERSISTENT].MPI_SOURCE == MPI_ANY_SOURCE && statuses[NONE].MPI_SOURCE == MPI_ANY_SOURCE);
  MPI_Request_get_status_some(ALL, requests, &count, indices, MPI_STATUSES_IGNORE);
  CHECK(count == 3);

  for (int i = 0; i < NONE; i++) CHECK(requests[i] != MPI_REQUEST_NULL);
  MPI_Waitall(ALL, requests, MPI_STATUSES_IGNORE);
  MPI_Request_free(&requests[PERSISTENT]);
  return end();
}
