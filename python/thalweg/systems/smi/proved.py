# SPDX-License-Identifier: Apache-2.0
"""Proved routes of an SMI cluster, as printed by `thalweg route` and returned by `thalweg.routes`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg.cluster import Cluster as AnyCluster
from thalweg.errors import InputError
from thalweg.systems.smi import metadata as programs
from thalweg.systems.smi import routes, routes_proof
from thalweg.systems.smi.cluster import Cluster


@dataclass(frozen=True, eq=False)
class ProvedRoutes:
    """Routing tables proved to deliver every packet without deadlock, and the figures of the proof."""

    cluster: Cluster
    tables: routes.Table  #: of send kernels: rank, link, destination
    receive: Sequence[
        routes.Table
    ]  #: of receive kernels, by rank: link, port * 2 + control; empty if no programs are known
    proof: routes_proof.Proof

    def record(self) -> dict[str, Any]:
        """Returns the proof as plain data."""
        return {"cluster": self.cluster.name, **self.proof.as_dict()}

    def files(self) -> dict[str, bytes]:
        """Returns the files written by `thalweg route --out`, with names as in the public reference implementation."""
        made = {"proof.json": (json.dumps(self.record(), indent=2) + "\n").encode()}
        for prefix, tables in (("cks", self.tables), ("ckr", self.receive)):
            for rank, of_rank in enumerate(tables):
                for link, table in enumerate(of_rank):
                    made[f"{prefix}-rank{rank}-channel{link}"] = table.tobytes()
        fpgas = self.cluster.fpgas
        names = fpgas.names if fpgas else [f"rank-{rank}" for rank in range(self.cluster.topology.nodes)]
        made["ranks"] = "".join(f"{rank} {name}\n" for rank, name in enumerate(names)).encode()
        return made


def prove(cluster: AnyCluster, *, metadata: Sequence[str | Path] = ()) -> ProvedRoutes:
    """Proves the routes of a cluster and of its programs.

    `metadata` are files of programs, assigned to ranks by name as in the topology file, or a single one for all. Raises
    CheckFailed with a wait-for cycle, and InputError.
    """
    assert isinstance(cluster, Cluster)
    known = {Path(file).stem: programs.read(Path(file)) for file in metadata}
    receive = _receive(cluster, known) if known else []
    proof = routes_proof.prove(cluster.topology, cluster.send_tables, receive) if receive else cluster.proof
    return ProvedRoutes(cluster, cluster.send_tables, receive, proof)


def _receive(cluster: Cluster, known: Mapping[str, programs.Program]) -> list[routes.Table]:
    names = cluster.fpgas.programs if cluster.fpgas else ()
    if not names:
        if len(known) > 1:
            raise InputError(
                f"{cluster.name} does not assign {', '.join(known)} to ranks; use a topology file with fpgas"
            )
        names = tuple(known) * cluster.topology.nodes
    tables = {}
    for name in dict.fromkeys(names):
        stem = Path(name).stem if name.endswith(".json") else name
        if stem not in known:
            raise InputError(f"program {name!r} has no metadata; known are {', '.join(known)}")
        tables[name] = known[stem].receive_tables(cluster.node.links)
    return [tables[name] for name in names]
