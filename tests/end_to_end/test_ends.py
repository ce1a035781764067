# SPDX-License-Identifier: Apache-2.0
"""Does a command that is ended by a signal, at any moment, exit at once, without output, and leave nothing behind:
process, file, shared memory?

After SIGKILL the ranks end by themselves, and the next command removes the rest. Moments are random, after the command
has installed its signal handlers; `THALWEG_SEED` repeats a seed.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from statistics import median

import pytest
from programs import ROOT, Mpi, left_over
from thalweg.launch.descendants import descendants

LEAVES_S = 1.0
LATEST_S = 2.0
NOISE = ("Traceback", "terminate called", "leaked", "Error", "Exception", "BAD TERMINATION", "mpiexec", "Aborted")
SHARED_MEMORY = Path("/dev/shm")
OPERATORS = """#include <cstdint>
#include "thalweg_operator.hpp"
THALWEG_OPERATOR(own, std::int64_t, 1) { return a + b; }
"""
COMMANDS = [
    "run -n 4 -- {talk}",
    "run -n 4 --ranks-per-node 2 --json run.json -- {talk}",
    "run -n 2 --operators {operators} -- {talk}",
    "jobs --cluster torus:2x2x2 --share none --json jobs.json -- {talk} : {talk}",
    "bench allreduce --cluster torus:4x4 --sizes 4:1M --json bench.json",
    "bench alltoall --cluster torus:4x4x4 --sizes 64K",
    "bench broadcast --cluster mpi-fpga-torus-4x4x8 --sizes 8 --plot broadcast.png",
    "bench latency --cluster ring:9 --sizes 4:4M",
    "bench traffic --cluster torus:8x8 --cycles 10000000 --json traffic.json",
    "bench traffic --cluster torus:4x4 --load sweep",
    "bench jobs --operations allreduce,allgather --cluster torus:4x4 --share sub-channels:1:3 --sizes 64K",
    "bench faults --cluster torus:4x4 --json faults.json",
    "tune --cluster torus:4x4 -o tuning.toml --json tune.json",
    "reproduce mpi-fpga --plot .",
    "route torus:16x16x4 --out routes --json route.json",
    "cluster list",
    "cluster show thalweg-torus-8x8 --json show.json",
    "cluster draw mpi-fpga-torus-4x4x4 -o drawing.svg",
    "rtl lint fifo skid arbiter",
    "rtl test fifo --runs 100 --json test.json",
    "rtl prove fifo skid",
    "rtl synth fifo arbiter",
    "rtl cosim --cluster ring:4",
    "rtl export torus:2x2 --output export",
]


@pytest.fixture(scope="session")
def words(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("ends")
    operators = folder / "operators.cpp"
    operators.write_text(OPERATORS)
    return {"talk": str(mpi.build([ROOT / "tests/end_to_end/talk.c"], folder / "talk")), "operators": str(operators)}


class Ended:
    """A command that was sent a signal, and everything that it left behind."""

    def __init__(self, command: str, words: dict[str, str], folder: Path, number: signal.Signals, wait: float) -> None:
        self.mark = f"THALWEG_TEST={uuid.uuid4()}"
        self.temporary, self.work = folder / "temporary", folder / "work"
        for place in (self.temporary, self.work):
            place.mkdir(parents=True)
        process = self._start([word.format_map(words) for word in command.split()])
        while not _listens(process.pid):
            assert process.poll() is None, f"{command} ends, and never took over its signals"
            time.sleep(0.001)
        time.sleep(wait)
        self.runs = self._scratch()
        start = time.monotonic()
        if process.poll() is None:  # as a terminal does, to the whole group, or to the process alone
            (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
        _, self.said = process.communicate()
        self.took = time.monotonic() - start
        self.code = process.returncode
        self.by_itself = self.code == 0  # before the signal arrived
        self.runs |= self._scratch()

    def _start(self, command: list[str]) -> subprocess.Popen[str]:
        name, value = self.mark.split("=")
        return subprocess.Popen(
            [sys.executable, "-m", "thalweg", *command],
            env={**os.environ, "TMPDIR": str(self.temporary), name: value},
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def _scratch(self) -> set[str]:
        # Not by rglob, which fails where a folder that it found is removed before it looks inside.
        found = (name for _, folders, files in os.walk(self.temporary) for name in (*folders, *files))
        return {name for name in found if name.startswith("thalweg.")}

    def start_next(self) -> None:
        assert self._start(["cluster", "show", "ring:2", "--json", "next.json"]).wait() == 0

    def processes(self, patience: float, but_for: str = "") -> list[int]:
        """Processes that are left after `patience` seconds."""
        deadline = time.monotonic() + patience
        while (left := [p for p in left_over(self.mark) if _name(p) != but_for]) and time.monotonic() < deadline:
            time.sleep(0.01)
        return left

    def files(self) -> list[str]:
        """Temporary files, half-written ones, and shared memory."""
        for report in self.work.glob("*.json"):
            json.loads(report.read_text())
        shared = [file.name for file in SHARED_MEMORY.iterdir() if file.name.startswith(tuple(self.runs))]
        temporary = [str(path) for path in self.temporary.iterdir() if not _is_probe(path)]
        return [*temporary, *map(str, self.work.glob(".*")), *(shared if self.runs else [])]


def _is_probe(path: Path) -> bool:
    """Python's tempfile creates a file as a test, and removes it at once, which SIGKILL may prevent."""
    return len(path.name) == 8 and path.is_file() and path.read_bytes() in (b"", b"blat")


