# SPDX-License-Identifier: Apache-2.0
"""Plain Ethernet: network interfaces of computers, connected by switches with finite buffers."""

from thalweg.systems import Loaded, System

SYSTEM = System(
    name="ethernet",
    about="computers connected by Ethernet switches with finite buffers",
    package=__name__,
    node_kinds=frozenset({"nic", "ethernet-switch"}),
    operations={
        "flows": Loaded(
            "commands.bench:flows", "Frames from several computers to one (incast).", "operations:OPERATIONS"
        ),
    },
)
