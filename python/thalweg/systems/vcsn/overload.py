# SPDX-License-Identifier: Apache-2.0
"""`overload`: several FPGAs send to one, more than its lines carry, with each protection against loss (section 3.4 of the
paper)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thalweg._core import NEVER
from thalweg.bench.operation import Measured, Plan, Progress, Row, Sizes, at_least, one_of
from thalweg.errors import InputError
from thalweg.lost import counted
from thalweg.systems.vcsn._sim import VirtualPort
from thalweg.systems.vcsn.cluster import WORD, Cluster
from thalweg.systems.vcsn.collectives import random_block, whole_words
from thalweg.systems.vcsn.measuring import check_capture, check_port, requested_sizes, wire_us
from thalweg.systems.vcsn.network import Network
from thalweg.systems.vcsn.recording import recorded
from thalweg.trace.recorded import in_turn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WAYS = ("nothing", "indications", "credits", "sessions")
# The paper gives neither threshold nor pause of indications. A window must hold several frames, which count at their
# ends, and a pause must exceed the window, so that a queue shrinks.
WINDOW = 2_048  #: cycles of the MAC clock
THRESHOLD = 0.9  #: fraction of the line rate in a window
PAUSE = 3_000  #: cycles of the MAC clock for which a sender pauses


@dataclass(frozen=True)
class _Stream:
    """A stream from a sender to the destination."""

    handle: int
    source: VirtualPort
    to: VirtualPort
    engine: int  #: engine that writes it, after preceding streams of the same engine
    address: int
    data: bytes


@dataclass(frozen=True)
class _Overload:
    cluster: Cluster
    senders: Sequence[int]
    destination: int
    size: int
    by: str
    seed: int
    pcap: str = ""

    @property
    def streams(self) -> list[_Stream]:
        """Streams to the external ports in turn; those of different ports use different banks, if possible."""
        table = self.cluster.fpga(self.destination)
        return [
            _Stream(
                handle=index,
                source=VirtualPort(node, index % table.ports, 0),
                to=VirtualPort(self.destination, index % table.ports, index // table.ports),
                engine=index % table.dmas,
                address=index % table.banks * table.bank_bytes + index // table.banks * whole_words(self.size),
                data=random_block(self.seed, node, self.size),
            )
            for index, node in enumerate(self.senders)
        ]

    def run(self) -> tuple[Network, list[_Stream], dict[int, int]]:
        """Returns the network, and the tick at which each transfer has ended; it does not end if its packet's end is lost."""
        network = self.cluster.network(self.pcap)
        streams = self.streams
        waiting: dict[int, list[_Stream]] = {}
        for stream in streams:
            network.set_circuit(stream.source, stream.to)
            network.set_circuit(stream.to, stream.source)
            self._protect(network, stream)
            node = stream.source.node
            network.connect(node, network.place(node, stream.source.port, stream.source.virtual_port), 0)
            network.store(node, 0, stream.data)
            network.read(node, 0, [(0, self.size)])
            network.write(stream.handle, self.destination, stream.engine, [(stream.address, self.size)])
            waiting.setdefault(stream.engine, []).append(stream)
        for engine in waiting:
            self._take_next(network, waiting[engine])
        ended: dict[int, int] = {}
        while completions := network.advance(NEVER):
            for completion in completions:
                ended[completion.handle] = completion.at
                self._take_next(network, waiting[streams[completion.handle].engine])
        network.close()
        return network, streams, ended

    def _take_next(self, network: Network, waiting: list[_Stream]) -> None:
        if waiting:
            stream = waiting.pop(0)
            place = network.place(self.destination, stream.to.port, stream.to.virtual_port)
            network.connect(self.destination, stream.engine, place)

    def _protect(self, network: Network, stream: _Stream) -> None:
        if self.by == "indications":
            line = self.cluster.clocks[self.cluster.fpga(self.destination).line_clock]
            words = WINDOW / float(line.hertz) * self.cluster.gbit_s(stream.to.port) * 1e9 / 8 / WORD
            network.set_reaction(stream.source, cycles=PAUSE)
            network.set_monitor(self.destination, stream.to.port, cycles=WINDOW, words=int(THRESHOLD * words))
        elif self.by == "credits":
            network.set_credits(stream.source)
        elif self.by == "sessions":
            network.set_session(stream.source, 2 * stream.handle + 1)
            network.set_session(stream.to, 2 * stream.handle + 2)

    def measured(self) -> Measured:
        network, streams, ended = self.run()
        words = self.cluster.frame_words
        frames = len(streams) * -(-whole_words(self.size) // (words * WORD))
        received_bytes = {handle: min(self.size, network.written(handle)) for handle in ended}
        time_us = max(ended.values(), default=network.now) / network.ticks_per_second * 1e6
        ports = sorted({stream.to.port for stream in streams})
        of_port = {
            port: sum(received_bytes.get(each.handle, 0) for each in streams if each.to.port == port) for port in ports
        }
        least = max((wire_us(self.cluster, sum_, port) for port, sum_ in of_port.items() if sum_), default=None)
        lost = sum(count for _, _, count in network.lost)
        received = [network.received(self.destination, port) for port in ports]
        right = all(self._holds(network, stream, received_bytes.get(stream.handle)) for stream in streams)
        if self.by == "sessions":  # frames may be sent more than once
            right &= all(each == self.size for each in received_bytes.values())
        elif all(network.drained(stream.source) for stream in streams):  # no dropped frame blocks a sender's credits
            right &= frames <= sum(each["taken"] for each in received) + lost
        gb_per_s = sum(received_bytes.values()) / time_us / 1e3
        own: Row = {
            "by": self.by,
            "senders": len(streams),
            "gb_per_s": gb_per_s,
            "share_of_ports": gb_per_s / (len(ports) * self.cluster.payload_gb),
            "ended": len(ended),
            "frames": frames,
            "lost": lost,
            "share_lost": lost / frames,
            "dropped": "; ".join(f"{counted(count, what)} of node {node}" for node, what, count in network.lost),
            "indications": sum(network.indications(stream.source) for stream in streams),
        }
        return Measured(self.size, time_us, least, right, own)

    def _holds(self, network: Network, stream: _Stream, received_bytes: int | None) -> bool:
        """True if the memory has only frames of this stream, in order, each once. `received_bytes` is the size of a completed
        transfer."""
        data = network.load(self.destination, stream.address, self.size if received_bytes is None else received_bytes)
        if data == stream.data:
            return True
        longest = self.cluster.frame_words * WORD
        frames = [stream.data[at : at + longest] for at in range(0, self.size, longest)]
        order = {frame[:WORD].ljust(WORD, b"\0"): number for number, frame in enumerate(frames)}
        at, last = 0, -1
        while at < len(data):
            number = order.get(data[at : at + WORD].ljust(WORD, b"\0"), -1)
            if number <= last or not data.startswith(frames[number], at):
                break
            at, last = at + whole_words(len(frames[number])), number
        if received_bytes is not None:
            return at >= len(data)
        rest = data[at:].rstrip(b"\0")  # the engine keeps the words of an incomplete burst
        return any(frame.startswith(rest) for frame in frames[last + 1 :]) or not rest


def overload(
    cluster: Cluster,
    *,
    senders: int = 4,
    destination: int = 0,
    by: str = "",
    sizes: Sizes = "4M",
    seed: int = 1,
    pcap: str = "",
) -> Plan:
    """Plans packets from the first `senders` other FPGAs to `destination`, all at once, to its external ports in turn.

    Circuits and engines are set up before; hosts take no time. If the destination has fewer engines than streams, an
    engine writes one stream after another. `by` is the protection: "nothing", "indications", "credits" or "sessions";
    default: each in turn. `pcap` is a file for all frames of a single run. Raises InputError.
    """
    ways = [one_of("way", by, WAYS)] if by else list(WAYS)
    if cluster.is_direct:
        raise InputError(f"overload needs circuits; {cluster.name} has serial links, whose credits prevent overload")
    if destination not in cluster.fpgas:
        raise InputError(
            f"destination is {destination}; the FPGAs of {cluster.name} are {cluster.fpgas[0]} to {cluster.fpgas[-1]}"
        )
    table = cluster.fpga(destination)
    at_least("senders", senders, 1)
    most = min(len(cluster.fpgas) - 1, table.ports * table.virtual_of_port)
    if senders > most:
        raise InputError(
            f"senders is {senders}; {cluster.name} has {len(cluster.fpgas) - 1} other FPGAs, but one has "
            f"{table.ports * table.virtual_of_port} virtual ports"
        )
    nodes = [node for node in cluster.fpgas if node != destination][:senders]
    for port in range(min(senders, table.ports)):
        check_port(cluster, port, [destination, *nodes[port :: table.ports]])
    requested = requested_sizes(sizes, senders)
    if (full := -(-senders // table.banks) * whole_words(max(requested))) > table.bank_bytes:
        raise InputError(f"overload of {max(requested)} bytes puts {full} bytes into a bank; it has {table.bank_bytes}")
    at_least("seed", seed, 0)
    each = [(way, size) for way in ways for size in requested]
    check_capture(cluster, pcap, each)

    def of(way: str, size: int, pcap: str = "") -> _Overload:
        return _Overload(cluster, nodes, destination, size, way, seed, pcap)

    def measure(progress: Progress, _: int) -> Iterator[Measured]:
        for index, (way, size) in enumerate(each):
            yield of(way, size, pcap).measured()
            progress((index + 1) / len(each))

    title = f"overload of node {destination} by {senders} on {cluster.name}, bytes of each"
    return Plan(
        cluster,
        "overload",
        title,
        "the last completed transfer has ended",
        measure,
        {"data": seed},
        record=lambda rows: in_turn(title, [recorded(cluster, of(row["by"], row["bytes"]).run()[0]) for row in rows]),
        draw=_draw,
    )


def _draw(axes: Axes, rows: Sequence[Row]) -> None:
    places = range(len(rows))
    axes.bar(
        [at - 0.2 for at in places], [100 * row["share_of_ports"] for row in rows], 0.4, label="goodput / port rate"
    )
    axes.bar([at + 0.2 for at in places], [100 * row["share_lost"] for row in rows], 0.4, label="dropped frames")
    several = len({row["bytes"] for row in rows}) > 1
    axes.set_xticks(places, [row["by"] + (f"\n{row['bytes']}" if several else "") for row in rows])
    axes.set_ylim(0, 125)
    axes.set_ylabel("%")
