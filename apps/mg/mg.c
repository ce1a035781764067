// SPDX-License-Identifier: Apache-2.0
/* Poisson's equation on a periodic cube by multigrid.
 *
 *   mg [-n POINTS] [-c CYCLES] [-s SWEEPS]
 *
 * V-cycles of damped Jacobi sweeps. It communicates like other multigrid solvers: halo exchanges on every level,
 * smaller on coarser ones, and norms by allreduce. Below the level on which a rank would have no point, all ranks
 * gather the whole grid and continue redundantly, so the result does not depend on the number of ranks. The right-hand
 * side is a sum of eigenvectors, whose solution on this grid is known in closed form. Exit status: 0 if it was found, 1
 * if not, 2 for an invalid command line. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../common/grid.h"
#include "../common/program.h"

static const char usage[] =
    "usage: mg [options]\n"
    "  -n POINTS  of each dimension of the whole grid, a multiple of 4 (32)\n"
    "  -c CYCLES  at most, until the residual is 10^-10 of the right side (40)\n"
    "  -s SWEEPS  on each level, on the way down and on the way up (2)\n";

#define PI 3.14159265358979323846
#define DAMPING (6.0 / 7) /* optimal for the seven-point stencil in three dimensions */
#define LEVELS 16
#define COARSEST_SWEEPS 16
#define REDUCTION 1e-10

struct level {
  struct grid grid;
  double *found, *right,
      *left; /* of A found = right, and right - A found; A is 6 on the diagonal, -1 for 6 neighbours */
};

#define EACH_POINT(grid)                      \
  for (int z = 0; z < (grid)->size[2]; ++z)   \
    for (int y = 0; y < (grid)->size[1]; ++y) \
      for (int x = 0; x < (grid)->size[0]; ++x)

/* left = right - A found */
static void residual(struct level* level) {
  const struct grid* grid = &level->grid;
  const double* u = level->found;
  exchange(grid, level->found);
  EACH_POINT(grid) {
    const size_t i = at(grid, x, y, z);
    const double around = u[at(grid, x - 1, y, z)] + u[at(grid, x + 1, y, z)] + u[at(grid, x, y - 1, z)] +
                          u[at(grid, x, y + 1, z)] + u[at(grid, x, y, z - 1)] + u[at(grid, x, y, z + 1)];
    level->left[i] = level->right[i] - (6 * u[i] - around);
  }
}

static void smooth(struct level* level, int sweeps) {
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    residual(level);
    EACH_POINT(&level->grid) {
      const size_t i = at(&level->grid, x, y, z);
      level->found[i] += DAMPING / 6 * level->left[i];
    }
  }
}

/* Weighted mean around every second point, times four, as the coarse grid's spacing is twice as large. */
static void restrict_to(const struct level* fine, struct level* coarse, double* to) {
  exchange(&fine->grid, fine->left);
  EACH_POINT(&coarse->grid) {
    int centre[3] = {x, y, z};
    double sum = 0;
    for (int d = 0; d < 3; ++d) centre[d] = 2 * (centre[d] + coarse->grid.first[d]) - fine->grid.first[d];
    for (int dz = -1; dz <= 1; ++dz)
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
          sum += fine->left[at(&fine->grid, centre[0] + dx, centre[1] + dy, centre[2] + dz)] /
                 (1 << (3 + (dx != 0) + (dy != 0) + (dz != 0)));
    to[at(&coarse->grid, x, y, z)] = 4 * sum;
  }
}

/* Adds the linear interpolation of `found`, which is on `grid` with a filled halo. */
static void add_between(struct level* fine, const struct grid* grid, const double* found) {
  EACH_POINT(&fine->grid) {
    int low[3] = {x, y, z}, high[3];
    for (int d = 0; d < 3; ++d) {
      const int point = low[d] + fine->grid.first[d];
      low[d] = point / 2 - grid->first[d];
      high[d] = (point + 1) / 2 - grid->first[d];
    }
    double sum = 0;
    for (int corner = 0; corner < 8; ++corner)
      sum +=
          found[at(grid, corner & 1 ? high[0] : low[0], corner & 2 ? high[1] : low[1], corner & 4 ? high[2] : low[2])];
    fine->found[at(&fine->grid, x, y, z)] += sum / 8;
  }
}

