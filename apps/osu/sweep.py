# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmark of every collective, in every form, on the fabric, and prints wrong results.

python apps/osu/sweep.py [--quick]

2, 3, 5, 8 and 16 ranks from 0 bytes to 64 KB, 64 ranks from 512 bytes to 4 KB, on tori and on fat trees, and 16 ranks on 8
nodes; each size once. Prints the benchmark's tables. Exits with 0 if every result was correct and every collective ran
in the network, else with 1.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCES = sorted(Path(__file__).parent.glob("*.c"))
BIN = Path(sys.executable).parent
FORMS = ["blocking", "nonblocking", "persistent"]
RUNS = [
    *((ranks, 1, "mpi-fpga-torus-2x2x2", "0:64K") for ranks in (2, 3, 5, 8)),
    (16, 1, "mpi-fpga-torus-4x4x2", "0:64K"),
    (64, 1, "mpi-fpga-torus-4x4x4", "512:4K"),
    *((ranks, 1, "mpi-fpga-fattree-8", "0:64K") for ranks in (2, 3, 5, 8, 16)),
    (64, 1, "mpi-fpga-fattree-16", "512:4K"),
    (16, 2, "mpi-fpga-torus-2x2x2", "0:64K"),
]
"""(ranks, ranks per node, cluster, sizes)"""


def run(osu: Path, folder: Path, ranks: int, per_node: int, cluster: str, sizes: str, form: str) -> str:
    """Runs all collectives once; returns an error message, or an empty string."""
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    places = ["-n", str(ranks), "--ranks-per-node", str(per_node), "--cluster", cluster]
    launch = [sys.executable, "-m", "thalweg", "run", *places, "--compute", "none"]
    words = [str(osu), "-m", sizes, "-i", "1", "-x", "0", "-f", form, "collectives"]
    done = subprocess.run([*launch, "--json", str(report), "--", *words], stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        return done.stderr.strip()
    left = json.loads(report.read_text())["fallback"]
    return f"left to software: {left}" if left else ""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="two and three ranks to 4 KB")
    quick = options.parse_args().quick
    runs = [(ranks, 1, "mpi-fpga-torus-2x2x2", "0:4K") for ranks in (2, 3)] if quick else RUNS
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        osu = Path(name) / "osu"
        subprocess.run([BIN / "mpicc", "-O2", "-o", osu, *SOURCES, "-lm"], check=True)
        for ranks, per_node, cluster, sizes in runs:
            for form in FORMS:
                start = time.monotonic()
                said = run(osu, Path(name), ranks, per_node, cluster, sizes, form)
                title = (
                    f"{ranks} ranks{f', {per_node} on a node' if per_node > 1 else ''}, on {cluster}, {form}, {sizes}"
                )
                print(f"\n== {title}: {said or 'right'}, {time.monotonic() - start:.0f} s", flush=True)
                if said:
                    wrong.append(title)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"\n{used.ru_utime + used.ru_stime:.0f} s of processor time; {len(wrong) or 'no'} runs went wrong",
        *wrong,
        sep="\n",
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
