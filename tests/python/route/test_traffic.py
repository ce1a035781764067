# SPDX-License-Identifier: Apache-2.0
"""Do proved networks work far beyond their capacity, and do rejected ones deadlock?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from thalweg import _core
from thalweg.route.proof import BadRoutes
from thalweg.systems.mpi_fpga.cluster import Cluster

GRAPH = nx.random_regular_graph(3, 16, seed=3)


@pytest.fixture
def random_graph(tmp_path: Path) -> str:
    file = tmp_path / "random.toml"
    edges = [list(edge) for edge in GRAPH.edges]
    file.write_text(
        f'[topology]\nshape = "edges"\nedges = {edges}\n[router]\nvirtual_channels = 8\nport_buffer_bytes = 1024\n'
    )
    return str(file)


def drive(config: object) -> object:
    traffic = _core.TrafficConfig()
    traffic.packet_flits, traffic.load, traffic.seed = 8, 1.0, 1
    traffic.warmup, traffic.cycles, traffic.stuck_cycles = 0, 3000, 2000
    return _core.run_traffic(config, traffic)


GRIDS = ["ring:8", "torus:4x4", "torus:4x2", "mesh:3x3", "dual-torus:3x3"]


@pytest.mark.parametrize(
    "cluster, routing",
    [(name, routing) for name in [*GRIDS, "star:6", "random"] for routing in ["up-down", "dfsssp"]]
    + [(name, "dimension-order") for name in GRIDS],
)
def test_overload_passes(cluster: str, routing: str, random_graph: str) -> None:
    found = Cluster.load(random_graph if cluster == "random" else cluster)
    result = drive(found.with_routing(routing).fabric_config(collectives=False))
    assert not result.stuck and result.verified


def test_what_is_rejected_gets_stuck() -> None:
    """A ring of 8 without its dateline: the same virtual channels for both classes."""
    cluster = Cluster.load("ring:8")
    routes = cluster.tables
    bad = replace(routes, route_class=np.zeros_like(routes.route_class), classes=1)
    with pytest.raises(BadRoutes, match="cycle"):
        cluster.prove(bad, collectives=False)
    config = cluster.fabric_config(collectives=False)
    assert not drive(config).stuck
    config.set_routes(bad.port, bad.route_class)
    router = config.router
    router.vc_mask = [[0b1], [0b1]]
    assert drive(config).stuck
