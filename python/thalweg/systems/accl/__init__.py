# SPDX-License-Identifier: Apache-2.0
"""ACCL: FPGAs whose collectives an engine beside the network stack carries out, called by ACCL's own driver."""

from thalweg.systems import Loaded, System

_OPERATIONS = {
    "sendrecv": "Messages between two boards, both ways.",
    "put": "From one board's kernel to another's.",
    "copy": "From a board's memory to itself.",
    "combine": "Two operands in a board's memory to one.",
    "bcast": "A block of one board to all.",
    "scatter": "Blocks of one board to all.",
    "gather": "Blocks of all boards to one.",
    "allgather": "Blocks of all boards to all.",
    "reduce": "Blocks of all boards, combined, to one.",
    "allreduce": "Blocks of all boards, combined, to all.",
    "reduce_scatter": "Blocks of all boards, combined, a block to each.",
    "alltoall": "A block of each board to each.",
    "barrier": "All boards wait for all.",
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
            "commands.b_eff:COMMANDS", "HPCC FPGA's effective bandwidth, of boards in a ring.", "b_eff:OPERATIONS"
        ),
        "ptrans": Loaded("commands.hpcc:COMMANDS", "HPCC FPGA's matrix transposition.", "hpcc:OPERATIONS"),
        "linpack": Loaded("commands.hpcc:COMMANDS", "HPCC FPGA's LU factorization.", "hpcc:OPERATIONS"),
    },
    commands={
        "accl": Loaded("commands.accl:command", "Run or serve programs that use ACCL's driver."),
        "reproduce": Loaded(
            "commands.reproduce:command", "Put published numbers beside measured ones.", "reproduce:reproduce"
        ),
        "rtl cosim": Loaded("commands.cosim:command", "Hold boards against the simulator's under random programs."),
        "attach": Loaded("commands.attach:command", "Put a node of a cluster on network interfaces of this computer."),
        "rtl export": Loaded(
            "commands.export:command", "Write a board's data path as a folder of hardware that stands by itself."
        ),
    },
)
