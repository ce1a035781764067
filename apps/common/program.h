// SPDX-License-Identifier: Apache-2.0
/* What every application does alike: it takes numbers from the command line, and refuses what it cannot use. */
#ifndef THALWEG_APPS_PROGRAM_H
#define THALWEG_APPS_PROGRAM_H

#include <stddef.h>

/* One option: a letter, where its value goes, and the values that it may have. */
struct option_of {
  char letter;
  int* value;
  int smallest, largest;
};

/* Starts MPI and reads the options; -h prints `usage` and ends the program with 0, a wrong command line ends it with 2. */
void start(int* argc, char*** argv, const char* usage, const struct option_of* options, int count);

/* One line from rank 0, then all ranks end with 2. Every rank has to call it. */
void refuse(const char* format, ...);

/* Ends MPI; 0 where `right` (the same on all ranks), 1 where not: what main returns. */
int finish(int right);

/* Memory that is there, zeroed; else the program ends. */
void* zeros(size_t count, size_t size);

/* The sum of what all ranks give, and the largest. */
double sum_of(double own);
double largest_of(double own);

#endif
