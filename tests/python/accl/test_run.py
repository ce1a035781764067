# SPDX-License-Identifier: Apache-2.0
"""Does `thalweg accl run` start and end the ranks of a program, and report by its exit code and on stderr how they
ended?"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("zmq", reason="pyzmq is not installed")

sys.path.insert(0, str(Path(__file__).parent))
from ports import free_ports
from processes import alive, wait_for_end
from thalweg.launch import mpi
from thalweg.systems.accl.run import Ranks

HERE = Path(__file__).parent
CLUSTER = "accl-u280-udp"
PROGRAM = (sys.executable, str(HERE / "ranks.py"))
TIMEOUT_S = 60


def words(ranks: int, what: str, *options: str, port: str = "{port}") -> list[str]:
    started = [sys.executable, "-m", "thalweg", "accl", "run", "-n", str(ranks), "--mpi", "mpich"]
    return [*started, "--cluster", CLUSTER, *options, "--", *PROGRAM, what, port]


def run(command: list[str], folder: Path) -> tuple[int, str, list[str]]:
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=TIMEOUT_S, check=False)
    return done.returncode, done.stdout, done.stderr.splitlines()


def test_one_rank(tmp_path: Path) -> None:
    assert run(words(1, "copy"), tmp_path) == (
        0,
        "rank 0 of 1\n",
        [
            "rank  clients  calls  bytes  wrong  refused  which",
            "   0        1      6     64      0        0  5 config, 1 copy",
        ],
    )


def test_two_ranks_of_mpi(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    status, said, report = run(words(2, "mpi", "--pcap", "frames.pcapng", "--json", "report.json"), tmp_path)
    assert (status, said) == (0, ""), report
    assert [line.split(maxsplit=6)[6] for line in report[1:]] == ["5 config, 1 send", "5 config, 1 recv"]
    assert bytes([5]) * 64 in (tmp_path / "frames.pcapng").read_bytes()
    written = json.loads((tmp_path / "report.json").read_text())
    assert written["exit_code"] == 0 and written["ranks"][1]["calls"] == {"config": 5, "recv": 1}


def test_ranks_that_end_without_finalizing_mpi(tmp_path: Path) -> None:
    """Like ACCL's stress test. MPICH's launcher ends the others, unless all end at once."""
    pytest.importorskip("mpi4py")
    status, _, report = run(words(2, "ends late and does not finalize"), tmp_path)
    assert (status, len(report)) == (0, 3), report


def test_a_port_of_the_users(tmp_path: Path) -> None:
    port = free_ports(4)
    assert run(words(1, "copy", "--port", str(port), port=str(port)), tmp_path)[0] == 0


def test_a_return_code_that_the_program_does_not_see(tmp_path: Path) -> None:
    status, _, report = run(words(1, "wrong"), tmp_path)
    assert (status, len(report)) == (1, 3)
    assert re.fullmatch(
        r"rank 0: copy ended with 0x40000, DMA size error: bytes \d+ to \d+ of the board's memory were not all allocated.*",
        report[2],
    )


def test_a_rank_that_fails_ends_the_others(tmp_path: Path) -> None:
    status, _, report = run(words(2, "fails"), tmp_path)
    assert (status, report[0]) == (3, "thalweg: rank 1 ended with status 3; the others were ended")


def test_a_rank_that_dies_ends_the_others(tmp_path: Path) -> None:
    status, _, report = run(words(2, "dies"), tmp_path)
    assert status == 128 + signal.SIGSEGV
    assert "thalweg: rank 1 was ended by SIGSEGV; the others were ended" in report


def test_ranks_that_wait_for_each_other(tmp_path: Path) -> None:
    status, said, report = run(words(2, "waits for ever", "--patience", "0.3"), tmp_path)
    assert (status, said, report[0]) == (124, "", "thalweg: deadlock: all ranks wait for calls that cannot end")
    assert report[4:] == [
        "rank 0: recv never ended",
        "rank 1: recv never ended",
        "recv of node 0 waits for a message from rank 1 of its communicator, for node 1",
        "recv of node 1 waits for a message from rank 0 of its communicator, for node 0",
    ]


def test_a_rank_waits_for_one_that_does_something_else(tmp_path: Path) -> None:
    assert run(words(2, "comes late", "--patience", "0.1"), tmp_path)[0] == 0


def test_a_rank_waits_for_one_that_has_ended(tmp_path: Path) -> None:
    status, _, report = run(words(2, "never comes", "--patience", "0.1"), tmp_path)
    assert status == 124
    assert "recv of node 0 waits for a message from rank 1 of its communicator, for node 1" in report


@contextmanager
def sleeping(folder: Path) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A run of two sleeping ranks, and their processes."""
    pipe = subprocess.PIPE
    with subprocess.Popen(words(2, "sleep"), stdout=pipe, stderr=pipe, text=True, cwd=folder) as running:
        try:
            assert running.stdout
            yield running, [int(running.stdout.readline()) for _ in range(2)]
        finally:
            running.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_ranks_and_prints_the_report(tmp_path: Path, number: int) -> None:
    with sleeping(tmp_path) as (running, processes):
        running.send_signal(number)
        _, report = running.communicate(timeout=TIMEOUT_S)
        assert running.returncode == 128 + number
        assert not any(map(alive, processes))
        assert report.splitlines()[0].startswith("rank  clients  calls")


