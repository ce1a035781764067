# SPDX-License-Identifier: Apache-2.0
"""Clusters of computers' Ethernet ports and switches (thalweg.cluster.leaves)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.cluster import leaves
from thalweg.cluster.kinds import Assembled
from thalweg.route import routing
from thalweg.systems.ethernet._sim import Network


class Cluster(Assembled):
    system = "ethernet"
    NODES = {kind: leaves.NODES[kind] for kind in ("nic", "ethernet-switch")}
    LINKS = {"ethernet": leaves.LINKS["ethernet"]}

    def check(self) -> None:
        for node in self.nics:
            if (self.topology.peer[node] >= 0).sum() != 1:
                raise self.file.wrong(f"node {node} ({self.node_names[node]}) is a NIC, and has no link", "topology")
        if len(self.nics) < 2:
            raise self.file.wrong(f"{len(self.nics)} NICs; there are at least two that send to each other", "topology")

    @cached_property
    def nics(self) -> list[int]:
        """The nodes that send and receive."""
        return [node for node, name in enumerate(self.node_names) if isinstance(self.nodes[name], leaves.Nic)]

    def of_node(self, node: int) -> Mapping[str, Any]:
        """Of a switch: the ports that frames to all take, and where addresses are given, the port to each NIC."""
        table = self.nodes[self.node_names[node]]
        if not isinstance(table, leaves.EthernetSwitch):
            return {}
        values: dict[str, Any] = {"flood_ports": sorted(self._tree[node])}
        if table.addresses == "given":
            values["routes"] = [
                value for nic in self.nics if nic != node for value in (nic, int(self._ports[node, nic]))
            ]
        return values

    @cached_property
    def _tree(self) -> list[set[int]]:
        """Of each node its ports on a tree that reaches all from node 0, so that no frame to all comes twice."""
        peer, peer_port = self.topology.peer, self.topology.peer_port
        tree: list[set[int]] = [set() for _ in range(self.topology.nodes)]
        first = next((node for node in range(self.topology.nodes) if node not in self.nics), 0)
        reached, queue = {first}, [first]
        for node in queue:
            for port in np.flatnonzero(peer[node] >= 0).tolist():
                if (other := int(peer[node, port])) not in reached:
                    reached.add(other)
                    queue.append(other)
                    tree[node].add(port)
                    tree[other].add(int(peer_port[node, port]))
        return tree

    @cached_property
    def _ports(self) -> NDArray[np.uint8]:
        """The port of each node towards each: shortest paths, spread over the links."""
        return routing.route(self.topology, "up-down" if self.topology.level else "dfsssp", 64).port

    def network(self, pcap: str = "") -> Network:
        """The simulator of it; `pcap`: a file to which all frames are written. Raises InputError where lines and clocks do not go together."""
        try:
            return Network(self.assembly, pcap)
        except ValueError as error:
            raise self.file.wrong(str(error), "link") from None

    def checked(self) -> tuple[str, Mapping[str, Any]]:
        self.network()
        return super().checked()
