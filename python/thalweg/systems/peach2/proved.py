# SPDX-License-Identifier: Apache-2.0
"""Routes of a cluster of PEACH2, proved (`thalweg.routes`)."""

from __future__ import annotations

from thalweg.cluster import Cluster as AnyCluster
from thalweg.route.proved import ProvedRoutes
from thalweg.systems.peach2.cluster import Cluster


def prove(cluster: AnyCluster) -> ProvedRoutes:
    """Those that its windows make. Raises CheckFailed."""
    assert isinstance(cluster, Cluster)
    return ProvedRoutes(cluster, cluster.routes, cluster.proof)
