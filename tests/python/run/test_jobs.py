"""Do MPI programs that share a cluster each get what they get alone with their share, to the tick?"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from programs import execute

PROGRAMS = Path(__file__).parent / "programs"
MPICC = Path(sys.executable).parent / "mpicc"
CLUSTER = "mpi-fpga-torus-2x2x2"

Report = dict[str, Any]
Jobs = Callable[..., tuple[int, list[str], str, Report]]


@pytest.fixture(scope="module")
def neighbour(tmp_path_factory: pytest.TempPathFactory) -> str:
    program = tmp_path_factory.mktemp("jobs") / "neighbour"
    subprocess.run([MPICC, "-O1", "-w", "-I", PROGRAMS, "-o", program, PROGRAMS / "neighbour.c"], check=True)
    return str(program)


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


@pytest.mark.parametrize("share", ["sub-channels:1:3", "time-slots:2:1"])
def test_each_takes_the_time_that_it_takes_alone(jobs: Jobs, neighbour: str, share: str) -> None:
    common = ("--share", share, "--compute", "none")
    both = ("--", neighbour, ":", neighbour)
    code, output, errors, together = jobs(*common, *both)
    said = [f"{job}: rank {rank} of 4" for job in (0, 1) for rank in range(4)]
    assert (code, output) == (0, sorted([*said, "0: all right", "1: all right"])), errors
    alone = [jobs(*common, "--only", job, *both)[3] for job in ("0", "1")]
    assert _times(together) == [time for report in alone for time in _times(report)]
    whole = jobs("--share", "none", "--compute", "none", "--only", "0", *both)[3]
    assert _times(whole)[0] < _times(together)[0]
    assert together["jobs"][0]["nodes"] == [0, 2, 4, 6] and together["jobs"][1]["nodes"] == [1, 3, 5, 7]
    assert {row["communicator"] for row in together["collectives"] if row["function"] == "MPI_Allreduce"} == {
        "job 0: MPI_COMM_WORLD",
        "job 1: MPI_COMM_WORLD",
    }
    assert together["fallback"] == {}


def test_the_status_of_one_is_that_of_the_run(jobs: Jobs, neighbour: str) -> None:
    code, _, errors, _ = jobs("--share", "none", "-n", "3", "--", neighbour, ":", neighbour, "abort")
    assert code == 9 and "rank 5 called MPI_Abort with code 9" in errors


def test_one_that_is_no_mpi_program_does_not_hold_up_the_others(jobs: Jobs, neighbour: str) -> None:
    code, _, errors, _ = jobs("--share", "time-slots:1:1", "--", neighbour, ":", "/bin/true")
    assert code == 124 and "only 4 of 8 ranks called MPI_Init and MPI_Finalize" in errors


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--share", "sub-channels:1:1:1", "--", "true", ":", "true"], "sub-channels:1:1:1 is for 3 programs, not 2"),
        (["--share", "sub-channels:4:1", "--", "true", ":", "true"], "the jobs have 5 sub-channels; there are 4"),
        (["--share", "none", "--", "true", ":"], "a program is missing beside a colon"),
        (["--share", "none", "-n", "5", "--", "true", ":", "true"], "2 programs of 5 ranks do not fit on the 8 hosts"),
        (
            ["--share", "none", "--only", "2", "--", "true", ":", "true"],
            "there is no job 2: the programs are jobs 0 to 1",
        ),
        (["--share", "none", "--", "true", ":", "/nowhere"], "there is no program /nowhere"),
    ],
)
def test_bad_input_is_one_line(jobs: Jobs, words: list[str], said: str) -> None:
    code, output, errors, _ = jobs(*words)
    assert (code, output, errors.count("\n")) == (125, [], 1) and said in errors
