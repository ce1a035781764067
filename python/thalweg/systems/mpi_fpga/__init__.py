# SPDX-License-Identifier: Apache-2.0
"""MPI-FPGA: collectives computed inside the switches, for any communicator of unchanged MPI programs."""

from thalweg.systems import Loaded, System

_BENCH = "commands.bench:COMMANDS"
_PLANS = "operations:OPERATIONS"

SYSTEM = System(
    name="mpi-fpga",
    about="collectives computed in the switches, under unchanged MPI programs",
    package=__name__,
    node_kinds=frozenset({"mpi-fpga", "mpi-fpga-switch"}),
    default=True,
    operations={
        "barrier": Loaded(_BENCH, "Nobody leaves before everybody has come.", _PLANS),
        "broadcast": Loaded(_BENCH, "A root's buffer to all.", _PLANS),
        "reduce": Loaded(_BENCH, "All ranks' buffers combined, at a root.", _PLANS),
        "allreduce": Loaded(_BENCH, "All ranks' buffers combined, at all ranks.", _PLANS),
        "gather": Loaded(_BENCH, "A block of each rank, at a root.", _PLANS),
        "allgather": Loaded(_BENCH, "A block of each rank, at all ranks.", _PLANS),
        "scatter": Loaded(_BENCH, "A block of a root for each rank.", _PLANS),
        "reduce_scatter": Loaded(_BENCH, "All ranks' buffers combined, a block at each rank.", _PLANS),
        "alltoall": Loaded(_BENCH, "A block of each rank for each rank.", _PLANS),
        "scan": Loaded(_BENCH, "At each rank, all buffers up to its own combined.", _PLANS),
        "exscan": Loaded(_BENCH, "At each rank, all buffers before its own combined.", _PLANS),
        "latency": Loaded(_BENCH, "One message from rank to rank.", _PLANS),
        "bandwidth": Loaded(_BENCH, "64 messages from rank to rank, all under way at once.", _PLANS),
        "jobs": Loaded(
            "commands.bench_jobs:jobs",
            "Jobs that share one fabric: what the others cost each.",
            _PLANS,
        ),
        "faults": Loaded(
            "commands.bench_faults:faults",
            "Goodput of one link under bit errors, every flit checked.",
            _PLANS,
        ),
        "traffic": Loaded(_BENCH, "Random traffic on the plain network, every flit checked.", _PLANS),
    },
    commands={
        "run": Loaded("commands.run:command", "Run an MPI program, unchanged, on a simulated cluster.", "runs:run"),
        "jobs": Loaded("commands.jobs:command", "Run MPI programs at once on one cluster, each with a share."),
        "tune": Loaded("commands.tune:command", "Measure which algorithm is best from which size on."),
        "route": Loaded(
            "commands.route:command", "Compute routes and prove that they cannot deadlock.", "routes:prove"
        ),
        "reproduce": Loaded(
            "commands.reproduce:command", "Put published numbers beside measured ones.", "reproduce:reproduce"
        ),
        "rtl cosim": Loaded(
            "commands.cosim:command",
            "Hold a cluster's hardware against the simulator.",
        ),
        "rtl export": Loaded("commands.export:command", "Write a node as a folder of hardware that stands by itself."),
    },
)
