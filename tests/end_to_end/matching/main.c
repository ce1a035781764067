// SPDX-License-Identifier: Apache-2.0
/* rules [NAME ...]: runs these rules, or all, one after another. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules.h"

enum { TEXT = 1 << 16 };

int rank, ranks;
static char text[TEXT];
static size_t written;
static MPI_Comm apart; /* the rules' wildcard receives do not match the printed lines */

void say(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  written += (size_t)snprintf(text + written, TEXT - written, "  rank %d: ", rank);
  written += (size_t)vsnprintf(text + written, TEXT - written, format, arguments);
  written += (size_t)snprintf(text + written, TEXT - written, "\n");
  va_end(arguments);
}

void show(const char* name, MPI_Comm comm, int number) {
  int me, size, between, bounds[2] = {number, -number}, left = -1;
  if (comm == MPI_COMM_NULL) return say("%s: in none", name);
  MPI_Comm_rank(comm, &me);
  MPI_Comm_test_inter(comm, &between);
  if (between)
    MPI_Comm_remote_size(comm, &size);
  else
    MPI_Comm_size(comm, &size);
  int seen[2];
  MPI_Allreduce(bounds, seen, 2, MPI_INT, MPI_MAX, comm);
  if (!between)
    MPI_Sendrecv(&number, 1, MPI_INT, (me + 1) % size, 5, &left, 1, MPI_INT, (me + size - 1) % size, 5, comm,
                 MPI_STATUS_IGNORE);
  else if (me == 0)
    MPI_Sendrecv(&number, 1, MPI_INT, 0, 5, &left, 1, MPI_INT, 0, 5, comm, MPI_STATUS_IGNORE);
  say("%s: number %d of %d%s, all call it %d to %d, the neighbour %d", name, me, size, between ? " others" : "",
      -seen[1], seen[0], left);
}

MPI_Comm copy_of_world(void) {
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  return copy;
}

int in_upper_half(void) {
  return rank >= ranks / 2;
}

MPI_Comm half_of_world(void) {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, in_upper_half(), rank, &half);
  return half;
}

MPI_Comm between_halves(int tag) {
  MPI_Comm half = half_of_world(), between;
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, in_upper_half() ? 0 : ranks / 2, tag, &between);
  MPI_Comm_free(&half);
  return between;
}

void free_all(int count, MPI_Comm* comms) {
  for (int i = 0; i < count; i++)
    if (comms[i] != MPI_COMM_NULL) MPI_Comm_free(&comms[i]);
}

static void print(void) {
  if (rank != 0) {
    MPI_Send(text, (int)written, MPI_CHAR, 0, 0, apart);
    return;
  }
  fwrite(text, 1, written, stdout);
  for (int from = 1; from < ranks; from++) {
    MPI_Status status;
    int length;
    MPI_Recv(text, TEXT, MPI_CHAR, from, 0, apart, &status);
    MPI_Get_count(&status, MPI_CHAR, &length);
    fwrite(text, 1, (size_t)length, stdout);
  }
  fflush(stdout);
}

static int wanted(const char* name, int count, char** names) {
  for (int i = 1; i < count; i++)
    if (strcmp(name, names[i]) == 0) return 1;
  return count == 1;
}

int main(int argc, char** argv) {
  static const struct rule* const subjects[] = {creation,    sessions, intercommunicators, persistent,
                                                nonblocking, messages, neighbours,         threads};
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_dup(MPI_COMM_WORLD, &apart);
  for (size_t s = 0; s < sizeof subjects / sizeof *subjects; s++)
    for (const struct rule* rule = subjects[s]; rule->name; rule++) {
      if (!wanted(rule->name, argc, argv)) continue;
      if (rank == 0) printf("%s\n", rule->name);
      fflush(stdout);
      written = 0;
      rule->run();
      print();
      MPI_Barrier(apart); /* no rule receives messages of the next */
    }
  MPI_Comm_free(&apart);
  MPI_Finalize();
  return 0;
}
