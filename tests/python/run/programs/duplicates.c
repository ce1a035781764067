// SPDX-License-Identifier: Apache-2.0
/* Duplicates of two parents at once, which each rank begins in a random order, between other collectives on the same
 * parents: on each parent the order is the same. MPICH alone (5.0.2) hangs in some runs. duplicates [SEED] */
#include "check.h"

enum { PARENTS = 4, TURNS = 12, STEPS = 3 };

static unsigned long state;

static unsigned draw(unsigned below) {
  state = state * 6364136223846793005UL + 1442695040888963407UL;
  return (unsigned)(state >> 33) % below;
}

static MPI_Comm parents[PARENTS];

/* The last parent has the ranks of the same parity; every other has its ranks in reverse order. */
static int backwards(int parent) {
  return parent % 2;
}
static int member_at(int parent, int place) {
  const int step = parent == PARENTS - 1 ? 2 : 1, first = parent == PARENTS - 1 ? rank % 2 : 0;
  const int size = (ranks - first + step - 1) / step;
  return first + step * (backwards(parent) ? size - 1 - place : place);
}

static void turn(const int* which) {
  MPI_Comm copies[2];
  MPI_Request requests[2][STEPS];
  int sent[2][2], got[2][2], done[2] = {0, 0}, one[2] = {1, 1000}, counted[2];
  for (int i = 0; i < 2; i++) sent[i][0] = rank + 1, sent[i][1] = 10 * rank + i;
  while (done[0] + done[1] < 2 * STEPS) {
    int i = draw(2);
    if (done[i] == STEPS) i = 1 - i;
    const MPI_Comm parent = parents[which[i]];
    MPI_Request* request = &requests[i][done[i]];
    if (done[i] == 0) MPI_Iallreduce(&sent[i][0], &got[i][0], 1, MPI_INT, MPI_SUM, parent, request);
    if (done[i] == 1) MPI_Comm_idup(parent, &copies[i], request);
    if (done[i] == 2) MPI_Iscan(&sent[i][1], &got[i][1], 1, MPI_INT, MPI_MAX, parent, request);
    done[i]++;
  }
  MPI_Waitall(2 * STEPS, &requests[0][0], MPI_STATUSES_IGNORE);
  const int first = draw(2);
  for (int k = 0; k < 2; k++) {
    const int i = first ^ k;
    MPI_Iallreduce(&one[i], &counted[i], 1, MPI_INT, MPI_SUM, copies[i], &requests[i][0]);
  }
  for (int i = 0; i < 2; i++) MPI_Wait(&requests[i][0], MPI_STATUS_IGNORE);
  for (int i = 0; i < 2; i++) {
    int size, here, there, same, token, left = -1;
    MPI_Comm_size(parents[which[i]], &size);
    MPI_Comm_rank(parents[which[i]], &here);
    MPI_Comm_rank(copies[i], &there);
    MPI_Comm_compare(parents[which[i]], copies[i], &same);
    CHECK(here == there && same == MPI_CONGRUENT && counted[i] == size * one[i]);
    token = which[i] * 100 + rank;
    MPI_Sendrecv(&token, 1, MPI_INT, (here + 1) % size, 0, &left, 1, MPI_INT, MPI_ANY_SOURCE, 0, copies[i],
                 MPI_STATUS_IGNORE);
    const int last = member_at(which[i], (here + size - 1) % size),
              greatest = backwards(which[i]) ? member_at(which[i], 0) : rank;
    int sum = 0;
    for (int place = 0; place < size; place++) sum += member_at(which[i], place) + 1;
    CHECK(got[i][0] == sum && got[i][1] == 10 * greatest + i && left == which[i] * 100 + last);
  }
  MPI_Comm_free(&copies[first]);
  MPI_Comm_free(&copies[1 - first]);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  state = (argc > 1 ? strtoul(argv[1], NULL, 10) : 12345) + 977 * rank;
  for (int i = 0; i < 5; i++) draw(2);
  for (int k = 0; k < PARENTS; k++)
    MPI_Comm_split(MPI_COMM_WORLD, k == PARENTS - 1 ? rank % 2 : 0, backwards(k) ? -rank : rank, &parents[k]);
  for (int number = 0; number < TURNS; number++) {
    const int first = number % PARENTS, second = (number + 1 + number / PARENTS) % PARENTS;
    const int which[2] = {first, first == second ? (second + 1) % PARENTS : second};
    turn(which);
  }
  for (int k = 0; k < PARENTS; k++) MPI_Comm_free(&parents[k]);
  return end();
}
