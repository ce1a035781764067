# SPDX-License-Identifier: Apache-2.0
"""A node of a cluster whose Ethernet links lead out of the simulation, to network interfaces of this computer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from thalweg.errors import InputError

MOST_RATIO = 1e3
MOST_LIMIT_S = 1e9  #: of which nanoseconds have room in 64 bits


def leading_out(
    assembly: Mapping[str, Any], node: int, clock: str, ports: Iterable[int]
) -> tuple[dict[str, Any], dict[int, int]]:
    """A copy of a description (`Assembled.assembly`) that has no links but those of `ports` of `node`, and, for each of these ports, the number of
    the node of kind `ethernet-outside` at the other end. `clock`: the name of the clock of the node's MACs. Raises InputError where no Ethernet
    is."""
    nodes, links, outside = list(assembly["nodes"]), [], {}
    for port in ports:
        link = next((link for link in assembly["links"] if [node, port] in (link["ends"][:2], link["ends"][2:])), None)
        if link is None or link["kind"] != "ethernet":
            raise InputError(f"port {port} of node {node} has no Ethernet link, which an interface could end")
        outside[port] = len(nodes)
        links.append({**link, "ends": [node, port, len(nodes), 0]})
        nodes.append({"kind": "ethernet-outside", "of": f"the outside of port {port}", "values": {"clock": clock}})
    return {**assembly, "nodes": nodes, "links": links}, outside


def check_times(ratio: float, limit_s: float) -> None:
    """Raises InputError."""
    if not 0 <= limit_s <= MOST_LIMIT_S:
        raise InputError(f"limit is {limit_s:g}; it is 0 to {MOST_LIMIT_S:g} seconds")
    if not 0 < ratio <= MOST_RATIO:
        raise InputError(f"ratio is {ratio:g}; it is above 0, and {MOST_RATIO:g} at most")
