# SPDX-License-Identifier: Apache-2.0
"""Compares average latency and saturation with BookSim2, with matched pipelines: the table of docs/router.md.

Takes the path of a built booksim. Saturation is the load at which latency is three times that at load 0.05, interpolated
between the loads of a scan.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import thalweg

MATCHED = """
topology = torus; routing_function = dim_order; use_noc_latency = 0;
num_vcs = 4; vc_buf_size = 8; speculative = 0;
routing_delay = 1; vc_alloc_delay = 1; sw_alloc_delay = 1; st_final_delay = 1; credit_delay = 0;
vc_allocator = separable_input_first; sw_allocator = separable_input_first; arb_type = round_robin;
traffic = uniform; injection_process = bernoulli; packet_size = 8; injection_rate_uses_flits = 1;
sim_type = latency; warmup_periods = 2; latency_thres = 100000.0;
"""
"""use_noc_latency = 0 makes torus links take one cycle instead of two."""

SCANS = {(8, 2): [0.49, 0.5, 0.51, 0.52, 0.53, 0.54], (4, 3): [0.74, 0.75, 0.76, 0.77, 0.78, 0.79, 0.8],
         (8, 3): [0.48, 0.49, 0.5, 0.51, 0.52]}  # fmt: skip


def booksim_latency(program: Path, cycles: int, k: int, n: int, load: float) -> float:
    """Average packet latency; infinite if BookSim aborts."""
    with tempfile.NamedTemporaryFile("w", suffix=".cfg") as config:
        period = max(1000, cycles // 10)
        config.write(
            MATCHED + f"k = {k}; n = {n}; injection_rate = {load}; sample_period = {period}; max_samples = 12;\n"
        )
        config.flush()
        done = subprocess.run([program, config.name], capture_output=True, text=True, check=False)
    found = re.findall(r"Packet latency average = ([0-9.]+) \(1 samples\)", done.stdout)
    return float(found[-1]) if found else float("inf")


def our_latency(cycles: int, k: int, n: int, load: float) -> float:
    torus = "torus:" + "x".join([str(k)] * n)
    (row,) = thalweg.measure("traffic", torus, load=load, cycles=cycles, warmup=cycles // 5)
    latency: float = row["average_latency_cycles"]
    return latency


def saturation(base: float, scan: list[tuple[float, float]]) -> float:
    """Load at which latency reaches three times `base`, interpolated; the last load before BookSim aborts, if it aborts
    first."""
    for (load, latency), (next_load, next_latency) in zip(scan, scan[1:], strict=False):
        if latency < 3 * base <= next_latency:
            share = 0 if next_latency == float("inf") else (3 * base - latency) / (next_latency - latency)
            return load + share * (next_load - load)
    return float("nan")


def measure(latency: Callable[[float], float], k: int, n: int) -> list[float]:
    """Latency at load 0.05, at 0.2, and the saturation load."""
    low, middle = latency(0.05), latency(0.2)
    return [low, middle, saturation(low, [(load, latency(load)) for load in SCANS[k, n]])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("booksim", type=Path)
    parser.add_argument("--cycles", type=int, default=100_000, help="measured at each load")
    parser.add_argument("--torus", nargs="*", choices=["8x8", "4x4x4", "8x8x8"], default=["8x8", "4x4x4", "8x8x8"])
    arguments = parser.parse_args()
    print(f"{'torus':8} {'quantity':16} {'BookSim2':>9} {'ours':>9} {'difference':>10}")
    for name in arguments.torus:
        sides = [int(side) for side in name.split("x")]
        k, n = sides[0], len(sides)
        theirs = measure(partial(booksim_latency, arguments.booksim, arguments.cycles, k, n), k, n)
        ours = measure(partial(our_latency, arguments.cycles, k, n), k, n)
        for quantity, their, our in zip(["latency at 0.05", "latency at 0.2", "saturation"], theirs, ours, strict=True):
            print(f"{name:8} {quantity:16} {their:9.3f} {our:9.3f} {our / their - 1:+10.1%}", flush=True)


if __name__ == "__main__":
    main()
