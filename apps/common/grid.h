// SPDX-License-Identifier: Apache-2.0
/* A three-dimensional grid, split into one block per rank, and its halo exchange. */
#ifndef THALWEG_APPS_GRID_H
#define THALWEG_APPS_GRID_H

#include <mpi.h>
#include <stddef.h>

struct grid {
  MPI_Comm comm;
  int periodic;
  int points[3];          /* of the whole grid */
  int ranks[3], place[3]; /* blocks in each dimension, and coordinates of the own block */
  int first[3], size[3];  /* first point and size of the own block */
  int below[3], above[3]; /* the neighbours' ranks */
};

/* Splits into blocks that differ by at most one point in each dimension. */
struct grid split(MPI_Comm comm, const int points[3], int periodic);

/* The grid of every second point, split so that each rank keeps its own points. */
struct grid coarser(const struct grid* fine);

/* Minimum size of a block in any dimension, over all ranks. */
int thinnest(const struct grid* grid);

/* Allocates a zeroed value for each point of the own block and its halo of one layer. */
double* values_on(const struct grid* grid);

/* Number of values that values_on allocates. */
size_t values_in(const struct grid* grid);

/* Index of a point's value; coordinates are relative to the own block's first point, and -1 and size are the halo. */
static inline size_t at(const struct grid* grid, int x, int y, int z) {
  const size_t row = (size_t)grid->size[0] + 2, plane = row * ((size_t)grid->size[1] + 2);
  return (size_t)(z + 1) * plane + (size_t)(y + 1) * row + (size_t)(x + 1);
}

/* Fills the halo, including corners, with the neighbours' values; it is unchanged at the border of a non-periodic grid.
 * */
void exchange(const struct grid* grid, double* values);

#endif
