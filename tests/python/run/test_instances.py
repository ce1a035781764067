# SPDX-License-Identifier: Apache-2.0
"""Does the report of instances distinguish calls, and are its times those of software, of the network and of late
ranks?"""

from __future__ import annotations

import pytest
from programs import Thalweg as Program
from thalweg import _core
from thalweg.systems.mpi_fpga import _sim
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.mpi import instances
from thalweg.systems.mpi_fpga.spec import Collective

CALLS = """
static void add(void* in, void* sum, int* count, MPI_Datatype* type) {
  for (int i = 0; i < *count; ++i) ((double*)sum)[i] += ((double*)in)[i];
}
int main(int c, char** v) {
  begin(&c, &v);
  double own[512] = {1}, all[512];
  MPI_Op own_sum;
  MPI_Op_create(add, 1, &own_sum);
  for (int i = 0; i < ranks - 4; ++i) MPI_Allreduce(own, all, 512, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < ranks - 5; ++i) MPI_Allreduce(own, all, 512, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(own, all, 512, MPI_DOUBLE, own_sum, MPI_COMM_WORLD);
  for (int i = 1; i <= ranks - 5; ++i) MPI_Reduce(own, all, 8 * i, MPI_DOUBLE, MPI_SUM, 3, MPI_COMM_WORLD);
  for (int i = 1; i <= ranks - 5; ++i) MPI_Reduce(own, all, 8 * i, MPI_DOUBLE, own_sum, 3, MPI_COMM_WORLD);
  return end();
}
"""


def test_calls_are_told_apart_and_software_is_timed_as_it_runs(run_program: Program) -> None:
    run = run_program(CALLS, 7, "--instances")
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stderr
    rows = run.report["instances"]
    sums = [row for row in rows if row["function"] == "MPI_Allreduce"]
    assert sorted((row["operations"], row["offloaded"]) for row in sums) == [(1, False), (2, True), (3, True)]
    assert len({row["site"] for row in sums}) == 3
    assert all(row["place"].startswith("main (0x") for row in rows)
    reductions = {(row["bytes"], row["offloaded"]): row for row in rows if row["function"] == "MPI_Reduce"}
    assert len({row["site"] for row in reductions.values()}) == 2
    (really,) = (row["fabric_us"] for row in sums if not row["offloaded"])
    for row in sums:
        assert row["software_us"] == pytest.approx(really)
        assert row["speedup"] == pytest.approx(really / row["fabric_us"])
    for size in (64, 128):
        assert reductions[size, True]["software_us"] == pytest.approx(reductions[size, False]["fabric_us"])
    saved = sum(row["operations"] * (row["software_us"] - row["fabric_us"]) for row in rows)
    assert run.report["software_time_us"] == pytest.approx(run.report["virtual_time_us"] + saved)
    assert saved > 0
    assert f"about {run.report['software_time_us']:.3f} us with all of these in software" in run.stderr


def test_skew_is_from_the_first_to_the_last_rank(run_program: Program) -> None:
    run = run_program(
        r"""
        int main(int c, char** v) {
          begin(&c, &v);
          static char data[1 << 20];
          double entry, entries[64], first, last;
          if (rank == 0) MPI_Send(data, sizeof data, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
          if (rank == 1) MPI_Recv(data, sizeof data, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          entry = MPI_Wtime();
          MPI_Barrier(MPI_COMM_WORLD);
          MPI_Gather(&entry, 1, MPI_DOUBLE, entries, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
          first = last = entries[0];
          for (int i = 0; i < ranks; ++i) {
            if (entries[i] < first) first = entries[i];
            if (entries[i] > last) last = entries[i];
          }
          if (rank == 0) printf("%.4f\n", (last - first) * 1e6);
          MPI_Finalize();
          return 0;
        }
        """,
        4,
        "--instances",
    )
    assert run.exit_code == 0, run.stderr
    (barrier,) = (row for row in run.report["instances"] if row["function"] == "MPI_Barrier")
    assert barrier["skew_us"] == pytest.approx(float(run.stdout), abs=0.01)
    assert barrier["skew_us"] > 50


def test_a_v_form_is_one_instance_of_no_size(run_program: Program) -> None:
    run = run_program(
        """
        int main(int c, char** v) {
          begin(&c, &v);
          int own[8] = {0}, all[64], counts[8], places[8];
          for (int turn = 1; turn <= ranks / 2; ++turn) {
            for (int i = 0; i < ranks; ++i) counts[i] = turn + i % 2, places[i] = 8 * i;
            MPI_Allgatherv(own, counts[rank], MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
          }
          return end();
        }
        """,
        4,
        "--instances",
    )
    assert run.exit_code == 0, run.stderr
    (row,) = (row for row in run.report["instances"] if row["function"] == "MPI_Allgatherv")
    assert (row["operations"], row["bytes"], row["software_us"], row["speedup"]) == (2, None, None, None)
    assert "calls without a software model count unchanged" in run.stderr


def test_no_instances_where_none_are_asked_for(run_program: Program) -> None:
    run = run_program("int main(int c, char** v) { begin(&c, &v); MPI_Barrier(MPI_COMM_WORLD); return end(); }")
    assert "instances" not in run.report
    assert "called at" not in run.stderr


def test_every_collective_of_the_network_has_its_software() -> None:
    names = {collective.name.lower() for collective in Collective} - {"point_to_point"}
    assert set(instances._PATTERNS) == names


def test_software_of_two_ranks_is_a_message_and_its_overheads() -> None:
    config = Cluster.load("mpi-fpga-torus-2x2x2").fabric_config()
    for size in (0, 100, 5000):
        fabric = _sim.Fabric(config)
        fabric.send(handle=0, source=0, destination=7, bytes=size, at=0)
        arrived = 0
        while not fabric.idle:
            for completion in fabric.advance(_core.NEVER):
                arrived = max(arrived, completion.at)
        ticks = _sim.software_ticks(config, [0, 7], _sim.SoftwarePattern.broadcast, bytes=size)
        assert ticks == arrived + 2 * config.host.message_overhead