/* Gathers the blocks of all ranks into the whole grid, on every rank. */
static void gather_whole(const struct grid* part, const double* values, const struct grid* whole, double* to) {
  int ranks;
  MPI_Comm_size(part->comm, &ranks);
  int *counts = zeros((size_t)ranks * 2, sizeof(int)), *places = counts + ranks,
      *blocks = zeros((size_t)ranks, 6 * sizeof(int)), own[6], all = 0;
  for (int d = 0; d < 3; ++d) own[d] = part->first[d], own[3 + d] = part->size[d];
  MPI_Allgather(own, 6, MPI_INT, blocks, 6, MPI_INT, part->comm);
  for (int r = 0; r < ranks; ++r) {
    const int* size = blocks + 6 * r + 3;
    places[r] = all;
    counts[r] = size[0] * size[1] * size[2];
    all += counts[r];
  }
  double *packed = zeros((size_t)all, sizeof(double)), *mine = zeros((size_t)all, sizeof(double));
  int count = 0;
  EACH_POINT(part) mine[count++] = values[at(part, x, y, z)];
  MPI_Allgatherv(mine, count, MPI_DOUBLE, packed, counts, places, MPI_DOUBLE, part->comm);
  count = 0;
  for (int r = 0; r < ranks; ++r) {
    const int *first = blocks + 6 * r, *size = first + 3;
    for (int z = 0; z < size[2]; ++z)
      for (int y = 0; y < size[1]; ++y)
        for (int x = 0; x < size[0]; ++x) to[at(whole, first[0] + x, first[1] + y, first[2] + z)] = packed[count++];
  }
  free(counts), free(blocks), free(packed), free(mine);
}

/* One V-cycle from a level down; `alone` is the first level that every rank has as a whole. */
static void cycle(struct level* levels, int level, int count, int alone, int sweeps) {
  struct level* here = &levels[level];
  if (level == count - 1) return smooth(here, COARSEST_SWEEPS);
  struct level* below = here + 1;
  smooth(here, sweeps);
  residual(here);
  if (level + 1 == alone) {
    struct level part = {.grid = coarser(&here->grid)};
    part.right = values_on(&part.grid);
    restrict_to(here, &part, part.right);
    gather_whole(&part.grid, part.right, &below->grid, below->right);
    free(part.right);
  } else {
    restrict_to(here, below, below->right);
  }
  for (size_t i = 0; i < values_in(&below->grid); ++i) below->found[i] = 0;
  cycle(levels, level + 1, count, alone, sweeps);
  exchange(&below->grid, below->found);
  add_between(here, &below->grid, below->found);
  smooth(here, sweeps);
}

/* Eigenvectors cos 2 pi (k x + l y + m z) / points, with their eigenvalues. */
static const int waves[][3] = {{1, 2, 0}, {3, 1, 2}, {0, 5, 1}, {7, 0, 6}};
enum { WAVES = sizeof waves / sizeof *waves };

static double wave(const struct level* level, int w, int x, int y, int z) {
  const long long n = level->grid.points[0];
  const long long turns = (long long)waves[w][0] * (x + level->grid.first[0]) +
                          (long long)waves[w][1] * (y + level->grid.first[1]) +
                          (long long)waves[w][2] * (z + level->grid.first[2]);
  return cos(2 * PI * (double)(turns % n) / (double)n);
}

static double eigenvalue(int w, int points) {
  double sum = 6;
  for (int d = 0; d < 3; ++d) sum -= 2 * cos(2 * PI * waves[w][d] / points);
  return sum;
}

