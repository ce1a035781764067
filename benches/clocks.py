# SPDX-License-Identifier: Apache-2.0
"""Cost of a second clock: a network with one clock, and with a second one that is idle or receives a word of every packet
that reaches one node. Measures instructions by callgrind (valgrind), otherwise CPU time, the minimum of several runs."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Ticks of both periods, of the network's 250 MHz and the other clock.
CLOCKS = {"150 MHz": "3:5", "322.265625 MHz": "165:128"}
FOLDERS = ["link", "network", "switch"]  #: folders of the simulator with source files


def build(folder: Path) -> Path:
    """Compiles the network, which takes a minute."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "network"
    include = [f"-I{ROOT / path}" for path in ("sim", "tests/sim", "spec/generated/cpp")]
    sources = [
        ROOT / "benches/clocks/network.cpp",
        *(source for name in FOLDERS for source in sorted((ROOT / "sim" / name).glob("*.cpp"))),
    ]
    subprocess.run(["c++", "-std=c++20", "-O3", "-DNDEBUG", *include, *sources, "-ldl", "-o", program], check=True)
    return program


def run(program: Path, mode: str, cycles: int) -> tuple[int, int, float]:
    """Returns a sum over all received data, words that crossed, and seconds of CPU time."""
    done = subprocess.run([program, mode, str(cycles)], check=True, text=True, stdout=subprocess.PIPE)
    arrived, words, seconds = done.stdout.split()
    return int(arrived), int(words), float(seconds)


def instructions(program: Path, mode: str, cycles: int) -> int:
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, mode, str(cycles)]
    said = subprocess.run(valgrind, check=True, text=True, capture_output=True).stderr
    found = re.search(r"Collected : (\d+)", said)
    assert found
    return int(found[1])


def costs(program: Path, cycles: int, repeats: int) -> dict[str, float]:
    """Cost of each mode, relative to the network alone."""
    modes = {f"with {name}, {use}": f"{periods}:{use}" for name, periods in CLOCKS.items() for use in ("idle", "used")}
    modes = {"alone": "alone", **modes}
    if repeats:
        cost = dict.fromkeys(modes, float("inf"))
        for _ in range(repeats):
            for name, mode in modes.items():
                cost[name] = min(cost[name], run(program, mode, cycles)[2])
    else:
        cost = {name: float(instructions(program, mode, cycles)) for name, mode in modes.items()}
    return {name: value / cost["alone"] for name, value in cost.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=20_000)
    parser.add_argument("--build", type=Path, default=ROOT / "build/benches")
    parser.add_argument(
        "--repeats", type=int, default=0 if shutil.which("valgrind") else 10, help="measure CPU time this many times"
    )
    options = parser.parse_args()
    program = build(options.build)
    print(f"{'250 MHz':26} {'CPU time' if options.repeats else 'instructions'}")
    for name, cost in costs(program, options.cycles, options.repeats).items():
        print(f"{name:26} {cost:.4f}")


if __name__ == "__main__":
    main()
