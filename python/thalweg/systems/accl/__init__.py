# SPDX-License-Identifier: Apache-2.0
"""ACCL: FPGAs whose collectives an engine beside the network stack carries out, called by ACCL's own driver."""

from thalweg.systems import System

SYSTEM = System(
    name="accl",
    about="FPGAs with ACCL's offload engine",
    package=__name__,
    node_kinds=frozenset({"accl", "ethernet-switch"}),
)
