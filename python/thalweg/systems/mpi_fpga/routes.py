# SPDX-License-Identifier: Apache-2.0
"""Proved routes of an MPI-FPGA cluster (`thalweg.routes`)."""

from __future__ import annotations

from pathlib import Path

from thalweg.cluster import Cluster
from thalweg.route import proved


def prove(cluster: Cluster, *, routing: str | None = None, table: str | Path | None = None) -> proved.ProvedRoutes:
    """Proves the routes of a cluster. Raises CheckFailed and InputError."""
    return proved.prove(cluster, routing, table)
