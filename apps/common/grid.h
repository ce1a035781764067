// SPDX-License-Identifier: Apache-2.0
/* A grid of three dimensions, split into a block for each rank, and the exchange of the blocks' surfaces. */
#ifndef THALWEG_APPS_GRID_H
#define THALWEG_APPS_GRID_H

#include <mpi.h>
#include <stddef.h>

struct grid {
  MPI_Comm comm;
  int periodic;
  int points[3];          /* of the whole grid */
  int ranks[3], place[3]; /* blocks in each dimension, and the coordinates of the own one */
  int first[3], size[3];  /* the own block: its first point, and how many it has */
  int below[3], above[3]; /* the neighbours' ranks */
};

/* Blocks that differ by a point at most in each dimension. */
struct grid split(MPI_Comm comm, const int points[3], int periodic);

/* The grid of every second point, split so that each rank keeps what it has of it. */
struct grid coarser(const struct grid* fine);

/* The fewest points that a rank has in a dimension. */
int thinnest(const struct grid* grid);

/* A value for each point of the own block and of a layer around it, zeroed. */
double* values_on(const struct grid* grid);

/* Number of the values that values_on makes. */
size_t values_in(const struct grid* grid);

/* Where the value of a point lies; coordinates count from the own block's first point, -1 and size are the layer. */
static inline size_t at(const struct grid* grid, int x, int y, int z) {
  const size_t row = (size_t)grid->size[0] + 2, plane = row * ((size_t)grid->size[1] + 2);
  return (size_t)(z + 1) * plane + (size_t)(y + 1) * row + (size_t)(x + 1);
}

/* Fills the layer, corners included, with the neighbours' values; at the end of a grid that is not periodic it stays. */
void exchange(const struct grid* grid, double* values);

#endif
