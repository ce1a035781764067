# SPDX-License-Identifier: Apache-2.0
"""`thalweg bench --engine model`: closed forms, with the same bounds; nothing is executed or verified."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from thalweg.bench.operation import Measured, peer_at
from thalweg.errors import InputError
from thalweg.systems.mpi_fpga import bounds, model
from thalweg.systems.mpi_fpga.bench import CollectivePlan, collective_limits, measured, network_of
from thalweg.systems.mpi_fpga.bench_messages import WINDOW, measured_message
from thalweg.systems.mpi_fpga.cluster import Cluster

if TYPE_CHECKING:
    from thalweg.systems.mpi_fpga._sim import FabricConfig


def _config(cluster: Cluster) -> FabricConfig:
    if cluster.has_faults:
        raise InputError(f"--engine model has closed forms for links without faults only; {cluster.name} has faults")
    return cluster.fabric_config()


def collective_rows(plan: CollectivePlan) -> Iterator[Measured]:
    """Yields a row per size; `software_us` is the host-to-host time with software messages."""
    config = _config(plan.cluster)
    bounded, network = network_of(config, plan.cluster), bounds.Network.of(config)
    us = 1e6 / config.ticks_per_second
    members = plan.nodes
    in_switch = [model.parameters(network, members, host) for host in (False, True)]
    software = model.parameters(network, members, True, config.host.message_overhead)
    for size in plan.measured_sizes:
        times = [us * model.in_switch_ticks(plan.operation, size, parameters) for parameters in in_switch]
        yield measured(
            plan.cluster,
            plan.ranks,
            size,
            times,
            collective_limits(bounded, plan, size, us),
            None,
            engine="model",
            software_us=us * model.software_ticks(plan.operation, size, software),
        )


def message_rows(cluster: Cluster, operation: str, sizes: Sequence[int], hops: int) -> Iterator[Measured]:
    """Yields a row per size of messages from node 0 to one at a distance of `hops` links."""
    config = _config(cluster)
    bounded, network = network_of(config, cluster), bounds.Network.of(config)
    us = 1e6 / config.ticks_per_second
    messages = WINDOW if operation == "bandwidth" else 1
    peer = peer_at(cluster, hops)
    parameters = [model.parameters(network, [0, peer], host) for host in (False, True)]
    for size in sizes:
        limits: list[float | None] = [None, None]
        if bounded:
            limits = [us * bounds.message_ticks(bounded, 0, peer, size * messages, host) for host in (False, True)]
        times = [us * p.message(size * messages) for p in parameters]
        yield measured_message(operation, cluster, size, times, limits, None, engine="model", hops=hops)
