# SPDX-License-Identifier: Apache-2.0
"""Does a user see progress, without disturbing a program's output on the same terminal?"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from terminal import Screen, shown
from thalweg.systems.mpi_fpga import bench, bench_messages, bench_traffic
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.mpi import library

COLUMNS, ROWS = 70, 50

WRITES = """
import os, sys, time
from thalweg.commands import status_line
status_line._AFTER_S, status_line._EVERY_S = 0.0, 0.0
with status_line.status_line(lambda: "so far") as show:
    for line in range(120):
        os.write(1, f"line {line:3} ".encode())
        show()
        os.write(1, b"goes on" + b"\\n" * (line < 119))
    show()
    time.sleep(0.1)
print()
print("the end")
"""


def test_a_status_line_leaves_what_others_write_alone() -> None:
    code, text = shown([sys.executable, "-c", WRITES], COLUMNS)
    assert code == 0 and text.count("so far") == 121
    whole, end = text.rsplit("so far", 1)
    screen = Screen(ROWS, COLUMNS)
    during = screen.show(whole + "so far\x1b8")
    assert re.fullmatch(r"\S so far", during[-1])
    expected = [f"line {line:3} goes on" for line in range(120)]
    assert during[:-1] == expected
    assert [line for line in screen.show(end) if line] == [*expected, "the end"]


def test_where_there_is_no_terminal_nothing_is_shown() -> None:
    done = subprocess.run([sys.executable, "-c", WRITES], capture_output=True, check=True)
    assert done.stderr == b"" and b"\x1b" not in done.stdout


SLOW = """#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main() {
  MPI_Init(0, 0);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 25; ++i) {
    if (rank == 0) { printf("step %d\\n", i); fflush(stdout); }
    usleep(100000);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return MPI_Finalize();
}
"""


@pytest.mark.slow
def test_a_run_shows_how_far_it_is(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(SLOW)
    subprocess.run([Path(sys.executable).with_name("mpicc"), "-o", tmp_path / "p", tmp_path / "p.c"], check=True)
    code, text = shown([sys.executable, "-m", "thalweg", "run", "-n", "2", "--", tmp_path / "p"], COLUMNS)
    assert code == 0
    seen = re.findall(r"\S ([0-9.,]+) us of virtual time, ([0-9,]+) MPI calls\x1b8", text)
    times, calls = ([float(word.replace(",", "")) for word in column] for column in zip(*seen, strict=True))
    assert len(seen) >= 2
    assert times == sorted(times) and times[-1] > times[0]
    assert calls == sorted(calls) and calls[-1] > calls[0]
    stayed = Screen(ROWS, COLUMNS).show(text)
    assert [line for line in stayed if line.startswith("step")] == [f"step {i}" for i in range(25)]
    assert not any("of virtual time, " in line and "MPI calls" in line for line in stayed)


def test_a_terminal_is_told_of_the_first_build_of_an_interposer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(library, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(library, "_compile", lambda *_: tmp_path / "built")
    (tmp_path / "built").touch()
    mpich = library.find_library("mpich")
    library.interposer(mpich)
    said = subprocess.check_output([mpich.mpiexec, "--version"], text=True)
    version = re.search(r"Version: +(\S+)", said)
    assert version
    assert capsys.readouterr().err == f"thalweg: building the interposer for MPICH {version[1]} (about 10 s, once)\n"
    library.interposer(mpich)
    assert capsys.readouterr().err == ""


def rising(seen: list[float]) -> bool:
    return seen == sorted(seen) and seen[0] >= 0 and seen[-1] == pytest.approx(1)


@pytest.mark.slow
def test_bars_move_within_a_size_and_never_back() -> None:
    cluster = Cluster.load("torus:4x4")
    seen: list[float] = []
    plan = bench.CollectivePlan(cluster, "allreduce", 16, [1 << 18])
    (shown_row,) = bench.measure_collective(plan, seen.append)
    (row,) = bench.measure_collective(plan)
    assert shown_row == row
    assert rising(seen) and len(seen) > 50
    seen.clear()
    assert all(
        one.verified for one in bench_messages.measure_messages(cluster, "bandwidth", [8, 1 << 16], 2, seen.append)
    )
    assert rising(seen) and len(seen) > 50
    seen.clear()
    plan_of_traffic = bench_traffic.TrafficPlan(cluster, cycles=1000, warmup=100)
    assert list(bench_traffic.sweep_traffic(plan_of_traffic, seen.append))
    assert rising(seen) and len(seen) > 20
