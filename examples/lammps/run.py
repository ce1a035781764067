# SPDX-License-Identifier: Apache-2.0
"""Runs an unmodified third-party program: LAMMPS melts a crystal, with plain MPI and on the fabric.

Runs in.melt twice and compares the thermodynamic output. Fails if it differs by more than 1e-9, or if software executed a
collective that the network can compute.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
LIMIT = 1e-9  # relative; sums in another order differ by about 1e-15, which a trajectory amplifies
OFFLOADED = {f"MPI_{name}" for name in ("Allreduce", "Reduce", "Bcast", "Barrier", "Gather", "Allgather")}
Thermo = dict[int, dict[str, float]]


def thermo(log: Path) -> Thermo:
    """Thermodynamic table of a log file: values by step and column."""
    table: Thermo = {}
    columns: list[str] = []
    for line in log.read_text().splitlines():
        words = line.split()
        if words[:1] == ["Step"]:
            columns = words[1:]
        elif words[:1] == ["Loop"]:
            return table
        elif columns and words and words[0].isdigit():
            table[int(words[0])] = dict(zip(columns, map(float, words[1:]), strict=True))
    raise SystemExit(f"lammps: {log} holds no complete thermodynamic table")


def lammps(log: Path) -> list[str]:
    return [str(BIN / "lmp"), "-in", str(HERE / "in.melt"), "-log", str(log), "-screen", "none"]


def run(*command: str) -> str:
    """Runs a command and returns its stderr."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.stderr.write(done.stderr)
        raise SystemExit(f"lammps: {' '.join(command[:3])} ended with {done.returncode}")
    return done.stderr


def difference(expected: float, value: float) -> float:
    """Relative difference; infinite if a value is NaN."""
    relative = abs(value - expected) / (abs(expected) or 1.0)
    return relative if math.isfinite(relative) else math.inf


def compare(plain: Thermo, fabric: Thermo) -> float:
    """Prints every tenth step of both, and returns the largest relative difference of all steps."""
    if plain.keys() != fabric.keys():
        raise SystemExit("lammps: the two runs printed other steps")
    largest = 0.0
    print(
        f"{'step':>5} {'total energy, plain':>22} {'on the fabric':>22} {'difference':>11}   (largest of all columns)"
    )
    for step, expected in plain.items():
        worst = max(difference(value, fabric[step][name]) for name, value in expected.items())
        largest = max(largest, worst)
        if step % 10 == 0:
            print(f"{step:5} {expected['TotEng']:22.16f} {fabric[step]['TotEng']:22.16f} {worst:11.1e}")
    return largest


def left_to_software(report: dict[str, Any]) -> list[str]:
    return [
        f"{row['function']}: {row['calls']} calls"
        for row in report["collectives"]
        if row["function"] in OFFLOADED and not row["offloaded"]
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--cluster", default="mpi-fpga-torus-2x2x2")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"LAMMPS on {given.ranks} ranks, plain", flush=True)
        run(str(BIN / "mpiexec"), "-n", str(given.ranks), *lammps(folder / "plain.log"))
        print(f"LAMMPS on {given.ranks} ranks, on {given.cluster}\n", flush=True)
        thalweg = [sys.executable, "-m", "thalweg", "run", "-n", str(given.ranks), "--cluster", given.cluster]
        thalweg += ["--compute", "none"]  # so that the report is the same in every run
        report = run(*thalweg, "--json", str(folder / "run.json"), "--", *lammps(folder / "fabric.log"))
        largest = compare(thermo(folder / "plain.log"), thermo(folder / "fabric.log"))
        software = left_to_software(json.loads((folder / "run.json").read_text()))
    right = largest <= LIMIT
    print(f"\nlargest relative difference: {largest:.1e}, {'at most' if right else 'MORE THAN'} {LIMIT:.0e}")
    print("collectives of the network left to software: " + ("; ".join(software) or "none"))
    print(report, end="")
    return 0 if right and not software else 1


if __name__ == "__main__":
    sys.exit(main())
