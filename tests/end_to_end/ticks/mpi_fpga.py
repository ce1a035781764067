# SPDX-License-Identifier: Apache-2.0
"""Commands of MPI-FPGA whose virtual times and cycle counts must not change."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from thalweg.systems.mpi_fpga.bench import COLLECTIVES
from ticks import Case


def cases() -> Iterator[Case]:
    """Every collective by every algorithm on every preset; messages, traffic, faults, jobs, and programs."""
    small = ("mpi-fpga-torus-2x2x2", "mpi-fpga-fattree-8")
    middle = ("torus:3x3", "ring:5", "mpi-fpga-torus-4x4x2", "mpi-fpga-fattree-16", "thalweg-fattree-32")
    large = ("mpi-fpga-torus-4x4x4", "thalweg-torus-4x4x4", "thalweg-torus-8x8")
    largest = ("mpi-fpga-torus-4x4x8", "mpi-fpga-fattree-28")  # their collectives take seconds
    algorithms = ("tree", "exchange", "ring", "halving", "trees")
    for clusters, sizes in ((small, "8,2K,64K"), (middle, "8,4K"), (large, "8,1K"), (largest, "8")):
        for cluster, collective, algorithm in itertools.product(clusters, COLLECTIVES, algorithms):
            of_size = "" if collective == "barrier" else f" --sizes {sizes}"
            quick = cluster == small[0] and (algorithm == "tree" or collective == "allreduce")
            yield Case(f"bench {collective} --cluster {cluster} --algorithm {algorithm}{of_size}", quick)
    for cluster in (*small, *middle, *large, *largest):
        for operation in ("latency", "bandwidth"):
            yield Case(f"bench {operation} --cluster {cluster} --sizes 8,1K,64K", cluster == small[0])
        yield Case(f"bench traffic --cluster {cluster} --load 0.2 --cycles 5000", cluster == small[0])
    torus = small[0]
    for faults in (
        "bit_error_rate=1e-5",
        "frames_lost=0.01,frames_duplicated=0.01",
        "down=0-1@30,silence_us=5,rebuild_us=40",
    ):
        for collective in ("allreduce", "alltoall"):
            yield Case(
                f"bench {collective} --cluster {torus} --sizes 8,256K --faults {faults}", collective == "allreduce"
            )
    yield Case(f"bench allreduce --cluster {torus} --sizes 8,256K --faults reset=0-1@8,rebuild_us=40", True)
    yield Case(f"bench faults --cluster {torus} --rates 1e-4,1e-6 --cycles 200000", False)
    yield Case(f"bench jobs --cluster {torus} --operations allreduce,allgather --sizes 8,64K", True)
    yield Case(f"run -n 8 --cluster {torus} --compute none -- osu -m 8:4K", False)
    yield Case(f"run -n 8 --cluster {torus} --compute none --ranks-per-node 2 -- osu -m 8:4K allreduce", False)
    yield Case("run -n 16 --cluster thalweg-torus-4x4x4 --compute none --skew uniform:20:3 -- cg -n 8", True)
    yield Case(
        f"jobs --cluster {torus} --share sub-channels:1:3 --compute none -- osu -m 8:1K allreduce : osu -m 8:1K bcast",
        False,
    )
