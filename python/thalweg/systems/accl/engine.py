# SPDX-License-Identifier: Apache-2.0
"""The engines of a cluster's ranks, as the server of ACCL's driver uses them."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Protocol

from thalweg.errors import InputError
from thalweg.systems.accl._sim import Network
from thalweg.systems.accl.cluster import Cluster

NEVER = 2**63 - 1  #: no tick


class Engine(Protocol):
    """The ranks of a cluster: the memories of each, and the calls that its engine executes in virtual time.

    A rank has three command streams, its `ports`: 0 for the host, 1 for a second controller of the host, 2 for kernels. Addresses are in bytes.
    """

    @property
    def ranks(self) -> int: ...
    @property
    def ticks_per_second(self) -> int: ...
    @property
    def now(self) -> int:
        """Virtual time in ticks."""

    def read(self, rank: int, address: int) -> int | None:
        """A word of the exchange memory; None for an address that is beyond its end or no multiple of 4."""

    def write(self, rank: int, address: int, value: int) -> bool:
        """Writes a word of the exchange memory; False for an address that it does not have."""

    def allocate(self, rank: int, host: bool, address: int, size: int) -> None:
        """Makes bytes of the device's or the host's memory exist. Raises ValueError with one line."""

    def load(self, rank: int, host: bool, address: int, size: int) -> bytes | None:
        """Bytes of memory; None where they are beyond what has been allocated or written."""

    def store(self, rank: int, host: bool, address: int, data: bytes) -> None:
        """Writes bytes of memory, which grows where it has to. Raises ValueError with one line."""

    def call(self, rank: int, port: int, words: list[int]) -> str | None:
        """Starts a call of 15 words of 32 bits, in the order of the command stream. Returns a line if it is refused."""

    def ended(self, rank: int, port: int) -> tuple[int, str] | None:
        """Takes the oldest ended call off a port: its return code, 0 for success, and why it is not 0. None if none has ended."""

    def pending(self, rank: int, port: int) -> int:
        """Number of calls that have not ended."""

    def advance(self, until: int | None) -> bool:
        """Moves virtual time on, to `until` at most. Returns True as soon as a call has ended, False if nothing can happen before `until`,
        or by itself at all, apart from time-outs."""

    def quiet(self) -> bool:
        """True if nothing will happen by itself, apart from time-outs."""

    def time_out(self) -> int | None:
        """The tick of the next time-out; None if there is none."""

    def blocked(self) -> list[str]:
        """Lines that say who waits for whom."""

    def lost(self) -> list[str]:
        """Lines that say what was dropped or lost, where, and how much."""

    def give(self, rank: int, data: bytes) -> None:
        """Sends a message, of a multiple of 64 bytes, into the stream from kernels to the engine."""

    def take(self, rank: int) -> list[tuple[int, bytes]]:
        """Messages that have left the engine for kernels: the number of the stream, and the data."""

    def close(self) -> None:
        """Ends the capture of frames, if there is one."""


class Simulated:
    """The engines of the first ranks of a cluster, simulated: implements Engine."""

    def __init__(self, network: Network, ranks: int) -> None:
        self._network, self.ranks = network, ranks
        self.ticks_per_second = network.ticks_per_second
        self._next = 0
        self._open: dict[tuple[int, int], deque[int]] = {}  # handles, in order of the calls
        self._ends: dict[int, tuple[int, str]] = {}  # of calls that have ended

    @property
    def now(self) -> int:
        return self._network.now

    def read(self, rank: int, address: int) -> int | None:
        return self._network.read(rank, address)

    def write(self, rank: int, address: int, value: int) -> bool:
        return self._network.write(rank, address, value)

    def allocate(self, rank: int, host: bool, address: int, size: int) -> None:
        self._network.allocate(rank, host, address, size)

    def load(self, rank: int, host: bool, address: int, size: int) -> bytes | None:
        return self._network.load(rank, host, address, size)

    def store(self, rank: int, host: bool, address: int, data: bytes) -> None:
        self._network.store(rank, host, address, data)

    def call(self, rank: int, port: int, words: list[int]) -> str | None:
        try:
            self._network.submit(handle=self._next, rank=rank, port=port, words=words)
        except ValueError as error:
            return str(error)
        self._open.setdefault((rank, port), deque()).append(self._next)
        self._next += 1
        return None

    def ended(self, rank: int, port: int) -> tuple[int, str] | None:
        calls = self._open.get((rank, port))
        if not calls or calls[0] not in self._ends:
            return None
        return self._ends.pop(calls.popleft())

    def pending(self, rank: int, port: int) -> int:
        return sum(handle not in self._ends for handle in self._open.get((rank, port), ()))

    def advance(self, until: int | None) -> bool:
        time_out = self._network.time_out()
        if time_out is not None and until is not None and until > time_out and self._network.idle:
            ended = self._network.expire()
        else:
            ended = self._network.work(NEVER if until is None else until)
        for completion in ended:
            self._ends[completion.handle] = self._network.take_end(completion.handle)
        return bool(ended)

    def quiet(self) -> bool:
        return self._network.idle

    def time_out(self) -> int | None:
        return self._network.time_out()

    def blocked(self) -> list[str]:
        return [
            f"{one.who} waits {one.what}" + (f", for {one.on}" if one.on else "") + (f"; {one.why}" if one.why else "")
            for one in self._network.blocked
        ]

    def lost(self) -> list[str]:
        return [f"node {node}: {count} {what}" for node, what, count in self._network.lost]

    def give(self, rank: int, data: bytes) -> None:
        self._network.give(rank, data)

    def take(self, rank: int) -> list[tuple[int, bytes]]:
        return [(stream, data) for stream, data, _ in self._network.take(rank)]

    def close(self) -> None:
        self._network.close()


def make_engine(cluster: str | Path, ranks: int, pcap: str = "") -> Simulated:
    """The engines of the first `ranks` boards of a cluster. Raises InputError."""
    loaded = Cluster.load(cluster)
    if ranks > len(loaded.boards):
        raise InputError(f"{ranks} ranks; {loaded.name} has {len(loaded.boards)} boards")
    return Simulated(loaded.network(pcap), ranks)
