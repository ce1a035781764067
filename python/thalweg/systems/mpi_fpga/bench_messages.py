# SPDX-License-Identifier: Apache-2.0
"""Messages between two nodes: measured, verified, and compared with bounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from thalweg.bench.operation import Measured, Progress, peer_at, silent
from thalweg.systems.mpi_fpga import bounds
from thalweg.systems.mpi_fpga.bench import finish, measured, network_of, progress_ticks, with_recoveries
from thalweg.systems.mpi_fpga.cluster import Cluster

if TYPE_CHECKING:
    from thalweg.systems.mpi_fpga._sim import Recovery

WINDOW = 64
"""Number of concurrent messages in `bandwidth`, as in OSU's osu_bw."""


def messages_of(operation: str) -> int:
    return WINDOW if operation == "bandwidth" else 1


def measure_messages(
    cluster: Cluster, operation: str, sizes: Sequence[int], hops: int, progress: Progress = silent
) -> Iterator[Measured]:
    """Measures messages of each size from node 0 to one at a distance of `hops` links.

    `latency` is one message; `bandwidth` is `WINDOW` concurrent ones, timed together.
    """
    from thalweg import _core
    from thalweg.systems.mpi_fpga import _sim

    config = cluster.fabric_config()
    network = network_of(config, cluster)
    us = 1e6 / config.ticks_per_second
    messages = messages_of(operation)
    peer = peer_at(cluster, hops)
    for index, size in enumerate(sizes):
        times: list[float] = []
        limits: list[float | None] = []
        recoveries: list[list[Recovery]] = []
        verified = True
        for host in (False, True):
            fabric = _sim.Fabric(config, _sim.Endpoint.host if host else _sim.Endpoint.kernel)
            for handle in range(messages):
                fabric.send(handle=handle, source=0, destination=peer, bytes=size, at=0)
            limit = bounds.message_ticks(network, 0, peer, size * messages, host) if network else None

            def advanced(done: float, before: float = index + host / 2) -> None:
                progress((before + done / 2) / len(sizes))

            checkpoints = progress_ticks(0, limit, advanced)
            times.append(finish(fabric, set(range(messages)), checkpoints) * us)
            fabric.advance(_core.NEVER)  # credits in flight
            limits.append(limit * us if limit is not None else None)
            recoveries.append(fabric.recoveries)
            # payload is not simulated: verified are the number of flits and, unless it failed, the use of the shortest
            # path
            flits, detour = divmod(fabric.flit_hops, hops)
            detour = 0 if fabric.recoveries else detour
            verified = verified and fabric.idle and not detour and flits * bounds.FLIT_BYTES >= size * messages
        progress((index + 1) / len(sizes))
        one = measured_message(operation, cluster, size, times, limits, verified, hops=hops)
        yield with_recoveries(one, recoveries, us)


def measured_message(
    operation: str,
    cluster: Cluster,
    size: int,
    times: Sequence[float],
    limits: Sequence[float | None],
    verified: bool | None,
    **more: object,
) -> Measured:
    """Returns a measurement of `latency` or `bandwidth`, for the latter with the rate."""
    if operation == "bandwidth":
        for name, time in zip(("gbit_per_s_kernel", "gbit_per_s"), times, strict=True):
            more[name] = size * WINDOW * 8 / time / 1e3
    return measured(cluster, 2, size, times, limits, verified, **more)
