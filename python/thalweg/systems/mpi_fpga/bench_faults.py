# SPDX-License-Identifier: Apache-2.0
"""Measures a link with bit errors between two saturated routers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from thalweg.bench.operation import Measured, Progress, silent
from thalweg.cluster import topology
from thalweg.errors import FabricStopped
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.limits import FLIT_BYTES, LOCAL_BUFFER_FLITS, MAX_BUFFERED_FLITS

LOCAL = 16 * LOCAL_BUFFER_FLITS
"""Maximum number of flits in the buffers of the local port."""

ALWAYS = 2.0
"""Offered load: twice the rate of a port, so that there is always a flit."""

WARMUP_CYCLES = 20_000
"""Warm-up until queues are full: several times the buffers and windows of the presets."""


def round_trip(latency: int) -> int:
    """Returns the number of additional frames that are discarded after each damaged one, given a link latency in cycles
    (docs/links.md)."""
    return 2 * latency + 8


def expected(frame_error_rate: float, latency: int) -> float:
    """Returns the expected goodput in flits per frame: (1 - p) / (1 + p a)."""
    return (1 - frame_error_rate) / (1 + frame_error_rate * round_trip(latency))


def measure_faults(
    cluster: Cluster, rates: Sequence[float], cycles: int, seed: int = 1, progress: Progress = silent
) -> Iterator[Measured]:
    """Measures each bit error rate, on the cluster's type of router and link, in both directions, with buffers that do not
    limit.

    `goodput` is the number of delivered flits per frame that the link can carry. Raises FabricStopped after a deadlock.
    """
    from thalweg import _core

    router = cluster.values.router
    window = _core.replay_window(cluster.link_latency)
    flits = router.virtual_channels * (max(router.margin_flits, window) + 2 * window)
    if flits > MAX_BUFFERED_FLITS - LOCAL:
        raise cluster.file.wrong(
            f"a link of {cluster.link_latency} cycles; buffers that do not limit it need {flits} flits, but "
            f"{MAX_BUFFERED_FLITS - LOCAL} is the maximum",
            "link.latency_ns",
            "clock.frequency_mhz",
        )
    deep = FLIT_BYTES * flits
    router = router.model_copy(update={"port_buffer_bytes": max(router.port_buffer_bytes, deep)})
    pair = replace(
        cluster,
        topology=topology.build("line", [2]),
        values=cluster.values.model_copy(update={"routing": None, "router": router}),
    )
    traffic = _core.TrafficConfig()
    traffic.pattern = _core.Pattern.neighbour
    traffic.packet_flits = 16
    traffic.load = ALWAYS
    traffic.warmup, traffic.cycles = WARMUP_CYCLES, cycles
    for index, rate in enumerate(rates):
        faults = cluster.values.faults.model_copy(
            update={"bit_error_rate": rate, "frames_lost": 0.0, "frames_duplicated": 0.0, "links": [], "seed": seed}
        )
        lossy = replace(pair, values=pair.values.model_copy(update={"faults": faults}))
        config = lossy.fabric_config(collectives=False)

        def advanced(cycle: int, total: int, done: int = index) -> bool:
            progress((done + cycle / total) / len(rates))
            return cycle < total  # packets that were created but not sent are ignored

        result = _core.run_traffic(config, traffic, advanced)
        if result.stuck:
            raise FabricStopped("deadlock: " + "; ".join(result.stuck))
        bits = _core.frame_bits(config)
        p = 1 - (1 - rate) ** bits
        goodput = result.accepted_load / float(cluster.link_rate)
        expected_share = expected(p, cluster.link_latency)
        time_us = result.cycles * 1e6 / config.ticks_per_second
        own = {
            "engine": "sim",
            "bit_error_rate": rate,
            "frame_bits": bits,
            "frame_error_rate": p,
            "round_trip_frames": round_trip(cluster.link_latency),
            "cycles": result.cycles,
            "goodput": goodput,
            "share_expected": expected_share,
            "difference": goodput / expected_share - 1,
            "cpu_s": result.cpu_s,
        }
        arrived = round(result.accepted_load * result.cycles) * FLIT_BYTES
        yield Measured(arrived, time_us, goodput * time_us, result.verified, own)
