# SPDX-License-Identifier: Apache-2.0
"""VCSN: virtual circuits between FPGAs over Ethernet, which are joined at run time."""

from thalweg.systems import Loaded, System

SYSTEM = System(
    name="vcsn",
    about="FPGAs with virtual circuits over Ethernet",
    package=__name__,
    node_kinds=frozenset({"vcsn", "dcn", "vcsn-server", "ethernet-switch"}),
    operations={
        "transfer": Loaded("commands.bench:transfer", "Memory to memory over a circuit.", "operations:OPERATIONS"),
        "gather": Loaded("commands.bench:gather", "Blocks of all FPGAs to one.", "operations:OPERATIONS"),
        "scatter": Loaded("commands.bench:scatter", "Blocks of one FPGA to all.", "operations:OPERATIONS"),
        "allgather": Loaded("commands.bench:allgather", "Blocks of all FPGAs to all.", "operations:OPERATIONS"),
        "overload": Loaded(
            "commands.bench:overload", "More to one FPGA than its lines carry.", "operations:OPERATIONS"
        ),
        "rewire": Loaded(
            "commands.bench:rewire", "From one topology of circuits to the next.", "operations:OPERATIONS"
        ),
    },
    refusals={
        **dict.fromkeys(
            ("reduce", "allreduce", "reduce_scatter", "scan", "exscan"), "circuits carry data, and compute nothing"
        ),
        **dict.fromkeys(("alltoall", "alltoallv"), "it takes a circuit of each FPGA with each other one"),
    },
    commands={
        "attach": Loaded("commands.attach:command", "Put a node of a cluster on network interfaces of this computer."),
        "reproduce": Loaded(
            "commands.reproduce:command", "Put published numbers beside measured ones.", "reproduce:reproduce"
        ),
        "rtl cosim": Loaded("commands.cosim:command", "Hold nodes against the simulator's, in every cycle."),
        "rtl export": Loaded("commands.export:command", "Write a node as a folder of hardware that stands by itself."),
    },
)
