// SPDX-License-Identifier: Apache-2.0
/* Conjugate gradient on a three-dimensional grid whose points are coupled with their 26 neighbours.
 *
 *   cg [-n POINTS] [-i ITERATIONS] [-e EXPONENT]
 *
 * It communicates like HPCCG, miniFE and HPCG: a halo exchange for each matrix-vector product, and two allreduces of
 * one number per iteration. The right-hand side is computed from a solution in closed form, without communication, and
 * the result is compared with that solution. Exit status: 0 if they agree, 1 if not, 2 for an invalid command line. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../common/grid.h"
#include "../common/program.h"

static const char usage[] =
    "usage: cg [options]\n"
    "  -n POINTS      of each dimension of the whole grid (24)\n"
    "  -i ITERATIONS  at most (500)\n"
    "  -e EXPONENT    until the residual is 10^-EXPONENT of the right side (10)\n";

/* Diagonal of the matrix; the 26 neighbours have -1, and points beyond the grid are zero. */
#define DIAGONAL 26.0

static double solution(int x, int y, int z) {
  return 1.0 + (double)((3 * x + 5 * y + 7 * z) % 11);
}

static int inside(const struct grid* grid, int x, int y, int z) {
  return x >= 0 && y >= 0 && z >= 0 && x < grid->points[0] && y < grid->points[1] && z < grid->points[2];
}

/* Product of a matrix row and the solution, computed from the coordinates. */
static double right_side(const struct grid* grid, int x, int y, int z) {
  double sum = (DIAGONAL + 1) * solution(x, y, z);
  for (int dz = -1; dz <= 1; ++dz)
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx)
        if (inside(grid, x + dx, y + dy, z + dz)) sum -= solution(x + dx, y + dy, z + dz);
  return sum;
}

#define EACH_POINT(grid)                      \
  for (int z = 0; z < (grid)->size[2]; ++z)   \
    for (int y = 0; y < (grid)->size[1]; ++y) \
      for (int x = 0; x < (grid)->size[0]; ++x)

/* to = A from */
static void multiply(const struct grid* grid, double* from, double* to) {
  exchange(grid, from);
  const size_t row = at(grid, 0, 1, 0) - at(grid, 0, 0, 0), plane = at(grid, 0, 0, 1) - at(grid, 0, 0, 0);
  EACH_POINT(grid) {
    const double* centre = from + at(grid, x, y, z);
    double sum = (DIAGONAL + 1) * *centre;
    for (int dz = -1; dz <= 1; ++dz)
      for (int dy = -1; dy <= 1; ++dy) {
        const double* line = centre + dz * (ptrdiff_t)plane + dy * (ptrdiff_t)row;
        sum -= line[-1] + line[0] + line[1];
      }
    to[at(grid, x, y, z)] = sum;
  }
}

/* This rank's part of a scalar product. */
static double dot(const struct grid* grid, const double* a, const double* b) {
  double sum = 0;
  EACH_POINT(grid) {
    const size_t i = at(grid, x, y, z);
    sum += a[i] * b[i];
  }
  return sum;
}

/* to = a + factor b; halo values are irrelevant */
static void add(const struct grid* grid, double* to, const double* a, double factor, const double* b) {
  const size_t count = values_in(grid);
  for (size_t i = 0; i < count; ++i) to[i] = a[i] + factor * b[i];
}

int main(int argc, char** argv) {
  int points = 24, iterations = 500, exponent = 10;
  const struct option_of options[] = {{'n', &points, 1, 4096}, {'i', &iterations, 1, 1000000}, {'e', &exponent, 1, 13}};
  start(&argc, &argv, usage, options, 3);
  const struct grid grid = split(MPI_COMM_WORLD, (int[]){points, points, points}, 0);
  if (thinnest(&grid) < 1)
    refuse("%d points are too few for %d x %d x %d blocks", points, grid.ranks[0], grid.ranks[1], grid.ranks[2]);

  double *found = values_on(&grid), *residual = values_on(&grid), *direction = values_on(&grid),
         *product = values_on(&grid);
  EACH_POINT(&grid)
  residual[at(&grid, x, y, z)] = right_side(&grid, x + grid.first[0], y + grid.first[1], z + grid.first[2]);
  add(&grid, direction, residual, 0, residual);

  const double begin = MPI_Wtime();
  double own = dot(&grid, residual, residual), whole, curvature, next;
  MPI_Allreduce(&own, &whole, 1, MPI_DOUBLE, MPI_SUM, grid.comm);
  const double enough = whole * pow(10, -2 * exponent);
  double left = whole;
  int done = 0;
  while (done < iterations && left > enough) {
    multiply(&grid, direction, product);
    own = dot(&grid, direction, product);
    MPI_Allreduce(&own, &curvature, 1, MPI_DOUBLE, MPI_SUM, grid.comm);
    const double step = left / curvature;
    add(&grid, found, found, step, direction);
    add(&grid, residual, residual, -step, product);
    own = dot(&grid, residual, residual);
    MPI_Allreduce(&own, &next, 1, MPI_DOUBLE, MPI_SUM, grid.comm);
    add(&grid, direction, residual, next / left, direction);
    left = next;
    ++done;
  }
  const double seconds = MPI_Wtime() - begin;

  double difference = 0;
  EACH_POINT(&grid) {
    const double exact = solution(x + grid.first[0], y + grid.first[1], z + grid.first[2]);
    const double error = fabs(found[at(&grid, x, y, z)] - exact);
    if (!(error <= difference)) difference = error;
  }
  difference = largest_of(difference);
  /* The smallest eigenvalue is about 27 (3.1 / points)^2 / 3, which bounds the error relative to the residual. */
  const double allowed = sqrt(whole) * pow(10, -exponent) * points * points / 80;
  const int right = left <= enough && difference <= allowed;
  if (grid.place[0] + grid.place[1] + grid.place[2] == 0) {
    printf("cg: %d x %d x %d points in %d x %d x %d blocks\n", points, points, points, grid.ranks[0], grid.ranks[1],
           grid.ranks[2]);
    printf("cg: %d iterations, residual %.1e of the right side, largest error %.1e\n", done, sqrt(left / whole),
           difference);
    printf("cg: %.6f s\n", seconds);
    printf("cg: %s\n", right ? "verified" : "WRONG");
  }
  free(found), free(residual), free(direction), free(product);
  return finish(right);
}
