# SPDX-License-Identifier: Apache-2.0
"""Compares the simulator's speed with that of BookSim2 (random traffic) and SimGrid's SMPI (MPI_Allreduce).

Takes the path of a built BookSim2, and the compiler and launcher of SimGrid (Debian: libsimgrid-dev, simgrid). Each
repetition measures the peer, then this simulator; the table has medians of user CPU time.

Traffic is uniform, in packets of 8 flits at load 0.2, on tori with 4 virtual channels of 8 flits and the pipeline of
booksim.py. A flit-hop is a flit on a link between routers. Of BookSim2 all cycles count, of Thalweg those after the warm-up.
A call of MPI_Allreduce includes its arithmetic, and neither start nor end of the program; SMPI has a torus of its fluid
link model, its default algorithms, and no time for computation. Thalweg has its engine, with the algorithm that takes the
least simulated time.
"""

from __future__ import annotations

import argparse
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import booksim
import thalweg
from thalweg.errors import ThalwegError
from thalweg.mpi_fpga import user_seconds

TRAFFIC = [(8, 8), (4, 4, 4), (8, 8, 8)]
LOAD = 0.2
ALLREDUCE = [((4, 4, 4), size) for size in (8, 16 << 10, 1 << 20)] + [
    ((4, 4, 8), size) for size in (8, 16 << 10, 1 << 20)
]

PLATFORM = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="torus" prefix="node" suffix="" radical="0-{last}" speed="1Gf" bw="64Gbps" lat="4ns"
           topology="TORUS" topo_parameters="{sides}"/>
</platform>
"""


class Failed(Exception):
    pass


def run(*command: str | Path, success: int = 0) -> tuple[str, float]:
    """Runs a program; returns its output, and its user CPU time in seconds. Raises Failed for another exit code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != success:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no message"]
        raise Failed(f"{Path(command[0]).name} failed with exit code {done.returncode}: {last[0]}")
    return done.stdout, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def torus(sides: Sequence[int]) -> str:
    return "x".join(map(str, sides))


def booksim_flit_hops(output: str, nodes: int) -> float:
    """Flits accepted, times links per flit, from BookSim2's statistics. Its hops count routers, which are one more."""

    def last(what: str) -> float:
        found = re.findall(rf"{what}\s*([0-9.]+)", output)
        if not found:
            raise Failed(f"BookSim2 printed no {what.split(' ')[0].lower()}; the load is beyond its saturation")
        return float(found[-1])

    flits = last("Accepted flit rate average =") * nodes * last("Time taken is")
    return flits * (last("Hops average =") - 1)


def booksim_speed(program: Path, sides: Sequence[int], cycles: int) -> float:
    """Millions of flit-hops per CPU second."""
    with tempfile.NamedTemporaryFile("w", suffix=".cfg") as config:
        config.write(
            f"{booksim.MATCHED} k = {sides[0]}; n = {len(sides)}; injection_rate = {LOAD};\n"
            f"sample_period = {max(1000, cycles // 10)}; max_samples = 12;\n"
        )
        config.flush()
        output, seconds = run(program, config.name, success=255)
    return booksim_flit_hops(output, sides[0] ** len(sides)) / seconds / 1e6


