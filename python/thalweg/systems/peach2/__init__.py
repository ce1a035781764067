# SPDX-License-Identifier: Apache-2.0
"""PEACH2: PCI Express hubs that route by address and reduce data written to them."""

from thalweg.systems import Loaded, System

_BENCH = "commands.bench:COMMANDS"
_PLANS = "operations:OPERATIONS"

SYSTEM = System(
    name="peach2",
    about="PCI Express hubs that route by address and reduce data written to them",
    package=__name__,
    node_kinds=frozenset({"peach2"}),
    operations={
        "put": Loaded(_BENCH, "Copy from a node's memory to another node's.", _PLANS),
        "reduce": Loaded(_BENCH, "Reduction of records in GPU memories, by hubs or processor.", _PLANS),
    },
    commands={
        "reproduce": Loaded(
            "commands.reproduce:command", "Compare published with measured numbers.", "reproduce:reproduce"
        ),
        "route": Loaded(
            "commands.route:command", "Prove that address windows deliver and cannot deadlock.", "proved:prove"
        ),
        "rtl cosim": Loaded(
            "commands.cosim:command", "Compare a cluster's RTL hubs with the simulator, cycle by cycle."
        ),
        "rtl export": Loaded("commands.export:command", "Export a hub as a self-contained folder of hardware."),
    },
)
