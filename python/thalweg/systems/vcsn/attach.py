# SPDX-License-Identifier: Apache-2.0
"""A transfer between an FPGA of the simulator and another one, somewhere on a real Ethernet: the paper's five steps, at one end."""

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
from thalweg.systems.vcsn._sim import SEGMENT_BYTES, SEGMENTS, Place
from thalweg.systems.vcsn.cluster import WORD, Cluster, Node, Server
from thalweg.systems.vcsn.collectives import whole_words
from thalweg.systems.vcsn.hosts import Interrupt, Program, Step, Work
from thalweg.systems.vcsn.measuring import wire_us
from thalweg.systems.vcsn.network import Network

_CHUNK = 64 << 20  #: bytes of a file that are copied at once
_SENT, _RECEIVED = 0, 1  #: handles
_PAUSE_US = 10.0  #: after which a virtual port is asked again whether it has sent everything
_WATCH = -1  #: the program that asks whether the session has ended
_WATCH_US = 1000.0  #: between its questions, at most
_FIRST_US = 100.0  #: before its second question, at most
_WATCH_S = 0.1  #: of the wall clock between them, about
_LINGERS = 8  #: times of resending for which an end answers after its last words
_SHORTEST_S = 0.1  #: of the wall clock, whose times are known to some milliseconds, for a rate
_ENDS = {"refused": "the other end has begun another one", "silent": "the other end did not answer"}
MOST_NUMBER = (1 << 16) - 1  #: of a node or port, so that it has room in an address
DELIVERIES = ("plain", "credits", "session")


def _segments(first: int, size: int) -> list[tuple[int, int]]:
    """Addresses and bytes of the segments of so much of the memory."""
    return [(first + at, min(SEGMENT_BYTES, size - at)) for at in range(0, size, SEGMENT_BYTES)]


