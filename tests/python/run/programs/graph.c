// SPDX-License-Identifier: Apache-2.0
/* MPI_Dist_graph_create with edges named by other ranks: the neighbours in the order of the naming ranks, and a
 * neighbourhood collective along the edges. */
#include "check.h"

enum { MOST = 16 };

/* Rank `from` names these edges out of the next rank; none out of rank 0. */
static int named_by(int from, int* destinations) {
  const int source = (from + 1) % ranks,
            all[] = {(source + 1) % ranks, (source + 2) % ranks, source, (source + 1) % ranks};
  memcpy(destinations, all, sizeof all);
  return source == 0 ? 0 : 4;
}

static void expect(int* in, int* in_weights, int* in_count, int* out, int* out_weights, int* out_count) {
  *in_count = *out_count = 0;
  for (int from = 0; from < ranks; from++) {
    int destinations[4];
    const int source = (from + 1) % ranks, count = named_by(from, destinations);
    for (int i = 0; i < count; i++) {
      if (destinations[i] == rank) in[*in_count] = source, in_weights[(*in_count)++] = 10 * source + i;
      if (source == rank) out[*out_count] = destinations[i], out_weights[(*out_count)++] = 10 * source + i;
    }
  }
}

static void check(int weighted) {
  int destinations[4], weights[4], source = (rank + 1) % ranks, degree = named_by(rank, destinations);
  int in_count, out_count, has_weights, in[MOST], out[MOST], in_weights[MOST], out_weights[MOST];
  int expected_in[MOST], expected_out[MOST], expected_in_weights[MOST], expected_out_weights[MOST], ins, outs;
  MPI_Comm made;
  for (int i = 0; i < 4; i++) weights[i] = 10 * source + i;
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &degree, destinations, weighted ? weights : MPI_UNWEIGHTED,
                        MPI_INFO_NULL, 0, &made);
  expect(expected_in, expected_in_weights, &ins, expected_out, expected_out_weights, &outs);
  MPI_Dist_graph_neighbors_count(made, &in_count, &out_count, &has_weights);
  CHECK(in_count == ins && out_count == outs && has_weights == weighted);
  MPI_Dist_graph_neighbors(made, ins, in, weighted ? in_weights : MPI_UNWEIGHTED, outs, out,
                           weighted ? out_weights : MPI_UNWEIGHTED);
  CHECK(memcmp(in, expected_in, ins * sizeof *in) == 0 && memcmp(out, expected_out, outs * sizeof *out) == 0);
  CHECK(!weighted || memcmp(in_weights, expected_in_weights, ins * sizeof *in) == 0);
  CHECK(!weighted || memcmp(out_weights, expected_out_weights, outs * sizeof *out) == 0);
  int got[MOST];
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, made);
  CHECK(memcmp(got, in, ins * sizeof *in) == 0);
  MPI_Comm_free(&made);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  check(0);
  check(1);
  MPI_Comm made;
  MPI_Dist_graph_create(MPI_COMM_WORLD, 0, NULL, NULL, NULL, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &made);
  int in, out, weighted;
  MPI_Dist_graph_neighbors_count(made, &in, &out, &weighted);
  CHECK(in == 0 && out == 0 && weighted);
  MPI_Comm_free(&made);
  return end();
}
