# SPDX-License-Identifier: Apache-2.0
"""The node of each rank: `--placement`."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click
import numpy as np

from thalweg.cluster import Cluster
from thalweg.errors import InputError

BLOCK = "block"

Placement = str | Sequence[int]
"""`block`, `random:SEED`, or a list of nodes, as text (`3,0,2,1`) or as numbers."""


def checked(placement: Placement) -> str:
    """Returns the placement as text for `--placement`. Raises InputError if it is invalid."""
    text = placement if isinstance(placement, str) else ",".join(map(str, placement))
    if re.fullmatch(r"block|random:\d{1,18}|\d{1,6}(,\d{1,6})*", text) is None:
        raise InputError(f"{text!r} is not block, random:SEED, or a list of nodes such as 3,0,2,1")
    return text


class PlacementType(click.ParamType[str]):
    """Placement of ranks: in the order of nodes, shuffled with a seed, or a list of nodes."""

    name = "block|random:SEED|NODE,NODE,.."

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return checked(value)
        except InputError as error:
            self.fail(error.what, param, ctx)


option = click.option(
    "--placement",
    type=PlacementType(),
    default=BLOCK,
    show_default=True,
    help="Node of each rank: block (rank i on node i), random:SEED, or a list of nodes.",
)
"""Decorator: adds `--placement`, passed as `placement: str`; give it to `nodes_of`."""


def seeds(placement: str) -> dict[str, int]:
    """Returns the seed of a random placement, for `write_json`."""
    return {"placement": int(placement.removeprefix("random:"))} if placement.startswith("random:") else {}


def shared_nodes_of(placement: str, cluster: Cluster, ranks: int, per_node: int) -> list[int]:
    """Returns the node of each rank, with `per_node` consecutive ranks per node. Raises InputError if they do not fit."""
    hosts, used = cluster.topology.hosts, -(-ranks // per_node)
    if used > hosts:
        raise InputError(
            f"{ranks} ranks do not fit on {cluster.name}, which has {hosts} hosts: "
            f"give --ranks-per-node {-(-ranks // hosts)}"
        )
    nodes = nodes_of(placement, cluster, used)
    return [nodes[rank // per_node] for rank in range(ranks)]


def nodes_of(placement: str, cluster: Cluster, ranks: int) -> list[int]:
    """Returns the node of each rank, all different. Raises InputError if the ranks do not fit."""
    hosts = cluster.topology.hosts
    if not 1 <= ranks <= hosts:
        raise InputError(
            f"{ranks} ranks do not fit on {cluster.name}, which has {hosts} hosts: at most one rank on a host"
        )
    if placement == BLOCK:
        return list(range(ranks))
    if placement.startswith("random:"):
        seed = int(placement.removeprefix("random:"))
        return [int(node) for node in np.random.default_rng(seed).permutation(hosts)[:ranks]]
    nodes = [int(node) for node in placement.split(",")]
    if len(nodes) != ranks:
        raise InputError(f"--placement has {len(nodes)} nodes for {ranks} ranks")
    for node in nodes:
        if node >= hosts:
            raise InputError(
                f"--placement: there is no node {node} with a host on {cluster.name}; nodes are 0 to {hosts - 1}"
            )
        if nodes.count(node) > 1:
            raise InputError(f"--placement: node {node} is given twice; at most one rank is on a host")
    return nodes
