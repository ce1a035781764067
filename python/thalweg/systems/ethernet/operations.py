# SPDX-License-Identifier: Apache-2.0
"""Operations on plain Ethernet: flows from several computers to one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg._core import NEVER
from thalweg.bench.operation import Measured, Operation, Plan, Progress, Row, at_least, one_of
from thalweg.cluster import leaves
from thalweg.errors import InputError
from thalweg.systems.ethernet._sim import GAP, LEAST_PAYLOAD, MOST_PAYLOAD, FlowResult, Gaps, Network, wire_bytes
from thalweg.systems.ethernet.cluster import Cluster
from thalweg.trace import Recorded, Span, Timeline
from thalweg.trace.recorded import in_turn, with_links

MAX_FRAMES = 10**8
GAPS = ("exponential", "even")


@dataclass(frozen=True)
class _Flows:
    cluster: Cluster
    sources: Sequence[int]
    destination: int
    payload: int
    frames: int
    gaps: str
    seed: int

    def run(self, load: float, pcap: str = "") -> tuple[Network, list[FlowResult]]:
        """Runs one load; returns the network, and the result of each source."""
        network = self.cluster.network(pcap)
        for handle, source in enumerate(self.sources):
            network.submit(
                handle=handle,
                source=source,
                destination=self.destination,
                payload=self.payload,
                frames=self.frames,
                load=load,
                gaps=Gaps[self.gaps],
                seed=self.seed * 4096 + handle,
            )
        ended = 0
        while ended < len(self.sources):
            ended += len(network.advance(NEVER))
        while not network.idle:
            network.advance(NEVER)
        try:
            network.close()
        except RuntimeError as error:
            raise InputError(f"{pcap}: {error}") from None
        return network, [network.result(handle) for handle in range(len(self.sources))]

    @property
    def gbit_s(self) -> float:
        """Rate of the destination's line in Gb/s."""
        return self._link(self._number(self.destination)).gbit_s

    def _number(self, nic: int) -> int:
        """Returns the number of the link at a NIC."""
        return next(i for i, (a, _, b, _) in enumerate(self.cluster.topology.links.tolist()) if nic in (a, b))

    def _link(self, number: int) -> leaves.Ethernet:
        link = self.cluster.links[self.cluster.link_names[number]]
        assert isinstance(link, leaves.Ethernet)
        return link

    def bound_us(self, frames: int) -> float:
        """Returns the time of `frames` frames in sequence on the destination's line, plus the latency of the links on the
        path."""
        line = (frames * wire_bytes(self.payload) - GAP) * 8e-3 / self.gbit_s
        last = self._number(self.destination)
        paths = ({self._number(source), last} for source in self.sources)
        return line + min(sum(self._link(number).latency_ns for number in path) for path in paths) / 1e3

    def measured(self, load: float, pcap: str = "") -> Measured:
        network, results = self.run(load, pcap)
        per_us = network.units_per_us(self.destination)
        received = sum(result.received for result in results)
        sent = self.frames * len(self.sources)
        time_us = max(result.last_end for result in results) / per_us
        lost = sum(count for _, _, count in network.lost)
        right = not any(result.wrong for result in results) and sent <= received + lost
        moved = received * self.payload
        delay = sum(result.delay_sum for result in results) / per_us / max(received, 1)
        own: Row = {
            "load": load,
            "senders": len(self.sources),
            "offered_gbit_s": load
            * len(self.sources)
            * self._link(self._number(self.sources[0])).gbit_s
            * self.payload
            / wire_bytes(self.payload),
            "goodput_gbit_s": moved * 8e-3 / time_us if time_us else 0.0,
            "sent": sent,
            "lost": sent - received,
            "share_lost": (sent - received) / sent,
            "delay_us": delay,
            "delay_most_us": max(result.delay_most for result in results) / per_us,
        }
        return Measured(moved, time_us, self.bound_us(received) if received else None, right, own)

    def recorded(self, load: float) -> Recorded:
        network, results = self.run(load)
        per_us = network.units_per_us(self.destination)
        timeline = Timeline("")
        for source, result in zip(self.sources, results, strict=True):
            values: dict[str, Any] = {"received": result.received, "lost": self.frames - result.received}
            span = Span(0.0, result.last_end / per_us, f"to node {self.destination}", values)
            timeline.track("flows", f"node {source}").spans.append(span)
        ticks_per_us = network.ticks_per_second / 1e6
        for node, port, ticks, frames in network.dropped():
            counter = timeline.counter(
                "frames dropped for lack of buffer, per us", f"node {node}, port {port}", "frames/us"
            )
            window = ticks / ticks_per_us
            counter.values += [(number * window, count / window) for number, count in enumerate([*frames, 0])]
        return with_links(timeline, self.cluster, network.link_use(), ticks_per_us, self.gbit_s * 1e3 / 512, "words")


