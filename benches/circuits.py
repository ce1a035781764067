# SPDX-License-Identifier: Apache-2.0
"""Simulation speed of virtual circuits and the direct network: payload moved between memories per second of CPU time, in
gathers of 16 nodes. A block counts once per memory that it is written to. Data are prepared and checked outside of the measured
time."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

from thalweg.vcsn import Cluster, Collective, Network, gather_schedule


@dataclass
class Timed(Collective):
    cpu_s: float = 0.0

    def simulate(self, network: Network) -> float:
        begin = time.process_time()
        taken = super().simulate(network)
        self.cpu_s = time.process_time() - begin
        return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mbytes", type=int, default=64, help="of each node's block")
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    size = options.mbytes << 20
    print(f"{'cluster':12} {'by':8} {'gathered, MB/s':>16} {'moved, MB/s':>16}")
    for name, by in (("vcsn-d5005", "tree"), ("vcsn-d5005", "relink"), ("dcn-d5005", "ring")):
        cluster = Cluster.load(name)
        schedule = gather_schedule(cluster, by, cluster.fpgas, 0)
        moves = sum(len(move.blocks) for stage in schedule.stages for move in stage.moves)
        best = float("inf")
        for _ in range(options.repeats):
            run = Timed(cluster, schedule, size)
            _, _, right = run.run()
            assert right
            best = min(best, run.cpu_s)
        gathered, moved = ((count * size / best / 1e6) for count in (len(cluster.fpgas) - 1, moves))
        print(f"{name:12} {by:8} {gathered:16.0f} {moved:16.0f}", flush=True)


if __name__ == "__main__":
    main()
