# SPDX-License-Identifier: Apache-2.0
"""A transfer between a simulated FPGA and another one on a real Ethernet: the paper's five steps, at one end."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from thalweg.errors import CheckFailed, FabricStopped, InputError
from thalweg.lost import counted
from thalweg.systems.vcsn import hosts
from thalweg.systems.vcsn._sim import SEGMENT_BYTES, SEGMENTS, VirtualPort
from thalweg.systems.vcsn.cluster import WORD, Cluster, Node, Server
from thalweg.systems.vcsn.collectives import whole_words
from thalweg.systems.vcsn.hosts import Interrupt, Program, Step, Work
from thalweg.systems.vcsn.measuring import wire_us
from thalweg.systems.vcsn.network import Network

_CHUNK = 64 << 20  #: bytes of a file copied at a time
_SENT, _RECEIVED = 0, 1  #: handles
_PAUSE_US = 10.0  #: interval at which a virtual port is polled for the end of sending
_WATCH = -1  #: handle of the program that polls for the end of the session
_WATCH_US = 1000.0  #: maximum interval of its polls
_FIRST_US = 100.0  #: maximum delay of its second poll
_WATCH_S = 0.1  #: approximate interval in wall-clock time
_LINGERS = 8  #: multiples of the resend time for which an end keeps answering after its last words
_SHORTEST_S = 0.1  #: minimum wall-clock time for computing a rate, as it is known to some milliseconds
_ENDS = {"refused": "the other end has started another session", "silent": "the other end did not answer"}
MAX_NUMBER = (1 << 16) - 1  #: of a node or port number, which must fit into an address
DELIVERIES = ("plain", "credits", "session")


def _segments(first: int, size: int) -> list[tuple[int, int]]:
    """Returns addresses and sizes of the segments that cover a range of memory."""
    return [(first + at, min(SEGMENT_BYTES, size - at)) for at in range(0, size, SEGMENT_BYTES)]


@dataclass(frozen=True)
class Exchange:
    """Data that a node sends and receives over one circuit.

    `size` is the number of bytes to receive; 0 means to the end of the packet, in whole words of 64 bytes. `delivery`
    is one of DELIVERIES, equal at both ends.
    """

    cluster: Cluster
    here: VirtualPort
    peer: VirtualPort
    send: Path | None = None
    receive: Path | None = None
    size: int = 0
    delivery: str = "session"

    def check(self) -> None:
        """Raises InputError if the transfer is impossible."""
        if not self.send and not self.receive:
            raise InputError("nothing to send and nothing to receive: give --send FILE, --receive FILE, or both")
        if self.cluster.is_direct:
            raise InputError(f"{self.cluster.name} has serial links, which cannot be connected to network interfaces")
        for place in (self.here, self.peer):
            if place.node not in self.cluster.fpgas:
                raise InputError(
                    f"node {place.node} is not an FPGA; the FPGAs are {self.cluster.fpgas[0]} to {self.cluster.fpgas[-1]}"
                )
            fpga = self.cluster.fpga(place.node)
            if place.port >= fpga.ports or place.virtual_port >= fpga.virtual_of_port:
                raise InputError(
                    f"there is no {place}; a node has {fpga.ports} external ports with {fpga.virtual_of_port} virtual ports each"
                )
        if self.here == self.peer:
            raise InputError(f"{self.here} cannot have a circuit with itself")
        if self.cluster.server_of(self.here.node) is None:
            raise InputError(
                f"FPGA {self.here.node} is in no server (kind vcsn-server), whose program starts transfers"
            )
        if self.send and not (sent := self.send.stat().st_size):
            raise InputError(f"{self.send} has no bytes")
        for bytes_ in (self.size, sent if self.send else 0):
            if bytes_ > self._most:
                raise InputError(f"{bytes_} bytes; the maximum of a transfer of node {self.here.node} is {self._most}")

    @property
    def _room(self) -> int:
        """Memory in bytes for sent data, from address 0, and equally for received data behind it."""
        fpga = self.cluster.fpga(self.here.node)
        return fpga.bank_bytes if fpga.banks > 1 else fpga.bank_bytes // 2 // WORD * WORD

    @property
    def _most(self) -> int:
        """Maximum size of a packet in bytes, given by the memory and the DMA engine."""
        return min(self._room, SEGMENTS * SEGMENT_BYTES)

    def run(
        self, network: Network, ratio: float, ready: Callable[[], None], watch: Callable[[], None] = lambda: None
    ) -> list[dict[str, Any]]:
        """Sends and receives; returns a row of results for each direction.

        `ratio` is as for `Cluster.attached`. `ready` is called when the data have been received. `watch` is called
        about ten times per wall-clock second; an exception from it ends the run. Raises FabricStopped, and CheckFailed
        if not exactly `size` bytes arrive.
        """
        node = self.here.node
        if self.send:
            with self.send.open("rb") as file:
                address = 0
                while data := file.read(_CHUNK):
                    network.store(node, address, data)
                    address += len(data)
        sent_at = self._simulate(network, ratio, ready, watch)
        network.close()
        rows = []
        if self.send:
            rows.append(self._row(network, "sent", self.send.stat().st_size, sent_at))
        if self.receive:
            received = network.written(_RECEIVED)
            with self.receive.open("wb") as file:
                for offset in range(0, received, _CHUNK):
                    file.write(network.load(node, self._room + offset, min(_CHUNK, received - offset)))
            rows.append(self._row(network, "received", received))
            if received < self.size:
                raise CheckFailed(
                    f"{received} of {self.size} bytes arrived: {dropped(network) or 'the rest was not sent, or was lost'}"
                )
            all_ = WORD * sum(packet[4] for packet in self._packets(network, 0))
            if self.size and all_ > whole_words(self.size):
                raise CheckFailed(
                    f"{all_} bytes arrived, in whole words of {WORD}; --bytes is {self.size}, so the rest was dropped"
                )
        return rows

    def _simulate(self, network: Network, ratio: float, ready: Callable[[], None], watched: Callable[[], None]) -> int:
        """Returns the tick at which everything was sent. Raises FabricStopped."""
        server = self.cluster.server_of(self.here.node)
        assert server is not None
        table = self.cluster.server_tables[server]
        sent_at = 0
        done = closed = False

        def program() -> Program:
            nonlocal done, closed, sent_at
            sent_at = yield from self._exchange(network, table, ready)
            done = True
            yield from self._close(network)
            closed = True

        def watch() -> Program:
            us = min(_FIRST_US, _WATCH_S * 1e6 * ratio)
            while not closed:
                begin = monotonic()
                watched()
                if not done:
                    self._check_session(network)
                yield Work(us)
                elapsed = monotonic() - begin
                us = min(us * 2, _WATCH_US) if elapsed < _WATCH_S else us / 2

        programs = {server: program, _WATCH: watch}
        hosts.run(network, dict.fromkeys(programs, table), lambda which: programs[which]())
        return sent_at

    def _exchange(self, network: Network, costs: Server, ready: Callable[[], None]) -> Generator[Step, None, int]:
        """Returns the tick at which everything was sent."""
        node, engine = self.here.node, 0
        place = network.place(node, self.here.port, self.here.virtual_port)
        yield Work(costs.circuit_us)
        network.set_circuit(self.here, self.peer)
        if self.delivery == "credits":
            network.set_circuit(self.peer, self.here)  # the peer's row is elsewhere; this gives the size of its buffer
            network.set_credits(self.here)
        elif self.delivery == "session":
            network.set_session(self.here, random.SystemRandom().randrange(1, 1 << 16))
        yield Work(costs.crossbar_us)
        network.connect(node, place, engine)
        network.connect(node, engine, place)
        if self.receive:
            yield Work(costs.start_us)
            network.write(_RECEIVED, node, engine, _segments(self._room, self.size or self._most))
        ready()
        if self.send:
            yield Work(costs.start_us)
            network.read(node, engine, _segments(0, self.send.stat().st_size), handle=_SENT)
            yield Interrupt(_SENT)
            while not network.drained(self.here):
                yield Work(_PAUSE_US)
        sent_at = network.now
        if self.receive:
            yield Interrupt(_RECEIVED)
        return sent_at

    def _check_session(self, network: Network) -> None:
        """Raises FabricStopped if the session has ended."""
        if (state := network.session(self.here).state) in _ENDS:
            raise FabricStopped(f"the session of {self.here} with {self.peer} has ended: {_ENDS[state]}")

    def _close(self, network: Network) -> Program:
        """Waits until the last data have left the line.

        With a session, the other end may not know yet that all has arrived, or may ask for acknowledgements again.
        """
        yield Work(_PAUSE_US)
        if self.delivery != "session":
            return
        fpga = self.cluster.fpga(self.here.node)
        assert isinstance(fpga, Node)
        while not (session := network.session(self.here)).settled and session.state not in _ENDS:
            yield Work(fpga.resend_us)
        for _ in range(_LINGERS):
            yield Work(fpga.resend_us)

    def _packets(self, network: Network, at: int) -> list[tuple[int, int, int, int, int]]:
        """Returns the packets at the crossbar that the virtual port has sent (`at` 0) or received (1)."""
        place = network.place(self.here.node, self.here.port, self.here.virtual_port)
        return [packet for packet in network.passed(self.here.node) if packet[at] == place]

    def _row(self, network: Network, direction: str, moved: int, end: int = 0) -> dict[str, Any]:
        """Returns the results of a direction.

        Sending lasts from the first word at the crossbar to `end`; receiving from the start of the first frame to the
        last word at the crossbar.
        """
        packets = self._packets(network, 1 if direction == "sent" else 0)
        begin, end = min(packet[2] for packet in packets), max(end, *(packet[3] for packet in packets))
        if direction == "received":  # frames are forwarded when complete
            first = wire_us(self.cluster, min(moved, WORD * self.cluster.frame_words), self.here.port)
            begin -= round(first * network.ticks_per_second / 1e6)
        us = (end - begin) / network.ticks_per_second * 1e6
        wall_s = network.wall_s_at(end) - network.wall_s_at(begin)
        return {
            "direction": direction,
            "bytes": moved,
            "data_us": us,
            "gb_per_s": moved / us / 1e3,
            "wall_s": wall_s,
            "wall_mb_per_s": moved / wall_s / 1e6 if wall_s >= _SHORTEST_S else None,
        }


def dropped(network: Network) -> str:
    """Returns the drops at this end on one line; empty if there are none."""
    return "; ".join(f"{counted(count, what)}" for _, what, count in network.lost)


def place_of(text: str, words: int) -> list[int]:
    """Parses a virtual port: `NODE.PORT.VIRTUAL` (3 numbers), or `PORT.VIRTUAL` (2). Raises ValueError."""
    parts = text.split(".")
    if len(parts) != words or not all(part.isdecimal() and len(part) < 6 and int(part) <= MAX_NUMBER for part in parts):
        raise ValueError(text)
    return [int(part) for part in parts]


def interfaces_of(cluster: Cluster, node: int, names: Sequence[str]) -> Mapping[int, str]:
    """Assigns interfaces to external ports in order. Raises InputError."""
    for name in names:
        if not 0 < len(name) < 16 or any(letter in "/: " or not letter.isprintable() for letter in name):
            raise InputError(
                f"{name!r} is not the name of a network interface: it must have 1 to 15 characters without blank, '/' or ':'"
            )
        if names.count(name) > 1:
            raise InputError(f"{name} is given for {names.count(name)} external ports; each needs its own interface")
    if node in cluster.fpgas and len(names) > (ports := cluster.fpga(node).ports):
        raise InputError(f"{len(names)} interfaces; node {node} has {ports} external port{'s' * (ports > 1)}")
    return dict(enumerate(names))