def _name(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""


def _listens(process: int) -> bool:
    """True if it has installed its SIGTERM handler."""
    try:
        caught = Path(f"/proc/{process}/status").read_text().split("SigCgt:")[1].split()[0]
    except (OSError, IndexError):
        return False
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


def check(words: dict[str, str], folder: Path, number: signal.Signals, count: int, seed: int) -> None:
    draw = random.Random(f"{seed} {number}")
    commands = [*COMMANDS] * -(-count // len(COMMANDS))
    draw.shuffle(commands)
    times, places = [], itertools.count()
    for command in commands[:count]:
        wait = draw.uniform(0, LATEST_S)
        while (ended := Ended(command, words, folder / str(next(places)), number, wait)).by_itself:
            wait /= 2
        what = f"{command}, {number.name} after {wait:.3f} s, seed {seed}: "
        times.append(ended.took)
        expected = -number if number == signal.SIGKILL else 128 + number
        assert ended.code == expected, f"{what}exit code {ended.code}: {ended.said}"
        assert not any(noise in ended.said for noise in NOISE), what + ended.said
        if number == signal.SIGKILL:
            if command.startswith(("run", "jobs")):
                assert not ended.processes(5, but_for="child of a rank"), f"{what}ranks are left"
            ended.start_next()
        assert not ended.processes(5 if number == signal.SIGKILL else 0), f"{what}processes are left"
        assert not ended.files(), f"{what}{ended.files()} are left"
    print(f"{count} commands were gone within {max(times):.3f} s of {number.name}, half of them in {median(times):.3f}")
    assert max(times) < LEAVES_S


@pytest.mark.slow
def test_a_killed_launcher_leaves_nothing(words: dict[str, str], tmp_path: Path) -> None:
    """The ranks' shared memory has the name of the run, by which it is found if no rank removes it."""
    (tmp_path / "temporary").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "thalweg", "run", "-n", "4", "--ranks-per-node", "2", "--", words["talk"]],
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "0\n"
    (run,) = (tmp_path / "temporary").iterdir()
    shared = [file.name for file in SHARED_MEMORY.iterdir() if file.name.startswith(f"{run.name}.")]
    assert shared
    (launcher,) = [below for below in descendants(process.pid) if _name(below).startswith("mpiexec")]
    os.kill(launcher, signal.SIGKILL)
    _, said = process.communicate()
    assert process.returncode == 124
    assert "thalweg: rank" in said
    assert not descendants(process.pid)
    assert not list((tmp_path / "temporary").iterdir())
    assert not [name for name in shared if (SHARED_MEMORY / name).exists()]


@pytest.mark.slow
@pytest.mark.serial
@pytest.mark.parametrize(
    "number",
    [signal.SIGINT, signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.long), signal.SIGKILL],
)
def test_nothing_is_left(words: dict[str, str], tmp_path: Path, number: signal.Signals, seed: int) -> None:
    check(words, tmp_path, number, 4, seed)


@pytest.mark.long
@pytest.mark.serial
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_many(words: dict[str, str], tmp_path: Path, number: signal.Signals, seed: int) -> None:
    check(words, tmp_path, number, len(COMMANDS), seed)
