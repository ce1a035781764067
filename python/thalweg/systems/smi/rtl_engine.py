# SPDX-License-Identifier: Apache-2.0
"""The hardware's ranks in a simulated cluster: tw_node with a program's endpoints, Verilated once for each sort of rank."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from thalweg.resources import find_root
from thalweg.systems.smi import top
from thalweg.systems.smi.cluster import Node
from thalweg.systems.smi.metadata import Operation


def library(operations: Sequence[Operation], node: Node) -> Path:
    """Of a rank that has these endpoints. Raises InputError where there is no Verilator."""
    return _built(find_root(), tuple(top.parameters(operations, node).items()))


@cache
def _built(root: Path, parameters: tuple[tuple[str, int | str], ...]) -> Path:
    from thalweg.rtl.project import Project

    return Project(root).build_library("tw_node", root / "rtl/smi/node.cpp", dict(parameters))
