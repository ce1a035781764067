# SPDX-License-Identifier: Apache-2.0
"""Relays: rings of nodes that forward words, each adding its number."""

from thalweg.systems import Loaded, System

SYSTEM = System(
    name="relay",
    about="rings that add their nodes' numbers to what is passed on",
    package=__name__,
    node_kinds=frozenset({"relay"}),
    operations={"turn": Loaded("commands:turn", "Words that go once around.", "operations:TURN")},
    commands={"rtl cosim": Loaded("commands:cosim", "Hold rings of the hardware's relays against the simulator's.")},
)
