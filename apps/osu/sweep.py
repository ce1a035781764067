"""Runs the benchmark of every collective, in every form, on the fabric, and says where a result was wrong.

python apps/osu/sweep.py [--quick]

2, 3, 5, 8 and 16 ranks from 0 bytes to 1 MB, 64 ranks to 16 KB, on tori and a fat tree; each size once. Its tables go to
the terminal. Ends with 0 where every result was right and every collective was in the network, else with 1.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCES = sorted(Path(__file__).parent.glob("*.c"))
BIN = Path(sys.executable).parent
FORMS = ["blocking", "nonblocking", "persistent"]
RUNS = [
    *((ranks, "mpi-fpga-torus-2x2x2", "0:1M") for ranks in (2, 3, 5, 8)),
    (16, "mpi-fpga-torus-4x4x2", "0:1M"),
    (16, "mpi-fpga-fattree-8", "0:64K"),
    (64, "mpi-fpga-torus-4x4x4", "0:16K"),
]


def run(osu: Path, folder: Path, ranks: int, cluster: str, sizes: str, form: str) -> str:
    """One run of all collectives; what is wrong with it, or nothing."""
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    launch = [sys.executable, "-m", "thalweg", "run", "-n", str(ranks), "--cluster", cluster, "--compute", "none"]
    words = [str(osu), "-m", sizes, "-i", "1", "-x", "0", "-f", form, "collectives"]
    done = subprocess.run([*launch, "--json", str(report), "--", *words], stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        return done.stderr.strip()
    left = json.loads(report.read_text())["fallback"]
    return f"left to software: {left}" if left else ""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="two and three ranks to 4 KB")
    runs = [(2, RUNS[0][1], "0:4K"), (3, RUNS[0][1], "0:4K")] if options.parse_args().quick else RUNS
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        osu = Path(name) / "osu"
        subprocess.run([BIN / "mpicc", "-O2", "-o", osu, *SOURCES, "-lm"], check=True)
        for ranks, cluster, sizes in runs:
            for form in FORMS:
                start = time.monotonic()
                said = run(osu, Path(name), ranks, cluster, sizes, form)
                title = f"{ranks} ranks on {cluster}, {form}, {sizes}"
                print(f"\n== {title}: {said or 'right'}, {time.monotonic() - start:.0f} s", flush=True)
                if said:
                    wrong.append(title)
    print(f"\n{len(wrong) or 'no'} runs went wrong", *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