@dataclass(frozen=True)
class Exchange:
    """What a node sends and receives over one circuit. `size`: bytes to receive; 0: to the packet's end, in whole words of 64. `delivery`: one of
    DELIVERIES, as both ends have it."""

    cluster: Cluster
    here: Place
    peer: Place
    send: Path | None = None
    receive: Path | None = None
    size: int = 0
    delivery: str = "session"

    def check(self) -> None:
        """Raises InputError."""
        if not self.send and not self.receive:
            raise InputError("nothing to send and nothing to receive: give --send FILE, --receive FILE, or both")
        if self.cluster.is_direct:
            raise InputError(f"{self.cluster.name} has serial links, which no interface of a computer is joined to")
        for place in (self.here, self.peer):
            if place.node not in self.cluster.fpgas:
                raise InputError(
                    f"node {place.node} is no FPGA; these are {self.cluster.fpgas[0]} to {self.cluster.fpgas[-1]}"
                )
            fpga = self.cluster.fpga(place.node)
            if place.port >= fpga.ports or place.virtual_port >= fpga.virtual_of_port:
                raise InputError(
                    f"there is no {place}; a node has {fpga.ports} external ports with {fpga.virtual_of_port} virtual ones each"
                )
        if self.here == self.peer:
            raise InputError(f"{self.here} can't be joined with itself")
        if self.cluster.server_of(self.here.node) is None:
            raise InputError(
                f"FPGA {self.here.node} is in no server (kind vcsn-server), whose program starts transfers"
            )
        if self.send and not (sent := self.send.stat().st_size):
            raise InputError(f"{self.send} has no bytes")
        for bytes_ in (self.size, sent if self.send else 0):
            if bytes_ > self._most:
                raise InputError(f"{bytes_} bytes; a transfer of node {self.here.node} has room for {self._most}")

    @property
    def _room(self) -> int:
        """Bytes of memory for what is sent, which begins at address 0, and for what is received, which lies behind it."""
        fpga = self.cluster.fpga(self.here.node)
        return fpga.bank_bytes if fpga.banks > 1 else fpga.bank_bytes // 2 // WORD * WORD

    @property
    def _most(self) -> int:
        """Bytes of a packet that the memory and an engine have room for."""
        return min(self._room, SEGMENTS * SEGMENT_BYTES)

    def run(
        self, network: Network, ratio: float, ready: Callable[[], None], watch: Callable[[], None] = lambda: None
    ) -> list[dict[str, Any]]:
        """Sends and receives; of each direction what was moved, when. `ratio`: as of `Cluster.attached`. `ready`: called when what comes is received.
        `watch`: called some ten times in a second of the wall clock; what it raises ends the run. Raises FabricStopped, and CheckFailed where less or more than `size` bytes came."""
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
            came = network.written(_RECEIVED)
            with self.receive.open("wb") as file:
                for offset in range(0, came, _CHUNK):
                    file.write(network.load(node, self._room + offset, min(_CHUNK, came - offset)))
            rows.append(self._row(network, "received", came))
            if came < self.size:
                raise CheckFailed(
                    f"{came} of {self.size} bytes came: {dropped(network) or 'the rest was not sent, or was lost on its way'}"
                )
            all_ = WORD * sum(packet[4] for packet in self._packets(network, 0))
            if self.size and all_ > whole_words(self.size):
                raise CheckFailed(
                    f"{all_} bytes came, in whole words of {WORD}; --bytes is {self.size}, and the rest was dropped"
                )
        return rows

    def _simulate(self, network: Network, ratio: float, ready: Callable[[], None], watched: Callable[[], None]) -> int:
        """The tick at which everything was sent. Raises FabricStopped."""
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
                took = monotonic() - begin
                us = min(us * 2, _WATCH_US) if took < _WATCH_S else us / 2

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
            network.set_circuit(
                self.peer, self.here
            )  # its own row is elsewhere; this says what its buffer has room for
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
        """Raises FabricStopped where it has ended, and nothing will move any more."""
        if (state := network.session(self.here).state) in _ENDS:
            raise FabricStopped(f"the session of {self.here} with {self.peer} has ended: {_ENDS[state]}")

    def _close(self, network: Network) -> Program:
        """What it has sent last is on the line for less than the first pause. The other end of a session may not know yet that all has come, or
        ask for this one's knowledge again."""
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
        """Those at the crossbar that the virtual port has sent (`at` is 0) or was given (1)."""
        place = network.place(self.here.node, self.here.port, self.here.virtual_port)
        return [packet for packet in network.passed(self.here.node) if packet[at] == place]

    def _row(self, network: Network, direction: str, moved: int, end: int = 0) -> dict[str, Any]:
        """Sent: from the first word at the crossbar to `end`, when the virtual port has sent all. Received: from the begin of the first frame to the last
        word at the crossbar."""
        packets = self._packets(network, 1 if direction == "sent" else 0)
        begin, end = min(packet[2] for packet in packets), max(end, *(packet[3] for packet in packets))
        if direction == "received":  # a frame is passed on when it is whole
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
    """What was dropped at this end, on one line; empty where nothing was."""
    return "; ".join(f"{counted(count, what)}" for _, what, count in network.lost)


def place_of(text: str, words: int) -> list[int]:
    """The numbers of a virtual port: `NODE.PORT.VIRTUAL` (3 words), or `PORT.VIRTUAL` (2). Raises ValueError."""
    parts = text.split(".")
    if len(parts) != words or not all(
        part.isdecimal() and len(part) < 6 and int(part) <= MOST_NUMBER for part in parts
    ):
        raise ValueError(text)
    return [int(part) for part in parts]


def interfaces_of(cluster: Cluster, node: int, names: Sequence[str]) -> Mapping[int, str]:
    """The interface of each external port: in the order in which they are named. Raises InputError."""
    for name in names:
        if not 0 < len(name) < 16 or any(letter in "/: " or not letter.isprintable() for letter in name):
            raise InputError(
                f"{name!r} names no network interface: a name has 1 to 15 characters, and no blank, '/' or ':'"
            )
        if names.count(name) > 1:
            raise InputError(
                f"{name} is given for {names.count(name)} external ports; each has an interface of its own"
            )
    if node in cluster.fpgas and len(names) > (ports := cluster.fpga(node).ports):
        raise InputError(f"{len(names)} interfaces; node {node} has {ports} external port{'s' * (ports > 1)}")
    return dict(enumerate(names))
