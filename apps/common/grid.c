// SPDX-License-Identifier: Apache-2.0
#include "grid.h"

#include <stdlib.h>
#include <string.h>

#include "program.h"

static int begin_of(int points, int ranks, int place) {
  return (int)((long long)points * place / ranks);
}

static int rank_at(const struct grid* grid, int dimension, int step) {
  int place[3];
  memcpy(place, grid->place, sizeof place);
  place[dimension] += step;
  if (grid->periodic) place[dimension] = (place[dimension] + grid->ranks[dimension]) % grid->ranks[dimension];
  if (place[dimension] < 0 || place[dimension] == grid->ranks[dimension]) return MPI_PROC_NULL;
  return (place[2] * grid->ranks[1] + place[1]) * grid->ranks[0] + place[0];
}

struct grid split(MPI_Comm comm, const int points[3], int periodic) {
  struct grid grid = {.comm = comm, .periodic = periodic};
  int size, rank, decreasing[3] = {0};
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  MPI_Dims_create(size, 3, decreasing);
  for (int d = 0; d < 3; ++d) {
    grid.points[d] = points[d];
    grid.ranks[d] = decreasing[2 - d];
    grid.place[d] = rank % grid.ranks[d];
    rank /= grid.ranks[d];
    grid.first[d] = begin_of(points[d], grid.ranks[d], grid.place[d]);
    grid.size[d] = begin_of(points[d], grid.ranks[d], grid.place[d] + 1) - grid.first[d];
  }
  for (int d = 0; d < 3; ++d) {
    grid.below[d] = rank_at(&grid, d, -1);
    grid.above[d] = rank_at(&grid, d, 1);
  }
  return grid;
}

struct grid coarser(const struct grid* fine) {
  struct grid grid = *fine;
  for (int d = 0; d < 3; ++d) {
    grid.points[d] = fine->points[d] / 2;
    grid.first[d] = (fine->first[d] + 1) / 2;
    grid.size[d] = (fine->first[d] + fine->size[d] + 1) / 2 - grid.first[d];
  }
  return grid;
}

int thinnest(const struct grid* grid) {
  int own = grid->size[0], all;
  for (int d = 1; d < 3; ++d)
    if (grid->size[d] < own) own = grid->size[d];
  MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, grid->comm);
  return all;
}

size_t values_in(const struct grid* grid) {
  return ((size_t)grid->size[0] + 2) * ((size_t)grid->size[1] + 2) * ((size_t)grid->size[2] + 2);
}

double* values_on(const struct grid* grid) {
  return zeros(values_in(grid), sizeof(double));
}

/* Copies plane `where` of a dimension into `packed` or out of it, including halo values exchanged before. */
static size_t copy_plane(const struct grid* grid, double* values, int dimension, int where, double* packed, int in) {
  int from[3], to[3];
  size_t count = 0;
  for (int d = 0; d < 3; ++d) {
    from[d] = d == dimension ? where : d < dimension ? -1 : 0;
    to[d] = d == dimension ? where + 1 : d < dimension ? grid->size[d] + 1 : grid->size[d];
  }
  for (int z = from[2]; z < to[2]; ++z)
    for (int y = from[1]; y < to[1]; ++y)
      for (int x = from[0]; x < to[0]; ++x, ++count)
        if (in)
          values[at(grid, x, y, z)] = packed[count];
        else
          packed[count] = values[at(grid, x, y, z)];
  return count;
}

void exchange(const struct grid* grid, double* values) {
  size_t largest = 0;
  for (int d = 0; d < 3; ++d) {
    const size_t plane = values_in(grid) / ((size_t)grid->size[d] + 2);
    if (plane > largest) largest = plane;
  }
  double* packed = zeros(4 * largest, sizeof(double));
  double *down = packed, *up = packed + largest, *from_below = packed + 2 * largest, *from_above = packed + 3 * largest;
  for (int d = 0; d < 3; ++d) {
    const int count = (int)copy_plane(grid, values, d, 0, down, 0), last = grid->size[d];
    copy_plane(grid, values, d, last - 1, up, 0);
    if (grid->ranks[d] == 1) {
      if (!grid->periodic) continue;
      copy_plane(grid, values, d, -1, up, 1);
      copy_plane(grid, values, d, last, down, 1);
      continue;
    }
    MPI_Request requests[4];
    MPI_Irecv(from_below, count, MPI_DOUBLE, grid->below[d], 2 * d, grid->comm, &requests[0]);
    MPI_Irecv(from_above, count, MPI_DOUBLE, grid->above[d], 2 * d + 1, grid->comm, &requests[1]);
    MPI_Isend(up, count, MPI_DOUBLE, grid->above[d], 2 * d, grid->comm, &requests[2]);
    MPI_Isend(down, count, MPI_DOUBLE, grid->below[d], 2 * d + 1, grid->comm, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    if (grid->below[d] != MPI_PROC_NULL) copy_plane(grid, values, d, -1, from_below, 1);
    if (grid->above[d] != MPI_PROC_NULL) copy_plane(grid, values, d, last, from_above, 1);
  }
  free(packed);
}
