# SPDX-License-Identifier: Apache-2.0
"""PEACH2: hubs of PCI Express that route by address, and reduce what is written to them."""

from thalweg.systems import Loaded, System

_BENCH = "commands.bench:COMMANDS"
_PLANS = "operations:OPERATIONS"

SYSTEM = System(
    name="peach2",
    about="hubs of PCI Express that route by address and reduce what is written to them",
    package=__name__,
    node_kinds=frozenset({"peach2"}),
    operations={
        "put": Loaded(_BENCH, "Bytes from a node's memory to another node's.", _PLANS),
        "reduce": Loaded(_BENCH, "Records in GPUs' memories to one, by the hubs or by the processor.", _PLANS),
    },
    commands={
        "reproduce": Loaded(
            "commands.reproduce:command", "Put published numbers beside measured ones.", "reproduce:reproduce"
        ),
        "route": Loaded("commands.route:command", "Prove that windows deliver and cannot deadlock.", "proved:prove"),
        "rtl cosim": Loaded("commands.cosim:command", "Hold a cluster's hubs against the simulator's, in every cycle."),
        "rtl export": Loaded("commands.export:command", "Write a hub as a folder of hardware that stands by itself."),
    },
)
