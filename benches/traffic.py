# SPDX-License-Identifier: Apache-2.0
"""Simulation speed: random traffic on tori, one thread, CPU time of the cycle loop, at least SECONDS for each."""

from __future__ import annotations

import argparse
from typing import Any

import thalweg

RUNS = [("torus:8x8", 0.2), ("torus:4x4x4", 0.2), ("torus:8x8x8", 0.2), ("torus:8x8", 0.001)]


def run(name: str, load: float, cycles: int) -> dict[str, Any]:
    """Uniform traffic of 8-flit packets, after a warm-up of 5,000 cycles."""
    (row,) = thalweg.measure("traffic", name, load=load, cycles=cycles, warmup=5000)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5)
    seconds = parser.parse_args().seconds
    print(
        f"{'cluster':12} {'load':>5} {'Mflit-hops/s':>12} {'Mrouter-cycles/s':>16} {'cycles':>10} {'CPU s':>6}  verified"
    )
    for name, load in RUNS:
        probe = run(name, load, 5000)
        row = run(name, load, int(1.3 * seconds * probe["cycles"] / max(probe["cpu_s"], 1e-4)))
        flits, routers = (row[what] / row["cpu_s"] / 1e6 for what in ("flit_hops", "router_cycles"))
        print(
            f"{name:12} {load:5g} {flits:12.2f} {routers:16.1f} {row['cycles']:10} {row['cpu_s']:6.2f}  {row['verified']}"
        )


if __name__ == "__main__":
    main()
