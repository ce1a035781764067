# SPDX-License-Identifier: Apache-2.0
"""Verilated hubs in a simulated cluster: tw_hub with the cluster's parameters, Verilated once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.resources import find_root
from thalweg.spec import Datatype, Operator
from thalweg.systems.peach2.cluster import Cluster, pair_of

if TYPE_CHECKING:
    from thalweg.rtl.project import Project


def parameters(cluster: Cluster) -> dict[str, int | str]:
    """Returns the parameters of tw_hub for a cluster's nodes."""
    node = cluster.node
    numbers = (
        "windows",
        "packets",
        "units",
        "reads",
        "bus_reads",
        "ram_bits",
        "contexts",
        "sums",
        "records",
        "latency",
        "starts",
    )
    made: dict[str, int | str] = (
        {"Timeout": cluster.read_timeout}
        | cluster.rates
        | {"".join(word.capitalize() for word in name.split("_")): getattr(node, name) for name in numbers}
    )
    moves = (Operator.BOR, Datatype.BYTE)  # a partial sum's first beat is combined with itself
    bits = 0
    for op, datatype in {moves, *map(pair_of, node.pairs)}:
        bits |= 1 << (16 * datatype + op)
    return made | {"Pairs": f"512'h{bits:x}"}


def library(cluster: Cluster) -> Path:
    """Returns the shared library of the hub. Raises InputError if Verilator is missing."""
    from thalweg.rtl.project import Project

    return library_of(Project(find_root()), cluster)


def library_of(project: Project, cluster: Cluster) -> Path:
    """Returns the library built from a project's sources."""
    glue = project.root / "rtl/peach2/hub.cpp"
    clocks = {"net": cluster.net_mhz, "bus": cluster.clocks[cluster.node.bus_clock].frequency_mhz}
    return project.build_library("tw_hub", glue, parameters(cluster), clocks=clocks)
