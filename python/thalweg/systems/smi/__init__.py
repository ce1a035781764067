# SPDX-License-Identifier: Apache-2.0
"""SMI: streaming messages between kernels, over links without switches."""

from thalweg.systems import System

SYSTEM = System(
    name="smi",
    about="streaming messages between kernels of FPGAs that are joined without switches",
    node_kinds=frozenset({"smi"}),
)
