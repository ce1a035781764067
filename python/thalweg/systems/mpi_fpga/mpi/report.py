# SPDX-License-Identifier: Apache-2.0
"""The report of a run of an MPI program, as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import inf
from pathlib import Path
from typing import Any

from thalweg.systems.mpi_fpga import bounds
from thalweg.systems.mpi_fpga._sim import FabricConfig, Reason
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.faults import recovery_rows
from thalweg.systems.mpi_fpga.mpi import instances
from thalweg.systems.mpi_fpga.mpi.launch import RunResult
from thalweg.systems.mpi_fpga.mpi.together import Row
from thalweg.trace import Recorded, Timeline

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
"""Collectives with a block for each rank. The block of a node is the block of a rank times the number of its ranks to this power."""


def _place(use: dict[str, Any]) -> str:
    """Where a collective was executed: in memory if all its ranks share a node."""
    if not use["offloaded"]:
        return "software"
    return "network" if len(set(use["nodes"])) > 1 else "memory"


@dataclass(frozen=True)
class Report:
    """The figures of a run. Times are virtual, in microseconds."""

    cluster: Cluster
    nodes: list[int]
    """The node of each rank."""
    reproducible: bool
    exit_code: int
    """The program's own status, or 124 if the fabric could not proceed."""
    complaint: list[str]
    """Why the run ended early, and which ranks wait for which; empty if it did not."""
    blocked: list[Row]
    """State of each rank after an early end: `who`, `what`, and `since_us`, which is None if it does not wait."""
    virtual_time_us: float
    ends_us: list[float]
    """The end of each rank."""
    recoveries: list[Row]
    """Restarts of the fabric, with the links that were given up."""
    lost: list[Row]
    """What nodes dropped: `node`, `what` (flits of packets without a route) and `count`."""
    calls: dict[str, int]
    """Calls of each MPI function."""
    offloaded: dict[str, int]
    """Calls of collectives executed in the network, by function."""
    in_memory: dict[str, int]
    """Calls of collectives on communicators whose ranks all share a node, by function."""
    fallback: dict[str, int]
    """Calls of collectives left to software, by reason."""
    messages: int
    message_bytes: int
    unreceived: int
    """Messages that no rank has received."""
    failed_collectives: int
    """Collectives on whose size the ranks disagreed and whose error the program handled."""
    first_failure: str
    """The first failed collective: the ranks and their sizes."""
    collectives: list[Row]
    """One row per function, communicator and place of execution, over all sizes."""
    links: list[Row]
    """Links that carried flits, the busiest first."""
    instances: list[Row] | None = None
    """One row per call site of a collective, if requested."""
    recorded: Recorded | None = None
    """The timeline, if recorded."""

    @property
    def ranks(self) -> int:
        return len(self.nodes)

    @property
    def shares_nodes(self) -> bool:
        return len(set(self.nodes)) < len(self.nodes)

    @property
    def software_time_us(self) -> float | None:
        """Estimated time of the run with all collectives in software; None without instances."""
        return None if self.instances is None else instances.in_software_us(self.instances, self.virtual_time_us)

    def as_json(self) -> dict[str, Any]:
        """Returns the report for `--json`, without the ranks' ends and the timeline."""
        left_out = ("cluster", "ends_us", "instances", "recorded")
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
    """Returns the report of the server's counts, with call sites of collectives if `program` is given."""
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
        blocked=[
            {"who": one.who, "what": one.what, "since_us": one.since_us if one.since_us >= 0 else None}
            for one in books["blocked"]
        ],
        virtual_time_us=float(books["virtual_time"] * us),
        ends_us=[clock * us for clock in books["clocks"]],
        recoveries=recovery_rows(books["recoveries"], us),
        lost=[{"node": node, "what": what, "count": count} for node, what, count in books["lost"]],
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
        recorded=None if timeline is None else Recorded(timeline, cluster, links),
    )


def _calls(books: Row, place: str) -> dict[str, int]:
    """Calls of collectives executed at a place, by function."""
    counts: Counter[str] = Counter()
    for use in books["collectives"]:
        if _place(use) == place:
            counts[use["function"]] += use["calls"]
    return dict(counts)


def _collectives(books: Row, network: bounds.Network, us: float) -> list[Row]:
    """One row per function, communicator and place of execution, over all sizes."""
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
    """Lower bound of the time from the last rank's entry to the operations' end; None in software and for v-forms.

    There is also a bound for the time from the first rank's entry. Subtracting the ranks' total waiting time, which is at least the
    first rank's, makes it a bound from the last rank's entry.
    """
    if _place(use) != "network" or use["vector"]:
        return None
    nodes, hosts = use["nodes"], list(dict.fromkeys(use["nodes"]))
    collective, size = use["collective"], use["bytes"]
    if len(hosts) < len(nodes):
        # The bound of the collective between nodes; there is none if their blocks differ in size.
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
