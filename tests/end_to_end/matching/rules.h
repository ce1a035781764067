// SPDX-License-Identifier: Apache-2.0
/* MPI's rules of matching and order, each as a program that shows which ranks matched. A rule is legal MPI in which
 * ranks make calls in different orders; its output must be the same with any MPI. */
#pragma once

#include <mpi.h>

extern int rank, ranks;

/* Prints a line of this rank at the end of the rule, after the lines of the lower ranks. */
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));

/* Reports whether all members of a communicator identify it by this number, in a collective and in a message. */
void show(const char* name, MPI_Comm comm, int number);

/* A copy of the world, and its halves: the lower ranks are half 0. */
MPI_Comm copy_of_world(void);
MPI_Comm half_of_world(void);
int in_upper_half(void);
/* Between the two halves. */
MPI_Comm between_halves(int tag);

void free_all(int count, MPI_Comm* comms);

/* True if a rank uses the other order. */
static inline int otherwise(void) {
  return rank % 2;
}

struct rule {
  const char* name;
  void (*run)(void);
};
extern const struct rule creation[], sessions[], intercommunicators[], persistent[], nonblocking[], messages[],
    neighbours[], threads[];
