# SPDX-License-Identifier: Apache-2.0
"""Text of the report at the end of a run."""

from __future__ import annotations

import re
from typing import IO

from thalweg.commands.output import print_line, print_table
from thalweg.systems.mpi_fpga.faults import recovery_text
from thalweg.systems.mpi_fpga.mpi import instances
from thalweg.systems.mpi_fpga.mpi.report import Report
from thalweg.systems.mpi_fpga.mpi.together import Row, together
from thalweg.trace.page import Table

_ROWS = 12  # rows per table


def summary(report: Report) -> str:
    """Returns one line that summarizes the network's activity."""
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
    """Returns the number of calls of a reproducible run that were reduced in software."""
    return sum(
        use["calls"]
        for use in report.collectives
        if report.reproducible
        and not use["offloaded"]
        and use["ranks"] > 1
        and re.search("reduce|scan", use["function"].lower())
    )


def print_report(report: Report, stream: IO[str]) -> None:
    """Prints the report, with the instances of collectives, if any."""
    print(file=stream)
    for line in facts(report):
        print_line(f"thalweg: {line}", stream)
    _print(collective_table(report), stream)
    if report.instances:
        _print(instance_table(report.instances), stream)
        print(file=stream)
        print_line(f"thalweg: {_in_software(report, report.instances)}", stream)
    _print(software_table(report), stream)
    links = link_table(report)
    if links.rows:
        print(file=stream)
        print_table(["busiest links: node", "port", "flits"], links.rows[:4], file=stream)


def facts(report: Report) -> list[str]:
    """Returns the summary, links that were given up, and warnings."""
    calls = report.calls
    lines = [summary(report), *map(recovery_text, report.recoveries)]
    for lost in report.lost:
        lines.append(f"warning: node {lost['node']} dropped {lost['count']} {lost['what']}")
    if not set(calls) - {"MPI_Init", "MPI_Init_thread", "MPI_Finalize"}:
        lines.append("warning: no calls except MPI_Init and MPI_Finalize were intercepted")
    if spawned := calls.get("MPI_Comm_spawn", 0) + calls.get("MPI_Comm_spawn_multiple", 0):
        lines.append(
            f"{spawned} calls of MPI_Comm_spawn: the spawned processes use plain MPI, and take no time in the fabric"
        )
    if report.unreceived and not report.complaint:
        lines.append(f"warning: {report.unreceived} messages were sent and never received")
    if failed := report.failed_collectives:
        lines.append(f"warning: {failed} collectives failed with MPI_ERR_TRUNCATE; the first: {report.first_failure}")
    if loose := _in_another_order(report):
        lines.append(f"warning: {loose} calls were reduced by MPI, in an order that --reproducible does not fix")
    return lines


def tables(report: Report) -> list[Table]:
    """Returns all tables, complete."""
    of_instances = [instance_table(report.instances)] if report.instances else []
    return [collective_table(report), *of_instances, software_table(report), link_table(report)]


def collective_table(report: Report) -> Table:
    rows = together(
        report.collectives,
        ("function", "ranks", "nodes", "in", "algorithms"),
        ("calls", "operations", "bytes", "fabric_us", "memory_us", "bound_us", "waiting_us"),
        ratios={"share_of_bound": ("bound_us", "fabric_us")},
    )
    rows.sort(key=lambda row: -row["fabric_us"])
    columns = ["collective", "communicator", "ranks", "in", "algorithm", "calls", "bytes", "time us", "bound us"]
    columns += ["share", "late ranks us", *(["in memory us"] if report.shares_nodes else [])]
    cells = [
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
    ]
    return Table("Collectives", columns, cells, ["collective", "communicator", "in", "algorithm"])


def instance_table(rows: list[Row]) -> Table:
    columns = ["called at", "collective", "communicator", "bytes", "times", "software us", "taken us", "speed-up"]
    keys = [
        "place",
        "function",
        "communicator",
        "bytes",
        "operations",
        "software_us",
        "fabric_us",
        "speedup",
        "skew_us",
    ]
    cells = [[row[key] for key in keys] for row in instances.together_by_kind(rows)]
    return Table("Places that call collectives", [*columns, "skew us"], cells, columns[:3])


def software_table(report: Report) -> Table:
    rows = sorted(report.fallback.items(), key=lambda item: -item[1])
    return Table("Software", ["left to software because", "calls"], rows, ["left to software because"])


def link_table(report: Report) -> Table:
    rows = [[link["node"], link["port"], link["flits"]] for link in report.links]
    return Table("Links", ["node", "port", "flits"], rows)


def _in_software(report: Report, rows: list[Row]) -> str:
    software = instances.in_software_us(rows, report.virtual_time_us)
    return (
        f"{report.virtual_time_us:.3f} us; about {software:.3f} us with all of these in software: "
        f"the network saves {100 * (1 - report.virtual_time_us / software):.2f} %"
        + (
            "; calls without a software model count unchanged"
            if any(row["software_us"] is None for row in rows)
            else ""
        )
    )


def _print(table: Table, stream: IO[str]) -> None:
    if not table.rows:
        return
    print(file=stream)
    print_table(table.columns, table.rows[:_ROWS], table.left, stream)
    if len(table.rows) > _ROWS:
        print(f"and {len(table.rows) - _ROWS} more rows (--json has all)", file=stream)


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.1f} %"
