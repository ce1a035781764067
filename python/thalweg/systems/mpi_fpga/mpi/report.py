# SPDX-License-Identifier: Apache-2.0
"""What the network did for a program, as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import inf
from pathlib import Path
from typing import Any

from thalweg._sim import FabricConfig, Reason
from thalweg.systems.mpi_fpga import bounds
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.faults import recovery_rows
from thalweg.systems.mpi_fpga.mpi import instances
from thalweg.systems.mpi_fpga.mpi.launch import RunResult
from thalweg.systems.mpi_fpga.mpi.together import Row
from thalweg.trace.timeline import Timeline

_REASONS = {
    Reason.no_row: "no row free in the network's tables",
    Reason.not_in_network: "not in the network: {function}",
    Reason.user_operation: "user-defined operation",
    Reason.derived_type: "derived type in a reduction",
    Reason.type_not_in_network: "type not in the network: {detail}",
    Reason.operation_not_in_network: "operation not in the network: {detail}",
    Reason.intercommunicator: "intercommunicator",
    Reason.shared_node: "not with several ranks on a node: {function}",
}


_BLOCKS = {"gather": 1, "allgather": 1, "scatter": 1, "reduce_scatter": 1, "alltoall": 2}
"""Of the collectives with a block for each rank: the block of a node has as many as it has ranks, to this power."""


def _place(use: dict[str, Any]) -> str:
    """Where collectives are executed; those of ranks that all share a node are done in its memory."""
    if not use["offloaded"]:
        return "software"
    return "network" if len(set(use["nodes"])) > 1 else "memory"


@dataclass(frozen=True)
class Report:
    """A run's figures; times are in microseconds, of virtual time."""

    cluster: Cluster
    nodes: list[int]
    """That of each rank."""
    reproducible: bool
    exit_code: int
    """The program's own status, or 124 where the fabric could not go on."""
    complaint: list[str]
    """Why it ended early, and who waits for whom; empty where it did not."""
    virtual_time_us: float
    ends_us: list[float]
    """Of each rank."""
    recoveries: list[Row]
    """The links without which the fabric began again."""
    unrouted: list[Row]
    """Nodes that dropped packets without a route, and the flits of these."""
    calls: dict[str, int]
    """Of each function of MPI."""
    offloaded: dict[str, int]
    """Calls of collectives that were executed in the network, by function."""
    in_memory: dict[str, int]
    """Those on communicators whose ranks all share a node."""
    fallback: dict[str, int]
    """Those that were left to software, by reason."""
    messages: int
    message_bytes: int
    unreceived: int
    """Messages that no rank had received at the end."""
    failed_collectives: int
    """Those on whose size the ranks disagreed, where the program took the error and went on."""
    first_failure: str
    """Of those the first one: who called it with which size."""
    collectives: list[Row]
    """One row per function, communicator and way of execution; sizes together."""
    links: list[Row]
    """Those that carried something, the busiest first."""
    instances: list[Row] | None = None
    """One row for each place that calls a collective, where they were asked for."""
    timeline: Timeline | None = None
    """What happened when, where it was to be recorded."""

    @property
    def ranks(self) -> int:
        return len(self.nodes)

    @property
    def shares_nodes(self) -> bool:
        return len(set(self.nodes)) < len(self.nodes)

    @property
    def software_time_us(self) -> float | None:
        """About what the run would take with all collectives in software; known with the instances."""
        return None if self.instances is None else instances.in_software_us(self.instances, self.virtual_time_us)

    def as_json(self) -> dict[str, Any]:
        """All but the ranks' ends and the timeline, as `--json` has it."""
        left_out = ("cluster", "ends_us", "instances", "timeline")
        values = {"ranks": self.ranks, "cluster": self.cluster.name, "engine": self.cluster.engine}
        values |= {each.name: getattr(self, each.name) for each in fields(self) if each.name not in left_out}
        if self.instances is not None:
            values |= {"instances": self.instances, "software_time_us": self.software_time_us}
        return values