def our_speed(sides: Sequence[int], cycles: int) -> float:
    """Millions of flit-hops per CPU second."""
    (row,) = thalweg.measure("traffic", f"torus:{torus(sides)}", load=LOAD, cycles=cycles, warmup=cycles // 10)
    return float(row["flit_hops"] / row["cpu_s"] / 1e6)


class Smpi:
    """A program of SMPI, and the folder with its files."""

    def __init__(self, folder: Path, smpicc: Path, smpirun: Path) -> None:
        self.folder, self.smpirun = folder, smpirun
        self.program = folder / "allreduce"
        run(smpicc, "-O2", "-o", self.program, Path(__file__).parent / "peers/allreduce.c")

    def seconds(self, sides: Sequence[int], size: int, calls: int) -> float:
        ranks = thalweg.load(f"torus:{torus(sides)}").topology.nodes
        platform, hosts = self.folder / f"{ranks}.xml", self.folder / f"{ranks}.hosts"
        platform.write_text(PLATFORM.format(last=ranks - 1, sides=",".join(map(str, sides))))
        hosts.write_text("".join(f"node{rank}\n" for rank in range(ranks)))
        where = ["-np", str(ranks), "-platform", platform, "-hostfile", hosts]
        options = ["--cfg=smpi/simulate-computation:no", "--log=root.thresh:warning"]
        return run(self.smpirun, *where, *options, self.program, str(size), str(calls))[1]


def per_call(seconds: Callable[[int], float], least: float) -> Callable[[], float]:
    """Returns a measurement of ms of CPU time per call, from as many calls as take about `least` seconds."""
    start = seconds(1)
    first = max(seconds(3) - start, 1e-3) / 2
    calls = max(2, round(least / first))
    return lambda: 1e3 * (seconds(1 + calls) - seconds(1)) / calls


def alternate(theirs: Callable[[], float], ours: Callable[[], float], repeats: int) -> tuple[float, float]:
    """Returns the medians of alternating measurements."""
    both = [(theirs(), ours()) for _ in range(repeats)]
    return statistics.median(their for their, _ in both), statistics.median(our for _, our in both)


def compare(options: argparse.Namespace) -> None:
    """Prints the table; the last column is above 1 if Thalweg is faster."""
    print(f"{'million flit-hops per CPU second':40} {'BookSim2':>10} {'Thalweg':>10} {'faster by':>10}")
    for sides in TRAFFIC:
        theirs, ours = alternate(
            lambda sides=sides: booksim_speed(options.booksim, sides, options.cycles),
            lambda sides=sides: our_speed(sides, options.cycles),
            options.repeats,
        )
        print(f"{'traffic, torus ' + torus(sides):40} {theirs:10.3f} {ours:10.3f} {ours / theirs:10.2f}", flush=True)
    print(f"\n{'ms of CPU time per call':40} {'SMPI':>10} {'Thalweg':>10} {'faster by':>10}")
    with tempfile.TemporaryDirectory() as folder:
        smpi = Smpi(Path(folder), options.smpicc, options.smpirun)
        for sides, size in ALLREDUCE:
            name = f"torus:{torus(sides)}"
            (row,) = thalweg.measure("allreduce", name, sizes=size)
            theirs, ours = alternate(
                per_call(lambda calls, sides=sides, size=size: smpi.seconds(sides, size, calls), options.seconds),
                per_call(
                    lambda calls, name=name, size=size, by=row["algorithm"]: user_seconds(
                        "allreduce", name, size, calls, by
                    ),
                    options.seconds,
                ),
                options.repeats,
            )
            what = f"MPI_Allreduce, {row['ranks']} ranks, {size} bytes"
            print(f"{what:40} {theirs:10.3f} {ours:10.3f} {theirs / ours:10.2f}", flush=True)


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)

    def fail(what: str) -> NoReturn:
        sys.exit(f"{Path(__file__).name}: {what}")

    for name in ("booksim", "smpicc", "smpirun"):
        parser.add_argument(f"--{name}", type=Path, default=Path(name), help="its path [default: found in PATH]")
    parser.add_argument("--repeats", type=int, default=5, help="of each measurement [default: %(default)s]")
    parser.add_argument("--cycles", type=int, default=20_000, help="of traffic [default: %(default)s]")
    parser.add_argument("--seconds", type=float, default=2, help="of calls in a measurement [default: %(default)s]")
    options = parser.parse_args(words)
    for name in ("booksim", "smpicc", "smpirun"):
        given = getattr(options, name)
        if not shutil.which(given):
            fail(f"--{name} {given}: no such program; give the path of one")
    if options.repeats < 1 or options.cycles < 10 or options.seconds <= 0:
        fail("--repeats is at least 1, --cycles at least 10, --seconds above 0")
    return options


def main(words: Sequence[str] | None = None) -> None:
    options = arguments(words)
    try:
        compare(options)
    except (Failed, ThalwegError) as error:
        sys.exit(f"{Path(__file__).name}: {error}")


if __name__ == "__main__":
    main()
