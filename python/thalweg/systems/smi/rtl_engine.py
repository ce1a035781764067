# SPDX-License-Identifier: Apache-2.0
"""Verilated ranks in a simulated cluster: tw_node with a program's endpoints, Verilated once per distinct rank
configuration."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from thalweg.resources import find_root
from thalweg.systems.smi import top
from thalweg.systems.smi.cluster import Node
from thalweg.systems.smi.metadata import Operation


def library(operations: Sequence[Operation], node: Node) -> Path:
    """Returns the library of a rank with these endpoints. Raises InputError if Verilator is missing."""
    return _built(find_root(), tuple(top.parameters(operations, node).items()))


@cache
def _built(root: Path, parameters: tuple[tuple[str, int | str], ...]) -> Path:
    from thalweg.rtl.project import Project

    return Project(root).build_library("tw_node", root / "rtl/smi/node.cpp", dict(parameters))