def report_of(
    result: RunResult,
    config: FabricConfig,
    cluster: Cluster,
    nodes: Sequence[int],
    reproducible: bool = False,
    program: Path | None = None,
    timeline: Timeline | None = None,
) -> Report:
    """Of what the server counted; with the instances of a collective where the `program` is given."""
    books = result.books
    us = 1e6 / config.ticks_per_second
    fallback: Counter[str] = Counter()
    for row in books["fallbacks"]:
        fallback[_REASONS[row["reason"]].format(**row)] += row["calls"]
    links = [{"node": node, "port": port, "flits": flits} for node, port, flits in books["links"] if flits]
    return Report(
        cluster,
        list(nodes),
        reproducible,
        result.exit_code,
        result.complaint,
        virtual_time_us=float(books["virtual_time"] * us),
        ends_us=[clock * us for clock in books["clocks"]],
        recoveries=recovery_rows(books["recoveries"], us),
        unrouted=[{"node": node, "flits": flits} for node, flits in books["unrouted"]],
        calls=books["calls"],
        offloaded=_calls(books, "network"),
        in_memory=_calls(books, "memory"),
        fallback=dict(fallback),
        messages=books["messages"],
        message_bytes=books["message_bytes"],
        unreceived=books["unreceived"],
        failed_collectives=books["failed_collectives"],
        first_failure=books["first_failure"],
        collectives=_collectives(books, bounds.Network.of(config), us),
        links=sorted(links, key=lambda link: (-link["flits"], link["node"], link["port"])),
        instances=instances.instances(books, config, program) if program else None,
        timeline=timeline,
    )


def _calls(books: Row, place: str) -> dict[str, int]:
    """Of collectives that were executed there, by function."""
    counts: Counter[str] = Counter()
    for use in books["collectives"]:
        if _place(use) == place:
            counts[use["function"]] += use["calls"]
    return dict(counts)


def _collectives(books: Row, network: bounds.Network, us: float) -> list[Row]:
    """One row per function, communicator and way of execution; sizes together."""
    rows: dict[tuple[str, str, bool], Row] = {}
    for use in books["collectives"]:
        key = (use["function"], use["communicator"], use["offloaded"])
        row = rows.setdefault(
            key,
            {
                "function": use["function"],
                "communicator": use["communicator"],
                "ranks": len(use["nodes"]),
                "nodes": len(set(use["nodes"])),
                "offloaded": use["offloaded"],
                "in": _place(use),
                "algorithms": [],
                "calls": 0,
                "operations": 0,
                "bytes": 0,
                "fabric_us": 0.0,
                "memory_us": 0.0,
                "bound_us": 0.0,
                "waiting_us": 0.0,
            },
        )
        if row["in"] == "network" and use["algorithm"] not in row["algorithms"]:
            row["algorithms"].append(use["algorithm"])
        row["calls"] += use["calls"]
        row["operations"] += use["operations"]
        row["bytes"] += use["operations"] * use["bytes"]
        row["fabric_us"] += use["fabric"] * us
        row["memory_us"] += use["memory"] * us
        row["waiting_us"] += use["waiting"] * us
        bound = _bound(use, network, us)
        row["bound_us"] = None if bound is None or row["bound_us"] is None else row["bound_us"] + bound
    for row in rows.values():
        row["share_of_bound"] = row["bound_us"] / row["fabric_us"] if row["bound_us"] and row["fabric_us"] else None
    return sorted(rows.values(), key=lambda row: -row["fabric_us"])


def _bound(use: Row, network: bounds.Network, us: float) -> float | None:
    """The least time that these operations could take after their last rank had come; none for software's and of v-forms.

    A whole operation has its bound from the first rank's entry on, and ranks waited at least as long as the first did.
    """
    if _place(use) != "network" or use["vector"]:
        return None
    nodes, hosts = use["nodes"], list(dict.fromkeys(use["nodes"]))
    collective, size = use["collective"], use["bytes"]
    if len(hosts) < len(nodes):
        # That of what the nodes do; blocks of different sizes have none.
        collective = "exscan" if collective == "scan" else collective
        shares = {nodes.count(host) for host in hosts}
        if collective in _BLOCKS and len(shares) > 1:
            return None
        size *= min(shares) ** _BLOCKS.get(collective, 0)
    operation = network, hosts, collective, size, hosts.index(nodes[use["root"]])
    after_last = use["operations"] * bounds.last_entry_ticks(*operation)
    after_first = use["operations"] * bounds.collective_ticks(*operation, host=True)
    ticks = max(after_last, after_first - use["waiting"])
    return ticks * us if ticks < inf else None
