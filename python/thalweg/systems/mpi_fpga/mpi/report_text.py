"""What the network did for a program, for people: the report at the end of a run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import IO, Any

from thalweg.commands.output import print_line, print_table
from thalweg.systems.mpi_fpga.faults import recovery_text
from thalweg.systems.mpi_fpga.mpi import instances
from thalweg.systems.mpi_fpga.mpi.report import Report
from thalweg.systems.mpi_fpga.mpi.together import Row, together

_ROWS = 12  # of a table; what is left out is said


def summary(report: Report) -> str:
    """One line that says what the network did."""
    offloaded, fallback = sum(report.offloaded.values()), sum(report.fallback.values())
    memory, messages = sum(report.in_memory.values()), report.messages
    hosts = len(set(report.nodes))
    flits = sum(link["flits"] for link in report.links)
    return (
        f"{report.cluster.name}, {len(report.nodes)} ranks{f' on {hosts} node' + 's' * (hosts > 1) if report.shares_nodes else ''}: "
        f"{report.virtual_time_us:.3f} us of virtual time; "
        f"{offloaded} collective calls computed in the network, {f'{memory} in the memory of a node, ' if memory else ''}"
        f"{fallback} left to software, {messages} messages; "
        f"{flits} flits over {len(report.links)} links"
    )


def _in_another_order(report: Report) -> int:
    """Calls of a reproducible run that were reduced in software."""
    return sum(
        use["calls"]
        for use in report.collectives
        if report.reproducible
        and not use["offloaded"]
        and use["ranks"] > 1
        and re.search("reduce|scan", use["function"].lower())
    )


def print_report(report: Report, stream: IO[str]) -> None:
    """What the network did for a program, with its instances where they are there."""
    calls = report.calls
    print(file=stream)
    print_line(f"thalweg: {summary(report)}", stream)
    for recovery in report.recoveries:
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
        report.collectives,
        ("function", "ranks", "nodes", "in", "algorithms"),
        ("calls", "operations", "bytes", "fabric_us", "memory_us", "bound_us", "waiting_us"),
        ratios={"share_of_bound": ("bound_us", "fabric_us")},
    )
    rows.sort(key=lambda row: -row["fabric_us"])
    if loose := _in_another_order(report):
        print_line(
            f"thalweg: warning: {loose} calls were reduced by MPI, in an order that --reproducible does not fix",
            stream,
        )
    if rows:
        print(file=stream)
        _table(
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
                *(["in memory us"] if report.shares_nodes else []),
            ],
            (
                [
                    row["function"],
                    row["communicator"],
                    f"{row['ranks']} on {row['nodes']}" if report.shares_nodes else row["ranks"],
                    row["in"],
                    ", ".join(row["algorithms"]) or None,
                    row["calls"],
                    row["bytes"],
                    row["fabric_us"],
                    row["bound_us"],
                    _percent(row["share_of_bound"]),
                    row["waiting_us"],
                    *([row["memory_us"]] if report.shares_nodes else []),
                ]
                for row in rows
            ),
            ["collective", "communicator", "in", "algorithm"],
            stream,
        )
    if report.instances:
        _print_instances(report, report.instances, stream)
    if fallback := report.fallback:
        print(file=stream)
        _table(
            ["left to software because", "calls"],
            sorted(fallback.items(), key=lambda item: -item[1]),
            ["left to software because"],
            stream,
        )
    if links := report.links:
        print(file=stream)
        busiest = [[link["node"], link["port"], link["flits"]] for link in links[:4]]
        print_table(["busiest links: node", "port", "flits"], busiest, file=stream)


def _print_instances(report: Report, rows: list[Row], stream: IO[str]) -> None:
    print(file=stream)
    _table(
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
    software = instances.in_software_us(rows, report.virtual_time_us)
    print(file=stream)
    print_line(
        f"thalweg: {report.virtual_time_us:.3f} us; about {software:.3f} us with all of these in software: "
        f"the network takes {100 * (1 - report.virtual_time_us / software):.2f} % off"
        + ("; what has no time in software counts as it is" if any(row["software_us"] is None for row in rows) else ""),
        stream,
    )


def _table(columns: list[str], rows: Iterable[Any], left: list[str], stream: IO[str]) -> None:
    every = [list(row) for row in rows]
    print_table(columns, every[:_ROWS], left, stream)
    if len(every) > _ROWS:
        print(f"and {len(every) - _ROWS} more rows (--json has all)", file=stream)


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.1f} %"
