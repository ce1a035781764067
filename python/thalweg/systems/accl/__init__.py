# SPDX-License-Identifier: Apache-2.0
"""ACCL: collectives offloaded to an engine beside the network stack of each FPGA, called by ACCL's own driver."""

from thalweg.systems import Loaded, System

SYSTEM = System(
    name="accl",
    about="FPGAs with ACCL's offload engine",
    package=__name__,
    node_kinds=frozenset({"accl", "ethernet-switch"}),
    commands={"accl": Loaded("commands.accl:command", "Serve programs that use ACCL's driver.")},
)
