"""What the network did for a program: the report at the end of a run, and the same as JSON."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import inf
from pathlib import Path
from typing import IO, Any

from thalweg._sim import FabricConfig, Reason
from thalweg.commands.output import print_line, print_table
from thalweg.systems.mpi_fpga import bounds
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.faults import recovery_rows, recovery_text
from thalweg.systems.mpi_fpga.mpi import instances
from thalweg.systems.mpi_fpga.mpi.launch import RunResult
from thalweg.systems.mpi_fpga.mpi.together import Row, together

_ROWS = 12  # of a table; what is left out is said

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


class Report:
    """A run's figures, in microseconds; those of each instance of a collective where the `program` is given."""

    def __init__(
        self,
        result: RunResult,
        config: FabricConfig,
        cluster: Cluster,
        nodes: Sequence[int],
        reproducible: bool = False,
        program: Path | None = None,
    ) -> None:
        self.result = result
        self.cluster = cluster
        self.nodes = list(nodes)
        self.reproducible = reproducible
        self._books = result.books
        self._us = 1e6 / config.ticks_per_second
        self._network = bounds.Network.of(config)
        self.instances = instances.instances(self._books, config, program) if program else None

    def _reason(self, row: dict[str, Any]) -> str:
        return _REASONS[row["reason"]].format(**row)

    def fallback(self) -> dict[str, int]:
        """Calls that were not executed in the network, by reason."""
        counts: dict[str, int] = defaultdict(int)
        for row in self._books["fallbacks"]:
            counts[self._reason(row)] += row["calls"]
        return dict(counts)

    def offloaded(self) -> dict[str, int]:
        """Calls that were, by function."""
        return self._calls("network")

    def in_memory(self) -> dict[str, int]:
        """Calls on communicators whose ranks all share a node, by function."""
        return self._calls("memory")

    def _calls(self, place: str) -> dict[str, int]:
        counts: dict[str, int] = defaultdict(int)
        for row in self._books["collectives"]:
            if _place(row) == place:
                counts[row["function"]] += row["calls"]
        return dict(counts)

    def collectives(self) -> list[dict[str, Any]]:
        """One row per function, communicator and way of execution; sizes together."""
        rows: dict[tuple[str, str, bool], dict[str, Any]] = {}
        for use in self._books["collectives"]:
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
            row["fabric_us"] += use["fabric"] * self._us
            row["memory_us"] += use["memory"] * self._us
            row["waiting_us"] += use["waiting"] * self._us
            bound = self._bound(use)
            row["bound_us"] = None if bound is None or row["bound_us"] is None else row["bound_us"] + bound
        for row in rows.values():
            row["share_of_bound"] = row["bound_us"] / row["fabric_us"] if row["bound_us"] and row["fabric_us"] else None
        return sorted(rows.values(), key=lambda row: -row["fabric_us"])

    def _bound(self, use: dict[str, Any]) -> float | None:
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
        operation = self._network, hosts, collective, size, hosts.index(nodes[use["root"]])
        after_last = use["operations"] * bounds.last_entry_ticks(*operation)
        after_first = use["operations"] * bounds.collective_ticks(*operation, host=True)
        ticks = max(after_last, after_first - use["waiting"])
        return ticks * self._us if ticks < inf else None

    def _in_another_order(self) -> int:
        """Calls of a reproducible run that were reduced in software."""
        return sum(
            use["calls"]
            for use in self._books["collectives"]
            if self.reproducible
            and not use["offloaded"]
            and len(use["nodes"]) > 1
            and re.search("reduce|scan", use["function"].lower())
        )

    def links(self) -> list[dict[str, Any]]:
        """Links that carried something, the busiest first."""
        links = [{"node": node, "port": port, "flits": flits} for node, port, flits in self._books["links"] if flits]
        return sorted(links, key=lambda link: (-link["flits"], link["node"], link["port"]))

    @property
    def _shared(self) -> bool:
        return len(set(self.nodes)) < len(self.nodes)

    @property
    def virtual_time_us(self) -> float:
        return float(self._books["virtual_time"] * self._us)

    @property
    def ends_us(self) -> list[float]:
        """Of each rank, in virtual time."""
        return [clock * self._us for clock in self._books["clocks"]]

    def recoveries(self) -> list[dict[str, Any]]:
        """The links without which the fabric began again."""
        return recovery_rows(self._books["recoveries"], self._us)

    def as_json(self) -> dict[str, Any]:
        if self.instances is not None:
            time = instances.in_software_us(self.instances, self.virtual_time_us)
            return {**self._as_json(), "instances": self.instances, "software_time_us": time}
        return self._as_json()

    def _as_json(self) -> dict[str, Any]:
        return {
            "ranks": len(self.nodes),
            "cluster": self.cluster.name,
            "engine": self.cluster.engine,
            "nodes": self.nodes,
            "reproducible": self.reproducible,
            "exit_code": self.result.exit_code,
            "complaint": self.result.complaint,
            "virtual_time_us": self.virtual_time_us,
            "recoveries": self.recoveries(),
            "calls": self._books["calls"],
            "offloaded": self.offloaded(),
            "in_memory": self.in_memory(),
            "fallback": self.fallback(),
            "messages": self._books["messages"],
            "message_bytes": self._books["message_bytes"],
            "collectives": self.collectives(),
            "links": self.links(),
        }

    def summary(self) -> str:
        """One line that says what the network did."""
        offloaded, fallback = sum(self.offloaded().values()), sum(self.fallback().values())
        memory, messages = sum(self.in_memory().values()), self._books["messages"]
        hosts = len(set(self.nodes))
        flits = sum(link["flits"] for link in self.links())
        return (
            f"{self.cluster.name}, {len(self.nodes)} ranks{f' on {hosts} node' + 's' * (hosts > 1) if self._shared else ''}: "
            f"{self.virtual_time_us:.3f} us of virtual time; "
            f"{offloaded} collective calls computed in the network, {f'{memory} in the memory of a node, ' if memory else ''}"
            f"{fallback} left to software, {messages} messages; "
            f"{flits} flits over {len(self.links())} links"
        )

    def print(self, stream: IO[str]) -> None:
        calls = self._books["calls"]
        print(file=stream)
        print_line(f"thalweg: {self.summary()}", stream)
        for recovery in self.recoveries():
            print_line(f"thalweg: {recovery_text(recovery)}", stream)
        if not set(calls) - {"MPI_Init", "MPI_Init_thread", "MPI_Finalize"}:
            print_line("thalweg: warning: no call but MPI_Init and MPI_Finalize was intercepted", stream)
        if spawned := calls.get("MPI_Comm_spawn", 0) + calls.get("MPI_Comm_spawn_multiple", 0):
            print_line(
                f"thalweg: {spawned} calls of MPI_Comm_spawn: the processes that they start run by MPI alone, and take no time "
                "in the fabric",
                stream,
            )
        rows = together(
            self.collectives(),
            ("function", "ranks", "nodes", "in", "algorithms"),
            ("calls", "operations", "bytes", "fabric_us", "memory_us", "bound_us", "waiting_us"),
            ratios={"share_of_bound": ("bound_us", "fabric_us")},
        )
        rows.sort(key=lambda row: -row["fabric_us"])
        if loose := self._in_another_order():
            print_line(
                f"thalweg: warning: {loose} calls were reduced by MPI, in an order that --reproducible does not fix",
                stream,
            )
        if rows:
            print(file=stream)
            self._table(
                [
                    "collective",
                    "communicator",
                    "ranks",
                    "in",
                    "algorithm",
                    "calls",
                    "bytes",
                    "time us",
                    "bound us",
                    "share",
                    "late ranks us",
                    *(["in memory us"] if self._shared else []),
                ],
                (
                    [
                        row["function"],
                        row["communicator"],
                        f"{row['ranks']} on {row['nodes']}" if self._shared else row["ranks"],
                        row["in"],
                        ", ".join(row["algorithms"]) or None,
                        row["calls"],
                        row["bytes"],
                        row["fabric_us"],
                        row["bound_us"],
                        _percent(row["share_of_bound"]),
                        row["waiting_us"],
                        *([row["memory_us"]] if self._shared else []),
                    ]
                    for row in rows
                ),
                ["collective", "communicator", "in", "algorithm"],
                stream,
            )
        if self.instances:
            self._print_instances(self.instances, stream)
        if fallback := self.fallback():
            print(file=stream)
            self._table(
                ["left to software because", "calls"],
                sorted(fallback.items(), key=lambda item: -item[1]),
                ["left to software because"],
                stream,
            )
        if links := self.links():
            print(file=stream)
            busiest = [[link["node"], link["port"], link["flits"]] for link in links[:4]]
            print_table(["busiest links: node", "port", "flits"], busiest, file=stream)

    def _print_instances(self, rows: list[Row], stream: IO[str]) -> None:
        print(file=stream)
        self._table(
            [
                "called at",
                "collective",
                "communicator",
                "bytes",
                "times",
                "software us",
                "taken us",
                "speed-up",
                "skew us",
            ],
            (
                [
                    row["place"],
                    row["function"],
                    row["communicator"],
                    row["bytes"],
                    row["operations"],
                    row["software_us"],
                    row["fabric_us"],
                    row["speedup"],
                    row["skew_us"],
                ]
                for row in instances.together_by_kind(rows)
            ),
            ["called at", "collective", "communicator"],
            stream,
        )
        software = instances.in_software_us(rows, self.virtual_time_us)
        print(file=stream)
        print_line(
            f"thalweg: {self.virtual_time_us:.3f} us; about {software:.3f} us with all of these in software: "
            f"the network takes {100 * (1 - self.virtual_time_us / software):.2f} % off"
            + (
                "; what has no time in software counts as it is"
                if any(row["software_us"] is None for row in rows)
                else ""
            ),
            stream,
        )

    @staticmethod
    def _table(columns: list[str], rows: Iterable[Any], left: list[str], stream: IO[str]) -> None:
        every = [list(row) for row in rows]
        print_table(columns, every[:_ROWS], left, stream)
        if len(every) > _ROWS:
            print(f"and {len(every) - _ROWS} more rows (--json has all)", file=stream)


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.1f} %"
