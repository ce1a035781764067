# SPDX-License-Identifier: Apache-2.0
"""Do MPI programs that share a cluster each get the results and times, to the tick, that they get alone with their
share?"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from programs import ROOT, execute, thalweg_run

PROGRAMS = Path(__file__).parent / "programs"
MPICC = Path(sys.executable).parent / "mpicc"
CLUSTER = "mpi-fpga-torus-2x2x2"

Report = dict[str, Any]
Jobs = Callable[..., tuple[int, list[str], str, Report]]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], str]:
    folder = tmp_path_factory.mktemp("jobs")

    def compiled(source: Path) -> str:
        program = folder / source.stem
        include = ["-I", PROGRAMS, "-I", ROOT / "runtime/mpi/include"]
        subprocess.run([MPICC, "-O1", "-w", *include, "-o", program, source, "-lm"], check=True)
        return str(program)

    return compiled


@pytest.fixture(scope="module")
def neighbour(build: Callable[[Path], str]) -> str:
    return build(PROGRAMS / "neighbour.c")


@pytest.fixture
def jobs(tmp_path: Path) -> Jobs:
    def run(*words: str) -> tuple[int, list[str], str, Report]:
        file = tmp_path / "jobs.json"
        file.unlink(missing_ok=True)
        done = execute([sys.executable, "-m", "thalweg", "jobs", "--cluster", CLUSTER, "--json", file, *words])
        report = json.loads(file.read_text()) if file.exists() else {}
        return done.returncode, sorted(done.stdout.splitlines()), done.stderr, report

    return run


def _times(report: Report) -> list[float]:
    return [job["virtual_time_us"] for job in report["jobs"]]


def _times_alone(jobs: Jobs, *words: str) -> list[float]:
    return [time for job in ("0", "1") for time in _times(jobs("--only", job, *words)[3])]


@pytest.mark.sample(2)
@pytest.mark.parametrize("share", ["sub-channels:1:3", "time-slots:2:1"])
def test_each_takes_the_time_that_it_takes_alone(jobs: Jobs, neighbour: str, share: str) -> None:
    common = ("--share", share, "--compute", "none")
    both = ("--", neighbour, ":", neighbour)
    code, output, errors, together = jobs(*common, *both)
    said = [f"{job}: rank {rank} of 4" for job in (0, 1) for rank in range(4)]
    assert (code, output) == (0, sorted([*said, "0: all right", "1: all right"])), errors
    alone = _times_alone(jobs, *common, *both)
    assert _times(together) == alone
    whole = jobs("--share", "none", "--compute", "none", "--only", "0", *both)[3]
    assert _times(whole)[0] < _times(together)[0]
    assert together["jobs"][0]["nodes"] == [0, 2, 4, 6] and together["jobs"][1]["nodes"] == [1, 3, 5, 7]
    assert {row["communicator"] for row in together["collectives"] if row["function"] == "MPI_Allreduce"} == {
        "job 0: MPI_COMM_WORLD",
        "job 1: MPI_COMM_WORLD",
    }
    assert together["fallback"] == {}


@pytest.mark.sample(4)
@pytest.mark.slow
def test_what_a_job_does_inside_of_mpi_is_not_timed_by_others(
    jobs: Jobs, build: Callable[[Path], str], neighbour: str, tmp_path: Path
) -> None:
    common = ("--share", "sub-channels:1:3", "--compute", "none")
    both = ("--", build(PROGRAMS / "between.c"), str(tmp_path / "written"), ":", neighbour)
    alone = _times_alone(jobs, *common, *both)
    for _ in range(3):
        code, output, errors, together = jobs(*common, *both)
        assert (code, "0: all right" in output) == (0, True), errors
        assert _times(together) == alone


# On a slow disk: a process waits for its child of vfork as for a disk.
_SYNCHRONIZES = """#include <mpi.h>
#include <time.h>
#include <unistd.h>
int fsync(int file) {
  const struct timespec slow = {0, 50000000};
  if (vfork() == 0) {
    nanosleep(&slow, 0);
    _exit(0);
  }
  return 0;
}
int main(int argc, char** argv) {
  const int written = 1;
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_write_all(file, &written, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_close(&file);
  MPI_Finalize();
}
"""
_WAITS = """#include <mpi.h>
int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    for (const double until = MPI_Wtime() + 500e-6; MPI_Wtime() < until;);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
"""


@pytest.mark.sample(2)
def test_a_slow_disk_takes_no_virtual_time(jobs: Jobs, build: Callable[[Path], str], tmp_path: Path) -> None:
    (synchronizes := tmp_path / "synchronizes.c").write_text(_SYNCHRONIZES)
    (waits := tmp_path / "waits.c").write_text(_WAITS)
    common = ("--share", "sub-channels:1:3", "--compute", "none")
    both = ("--", build(synchronizes), str(tmp_path / "written"), ":", build(waits))
    alone = _times_alone(jobs, *common, *both)
    code, _, errors, together = jobs(*common, *both)
    assert code == 0, errors
    assert _times(together) == alone


_POLLED = """#include <mpi.h>
int main(int argc, char** argv) {
  static int given[2048], taken[2048];
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 20; i++) {
    int done = 0;
    MPI_Request request;
    MPI_Iallreduce(given, taken, 1 << i % 12, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    while (argc > 1 && !done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (!done) MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
}
"""


def test_polls_end_when_the_operation_does(jobs: Jobs, build: Callable[[Path], str], tmp_path: Path) -> None:
    """Polling takes as long as waiting, independent of the other job."""
    source = tmp_path / "polled.c"
    source.write_text(_POLLED)
    program = build(source)
    common = ("--share", "time-slots:1:2", "--compute", "none")
    waits, polls = [
        _times(jobs(*common, *only, "--", program, *words, ":", program, *words)[3])
        for words, only in (((), ("--only", "1")), (("poll",), ()))
    ]
    assert polls[1] == waits[0]


_PAIRS = """#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  static char given[9000], taken[2][9000];
  int rank, ranks;
  double times = 0;
  unsigned random = atoi(argv[1]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < 60; i++) {
    MPI_Request requests[4];
    random = random * 1664525 + 1013904223;
    for (int far = 1; far <= 2; far++) {
      const int size = (random >> 8 * far) % 9000;
      MPI_Irecv(taken[far - 1], 9000, MPI_CHAR, (rank + ranks - far) % ranks, far, MPI_COMM_WORLD, &requests[far - 1]);
      MPI_Isend(given, size, MPI_CHAR, (rank + far) % ranks, far, MPI_COMM_WORLD, &requests[1 + far]);
    }
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    times += MPI_Wtime();
  }
  printf("rank %d: %.12f\\n", rank, times);
  MPI_Finalize();
}
"""


@pytest.mark.sample(2)
@pytest.mark.parametrize("share", ["sub-channels:1:3", "time-slots:1:2"])
def test_several_messages_at_once_take_the_time_that_they_take_alone(
    jobs: Jobs, build: Callable[[Path], str], tmp_path: Path, share: str
) -> None:
    source = tmp_path / "pairs.c"
    source.write_text(_PAIRS)
    program = build(source)
    words = ("--share", share, "--compute", "none"), ("--", program, "4", ":", program, "5")
    code, together, errors, _ = jobs(*words[0], *words[1])
    assert (code, len(together)) == (0, 8), errors
    assert together == [line for job in ("0", "1") for line in jobs(*words[0], "--only", job, *words[1])[1]]


@pytest.mark.sample(4)
@pytest.mark.parametrize("algorithm", ["tree", "exchange"])
@pytest.mark.parametrize("option", ["--algorithm", "--tuning"])
def test_all_take_the_algorithms_that_are_wanted(
    jobs: Jobs, neighbour: str, tmp_path: Path, option: str, algorithm: str
) -> None:
    tuning = tmp_path / "tuning.toml"
    tuning.write_text(f'cluster = "{CLUSTER}"\n[ranks.1.allreduce]\n0 = ["{algorithm}"]\n')
    wanted = str(tuning) if option == "--tuning" else f"allreduce={algorithm}"
    code, _, errors, report = jobs("--share", "sub-channels:1:3", option, wanted, "--", neighbour, ":", neighbour)
    taken = {row["communicator"]: row["algorithms"] for row in report["collectives"] if "Allred" in row["function"]}
    assert code == 0, errors
    assert taken == {"job 0: MPI_COMM_WORLD": [algorithm], "job 1: MPI_COMM_WORLD": [algorithm]}


@pytest.mark.sample(4)
@pytest.mark.slow
def test_ranks_are_late_as_alone(jobs: Jobs, neighbour: str) -> None:
    def run(*options: str) -> Report:
        code, _, errors, report = jobs(
            "--share", "sub-channels:2:2", "--compute", "none", *options, "--", neighbour, ":", neighbour
        )
        assert code == 0, errors
        return report

    late = ("--skew", "uniform:50:3")
    together = run(*late)
    assert _times(together) == [time for job in ("0", "1") for time in _times(run(*late, "--only", job))]
    assert min(_times(together)) > max(_times(run())) + 10


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["operators", "units"])
def test_all_have_the_operators_in_the_switches(jobs: Jobs, build: Callable[[Path], str], name: str) -> None:
    example = ROOT / "examples/operators"
    program = build(example / f"{name}.c")
    for options in ((), ("--operators", str(example / f"{name}.cpp"))):
        code, output, errors, report = jobs("--share", "sub-channels:1:3", *options, "--", program, ":", program)
        assert (code, output) == (0, ["0: 0 wrong", "1: 0 wrong"]), errors
        assert bool(report["fallback"]) == (not options)


@pytest.mark.sample(2)
def test_reproducible_bits_are_those_of_a_run(jobs: Jobs, build: Callable[[Path], str], tmp_path: Path) -> None:
    program = build(PROGRAMS / "bits.c")
    run = thalweg_run(tmp_path, 4, "ring:9", [program, "alike"], "--reproducible")
    options = ("--cluster", "torus:4x2", "--share", "none", "--reproducible")
    code, output, errors, _ = jobs(*options, "--", program, "alike", ":", program, "alike")
    lines = run.stdout.splitlines()
    assert len(lines) > 1 and lines[-1] == "all right"
    assert (code, output) == (0, sorted(f"{job}: {line}" for job in (0, 1) for line in lines)), errors


def test_the_status_of_one_is_that_of_the_run(jobs: Jobs, neighbour: str) -> None:
    code, _, errors, _ = jobs("--share", "none", "-n", "3", "--", neighbour, ":", neighbour, "abort")
    assert code == 9 and "rank 5 called MPI_Abort with code 9" in errors


def test_one_that_is_no_mpi_program_does_not_hold_up_the_others(jobs: Jobs, neighbour: str) -> None:
    code, _, errors, _ = jobs("--share", "time-slots:1:1", "--", neighbour, ":", "/bin/true")
    assert code == 124 and "only 4 of 8 ranks called MPI_Init and MPI_Finalize" in errors


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--share", "sub-channels:1:1:1", "--", "true", ":", "true"],
            "sub-channels:1:1:1 has 3 weights, but there are 2 programs",
        ),
        (["--share", "sub-channels:4:1", "--", "true", ":", "true"], "the jobs have 5 sub-channels; there are 4"),
        (["--share", "none", "--", "true", ":"], "a program is missing next to a colon"),
        (["--share", "none", "-n", "5", "--", "true", ":", "true"], "2 programs of 5 ranks do not fit on the 8 hosts"),
        (
            ["--share", "none", "--only", "2", "--", "true", ":", "true"],
            "there is no job 2: the programs are jobs 0 to 1",
        ),
        (["--share", "none", "--", "true", ":", "/nowhere"], "there is no program /nowhere"),
        (
            ["--share", "sub-channels:2:2", "-n", "3", "--algorithm", "allgather=exchange", "--", "true", ":", "true"],
            "allgather of 3 and 3 ranks on mpi-fpga-torus-2x2x2 has no exchange; it has tree",
        ),
    ],
)
def test_bad_input_is_one_line(jobs: Jobs, words: list[str], said: str) -> None:
    code, output, errors, _ = jobs(*words)
    assert (code, output, errors.count("\n")) == (125, [], 1) and said in errors
