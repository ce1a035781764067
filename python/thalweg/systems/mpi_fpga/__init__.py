# SPDX-License-Identifier: Apache-2.0
"""MPI-FPGA: collectives executed in the switches, for any communicator of unmodified MPI programs."""

from thalweg.systems import Loaded, System

_BENCH = "commands.bench:COMMANDS"
_PLANS = "operations:OPERATIONS"

SYSTEM = System(
    name="mpi-fpga",
    about="collectives executed in the switches, for unmodified MPI programs",
    package=__name__,
    node_kinds=frozenset({"mpi-fpga", "mpi-fpga-switch"}),
    default=True,
    operations={
        "barrier": Loaded(_BENCH, "Synchronizes all ranks.", _PLANS),
        "broadcast": Loaded(_BENCH, "Copies a root's buffer to all ranks.", _PLANS),
        "reduce": Loaded(_BENCH, "Combines all ranks' buffers at a root.", _PLANS),
        "allreduce": Loaded(_BENCH, "Combines all ranks' buffers at all ranks.", _PLANS),
        "gather": Loaded(_BENCH, "Collects a block of each rank at a root.", _PLANS),
        "allgather": Loaded(_BENCH, "Collects a block of each rank at all ranks.", _PLANS),
        "scatter": Loaded(_BENCH, "Distributes a root's blocks to the ranks.", _PLANS),
        "reduce_scatter": Loaded(_BENCH, "Combines all ranks' buffers, a block at each rank.", _PLANS),
        "alltoall": Loaded(_BENCH, "Sends a block from each rank to each rank.", _PLANS),
        "scan": Loaded(_BENCH, "Combines at each rank the buffers up to its own.", _PLANS),
        "exscan": Loaded(_BENCH, "Combines at each rank the buffers before its own.", _PLANS),
        "latency": Loaded(_BENCH, "One message between two ranks.", _PLANS),
        "bandwidth": Loaded(_BENCH, "64 concurrent messages between two ranks.", _PLANS),
        "jobs": Loaded(
            "commands.bench_jobs:jobs",
            "Interference of jobs that share one fabric.",
            _PLANS,
        ),
        "faults": Loaded(
            "commands.bench_faults:faults",
            "Goodput of one link with bit errors.",
            _PLANS,
        ),
        "traffic": Loaded(_BENCH, "Random traffic without collectives.", _PLANS),
    },
    commands={
        "run": Loaded("commands.run:command", "Run an unmodified MPI program on a simulated cluster.", "runs:run"),
        "jobs": Loaded("commands.jobs:command", "Run MPI programs concurrently on one cluster."),
        "tune": Loaded("commands.tune:command", "Find the fastest algorithm of each collective by size."),
        "route": Loaded(
            "commands.route:command", "Compute routes and prove that they cannot deadlock.", "routes:prove"
        ),
        "reproduce": Loaded(
            "commands.reproduce:command", "Compare published with measured numbers.", "reproduce:reproduce"
        ),
        "rtl cosim": Loaded(
            "commands.cosim:command",
            "Compare a cluster's RTL with the simulator.",
        ),
        "rtl export": Loaded("commands.export:command", "Export a node as a self-contained folder of hardware."),
    },
)
