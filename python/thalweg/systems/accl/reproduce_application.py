# SPDX-License-Identifier: Apache-2.0
"""Rows of the paper's section 4, shallow water: Figures 9 and 10, Equations 2 and 3, the version without ACCL, and
improvements.

The improvements are measured on the meshes of Figure 10: receive buffers on chip; messages to kernels, which reorder
them; commands by hardware instead of the processor; and, for adaptive time steps, an allreduce per step, on the engines
or in switches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from thalweg.papers import Row
from thalweg.systems.accl import shallow_water
from thalweg.systems.accl.shallow_water import Point, measured

WEAK = (1, 6760), (2, 12_484), (4, 27_040), (8, 49_936), (16, 108_160), (32, 202_800), (48, 312_100)
"""Boards and elements: 6,200 to 6,800 per board."""
WEAK_TCP = (1, 3121), (2, 6760), (4, 15_210), (8, 27_040), (16, 60_840)
"""Boards and elements with TCP: a board holds at most 4,096; the paper has up to 16 boards."""
STRONG = {27_040: (4, 8, 10, 16, 22, 24, 32, 46, 48), 108_160: (16, 20, 24, 32, 38, 40, 47, 48)}
"""Boards by elements. Of close numbers such as 47 and 48, one has boards with more neighbours."""
STEPPED = 27_040
"""Elements of the mesh with adaptive time steps."""
FOUR = 4
"""Ports of a directly connected board."""
MESHES = 1690, 3121, 6760, 27_040
"""Meshes for which partitions' neighbours are counted; the mesh of Figure 5 has 1,696 elements."""

PAPERS = "the paper's"
WAYS: Mapping[str, Mapping[str, str]] = {
    PAPERS: {},
    "buffers on chip": {"halo": "on-chip"},
    "reordered": {"halo": "reordered"},
    "commands by hardware": {"sequencer": "hardware"},
    "reordered, commands by hardware": {"halo": "reordered", "sequencer": "hardware"},
}
"""Versions of the halo exchange, and the Design options that they change."""
STEPS: Mapping[str, Mapping[str, str]] = {
    "engines": {"halo": "reordered", "step": "engine"},
    "switches": {"halo": "reordered", "step": "in-switch"},
    "switches, commands by hardware": {"halo": "reordered", "step": "in-switch", "sequencer": "hardware"},
}
"""Versions of adaptive time steps."""

STALLED = 0.05
"""Share of stalled cycles above which a step is bound by communication."""

MakeRow = Callable[..., Row]


