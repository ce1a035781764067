// SPDX-License-Identifier: Apache-2.0
/* Common parts of the applications: parsing and checking of the command line, start and end. */
#ifndef THALWEG_APPS_PROGRAM_H
#define THALWEG_APPS_PROGRAM_H

#include <stddef.h>

/* A command-line option: letter, destination and range of its value. */
struct option_of {
  char letter;
  int* value;
  int smallest, largest;
};

/* Starts MPI and reads the options. -h prints `usage` and exits with 0, an invalid command line exits with 2. */
void start(int* argc, char*** argv, const char* usage, const struct option_of* options, int count);

/* Rank 0 prints one line, then all ranks exit with 2. All ranks must call it. */
void refuse(const char* format, ...);

/* Ends MPI and returns the exit status: 0 if `right`, which is the same on all ranks, else 1. */
int finish(int right);

/* Allocates zeroed memory; aborts the program on failure. */
void* zeros(size_t count, size_t size);

/* Sum and maximum over all ranks. */
double sum_of(double own);
double largest_of(double own);

#endif
