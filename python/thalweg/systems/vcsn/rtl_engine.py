# SPDX-License-Identifier: Apache-2.0
"""Verilated nodes for the simulator: `tw_vcsn_node` or `tw_dcn_node`, built once per set of parameters."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.resources import find_root

if TYPE_CHECKING:
    from thalweg.systems.vcsn.cluster import Cluster


def libraries(cluster: Cluster, nodes: Iterable[int]) -> dict[int, str]:
    """Returns the library of the Verilated node of each of these FPGAs.

    Raises InputError if Verilator is missing or the RTL does not support an FPGA's values.
    """
    from thalweg.systems.vcsn import export

    found = {}
    for number in nodes:
        node = export.node_of(cluster, number)
        parameters = export.parameters(node, cluster) | {"Kernels": max(1, node.kernels)}
        clocks = {"shell": node.shell_clock, export.line_of(node): node.line_clock}
        megahertz = {name: cluster.clocks[clock].frequency_mhz for name, clock in clocks.items()}
        found[number] = str(
            _built(find_root(), export.inner_of(node), tuple(parameters.items()), tuple(megahertz.items()))
        )
    return found


@cache
def _built(
    root: Path, module: str, parameters: tuple[tuple[str, int], ...], clocks: tuple[tuple[str, float], ...]
) -> Path:
    from thalweg.rtl.project import Project

    glue = root / f"rtl/vcsn/{module.removeprefix('tw_')}.cpp"
    return Project(root).build_library(module, glue, dict(parameters), clocks=dict(clocks))
