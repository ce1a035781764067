# SPDX-License-Identifier: Apache-2.0
"""Routing tables as CSV, one row per node and destination (docs/routing.md)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from thalweg.cluster.topology import MAX_NODES, Topology
from thalweg.errors import InputError
from thalweg.route.routes import KEEP_CLASS, NO_ROUTE, Routes

COLUMNS = ("node", "destination", "port", "class", "layer")
KEEP = "keep"  # in the column class: the packet keeps its class


def write(routes: Routes) -> str:
    """Returns a table as text."""
    lines = [",".join(COLUMNS)]
    classes = [str(value) for value in range(KEEP_CLASS)] + [KEEP]
    tables = zip(routes.port.tolist(), routes.route_class.tolist(), routes.layer.tolist(), strict=True)
    for node, (ports, route_classes, layers) in enumerate(tables):
        lines += [
            f"{node},{destination},{port},{classes[route_class]},{layer}"
            for destination, (port, route_class, layer) in enumerate(zip(ports, route_classes, layers, strict=True))
            if destination != node
        ]
    return "\n".join(lines) + "\n"


def read(file: Path, topology: Topology, max_classes: int) -> Routes:
    """Reads a table. Pairs without a row have no route; the proof reports them.

    Raises InputError, with the line, if the file is not a table for this topology and number of classes.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file) from error
    except UnicodeDecodeError as error:
        raise InputError(f"is not text; a table is CSV with the columns {','.join(COLUMNS)}", file, 1) from error
    lines = text.split("\n")
    if tuple(lines[0].strip().split(",")) != COLUMNS:
        raise InputError(f"the first line should be {','.join(COLUMNS)}", file, 1)

    if (nodes := topology.nodes) > MAX_NODES:
        raise InputError(f"{nodes} nodes; tables have at most {MAX_NODES}", file)
    limits = (nodes, nodes, topology.link_ports, max_classes, max_classes)
    table = np.full((nodes, nodes, 3), NO_ROUTE, np.uint8)
    table[:, :, 1:] = 0
    seen = np.zeros((nodes, nodes), np.int64)
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        values = _row(line, limits, file, number)
        node, destination = values[:2]
        if node == destination:
            raise InputError(f"node {node} must not have a route to itself; remove the line", file, number)
        if seen[node, destination]:
            earlier = int(seen[node, destination])
            raise InputError(f"node {node} already has a route to node {destination}, in line {earlier}", file, number)
        seen[node, destination] = number
        table[node, destination] = values[2:]
    port, route_class, layer = (np.ascontiguousarray(table[:, :, index]) for index in range(3))
    kept = route_class != KEEP_CLASS
    classes = 1 + max(int(route_class[kept].max(initial=0)), int(layer.max(initial=0)))
    return Routes("table", port, route_class, layer, classes)


def _row(line: str, limits: tuple[int, ...], file: Path, number: int) -> list[int]:
    words = line.split(",")
    if len(words) != len(COLUMNS):
        raise InputError(
            f"a line has {len(COLUMNS)} values, {','.join(COLUMNS)}; this one has {len(words)}", file, number
        )
    values = []
    for name, word, limit in zip(COLUMNS, words, limits, strict=True):
        word = word.strip()
        if name == "class" and word == KEEP:
            values.append(KEEP_CLASS)
            continue
        if not (word.isascii() and word.isdigit() and int(word[:9]) < limit):
            also = f" or {KEEP}" if name == "class" else ""
            raise InputError(
                f"{name} is {word[:40]!r}; it should be a number from 0 to {limit - 1}{also}", file, number
            )
        values.append(int(word))
    return values
