# SPDX-License-Identifier: Apache-2.0
"""Routes of a cluster and their proof: what `thalweg route` prints and `thalweg.routes` returns."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from thalweg.bench.operation import one_of
from thalweg.cluster import Cluster
from thalweg.errors import InputError
from thalweg.route import table as route_table
from thalweg.route.proof import Proof
from thalweg.route.routes import Routes
from thalweg.route.routing import ALGORITHMS


class Routed(Cluster, Protocol):
    """A cluster of a system whose routes are tables."""

    @property
    def max_classes(self) -> int: ...
    @property
    def routes(self) -> Routes: ...
    def with_routing(self, algorithm: str) -> Routed: ...
    def prove(self, routes: Routes) -> Proof: ...


@dataclass(frozen=True, eq=False)
class ProvedRoutes:
    """Tables that deliver every packet and cannot deadlock on the cluster, and the figures of the proof."""

    cluster: Cluster
    tables: Routes
    proof: Proof

    def record(self) -> dict[str, Any]:
        """The proof as plain data."""
        return {"cluster": self.cluster.name, **self.proof.as_dict()}

    def files(self) -> dict[str, str]:
        """The texts of the files that `thalweg route --out` writes (docs/routing.md), by their names."""
        links = ["node,port,node,port", *(",".join(map(str, ends)) for ends in self.cluster.topology.links.tolist())]
        return {
            "routes.csv": route_table.write(self.tables),
            "links.csv": "\n".join(links) + "\n",
            "proof.json": json.dumps(self.record(), indent=2) + "\n",
        }


def prove(cluster: Cluster, routing: str | None = None, table: str | Path | None = None) -> ProvedRoutes:
    """Of the cluster's own algorithm, of another one, or of the table in a file. Raises CheckFailed with the cycle, or the pair
    without a way, and InputError."""
    routed: Routed = cluster  # type: ignore[assignment]  # whose system has this command
    if table and routing:
        raise InputError("--table and --routing exclude each other: routes come from the one or the other")
    if routing:
        routed = routed.with_routing(one_of("algorithm", routing, ALGORITHMS))
    tables = route_table.read(Path(table), routed.topology, routed.max_classes) if table else routed.routes
    return ProvedRoutes(routed, tables, routed.prove(tables))