static double norm(const struct level* level, const double* values) {
  double sum = 0;
  EACH_POINT(&level->grid) {
    const double value = values[at(&level->grid, x, y, z)];
    sum += value * value;
  }
  return sqrt(sum_of(sum));
}

/* Makes the levels' grids: distributed while each rank has a point in every dimension, below that whole on every rank.
 * */
static int make_levels(struct level* levels, int points, int* alone) {
  int count = 0;
  *alone = LEVELS;
  struct grid grid = split(MPI_COMM_WORLD, (int[]){points, points, points}, 1);
  if (thinnest(&grid) < 1)
    refuse("%d points are too few for %d x %d x %d blocks", points, grid.ranks[0], grid.ranks[1], grid.ranks[2]);
  while (count < LEVELS) {
    struct level* level = &levels[count++];
    level->grid = grid;
    level->found = values_on(&grid);
    level->right = values_on(&grid);
    level->left = values_on(&grid);
    points = grid.points[0];
    if (points % 2 != 0 || points <= 2) break;
    grid = coarser(&grid);
    if (*alone == LEVELS && thinnest(&grid) < 1) {
      *alone = count;
      grid = split(MPI_COMM_SELF, (int[]){points / 2, points / 2, points / 2}, 1);
    }
  }
  return count;
}

int main(int argc, char** argv) {
  int points = 32, cycles = 40, sweeps = 2, alone, done = 0;
  const struct option_of options[] = {{'n', &points, 4, 4096}, {'c', &cycles, 1, 10000}, {'s', &sweeps, 1, 100}};
  start(&argc, &argv, usage, options, 3);
  if (points % 4 != 0) refuse("-n wants a multiple of 4, not %d", points);
  struct level levels[LEVELS];
  const int count = make_levels(levels, points, &alone);
  struct level* finest = &levels[0];
  EACH_POINT(&finest->grid)
  for (int w = 0; w < WAVES; ++w) finest->right[at(&finest->grid, x, y, z)] += wave(finest, w, x, y, z);

  const double begin = MPI_Wtime();
  const double whole = norm(finest, finest->right);
  double left = whole;
  while (done < cycles && left > REDUCTION * whole) {
    cycle(levels, 0, count, alone, sweeps);
    residual(finest);
    left = norm(finest, finest->left);
    ++done;
  }
  const double seconds = MPI_Wtime() - begin;

  double mean = 0, difference = 0, largest = 0; /* the solution is determined up to a constant */
  EACH_POINT(&finest->grid) mean += finest->found[at(&finest->grid, x, y, z)];
  mean = sum_of(mean) / pow(points, 3);
  EACH_POINT(&finest->grid) {
    double exact = 0;
    for (int w = 0; w < WAVES; ++w) exact += wave(finest, w, x, y, z) / eigenvalue(w, points);
    const double error = fabs(finest->found[at(&finest->grid, x, y, z)] - mean - exact);
    if (!(error <= difference)) difference = error;
    if (fabs(exact) > largest) largest = fabs(exact);
  }
  difference = largest_of(difference) / largest_of(largest);
  /* The smallest eigenvalue is 4 sin(pi/points)^2, which bounds the error relative to the residual. */
  const double allowed = REDUCTION * pow(points, 2) * 10;
  const int right = left <= REDUCTION * whole && difference <= allowed;
  if (finest->grid.place[0] + finest->grid.place[1] + finest->grid.place[2] == 0) {
    printf("mg: %d x %d x %d points in %d x %d x %d blocks, %d levels\n", points, points, points, finest->grid.ranks[0],
           finest->grid.ranks[1], finest->grid.ranks[2], count);
    printf("mg: %d cycles, residual %.1e of the right side, largest error %.1e of the solution\n", done, left / whole,
           difference);
    printf("mg: %.6f s\n", seconds);
    printf("mg: %s\n", right ? "verified" : "WRONG");
  }
  for (int level = 0; level < count; ++level)
    free(levels[level].found), free(levels[level].right), free(levels[level].left);
  return finish(right);
}