def flows(
    cluster: Cluster,
    *,
    senders: int = 4,
    loads: str | float | Sequence[float] = "0.1,0.2,0.25,0.3,0.5,1",
    payload: int = 1486,
    frames: int = 10_000,
    gaps: str = "exponential",
    seed: int = 1,
    pcap: str = "",
) -> Plan:
    """Plans flows from the last `senders` computers before the last one, to the last one.

    Parameters
    ----------
    cluster : Cluster
        A cluster of plain Ethernet.
    senders : int
        Number of sending computers.
    loads : str, float or sequence of float
        Offered loads, each above 0 and at most 1, relative to the line of a sender.
    payload : int
        Payload of a frame in bytes.
    frames : int
        Number of frames per sender.
    gaps : str
        Distribution of the times between frames: "exponential" or one of `GAPS`.
    seed : int
        Seed of gaps and data.
    pcap : str
        File for all frames, for a single load.

    Raises
    ------
    InputError
        An option is out of range.
    """
    at_least("senders", senders, 1)
    if senders >= len(cluster.nics):
        raise InputError(f"senders is {senders}; {cluster.name} has {len(cluster.nics)} NICs, one of which receives")
    if not LEAST_PAYLOAD <= payload <= MOST_PAYLOAD:
        raise InputError(f"payload is {payload}; it must be {LEAST_PAYLOAD} to {MOST_PAYLOAD} bytes")
    if not 1 <= frames <= MAX_FRAMES:
        raise InputError(f"frames is {frames}; it must be 1 to {MAX_FRAMES}")
    if not 0 <= seed < 2**31:
        raise InputError(f"seed is {seed}; it must be 0 to 2^31-1")
    requested = _loads(loads)
    if pcap and len(requested) > 1:
        raise InputError(f"pcap needs a single load; {len(requested)} were given")
    *others, last = cluster.nics
    run = _Flows(cluster, others[-senders:], last, payload, frames, one_of("gaps", gaps, GAPS), seed)

    def measure(progress: Progress, _: int) -> Iterator[Measured]:
        for index, load in enumerate(requested):
            yield run.measured(load, pcap)
            progress((index + 1) / len(requested))

    title = f"flows of {senders} to one on {cluster.name}: {payload} bytes of payload, {gaps} gaps"
    return Plan(
        cluster,
        "flows",
        title,
        "the last frame is received",
        measure,
        seeds={"flows": seed},
        record=lambda rows: in_turn(title, [run.recorded(row["load"]) for row in rows]),
        draw=_over_load,
    )


def _loads(given: str | float | Sequence[float]) -> list[float]:
    """Returns the loads as numbers. Raises InputError."""
    try:
        words = given.split(",") if isinstance(given, str) else [given] if isinstance(given, float | int) else given
        loads = [float(word) for word in words]
    except ValueError:
        raise InputError(f"loads is {given!r}; it must be a list such as 0.1,0.25,1") from None
    if not loads or not all(0 < load <= 1 for load in loads):
        raise InputError(f"loads is {given!r}; each must be above 0 and at most 1")
    return loads


def _over_load(axes: Any, rows: Sequence[Row]) -> None:
    loads = [row["senders"] * row["load"] for row in rows]
    for key, label in (("offered_gbit_s", "offered"), ("goodput_gbit_s", "received")):
        axes.plot(loads, [row[key] for row in rows], "o-", label=label)
    axes.set_xlabel("load of the receiver's line")
    axes.set_ylabel("Gb/s of payload")


OPERATIONS = {"flows": Operation(flows)}
