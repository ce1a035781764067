# SPDX-License-Identifier: Apache-2.0
"""ACCL: FPGAs with an offload engine for collectives beside the network stack, called through ACCL's own driver."""

from thalweg.systems import Loaded, System

_OPERATIONS = {
    "sendrecv": "Messages between two boards, in both directions.",
    "put": "Messages between kernels of two boards.",
    "copy": "Copies within a board's memory.",
    "combine": "Combines two operands in a board's memory elementwise.",
    "bcast": "One board's block to all boards.",
    "scatter": "One board's blocks, one to each board.",
    "gather": "All boards' blocks to one board.",
    "allgather": "All boards' blocks to all boards.",
    "reduce": "Reduction of all boards' blocks to one board.",
    "allreduce": "Reduction of all boards' blocks to all boards.",
    "reduce_scatter": "Reduction of all boards' blocks, one result block to each board.",
    "alltoall": "A different block from each board to each board.",
    "barrier": "Synchronization of all boards.",
}

SYSTEM = System(
    name="accl",
    about="FPGAs with ACCL's offload engine",
    package=__name__,
    node_kinds=frozenset({"accl", "mpi-server", "ethernet-switch", "optical-switch"}),
    operations={
        name: Loaded("commands.bench:COMMANDS", about, "operations:OPERATIONS") for name, about in _OPERATIONS.items()
    }
    | {
        "b_eff": Loaded(
            "commands.b_eff:COMMANDS", "HPCC FPGA's effective bandwidth on a ring of boards.", "b_eff:OPERATIONS"
        ),
        "ptrans": Loaded("commands.hpcc:COMMANDS", "HPCC FPGA's matrix transposition.", "hpcc:OPERATIONS"),
        "linpack": Loaded("commands.hpcc:COMMANDS", "HPCC FPGA's LU factorization.", "hpcc:OPERATIONS"),
    },
    commands={
        "accl": Loaded("commands.accl:command", "Run or serve programs that use ACCL's driver."),
        "reproduce": Loaded(
            "commands.reproduce:command", "Compare published with measured numbers.", "reproduce:reproduce"
        ),
        "rtl cosim": Loaded("commands.cosim:command", "Compare boards' RTL with the simulator under random programs."),
        "attach": Loaded(
            "commands.attach:command", "Attach a node of a cluster to network interfaces of this computer."
        ),
        "rtl export": Loaded(
            "commands.export:command", "Export a board's engine as a self-contained folder of hardware."
        ),
    },
)
