# SPDX-License-Identifier: Apache-2.0
"""Instances of a program's collectives: call sites, and their times in the network and in software.

An instance is a call site (return address), function, communicator and size; v-forms, whose sizes differ by rank, have
none. The time in software is that of the usual software algorithm (docs/mpi.md) on the same, otherwise idle links, with
the cluster's software overhead per message.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from thalweg.systems.mpi_fpga import _sim
from thalweg.systems.mpi_fpga.mpi.together import Row, together
from thalweg.systems.mpi_fpga.spec import Collective

_ALIKE = {"exscan": "scan"}
_PATTERNS = {
    name: getattr(_sim.SoftwarePattern, _ALIKE.get(name, name))
    for name in (collective.name.lower() for collective in Collective)
    if hasattr(_sim.SoftwarePattern, _ALIKE.get(name, name))
}
"""Messages of each collective of the network when executed in software."""


class Software:
    """Times of collectives in software, in ticks; each is simulated once."""

    def __init__(self, config: _sim.FabricConfig) -> None:
        self._config = config
        self._known: dict[tuple[Any, ...], int] = {}

    def ticks(self, use: Row) -> int | None:
        """Returns the ticks of one operation of a row of the server's counts; None if no algorithm is modelled, as for
        v-forms."""
        pattern = None if use["vector"] else _PATTERNS.get(use["collective"])
        if pattern is None:
            return None
        key = (tuple(use["nodes"]), pattern, use["bytes"], use["root"])
        if key not in self._known:
            self._known[key] = _sim.software_ticks(
                self._config, use["nodes"], pattern, bytes=use["bytes"], root=use["root"]
            )
        return self._known[key]


def instances(books: Row, config: _sim.FabricConfig, program: Path) -> list[Row]:
    """Returns one row per instance, largest savings first. Times are averages per operation in us."""
    us = 1e6 / config.ticks_per_second
    software = Software(config)
    rows: dict[tuple[Any, ...], Row] = {}
    for use in books["collectives"]:
        size = None if use["vector"] else use["bytes"]
        key = use["site"], use["function"], use["communicator"], size, use["offloaded"]
        row = rows.setdefault(
            key,
            {
                "site": use["site"],
                "function": use["function"],
                "communicator": use["communicator"],
                "ranks": len(use["nodes"]),
                "bytes": size,
                "offloaded": use["offloaded"],
                "operations": 0,
                "software_us": 0.0,
                "fabric_us": 0.0,
                "skew_us": 0.0,
            },
        )
        row["operations"] += use["operations"]
        row["fabric_us"] += use["fabric"] * us
        row["skew_us"] += use["skew"] * us
        if not use["offloaded"]:
            row["software_us"] += use["fabric"] * us
        elif row["software_us"] is not None:
            ticks = software.ticks(use)
            row["software_us"] = None if ticks is None else row["software_us"] + use["operations"] * ticks * us
    places = source_lines((row["site"] for row in rows.values()), program)
    for row in rows.values():
        row["place"] = places[row["site"]]
        for name in ("software_us", "fabric_us", "skew_us"):
            row[name] = None if row[name] is None else row[name] / row["operations"]
        row["speedup"] = row["software_us"] / row["fabric_us"] if row["software_us"] and row["fabric_us"] else None
    return sorted(rows.values(), key=_first)


def together_by_kind(rows: Iterable[Row]) -> list[Row]:
    """Merges rows with equal call site, function and size whose communicators are of one kind and size."""
    kinds = together(
        rows,
        ("site", "function", "ranks", "bytes", "offloaded"),
        ("operations",),
        ("software_us", "fabric_us", "skew_us"),
        {"speedup": ("software_us", "fabric_us")},
    )
    return sorted(kinds, key=_first)


def _first(row: Row) -> tuple[float, float, str]:
    """Sort key: largest savings first, then longest times."""
    return -_saved(row), -row["fabric_us"] * row["operations"], row["site"]


def _saved(row: Row) -> float:
    return 0.0 if row["software_us"] is None else row["operations"] * (row["software_us"] - row["fabric_us"])


def in_software_us(rows: Iterable[Row], virtual_time_us: float) -> float:
    """Estimates the program's time with all collectives in software.

    Replaces the network's time of each instance, where known; waiting times for late ranks are kept.
    """
    return virtual_time_us + sum(map(_saved, rows))


_SITE = re.compile(r"(?P<file>.+)\+(?P<address>0x[0-9a-f]+)")


def source_lines(sites: Iterable[str], program: Path) -> dict[str, str]:
    """Returns `file:line` of each call site in the program; function and address without line information; else the site
    itself."""
    names = {site: site for site in sites}
    inside = {
        site: found["address"] for site in names if (found := _SITE.fullmatch(site)) and found["file"] == program.name
    }
    tool = shutil.which("addr2line")
    if tool is None or not inside:
        return names
    done = subprocess.run(
        [tool, "-f", "-e", str(program), *inside.values()], capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines()
    for site, function, line in zip(inside, lines[::2], lines[1::2], strict=False):
        place = line.split(" (discriminator")[0].rpartition("/")[2]
        if not place.startswith("?"):
            names[site] = place
        elif not function.startswith("?"):
            names[site] = f"{function} ({inside[site]})"
    return names
