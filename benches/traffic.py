# SPDX-License-Identifier: Apache-2.0
"""Speed of the simulator: random traffic on tori, one thread, CPU time of the cycle loop, at least SECONDS of it each."""

from __future__ import annotations

import argparse

from thalweg import _sim
from thalweg.systems.mpi_fpga.cluster import Cluster

RUNS = [("torus:8x8", 0.2), ("torus:4x4x4", 0.2), ("torus:8x8x8", 0.2), ("torus:8x8", 0.001)]


def run(name: str, load: float, cycles: int) -> _sim.TrafficResult:
    """8-flit packets, uniform, after 5,000 cycles that don't count."""
    traffic = _sim.TrafficConfig()
    traffic.load, traffic.cycles, traffic.warmup = load, cycles, 5000
    return _sim.run_traffic(Cluster.load(name).fabric_config(collectives=False), traffic)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5)
    seconds = parser.parse_args().seconds
    print(
        f"{'cluster':12} {'load':>5} {'Mflit-hops/s':>12} {'Mrouter-cycles/s':>16} {'cycles':>10} {'CPU s':>6}  verified"
    )
    for name, load in RUNS:
        probe = run(name, load, 5000)
        result = run(name, load, int(1.3 * seconds * probe.cycles / max(probe.cpu_s, 1e-4)))
        print(
            f"{name:12} {load:5g} {result.flit_hops / result.cpu_s / 1e6:12.2f} "
            f"{result.router_cycles / result.cpu_s / 1e6:16.1f} {result.cycles:10} {result.cpu_s:6.2f}  {result.verified}"
        )


if __name__ == "__main__":
    main()
