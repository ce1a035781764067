# SPDX-License-Identifier: Apache-2.0
"""Ethernet by itself: computers' ports around switches, whose buffers lose what they have no room for."""

from thalweg.systems import Loaded, System

SYSTEM = System(
    name="ethernet",
    about="computers around Ethernet switches, whose buffers are finite",
    package=__name__,
    node_kinds=frozenset({"nic", "ethernet-switch"}),
    operations={
        "flows": Loaded("commands.bench:flows", "Frames of several computers to one.", "operations:OPERATIONS"),
    },
)
