# SPDX-License-Identifier: Apache-2.0
"""Attachment of a node's Ethernet links to network interfaces of this computer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from thalweg.errors import InputError

MAX_RATIO = 1e3
MAX_LIMIT_S = 1e9  #: nanoseconds must fit into 64 bits


def leading_out(
    assembly: Mapping[str, Any], node: int, clock: str, ports: Iterable[int]
) -> tuple[dict[str, Any], dict[int, int]]:
    """Returns a copy of a description (`Assembled.assembly`) in which only `ports` of `node` have links, which lead
    outside.

    Also returns, for each of these ports, the number of the added node of kind `ethernet-outside` at the other end.
    `clock` is the name of the clock of the node's MACs. Raises InputError if a port has no Ethernet link.
    """
    nodes, links, outside = list(assembly["nodes"]), [], {}
    for port in ports:
        link = next((link for link in assembly["links"] if [node, port] in (link["ends"][:2], link["ends"][2:])), None)
        if link is None or link["kind"] != "ethernet":
            raise InputError(f"port {port} of node {node} has no Ethernet link to connect to an interface")
        outside[port] = len(nodes)
        links.append({**link, "ends": [node, port, len(nodes), 0]})
        nodes.append({"kind": "ethernet-outside", "of": f"the outside of port {port}", "values": {"clock": clock}})
    return {**assembly, "nodes": nodes, "links": links}, outside


def check_times(ratio: float, limit_s: float) -> None:
    """Raises InputError if the ratio or the time limit is out of range."""
    if not 0 <= limit_s <= MAX_LIMIT_S:
        raise InputError(f"limit is {limit_s:g}; it must be 0 to {MAX_LIMIT_S:g} seconds")
    if not 0 < ratio <= MAX_RATIO:
        raise InputError(f"ratio is {ratio:g}; it must be above 0 and at most {MAX_RATIO:g}")
