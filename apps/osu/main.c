// SPDX-License-Identifier: Apache-2.0
/* A benchmark of MPI's collectives and messages in the style of the OSU micro-benchmarks, which checks all results.
 *
 *   osu [options] [operation ...]      all: every operation; without one: barrier bcast reduce allreduce gather
 * allgather
 *
 * Exit status: 0 if all results were correct, 1 if not, 2 for an invalid command line. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "osu.h"

static const char usage[] =
    "usage: osu [options] [operation ...]\n"
    "operations: barrier bcast reduce allreduce gather allgather (these six are the default)\n"
    "            scatter alltoall scan exscan reduce_scatter reduce_scatter_block, for blocks of different sizes\n"
    "            gatherv scatterv allgatherv alltoallv alltoallw, between two ranks latency bandwidth;\n"
    "            collectives: all but these two; all\n"
    "  -f FORM      blocking (default), nonblocking or persistent\n"
    "  -c           measures how much the rank can compute meanwhile, in the other two forms\n"
    "  -m MIN:MAX   sizes in bytes, with K or M; each the double of the one before it (4:1M)\n"
    "  -i COUNT     repetitions of a size (100)\n"
    "  -x COUNT     repetitions before them that are not timed (10)\n"
    "  -b BYTES     what the repetitions of one size may hand over together; larger sizes are repeated less (64M)\n"
    "  -t TYPE      of reductions: float32 (default), float64, int32, int64\n"
    "  -o OP        of reductions: sum (default), min, max\n"
    "  -r RANK      root (0)\n"
    "  -p RANK      rank 0's peer in latency and bandwidth (1)\n";

static int own_rank;
static const char* const forms[] = {"blocking", "nonblocking", "persistent"};

/* Rank 0 prints one line, then all ranks exit. */
static void refuse(const char* format, ...) {
  if (own_rank == 0) {
    va_list arguments;
    va_start(arguments, format);
    fputs("osu: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
  }
  MPI_Finalize();
  exit(2);
}

void* allocate(size_t bytes) {
  void* memory = bytes == SIZE_MAX ? NULL : malloc(bytes ? bytes : 1);
  if (!memory) {
    fprintf(stderr, "osu: rank %d has no memory for its buffers\n", own_rank);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  return memory;
}

int repetitions(const struct plan* plan, size_t bytes) {
  const size_t fit = bytes ? plan->total / bytes : (size_t)plan->iterations;
  return fit < 1 ? 1 : fit < (size_t)plan->iterations ? (int)fit : plan->iterations;
}

/* Parses a number of bytes with suffix K, M or G; *end points after it. */
static size_t bytes_of(const char* text, const char** end) {
  char* stop;
  const unsigned long long value = strtoull(text, &stop, 10);
  unsigned shift = 0;
  if (stop != text && *text != '-') {
    shift = *stop == 'K' ? 10 : *stop == 'M' ? 20 : *stop == 'G' ? 30 : 0;
    *end = stop + (shift != 0);
  } else {
    *end = text;
  }
  return value > (SIZE_MAX >> shift) ? SIZE_MAX : (size_t)value << shift;
}

static int whole(const char* text, int smallest, int largest, char option) {
  char* end;
  const long value = strtol(text, &end, 10);
  if (end == text || *end || value < smallest || value > largest)
    refuse("-%c wants a number from %d to %d, not '%s'", option, smallest, largest, text);
  return (int)value;
}

static void sizes(const char* text, struct plan* plan) {
  const char* end;
  plan->smallest = plan->largest = bytes_of(text, &end);
  if (end != text && *end == ':') {
    const char* second = end + 1;
    plan->largest = bytes_of(second, &end);
    if (end == second) end = text;
  }
  if (end == text || *end || plan->smallest > plan->largest || plan->largest > INT32_MAX / 2)
    refuse("-m wants MIN:MAX up to 1G, such as 4:1M, not '%s'", text);
}

static const struct operation* find(const char* name) {
  for (size_t i = 0; i < collective_count; ++i)
    if (!strcmp(collectives[i].name, name)) return &collectives[i];
  return NULL;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  struct job job = {.number = numbers, .op = '+', .mpi_op = MPI_SUM};
  struct plan plan = {.warmup = 10, .iterations = 100, .smallest = 4, .largest = 1 << 20, .total = (size_t)64 << 20};
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
  own_rank = job.rank;
  int peer = job.ranks > 1;

  opterr = 0;
  const char *op = "sum", *end;
  for (int option; (option = getopt(argc, argv, "m:i:x:b:t:o:r:p:f:ch")) != -1;) switch (option) {
      case 'm':
        sizes(optarg, &plan);
        break;
      case 'i':
        plan.iterations = whole(optarg, 1, 1000000, 'i');
        break;
      case 'x':
        plan.warmup = whole(optarg, 0, 1000000, 'x');
        break;
      case 'b':
        plan.total = bytes_of(optarg, &end);
        if (end == optarg || *end) refuse("-b wants a number of bytes, such as 64M, not '%s'", optarg);
        break;
      case 't':
        for (job.number = numbers; job.number < numbers + number_count; ++job.number)
          if (!strcmp(job.number->name, optarg)) break;
        if (job.number == numbers + number_count) refuse("-t wants float32, float64, int32 or int64, not '%s'", optarg);
        break;
      case 'o':
        op = optarg;
        if (!strcmp(op, "sum"))
          job.op = '+', job.mpi_op = MPI_SUM;
        else if (!strcmp(op, "min"))
          job.op = '<', job.mpi_op = MPI_MIN;
        else if (!strcmp(op, "max"))
          job.op = '>', job.mpi_op = MPI_MAX;
        else
          refuse("-o wants sum, min or max, not '%s'", op);
        break;
      case 'r':
        job.root = whole(optarg, 0, job.ranks - 1, 'r');
        break;
      case 'f':
        for (plan.form = blocking; plan.form <= persistent; ++plan.form)
          if (!strcmp(optarg, forms[plan.form])) break;
        if (plan.form > persistent) refuse("-f wants blocking, nonblocking or persistent, not '%s'", optarg);
        if (plan.form == persistent && MPI_VERSION < 4) refuse("this MPI has no persistent collectives");
        break;
      case 'c':
        plan.overlap = 1;
        break;
      case 'p':
        peer = whole(optarg, 0, job.ranks - 1, 'p');
        break;
      case 'h':
        if (own_rank == 0) fputs(usage, stdout);
        MPI_Finalize();
        return 0;
      default:
        refuse("option -%c is unknown or wants a value; -h lists the options", optopt);
    }

  if (plan.overlap && plan.form == blocking) refuse("-c wants -f nonblocking or persistent");

  char* names[32];
  int count = 0;
  const int all = optind + 1 == argc && !strcmp(argv[optind], "all");
  const int every = all || (optind + 1 == argc && !strcmp(argv[optind], "collectives"));
  for (size_t i = 0; (every && i < collective_count) || (optind == argc && i < 6); ++i)
    names[count++] = (char*)collectives[i].name;
  if (all) names[count++] = "latency", names[count++] = "bandwidth";
  char** chosen = count ? names : argv + optind;
  if (!count) count = argc - optind;
  for (int i = 0; i < count; ++i) {
    const int message = !strcmp(chosen[i], "latency") || !strcmp(chosen[i], "bandwidth");
    if (!message && !find(chosen[i])) refuse("there is no operation '%s'; -h lists them", chosen[i]);
    if (message && peer == 0) refuse("%s wants two ranks", chosen[i]);
  }

  if (job.rank == 0) printf("# %d ranks, reductions: %s of %s, root %d\n", job.ranks, op, job.number->name, job.root);
  unsigned long long wrong = 0, all_wrong = 0;
  for (int i = 0; i < count; ++i) {
    const struct operation* collective = find(chosen[i]);
    if (collective)
      wrong += measure_collective(collective, job, &plan);
    else if (!strcmp(chosen[i], "latency"))
      wrong += measure_latency(&plan, peer);
    else
      wrong += measure_bandwidth(&plan, peer);
  }
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (job.rank == 0 && all_wrong) fprintf(stderr, "osu: %llu results were wrong\n", all_wrong);
  MPI_Finalize();
  return all_wrong != 0;
}
