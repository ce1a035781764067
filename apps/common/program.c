// SPDX-License-Identifier: Apache-2.0
#include "program.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char* name = "program";

static int own_rank(void) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

void refuse(const char* format, ...) {
  if (own_rank() == 0) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
  }
  MPI_Finalize();
  exit(2);
}

void start(int* argc, char*** argv, const char* usage, const struct option_of* options, int count) {
  char letters[64];
  int used = 0;
  MPI_Init(argc, argv);
  name = strrchr((*argv)[0], '/') ? strrchr((*argv)[0], '/') + 1 : (*argv)[0];
  for (int i = 0; i < count; ++i) letters[used++] = options[i].letter, letters[used++] = ':';
  strcpy(letters + used, "h");
  opterr = 0;
  for (int letter; (letter = getopt(*argc, *argv, letters)) != -1;) {
    const struct option_of* option = options;
    if (letter == 'h') {
      if (own_rank() == 0) fputs(usage, stdout);
      MPI_Finalize();
      exit(0);
    }
    if (letter == '?') refuse("option -%c is unknown or wants a value; -h lists the options", optopt);
    while (option->letter != letter) ++option;
    char* end;
    const long value = strtol(optarg, &end, 10);
    if (end == optarg || *end || value < option->smallest || value > option->largest)
      refuse("-%c wants a number from %d to %d, not '%s'", letter, option->smallest, option->largest, optarg);
    *option->value = (int)value;
  }
  if (optind < *argc) refuse("'%s' is no option; -h lists the options", (*argv)[optind]);
}

int finish(int right) {
  MPI_Finalize();
  return right ? 0 : 1;
}

void* zeros(size_t count, size_t size) {
  void* memory = calloc(count ? count : 1, size);
  if (!memory) {
    fprintf(stderr, "%s: rank %d has no memory for %zu values\n", name, own_rank(), count);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  return memory;
}

double sum_of(double own) {
  double all;
  MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

double largest_of(double own) {
  double all;
  MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}
