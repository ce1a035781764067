# SPDX-License-Identifier: Apache-2.0
"""Clusters of NICs and Ethernet switches (thalweg.cluster.leaves)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from thalweg.cluster import leaves
from thalweg.cluster.kinds import Assembled
from thalweg.systems.ethernet._sim import Network
from thalweg.systems.ethernet.forwarding import flood_ports, routes


class Cluster(Assembled):
    system = "ethernet"
    NODES = {kind: leaves.NODES[kind] for kind in ("nic", "ethernet-switch")}
    LINKS = {"ethernet": leaves.LINKS["ethernet"]}

    def check(self) -> None:
        for node in self.nics:
            if (self.topology.peer[node] >= 0).sum() != 1:
                raise self.file.wrong(
                    f"node {node} ({self.node_names[node]}) is a NIC without a link; connect it in [topology]",
                    "topology",
                )
        if len(self.nics) < 2:
            raise self.file.wrong(f"{len(self.nics)} NICs; a cluster needs at least two", "topology")

    @cached_property
    def nics(self) -> list[int]:
        """Nodes that send and receive."""
        return [node for node, name in enumerate(self.node_names) if isinstance(self.nodes[name], leaves.Nic)]

    def of_node(self, node: int) -> Mapping[str, Any]:
        """Returns, for a switch, the ports for broadcast frames and, with static addresses, the port to each NIC."""
        table = self.nodes[self.node_names[node]]
        if not isinstance(table, leaves.EthernetSwitch):
            return {}
        values: dict[str, Any] = {"flood_ports": sorted(flood_ports(self.topology, node, self.nics))}
        if table.addresses == "given":
            values["routes"] = [value for nic, to in self._routes.items() if node in to for value in (nic, to[node])]
        return values

    @cached_property
    def _routes(self) -> Mapping[int, Mapping[int, int]]:
        """For each NIC, the port of each switch towards it."""
        return {nic: routes(self.topology, (nic, 0), self.nics) for nic in self.nics}

    def network(self, pcap: str = "") -> Network:
        """Returns the simulator of the cluster; with `pcap`, it writes all frames to that file.

        Raises InputError if line rates and clocks do not match.
        """
        try:
            return Network(self.assembly, pcap)
        except ValueError as error:
            raise self.file.wrong(str(error), "link") from None

    def checked(self) -> tuple[str, Mapping[str, Any]]:
        self.network()
        return super().checked()
