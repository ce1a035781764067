# SPDX-License-Identifier: Apache-2.0
"""Proved routes of a cluster, as printed by `thalweg route` and returned by `thalweg.routes`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from thalweg.bench.operation import one_of
from thalweg.cluster import Cluster
from thalweg.errors import InputError
from thalweg.route import table as route_table
from thalweg.route.grid import GridRoutes
from thalweg.route.proof import Proof
from thalweg.route.routes import NoRoutes, Routes
from thalweg.route.routing import ALGORITHMS


class Routed(Cluster, Protocol):
    """A cluster of a system with routing algorithms."""

    @property
    def max_classes(self) -> int: ...
    @property
    def routes(self) -> Routes | GridRoutes: ...
    def proof(self) -> Proof: ...
    def with_routing(self, algorithm: str) -> Routed: ...
    def prove(self, routes: Routes | GridRoutes) -> Proof: ...


@dataclass(frozen=True, eq=False)
class ProvedRoutes:
    """Routes proved to deliver every packet without deadlock, and the figures of the proof."""

    cluster: Cluster
    routes: Routes | GridRoutes
    proof: Proof

    @property
    def tables(self) -> Routes:
        """The routes as tables by node and destination. Raises InputError if the cluster has too many nodes."""
        try:
            return self.routes.tables
        except NoRoutes as error:
            raise InputError(str(error), self.cluster.name) from None

    def record(self) -> dict[str, Any]:
        """Returns the proof as plain data."""
        return {"cluster": self.cluster.name, **self.proof.as_dict()}

    def files(self) -> dict[str, str]:
        """Returns the contents of the files written by `thalweg route --out` (docs/routing.md), by name."""
        links = ["node,port,node,port", *(",".join(map(str, ends)) for ends in self.cluster.topology.links.tolist())]
        return {
            "routes.csv": route_table.write(self.tables),
            "links.csv": "\n".join(links) + "\n",
            "proof.json": json.dumps(self.record(), indent=2) + "\n",
        }


def prove(cluster: Cluster, routing: str | None = None, table: str | Path | None = None) -> ProvedRoutes:
    """Proves the routes of the cluster's own algorithm, of another algorithm, or of the table in a file.

    Raises CheckFailed with a wait-for cycle or a pair without a route, and InputError.
    """
    routed: Routed = cluster  # type: ignore[assignment]  # whose system has this command
    if table and routing:
        raise InputError("--table and --routing are exclusive: give one of them")
    if routing:
        routed = routed.with_routing(one_of("algorithm", routing, ALGORITHMS))
    if table:
        tables = route_table.read(Path(table), routed.topology, routed.max_classes)
        return ProvedRoutes(routed, tables, routed.prove(tables))
    return ProvedRoutes(routed, routed.routes, routed.proof())
