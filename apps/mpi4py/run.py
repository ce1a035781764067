# SPDX-License-Identifier: Apache-2.0
"""Runs mpi4py's own test suite with plain MPI and on the fabric, and compares them test by test.

python apps/mpi4py/run.py [-n RANKS] [--ranks-per-node R] [--only NAME ...] [--limit S] [--source FOLDER]

The suite is not installed with mpi4py: it is taken from the source release of the installed version (pip download,
once, into build/). One launch runs all modules in order; if a module crashes it, or no test ends for S seconds, another
launch continues with the next module. Exits with 0 if every test that passes with plain MPI passes on the fabric on
every rank, and every call was intercepted; else with 1. Prints the modules that do not pass with plain MPI.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/end_to_end"))

import pmpi_count  # noqa: E402
from programs import QUICK  # noqa: E402
from thalweg.mpi_fpga import wrapped  # noqa: E402

BIN = Path(sys.executable).parent
RECORD = Path(__file__).with_name("record.py")

#: Functions whose number of calls depends on timing, such as polls.
VARYING = re.compile(
    "MPI_(Probe|Iprobe|Mprobe|Improbe|Recv|Mrecv|Imrecv|Wait|Test.*|Cancel|Request_free|Request_get_status|Get_count|Status_.*)"
)


def suite(source: Path | None) -> Path:
    """Returns the folder of the suite. Raises SystemExit if the release cannot be downloaded."""
    if source is None:
        name = f"mpi4py-{importlib.metadata.version('mpi4py')}"
        source = ROOT / "build" / name
        if not source.is_dir():
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", "mpi4py"]
            done = subprocess.run(
                [*command, "-d", source.parent, name.replace("-", "==")], capture_output=True, text=True
            )
            archive = source.parent / f"{name}.tar.gz"
            if not archive.exists():
                raise SystemExit(f"the source release {name} cannot be had: {done.stderr.strip()}")
            shutil.unpack_archive(archive, source.parent)
    return source / "test"


@dataclass
class Record:
    """Records of the ranks of one or several launches."""

    verdicts: list[dict[str, str]]  #: verdicts of finished tests, by rank
    whole: bool  #: every rank reached the end of the suite
    under_way: dict[str, list[int]] = field(default_factory=dict)  #: unfinished tests, with their ranks


def record(folder: Path, ranks: int) -> Record:
    made = Record([{} for _ in range(ranks)], whole=True)
    for rank, verdicts in enumerate(made.verdicts):
        file = folder / str(rank)
        lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        verdicts.update(line for line in lines if len(line) == 2)
        made.whole &= lines[-1:] == [[]]
        if lines and len(lines[-1]) == 1:
            made.under_way.setdefault(lines[-1][0], []).append(rank)
    return made


def module_of(test: str) -> str:
    return test.removeprefix("unittest.loader._FailedTest.").split(".")[0].removeprefix("setUpClass (")


def watch(command: list[str], variables: dict[str, str], folder: Path, limit: float) -> str:
    """Runs a launch as long as its ranks write; returns its stderr."""
    with (folder / "stderr").open("w+") as said:
        launch = subprocess.Popen(command, env={**os.environ, **variables}, stdout=said, stderr=said)
        size, since = -1, time.monotonic()
        while launch.poll() is None:
            time.sleep(0.1)
            written = sum(file.stat().st_size for file in folder.iterdir() if file.name.isdigit())
            if written != size:
                size, since = written, time.monotonic()
            if time.monotonic() - since > limit:
                launch.send_signal(signal.SIGINT)
                try:
                    launch.wait(20)
                except subprocess.TimeoutExpired:
                    launch.kill()
        said.seek(0)
        return said.read()


@dataclass
class Suite:
    """Verdicts of the whole suite."""

    verdicts: list[dict[str, str]]
    broken: dict[str, str] = field(default_factory=dict)  #: modules that crashed their launch, with the reason
    calls: Counter[str] = field(default_factory=Counter)  #: calls of launches that ended regularly


def in_turn(
    modules: list[str], ranks: int, folder: Path, launch: Callable[[list[str], Path], tuple[str, Mapping[str, int]]]
) -> Suite:
    """Runs all modules in order, with a new launch after a module that crashed one."""
    made = Suite([{} for _ in range(ranks)])
    left = modules
    while left:
        here = Path(tempfile.mkdtemp(dir=folder))
        said, calls = launch(left, here)
        seen = record(here, ranks)
        for all_of_rank, verdicts in zip(made.verdicts, seen.verdicts, strict=True):
            all_of_rank.update(verdicts)
        made.calls.update(calls)
        if seen.whole:
            break
        reached = {module_of(test) for rank in seen.verdicts for test in rank} | set(map(module_of, seen.under_way))
        last = max((left.index(module) for module in reached if module in left), default=0)
        where = ", ".join(f"{test} of ranks {ranks}" for test, ranks in seen.under_way.items()) or "between tests"
        made.broken[left[last]] = f"did not end, in {where}\n{said}"
        left = left[last + 1 :]
    return made


def differences(
    expected: list[dict[str, str]], seen: list[dict[str, str]], calls: Mapping[str, int], intercepted: Mapping[str, int]
) -> list[str]:
    """Returns a line for each difference between plain MPI and the fabric: a test of a rank that fails only on the
    fabric or is skipped by only one, and a function with another number of calls, unless timing determines it."""
    lines = []
    for rank, (plain, fabric) in enumerate(zip(expected, seen, strict=True)):
        for test in sorted(plain.keys() | fabric.keys()):
            said, now = plain.get(test), fabric.get(test)
            if said != now and (said is None or not said.startswith(("error", "failure"))):
                lines.append(f"rank {rank}: {test}: {said}; on the fabric {now}")
    for function in sorted(calls.keys() | intercepted.keys()):
        if VARYING.fullmatch(function):
            continue
        if wrapped(function) and calls.get(function, 0) != intercepted.get(function, 0):
            lines.append(f"{function}: {calls.get(function, 0)} calls, {intercepted.get(function, 0)} intercepted")
    return lines


def without(verdicts: list[dict[str, str]], modules: Mapping[str, str]) -> list[dict[str, str]]:
    return [{test: said for test, said in rank.items() if module_of(test) not in modules} for rank in verdicts]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("-n", "--ranks", type=int, default=4)
    options.add_argument("--ranks-per-node", type=int, default=1, metavar="R", help="on the fabric (1)")
    options.add_argument(
        "--only", nargs="+", default=["test_"], metavar="NAME", help="modules whose names begin so (all)"
    )
    options.add_argument("--limit", type=float, default=120, metavar="S", help="a test that takes longer hangs (120)")
    options.add_argument("--source", type=Path, metavar="FOLDER", help="an unpacked source release of mpi4py")
    given = options.parse_args()
    tests = suite(given.source)
    modules = sorted({file.stem for name in given.only for file in tests.glob(f"{name}*.py")})
    if not modules:
        raise SystemExit(f"{tests} has no {given.only}*.py")
    runs = [sys.executable, str(RECORD), str(tests)]

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        counter = pmpi_count.build(str(BIN / "mpicc"), folder)
        reports: list[dict[str, Any]] = []

        def plainly(left: list[str], here: Path) -> tuple[str, Mapping[str, int]]:
            (here / "counts").mkdir()
            variables = {**QUICK, "LD_PRELOAD": str(counter), "PMPI_COUNT": str(here / "counts")}
            command = [str(BIN / "mpiexec"), "-n", str(given.ranks), *runs, str(here), *left]
            return watch(command, variables, here, given.limit), pmpi_count.counts(here / "counts")

        def on_the_fabric(left: list[str], here: Path) -> tuple[str, Mapping[str, int]]:
            report = here / "report.json"
            run = [sys.executable, "-m", "thalweg", "run", "-n", str(given.ranks)]
            shared = ["--ranks-per-node", str(given.ranks_per_node), "--timeout", str(given.limit)]
            command = [*run, *shared, "--compute", "none", "--json", str(report), "--", *runs, str(here), *left]
            said = watch(command, QUICK, here, 2 * given.limit)
            reports.append(json.loads(report.read_text()) if report.exists() else {})
            return said, reports[-1].get("calls", {})

        plain = in_turn(modules, given.ranks, folder, plainly)
        failed = sorted({module_of(t) for r in plain.verdicts for t, v in r.items() if v.startswith(("error", "fail"))})
        fabric = in_turn([m for m in modules if m not in plain.broken], given.ranks, folder, on_the_fabric)

    for module, how in plain.broken.items():
        print(f"with MPI alone, {module} {how.splitlines()[0]}: left out")
    for rank, verdicts in enumerate(plain.verdicts):
        for test, said in verdicts.items():
            if said.startswith(("error", "failure")):
                print(f"with MPI alone, rank {rank}: {test}: {said}; on the fabric {fabric.verdicts[rank].get(test)}")
    wrong = [f"on the fabric, {module} {how}" for module, how in fabric.broken.items()]
    whole = not plain.broken and not fabric.broken and not failed
    ended = {**plain.broken, **fabric.broken}
    expected, seen = without(plain.verdicts, ended), without(fabric.verdicts, ended)
    wrong += differences(expected, seen, plain.calls if whole else {}, fabric.calls if whole else {})
    print(*wrong, sep="\n", end="\n" if wrong else "")
    every = Counter(verdict.split(":")[0] for rank in expected for verdict in rank.values())
    offloaded, left_out = (sum(sum(r.get(k, {}).values()) for r in reports) for k in ("offloaded", "fallback"))
    print(
        f"{len(expected[0])} tests on {given.ranks} ranks, with MPI alone "
        f"{', '.join(f'{count} {verdict}' for verdict, count in sorted(every.items()))}; on the fabric "
        f"{len(wrong) or 'nothing'} differs; {sum(fabric.calls.values())} calls; "
        f"{offloaded} parts of collectives in the network, {left_out} left to software"
    )
    for report in reports:
        for reason, count in sorted(report.get("fallback", {}).items(), key=lambda item: -item[1]):
            print(f"{count:10} {reason}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
