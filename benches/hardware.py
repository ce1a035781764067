# SPDX-License-Identifier: Apache-2.0
"""Throughput of the hardware, and its simulation speed: flits per cycle of a Verilated router under permutation traffic and of a
Verilated join with six inputs; node-cycles per second of CPU time in all-to-alls of clusters with the hardware's routers, and
with its collective units, compared with the simulator's, on one thread."""

from __future__ import annotations

import argparse
import subprocess
import time
from pathlib import Path

import thalweg
from thalweg.rtl.project import Project

HERE = Path(__file__).parent / "hardware"
CLUSTERS = ["mpi-fpga-torus-2x2x2", "mpi-fpga-fattree-8"]
MHZ = 250  #: clock of these clusters
ENGINES = ("sim", "rtl-routers", "rtl")


def rates(cycles: int) -> tuple[list[float], float]:
    """Flits per cycle of each of the router's links, and of the join."""
    program = Project().build_driver(HERE / "rates.sv", HERE / "driver.cpp")
    done = subprocess.run([program, str(cycles)], check=True, text=True, stdout=subprocess.PIPE)
    *links, join = (int(word) / cycles for word in done.stdout.split())
    return links, join


def speed(name: str, engine: str, size: int) -> float:
    """Node-cycles per second of CPU time of all-to-alls, from port to port and from host to host."""
    cluster = thalweg.load(name)

    def run(size: int) -> tuple[float, float]:
        begin = time.process_time()
        (row,) = thalweg.measure("alltoall", cluster, engine=engine, algorithm="tree", sizes=size)
        return time.process_time() - begin, (row["time_kernel_us"] + row["time_us"]) * MHZ

    run(8)  # builds
    seconds, cycles = run(size)
    return cycles * cluster.topology.nodes / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=100_000)
    parser.add_argument("--size", type=int, default=64 << 10, help="bytes that each rank has for each")
    parser.add_argument("--clusters", nargs="+", default=CLUSTERS)
    options = parser.parse_args()
    links, join = rates(options.cycles)
    print(f"router, permutation traffic, packets of 16 flits: {min(links):.4f} flits a cycle and link, at least")
    print(f"join of six operands: {join:.4f} flits a cycle of each\n")
    print(f"{'cluster':22} {'engine':>11} {'node-cycles/s':>13}")
    for name in options.clusters:
        for engine in ENGINES:
            print(f"{name:22} {engine:>11} {speed(name, engine, options.size):13,.0f}", flush=True)


if __name__ == "__main__":
    main()