def test_no_rank_outlives_a_run_that_is_killed(tmp_path: Path) -> None:
    with sleeping(tmp_path) as (running, processes):
        running.kill()
        wait_for_end(processes)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-n", "0", "--cluster", CLUSTER, "true"], "accl run: Invalid value for '-n': 0 is not in the range x>=1"),
        (
            ["-n", "2", "--cluster", CLUSTER, "--patience", "nan", "true"],
            "accl run: Invalid value for '--patience': nan is no",
        ),
        (["-n", "2", "--cluster", CLUSTER, "no-such"], "there is no program no-such"),
        (["-n", "99", "--cluster", CLUSTER, "true"], "99 ranks, but accl-u280-udp has "),
        (
            ["-n", "2", "--cluster", CLUSTER, "true"],
            "true is not linked with an MPI that could start 2 ranks; give --mpi",
        ),
        (["-n", "2", "--cluster", CLUSTER, "--port", "65530", "true"], "2 ranks need 8 ports from 65530 on"),
        (["-n", "2", "--cluster", CLUSTER, "--mpi", "/nowhere", "true"], "--mpi /nowhere: no mpicc and mpiexec in"),
    ],
)
def test_bad_input(tmp_path: Path, arguments: list[str], says: str) -> None:
    status, said, complaint = run([sys.executable, "-m", "thalweg", "accl", "run", *arguments], tmp_path)
    assert (status, said, len(complaint)) == (125, "", 1)
    assert complaint[0].startswith(f"thalweg: {says}")


def test_the_first_rank_that_failed_is_named(tmp_path: Path) -> None:
    for rank, status, end in ((0, 0, 10), (2, 7, 30), (1, 9, 20)):
        (tmp_path / str(rank)).write_text(f"{status}\n")
        os.utime(tmp_path / str(rank), (end, end))
    ranks = Ranks(tmp_path, 4)
    ranks.check_progress()
    assert ranks.failed == (1, 9)
    assert ranks.alive == {3}


def test_the_launcher_of_a_programs_own_mpi(tmp_path: Path) -> None:
    compilers = [shutil.which(name) for name in ("mpicc.mpich", "mpicc.openmpi", "mpicc")]
    for compiler in filter(None, compilers):
        (tmp_path / "program.c").write_text("#include <mpi.h>\nint main(void) { return MPI_Init(0, 0); }\n")
        subprocess.run([compiler, "program.c", "-o", "program"], cwd=tmp_path, check=True)
        found = mpi.launcher_of(str(tmp_path / "program"))
        if found is None:  # its library is found by LD_LIBRARY_PATH alone
            continue
        shown = subprocess.run([found.mpiexec, "--version"], capture_output=True, text=True, check=True).stdout
        assert ("Open MPI" in shown or "Open RTE" in shown) == (found.family == "openmpi")
    assert mpi.launcher_of("/bin/sh") is None
    assert mpi.launcher_of(PROGRAM[1]) is None
