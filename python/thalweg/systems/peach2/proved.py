# SPDX-License-Identifier: Apache-2.0
"""Proved routes of a PEACH2 cluster, for `thalweg.routes`."""

from __future__ import annotations

from thalweg.cluster import Cluster as AnyCluster
from thalweg.route.proved import ProvedRoutes
from thalweg.systems.peach2.cluster import Cluster


def prove(cluster: AnyCluster) -> ProvedRoutes:
    """The routes that the cluster's window tables define, with their proof. Raises CheckFailed."""
    assert isinstance(cluster, Cluster)
    return ProvedRoutes(cluster, cluster.routes, cluster.proof)
