# SPDX-License-Identifier: Apache-2.0
"""What the hardware sustains, and how fast it is simulated: flits a cycle of a router under permutation traffic and of a join with
six inputs, Verilated; router-cycles a second of clusters with the hardware's routers, and with its collective units beside the
simulator's, random programs, one thread, CPU time."""

from __future__ import annotations

import argparse
import subprocess
import time
from pathlib import Path

from thalweg.rtl.project import Project
from thalweg.systems.mpi_fpga import cosim
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.rtl_engine import in_rtl

HERE = Path(__file__).parent / "hardware"
CLUSTERS = ["mpi-fpga-torus-2x2x2", "mpi-fpga-fattree-8"]


def rates(cycles: int) -> tuple[list[float], float]:
    """Flits a cycle of each of the router's links, and of the join."""
    program = Project().build_driver(HERE / "rates.sv", HERE / "driver.cpp")
    done = subprocess.run([program, str(cycles)], check=True, text=True, stdout=subprocess.PIPE)
    *links, join = (int(word) / cycles for word in done.stdout.split())
    return links, join


def speed(cluster: Cluster, programs: int) -> float:
    """Cycles of all nodes, each a router's and a unit's, a second of CPU time."""
    begin, cycles = time.process_time(), 0
    for seed in range(programs):
        cycles += cosim.execute(cluster, seed, 10_000).cycles
    return cycles * cluster.topology.nodes / (time.process_time() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=100_000)
    parser.add_argument("--programs", type=int, default=10)
    parser.add_argument("--clusters", nargs="+", default=CLUSTERS)
    options = parser.parse_args()
    links, join = rates(options.cycles)
    print(f"router, permutation traffic, packets of 16 flits: {min(links):.4f} flits a cycle and link, at least")
    print(f"join of six operands: {join:.4f} flits a cycle of each\n")
    print(f"{'cluster':22} {'engine':>10} {'node-cycles/s':>13}")
    for name in options.clusters:
        cluster = Cluster.load(name)
        with_units = in_rtl(cosim.with_few_rows(cluster), compares=True, units=True)
        for engine, one in (("sim", cluster), ("rtl", in_rtl(cluster)), ("rtl, units", with_units)):
            print(f"{name:22} {engine:>10} {speed(one, options.programs):13,.0f}")


if __name__ == "__main__":
    main()
