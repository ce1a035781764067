# SPDX-License-Identifier: Apache-2.0
"""VCSN: virtual circuits between FPGAs over Ethernet, switched at run time; and the direct network DCN."""

from thalweg.systems import Loaded, System

SYSTEM = System(
    name="vcsn",
    about="FPGAs with virtual circuits over Ethernet",
    package=__name__,
    node_kinds=frozenset({"vcsn", "dcn", "vcsn-server", "ethernet-switch"}),
    operations={
        "transfer": Loaded(
            "commands.bench:transfer",
            "Transfer between the memories of two FPGAs over a circuit.",
            "operations:OPERATIONS",
        ),
        "gather": Loaded("commands.bench:gather", "Gather blocks of all FPGAs in one.", "operations:OPERATIONS"),
        "scatter": Loaded("commands.bench:scatter", "Scatter blocks of one FPGA to all.", "operations:OPERATIONS"),
        "allgather": Loaded("commands.bench:allgather", "Gather blocks of all FPGAs in all.", "operations:OPERATIONS"),
        "overload": Loaded(
            "commands.bench:overload", "Overload of one FPGA by several senders (incast).", "operations:OPERATIONS"
        ),
        "rewire": Loaded(
            "commands.bench:rewire", "Reconfiguration from one circuit topology to the next.", "operations:OPERATIONS"
        ),
    },
    refusals={
        **dict.fromkeys(
            ("reduce", "allreduce", "reduce_scatter", "scan", "exscan"), "circuits carry data but do not compute"
        ),
        **dict.fromkeys(("alltoall", "alltoallv"), "it needs a circuit between each pair of FPGAs"),
    },
    commands={
        "attach": Loaded("commands.attach:command", "Connect a node to network interfaces of this computer."),
        "reproduce": Loaded(
            "commands.reproduce:command", "Compare published with measured numbers.", "reproduce:reproduce"
        ),
        "rtl cosim": Loaded("commands.cosim:command", "Compare RTL nodes with the simulator, cycle by cycle."),
        "rtl export": Loaded("commands.export:command", "Export a node as a self-contained folder of hardware."),
    },
)
