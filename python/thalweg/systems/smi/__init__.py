# SPDX-License-Identifier: Apache-2.0
"""SMI: streaming messages between kernels, over links without switches."""

from thalweg.systems import Loaded, System

SYSTEM = System(
    name="smi",
    about="streaming messages between kernels of FPGAs that are joined without switches",
    node_kinds=frozenset({"smi"}),
    endings=frozenset({".json"}),
    commands={
        "smi": Loaded("commands.smi:command", "Run programs of SMI, and find their operations."),
        "route": Loaded(
            "commands.route:command", "Compute routes and prove that they cannot deadlock.", "proved:prove"
        ),
    },
)
