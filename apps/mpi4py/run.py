"""Runs the collective part of mpi4py's own test suite with plain MPI and on the fabric, and compares them test by test.

python apps/mpi4py/run.py [-n RANKS] [--ranks-per-node R] [--only NAME] [--source FOLDER]

The suite is not installed with mpi4py: it is taken from the source release of the version that is (pip download, once,
into build/). Ends with 0 when every rank has the same verdict on every test and every call was intercepted, else with 1.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/end_to_end"))

import pmpi_count  # noqa: E402
from programs import QUICK  # noqa: E402

BIN = Path(sys.executable).parent
RECORD = Path(__file__).with_name("record.py")


def suite(source: Path | None) -> Path:
    """The folder of the suite. Raises SystemExit where the release cannot be had."""
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


def verdicts(folder: Path, ranks: int) -> list[dict[str, str]]:
    """Those of each rank; Raises SystemExit where a rank left none."""
    files = [folder / f"{rank}.json" for rank in range(ranks)]
    if not all(file.exists() for file in files):
        raise SystemExit("a rank ended before the suite did")
    return [json.loads(file.read_text()) for file in files]


def plainly(ranks: int, command: list[str], folder: Path) -> Counter[str]:
    """Runs it with MPI alone; the calls that were made."""
    counts = folder / "counts"
    counts.mkdir()
    counter = pmpi_count.build(str(BIN / "mpicc"), folder)
    variables = {**QUICK, "LD_PRELOAD": str(counter), "PMPI_COUNT": str(counts)}
    subprocess.run([BIN / "mpiexec", "-n", str(ranks), *command], env={**os.environ, **variables}, check=False)
    return pmpi_count.counts(counts)


def on_the_fabric(ranks: int, per_node: int, command: list[str], folder: Path) -> dict[str, Any]:
    """Runs it on the fabric; the report."""
    report = folder / "report.json"
    run = [sys.executable, "-m", "thalweg", "run", "-n", str(ranks), "--ranks-per-node", str(per_node)]
    options = ["--compute", "none", "--json", str(report), "--"]
    done = subprocess.run([*run, *options, *command], stderr=subprocess.PIPE, text=True, check=False)
    if not report.exists() or json.loads(report.read_text())["exit_code"] != 0:
        raise SystemExit(done.stderr)
    return dict(json.loads(report.read_text()))


def differences(
    expected: list[dict[str, str]], seen: list[dict[str, str]], calls: Mapping[str, int], intercepted: Mapping[str, int]
) -> list[str]:
    """A line for each test of a rank whose verdicts differ, and for each function whose calls do."""
    lines = []
    for rank, (plain, fabric) in enumerate(zip(expected, seen, strict=True)):
        for test in sorted(plain.keys() | fabric.keys()):
            if plain.get(test) != fabric.get(test):
                lines.append(f"rank {rank}: {test}: {plain.get(test)}; on the fabric {fabric.get(test)}")
    for function in sorted(calls.keys() | intercepted.keys()):
        if calls.get(function, 0) != intercepted.get(function, 0):
            lines.append(f"{function}: {calls.get(function, 0)} calls, {intercepted.get(function, 0)} intercepted")
    return lines


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("-n", "--ranks", type=int, default=4)
    options.add_argument("--ranks-per-node", type=int, default=1, metavar="R", help="on the fabric (1)")
    options.add_argument("--only", default="test_cco_", metavar="NAME", help="modules whose names begin so (test_cco_)")
    options.add_argument("--source", type=Path, metavar="FOLDER", help="an unpacked source release of mpi4py")
    given = options.parse_args()
    tests = suite(given.source)
    modules = sorted(file.stem for file in tests.glob(f"{given.only}*.py"))
    if not modules:
        raise SystemExit(f"{tests} has no {given.only}*.py")

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain, fabric = folder / "plain", folder / "fabric"
        plain.mkdir()
        fabric.mkdir()
        record = [sys.executable, str(RECORD), str(tests)]
        calls = plainly(given.ranks, [*record, str(plain), *modules], folder)
        report = on_the_fabric(given.ranks, given.ranks_per_node, [*record, str(fabric), *modules], folder)
        expected, seen = verdicts(plain, given.ranks), verdicts(fabric, given.ranks)
    wrong = differences(expected, seen, calls, report["calls"])
    print(*wrong, sep="\n", end="\n" if wrong else "")
    every = Counter(verdict.split(":")[0] for rank in expected for verdict in rank.values())
    offloaded, left = sum(report["offloaded"].values()), sum(report["fallback"].values())
    print(
        f"{len(expected[0])} tests on {given.ranks} ranks, with MPI alone "
        f"{', '.join(f'{count} {verdict}' for verdict, count in sorted(every.items()))}; on the fabric "
        f"{len(wrong) or 'nothing'} differs; {sum(calls.values())} calls; "
        f"{offloaded} parts of collectives in the network, {left} left to software"
    )
    for reason, count in sorted(report["fallback"].items(), key=lambda item: -item[1]):
        print(f"{count:10} {reason}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
