# SPDX-License-Identifier: Apache-2.0
"""SMI: streaming messages between kernels, over direct links without switches."""

from thalweg.systems import Loaded, System

_BENCH = "commands.bench:COMMANDS"
_PLANS = "operations:OPERATIONS"

SYSTEM = System(
    name="smi",
    about="streaming messages between kernels of directly linked FPGAs",
    package=__name__,
    node_kinds=frozenset({"smi"}),
    endings=frozenset({".json"}),
    operations={
        "push": Loaded(_BENCH, "Message between kernels of two ranks.", _PLANS),
        "latency": Loaded(_BENCH, "Latency of one element behind a long message.", _PLANS),
        "injection": Loaded(_BENCH, "Cycles between messages of one element (injection rate).", _PLANS),
        "broadcast": Loaded(_BENCH, "Broadcast.", _PLANS),
        "reduce": Loaded(_BENCH, "Reduction to one rank.", _PLANS),
        "trees": Loaded(_BENCH, "Collectives over trees, compared with the linear scheme.", _PLANS),
        "scatter": Loaded(_BENCH, "Scatter.", _PLANS),
        "gather": Loaded(_BENCH, "Gather.", _PLANS),
    },
    commands={
        "smi": Loaded("commands.smi:command", "Run SMI programs, and extract their operations."),
        "reproduce": Loaded(
            "commands.reproduce:command", "Compare published with measured numbers.", "reproduce:reproduce"
        ),
        "route": Loaded(
            "commands.route:command", "Compute routes and prove that they cannot deadlock.", "proved:prove"
        ),
        "rtl cosim": Loaded("commands.cosim:command", "Compare RTL ranks with the simulator, cycle by cycle."),
        "rtl export": Loaded("commands.export:command", "Export a rank as a self-contained folder of hardware."),
    },
)
