# SPDX-License-Identifier: Apache-2.0
"""Measures random traffic on a cluster's network without collectives."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from thalweg.bench.operation import Measured, Progress, silent
from thalweg.errors import FabricStopped, InputError
from thalweg.systems.mpi_fpga import bounds
from thalweg.systems.mpi_fpga.cluster import Cluster

SATURATED = 3.0
"""Ratio of average latencies to that at `LOW_LOAD` above which a load is beyond saturation."""
LOW_LOAD = 0.05
FINEST_LOAD = 0.005


@dataclass(frozen=True)
class TrafficPlan:
    """Random traffic on a cluster's network without collectives."""

    cluster: Cluster
    pattern: str = "uniform"
    packet: int = 8
    cycles: int = 100_000
    warmup: int = 10_000
    seed: int = 1


def measure_traffic(plan: TrafficPlan, load: float, progress: Progress = silent) -> Measured:
    """Measures an offered load in flits per node and cycle.

    Raises FabricStopped after a deadlock, and InputError if no packet is created in the measured cycles.
    """
    from thalweg import _core

    traffic = _core.TrafficConfig()
    traffic.pattern = _core.Pattern[plan.pattern]
    traffic.packet_flits = plan.packet
    traffic.load = load
    traffic.seed = plan.seed
    traffic.warmup = plan.warmup
    traffic.cycles = plan.cycles

    def advanced(done: int, total: int) -> bool:
        progress(done / total)
        return True

    config = plan.cluster.fabric_config(collectives=False)
    try:
        result = _core.run_traffic(config, traffic, advanced)
    except ValueError as error:
        raise InputError(str(error)) from None
    if result.stuck:
        raise FabricStopped("deadlock: " + "; ".join(result.stuck))
    if result.packets == 0:
        raise InputError(
            f"no packet is created in the {plan.cycles} measured cycles at load {load:g}: measure more cycles"
        )
    own = {
        "engine": "sim",
        "ranks": plan.cluster.topology.nodes,
        "pattern": plan.pattern,
        "packet_flits": plan.packet,
        "seed": plan.seed,
        "load": load,
        "offered_load": result.offered_load,
        "accepted_load": result.accepted_load,
        "average_latency_cycles": result.average_latency_cycles,
        "max_latency_cycles": result.max_latency_cycles,
        "average_hops": result.average_hops,
        "packets": result.packets,
        "cycles": result.cycles,
        "flit_hops": result.flit_hops,
        "router_cycles": result.router_cycles,
        "cpu_s": result.cpu_s,
        "complete": result.complete,
    }
    time_us = result.average_latency_cycles * 1e6 / config.ticks_per_second
    return Measured(plan.packet * bounds.FLIT_BYTES, time_us, None, result.verified, own)


def sweep_traffic(plan: TrafficPlan, progress: Progress = silent) -> Iterator[Measured]:
    """Measures loads from 0.05 to saturation: in steps of 0.05, then bisects the last step down to 0.005.

    The highest load whose latency is at most three times that at 0.05 has `saturation` set. Raises InputError if the cycles
    are too few for a packet of each node at 0.05.
    """
    if plan.cycles * LOW_LOAD < plan.packet:
        raise InputError(
            f"in {plan.cycles} cycles a node creates less than one packet of {plan.packet} flits at load {LOW_LOAD}: "
            "measure more cycles"
        )
    most, halvings = round(1 / LOW_LOAD), int(math.log2(LOW_LOAD / FINEST_LOAD))

    def part(before: float) -> Progress:
        """Returns the progress of one load, out of the maximum number of loads."""
        return lambda done: progress((before + done) / (most + halvings))

    def latency_of(one: Measured) -> float:
        return float(one.own["average_latency_cycles"])

    low = measure_traffic(plan, LOW_LOAD, part(0))
    yield low
    best, step = low, LOW_LOAD
    while step >= FINEST_LOAD:
        load = round(best.own["load"] + step, 6)
        before = best.own["load"] / LOW_LOAD if step == LOW_LOAD else most - 1 + math.log2(LOW_LOAD / step)
        one = measure_traffic(plan, load, part(before)) if load <= 1 else None
        beyond = one is None or not one.own["complete"] or latency_of(one) > SATURATED * latency_of(low)
        if one is not None:
            yield one
        if not beyond and one is not None:
            best = one
        if beyond or step < LOW_LOAD:
            step /= 2
    best.own["saturation"] = True