class Application:
    """The rows; `row` makes a row with the published number of an id. Measured points are kept for later rows."""

    def __init__(self, row: MakeRow) -> None:
        self._row = row
        self._strong: dict[tuple[str, int, int], Point] = {}

    def weak(self) -> Iterator[Row]:
        """Rows of Figure 9."""
        udp = [measured(elements, boards) for boards, elements in WEAK]
        tcp = [measured(elements, boards, "tcp") for boards, elements in WEAK_TCP]
        hosts = [measured(elements, boards, "hosts") for boards, elements in WEAK]
        for series, points in (("UDP", udp), ("TCP", tcp)):
            for point in points:
                if point.model.communication > point.model.core:
                    continue  # Equation 2 adds times that overlap here
                share = point.per_second / point.modelled
                yield self._row("accl.shallow_water.model", _name(point, series), share, "of Equation 2", **point.about)
        flop, last = shallow_water.flop(), udp[-1]
        rate = self._row("accl.shallow_water.48", "UDP, 48 boards", last.per_second * flop / 1e12, "TFLOP/s", flop=flop)
        assert isinstance(rate.published, float)
        rate.note = (
            f"{last.per_second / 1e9:.2f} x 10^9 elements per second. A step has {flop} operations per element in these kernels; the paper gives none, "
            f"which implies {1e12 * rate.published / last.per_second:.0f}. With an element per cycle on each board, the rate would be "
            f"{last.boards * last.clock_mhz * 1e6 * flop / 1e12:.2f} TFLOP/s"
        )
        yield rate
        note = f"the largest of 48 partitions has {last.most_elements:,} elements, a single board {udp[0].elements:,}"
        speedup = last.per_second / udp[0].per_second
        yield self._row("accl.shallow_water.linear", "UDP, 48 boards over one", speedup, "of one board", note)
        for series, points in (("UDP", udp), ("TCP", tcp), ("host MPI", hosts)):
            for point in points:
                tera = point.per_second * flop / 1e12
                about = {"series": series, "modelled_per_s": point.modelled, "tflop_per_s": tera, **point.about}
                yield self._row("accl.figure9", _name(point, series), point.per_second / 1e9, "10^9 a second", **about)
        yield from self._by_hosts(hosts[1:])

    def _by_hosts(self, points: list[Point]) -> Iterator[Row]:
        stalls = [point.stalled for point in points]
        found = [min(stalls), max(stalls)]
        us = [point.communication_us for point in points]
        note = f"the exchange of a step takes {min(us):.0f} to {max(us):.0f} us here, of which two kernel runs take 60 and two calls of copies 38"
        yield self._row(
            "accl.shallow_water.host_stall", "stalled, host MPI, 2 to 48 boards", found, "of the time", note
        )
        implied = [1 - point.elements / point.boards / (point.communication_us * point.clock_mhz) for point in points]
        what = "1 - elements / (latency x clock), host MPI"
        yield self._row("accl.shallow_water.host_stall.bound", what, [min(implied), max(implied)], "of the time")
        yield self._row("accl.host.latency.KB", "exchange of a step, host MPI", [min(us), max(us)], "us")

    def strong(self) -> Iterator[Row]:
        """Rows of Figure 10, and of Equation 3."""
        for elements, counts in STRONG.items():
            points = [self._at(PAPERS, elements, boards) for boards in counts]
            for point in points:
                about = {"series": PAPERS, "modelled_per_s": point.modelled, **point.about}
                yield self._row("accl.figure10", _name(point), point.per_second / 1e9, "10^9 a second", **about)
            yield from self._communication(elements, points)
            drops = [
                f"{a.neighbours} to {b.neighbours} neighbours from {a.boards} to {b.boards} boards"
                for a, b in zip(points, points[1:], strict=False)
                if b.per_second < a.per_second
            ]
            what = f"slower with more boards, {elements:,} elements"
            yield self._row("accl.figure10.drops", what, len(drops), "times", "; ".join(drops), elements=elements)

    def _communication(self, elements: int, points: list[Point]) -> Iterator[Row]:
        """Rows of Equation 3, for steps that are bound by communication."""
        waiting = [point for point in points if point.stalled > STALLED]
        for point in waiting:
            found = point.communication_us
            about = {"modelled_us": point.model.communication_us, **point.about}
            yield self._row("accl.l_comm", f"L_comm, {_name(point)}", found, "us", **about)
        shares = [point.communication_us / point.model.communication_us for point in waiting]
        a_neighbour = [point.model.commands / point.neighbours for point in waiting]
        note = (
            f"Equation 3 adds commands, copies and transfers. The engine overlaps them, which leaves the processor's commands, {a_neighbour[0]:.0f} cycles per "
            "neighbour, and parts without overlap"
        )
        what = f"L_comm measured over Equation 3, {elements:,} elements, where pipelines stall"
        yield self._row("accl.l_comm.share", what, [min(shares), max(shares)], "of Equation 3", note)

    def neighbours(self) -> Iterator[Row]:
        """Rows on neighbours of METIS's partitions, which limit a circuit-switched version."""
        counts = {elements: shallow_water.few_neighbours(elements, range(2, 13), FOUR) for elements in MESHES}
        longest = {
            elements: max(count for count in partitions if all(partitions[n] == n for n in partitions if n <= count))
            for elements, partitions in counts.items()
        }
        ten = counts[MESHES[-1]][10]
        note = (
            "METIS minimizes boundary elements, not neighbours; the paper's mesh and its partitions for 10 boards are not public. With 10 boards "
            f"{ten} partitions of {MESHES[-1]:,} elements have at most four neighbours"
        )
        ends = [min(longest.values()), max(longest.values())]
        what = f"boards up to which METIS's partitions have at most {FOUR} neighbours"
        yield self._row("accl.circuit_switched", what, ends, "boards", note, by_elements=longest)

        elements = next(iter(STRONG))
        for count, partitions in shallow_water.few_neighbours(elements, STRONG[elements], FOUR).items():
            what = f"partitions with at most {FOUR} neighbours, {elements:,} elements, {count} boards"
            yield self._row("accl.circuit_switched.partitions", what, partitions, "partitions", boards=count)

    def ours(self) -> Iterator[Row]:
        """Rows of the improvements beside the paper's version, in strong scaling."""
        for elements, counts in STRONG.items():
            for name in WAYS:
                points = [self._at(name, elements, boards) for boards in counts]
                for point in points:
                    times = point.per_second / self._at(PAPERS, elements, point.boards).per_second
                    about = {"series": name, "times": times, **point.about}
                    yield self._row(
                        "accl.improved", f"{name}, {_name(point)}", point.per_second / 1e9, "10^9 a second", **about
                    )

    def time_steps(self) -> Iterator[Row]:
        """Rows of adaptive time steps."""
        for boards in STRONG[STEPPED]:
            slowest = 0.0
            for name, changed in STEPS.items():
                point = measured(STEPPED, boards, **changed)
                slowest = slowest or point.per_second
                about: dict[str, Any] = {"series": name, "times": point.per_second / slowest, **point.about}
                what = f"time steps by {name}, {_name(point)}"
                yield self._row("accl.time_step", what, point.per_second / 1e9, "10^9 a second", **about)

    def _at(self, name: str, elements: int, boards: int) -> Point:
        key = name, elements, boards
        if key not in self._strong:
            self._strong[key] = measured(elements, boards, **WAYS[name])
        return self._strong[key]


def _name(point: Point, series: str = "") -> str:
    return (
        f"{series}{', ' if series else ''}{point.elements:,} elements, {point.boards} board{'s' * (point.boards > 1)}"
    )
