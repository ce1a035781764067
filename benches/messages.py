# SPDX-License-Identifier: Apache-2.0
"""How fast programs of SMI are simulated: elements pushed, each of them popped and checked, in a second of CPU time, by their type and by kernels
that push at once; and elements that each rank gives to a collective on all 8. The best of several runs, without compiling."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from thalweg.systems.smi.cluster import Cluster
from thalweg.systems.smi.operations import COLLECTIVES, collective, pushes
from thalweg.systems.smi.run import Result


def seconds(run: Callable[[], tuple[Result, bool]], repeats: int) -> float:
    run()  # compiles
    best = float("inf")
    for _ in range(repeats):
        begin = time.process_time()
        _, right = run()
        best = min(best, time.process_time() - begin)
        assert right
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cluster", default="smi-noctua")
    parser.add_argument("--elements", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    cluster = Cluster.load(options.cluster)
    ranks, count = cluster.topology.nodes, options.elements
    print(f"{'operation':10} {'type':7} {'kernels':>7} {'million elements/s':>18}")
    for element, senders in (("char", 1), ("int", 1), ("double", 1), ("int", 4)):
        taken = seconds(lambda e=element, s=senders: pushes(cluster, e, count // s, 1, s), options.repeats)  # type: ignore[misc]
        print(f"{'push':10} {element:7} {senders:7} {count / taken / 1e6:18.2f}", flush=True)
    for operation in COLLECTIVES:
        each = count // (ranks * ranks)
        taken = seconds(lambda o=operation, n=each: collective(cluster, o, "int", n, ranks, 0), options.repeats)  # type: ignore[misc]
        print(f"{operation:10} {'int':7} {ranks:7} {each * ranks / taken / 1e6:18.2f}", flush=True)


if __name__ == "__main__":
    main()
