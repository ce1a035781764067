# SPDX-License-Identifier: Apache-2.0
"""`rewire`: reconfiguration of circuit topologies, by hardware registers and by the servers' programs."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg._core import NEVER
from thalweg.bench.operation import Measured, Plan, Progress, Row, at_least, one_of
from thalweg.errors import InputError
from thalweg.systems.vcsn import network as networks
from thalweg.systems.vcsn.circuit_file import Circuits
from thalweg.systems.vcsn.cluster import WORD, Cluster
from thalweg.systems.vcsn.measuring import check_capture
from thalweg.systems.vcsn.network import Network
from thalweg.systems.vcsn.recording import recorded
from thalweg.systems.vcsn.topologies import Circuit, Topology
from thalweg.trace import Recorded, Span, Track
from thalweg.trace.recorded import in_turn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

REGISTER = 8  #: bytes per row
USUAL = "ring,torus:4x4,tree"


def topologies_of(cluster: Cluster, names: str, nodes: int = 0) -> list[Topology]:
    """Returns topologies of the first `nodes` FPGAs (0: all), from names such as `ring,torus:4x4,tree:3`. Raises
    InputError."""
    if not 0 <= nodes <= len(cluster.fpgas) or nodes == 1:
        raise InputError(
            f"nodes is {nodes}; {cluster.name} has {len(cluster.fpgas)} FPGAs, of which at least 2 must take part"
        )
    fpgas = cluster.fpgas[: nodes or None]
    found = []
    for name in names.split(",") if names else ():
        shape, _, size = name.strip().partition(":")
        if size and not all(part.isdecimal() and len(part) < 6 for part in size.split("x")):
            raise InputError(f"{name!r} is not a topology; give names such as ring, torus:4x4 or tree:3")
        made = Topology.of(shape, fpgas, [int(part) for part in size.split("x")] if size else [])
        found.append(Topology(name.strip(), made.edges))
    return found


def rewire(
    cluster: Cluster,
    *,
    to: str = "",
    circuits: str = "",
    by: str = "",
    nodes: int = 0,
    seed: int = 1,
    pcap: str = "",
) -> Plan:
    """Plans reconfigurations of the first `nodes` FPGAs (0: all): from no circuits to the first topology of `to`, and on
    to the others.

    Defaults are ring, torus:4x4 and tree. Finally the partitions and circuits of a circuit file are opened, if given.
    `by` is "registers", "servers", or by default each in turn. `pcap` is a file for the test frames of a single run.
    Raises InputError.
    """
    ways = [one_of("way", by, networks.WAYS)] if by else list(networks.WAYS)
    at_least("seed", seed, 0)
    check_capture(cluster, pcap, ways)
    if nodes and circuits and not to:
        raise InputError(f"nodes is {nodes}, of the topologies of `to`, and there are none; {circuits} names its own")
    requested = topologies_of(cluster, to or ("" if circuits else USUAL), nodes)
    tables = [topology.circuits(cluster) for topology in requested]
    names = ["none", *(topology.name for topology in requested)]
    if opened := Circuits.load(circuits, cluster) if circuits else None:
        tables.append(opened.all)
        names.append(Path(circuits).name)
    for node in sorted({end.node for table in tables for circuit in table for end in circuit}):
        if cluster.server_of(node) is None:
            raise InputError(f"FPGA {node} is in no server (kind vcsn-server), whose program writes its table")

    def check(network: Network, table: list[Circuit]) -> bool:
        """True if the tables have exactly these circuits and all carry data, within the partitions of the file, if any."""
        if opened and table is tables[-1]:
            network.advance(NEVER)  # lets closed circuits leave the tables
            opened.divide(network)
        return not network.rows(table) and carries(network, table, seed)

    def measure(progress: Progress, _: int) -> Iterator[Measured]:
        for way in ways:
            network = cluster.network(pcap)
            for number, table in enumerate(tables):
                rows = network.rows(table)
                least = network.least_us(rows, way)
                us = network.rewire_in_time(table, way)[1]
                right = check(network, table)
                own: Row = {"by": way, "from": names[number], "to": names[number + 1], "rows": len(rows)}
                yield Measured(REGISTER * len(rows), us, least, right, own)
            network.close()
            progress((ways.index(way) + 1) / len(ways))

    def record(_: Sequence[Row]) -> Recorded:
        parts = []
        for way in ways:
            network = cluster.network()
            per_us = network.ticks_per_second / 1e6
            tracks: dict[str, Track] = {}
            for table in tables:
                begin = network.now
                ends: dict[str, int] = {}
                written = network.rewire_in_time(table, way)[0]
                for at, (place, other) in written:
                    writer = f"node {place.node}" if way == "registers" else f"server {cluster.server_of(place.node)}"
                    track = tracks.setdefault(writer, Track("writers of rows", writer))
                    what = f"{place}: {other or 'closed'}"
                    track.spans.append(Span(ends.get(writer, begin) / per_us, at / per_us, what, {}))
                    ends[writer] = at
                check(network, table)
            one = recorded(cluster, network)
            one.timeline.tracks[:0] = [tracks[writer] for writer in sorted(tracks)]
            parts.append(one)
        return in_turn(title, parts)

    title = f"re-wiring of circuits on {cluster.name}, {' and '.join(ways)}"
    return Plan(
        cluster,
        "rewire",
        title,
        "all rows are written, and servers have left their barrier",
        measure,
        {"data": seed},
        record=record,
        draw=_draw,
    )


def carries(network: Network, circuits: Sequence[Circuit], seed: int) -> bool:
    """True if a packet in each direction over each circuit, in sequence, arrives without loss. Restores the crossbars."""
    draw, right = random.Random(seed), True
    for one, other in (pair for circuit in circuits for pair in (circuit, circuit[::-1])):
        data = draw.randbytes(4 * WORD)
        output = network.place(one.node, one.port, one.virtual_port)
        network.connect(one.node, output, 0)
        network.connect(other.node, 0, network.place(other.node, other.port, other.virtual_port))
        network.store(one.node, 0, data)
        network.write(0, other.node, 0, [(WORD << 10, len(data))])
        network.read(one.node, 0, [(0, len(data))])
        arrived = [done.handle for done in network.advance(NEVER)] == [0]
        right &= arrived and network.load(other.node, WORD << 10, len(data)) == data
        network.connect(one.node, output, None)
        network.connect(other.node, 0, None)
    return right and not network.lost


def _draw(axes: Axes, rows: Sequence[Row]) -> None:
    steps = list(dict.fromkeys((row["from"], row["to"]) for row in rows))
    for colour, way in zip(("tab:blue", "tab:orange"), networks.WAYS, strict=True):
        if not (of := [row for row in rows if row["by"] == way]):
            continue
        places = [steps.index((row["from"], row["to"])) for row in of]
        axes.plot(places, [row["time_us"] for row in of], "o", color=colour, label=f"by {way}")
        axes.plot(places, [row["bound_us"] for row in of], "_", ms=14, color=colour, label=f"by {way}, bound")
    axes.axhline(1, color="black", lw=0.8, ls=":", label="1 µs (section 2 of the paper)")
    axes.set_yscale("log")
    axes.set_xticks(range(len(steps)), [f"{one}\nto {other}" for one, other in steps])
    axes.set_xlim(-0.5, len(steps) - 0.5)
    axes.set_ylabel("time in µs")
