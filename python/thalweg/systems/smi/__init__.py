# SPDX-License-Identifier: Apache-2.0
"""SMI: streaming messages between kernels, over links without switches."""

from thalweg.systems import Loaded, System

_BENCH = "commands.bench:COMMANDS"
_PLANS = "operations:OPERATIONS"

SYSTEM = System(
    name="smi",
    about="streaming messages between kernels of FPGAs that are joined without switches",
    package=__name__,
    node_kinds=frozenset({"smi"}),
    endings=frozenset({".json"}),
    operations={
        "push": Loaded(_BENCH, "A message from a rank's kernels to another rank's.", _PLANS),
        "latency": Loaded(_BENCH, "A message of one element behind a long one.", _PLANS),
        "injection": Loaded(_BENCH, "Cycles between messages of one element.", _PLANS),
        "broadcast": Loaded(_BENCH, "A rank's elements to all.", _PLANS),
        "reduce": Loaded(_BENCH, "All ranks' elements, combined, to one.", _PLANS),
        "trees": Loaded(_BENCH, "Collectives over trees, beside the linear scheme.", _PLANS),
        "scatter": Loaded(_BENCH, "Parts of a rank's elements to each.", _PLANS),
        "gather": Loaded(_BENCH, "All ranks' elements to one.", _PLANS),
    },
    commands={
        "smi": Loaded("commands.smi:command", "Run programs of SMI, and find their operations."),
        "reproduce": Loaded(
            "commands.reproduce:command", "Put published numbers beside measured ones.", "reproduce:reproduce"
        ),
        "route": Loaded(
            "commands.route:command", "Compute routes and prove that they cannot deadlock.", "proved:prove"
        ),
        "rtl cosim": Loaded("commands.cosim:command", "Hold clusters' ranks against the simulator's, in every cycle."),
        "rtl export": Loaded("commands.export:command", "Write a rank as a folder of hardware that stands by itself."),
    },
)
