# SPDX-License-Identifier: Apache-2.0
"""Simulation speed of SMI programs: elements pushed, popped and checked per second of CPU time, by type and by number of concurrently
pushing kernels; and elements that each rank contributes to a collective of 8 ranks. The best of several runs, without compilation."""

from __future__ import annotations

import argparse
import os
from typing import Any

import thalweg

BYTES = {"char": 1, "int": 4, "double": 8}


def cpu_s() -> float:
    """CPU time in seconds of this process and its ended child processes. SMI kernels run in a child process."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def seconds(operation: str, cluster: str, repeats: int, **options: Any) -> float:
    thalweg.measure(operation, cluster, **options)  # compiles
    best = float("inf")
    for _ in range(repeats):
        begin = cpu_s()
        thalweg.measure(operation, cluster, **options)
        best = min(best, cpu_s() - begin)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cluster", default="smi-noctua")
    parser.add_argument("--elements", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    ranks, count = thalweg.load(options.cluster).topology.nodes, options.elements
    print(f"{'operation':10} {'type':7} {'kernels':>7} {'million elements/s':>18}")
    for element, senders in (("char", 1), ("int", 1), ("double", 1), ("int", 4)):
        sizes = count // senders * senders * BYTES[element]
        taken = seconds("push", options.cluster, options.repeats, element=element, senders=senders, sizes=sizes)
        print(f"{'push':10} {element:7} {senders:7} {count / taken / 1e6:18.2f}", flush=True)
    for operation in ("broadcast", "reduce", "scatter", "gather"):
        each = count // (ranks * ranks)
        taken = seconds(operation, options.cluster, options.repeats, element="int", sizes=each * BYTES["int"])
        print(f"{operation:10} {'int':7} {ranks:7} {each * ranks / taken / 1e6:18.2f}", flush=True)


if __name__ == "__main__":
    main()
