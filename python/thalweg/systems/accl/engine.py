# SPDX-License-Identifier: Apache-2.0
"""Interface of the engines of a cluster's ranks, as the server of ACCL's driver uses it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from thalweg._core import Completion
from thalweg.errors import CheckFailed, InputError
from thalweg.lost import counted
from thalweg.systems.accl._sim import Misuse, Network
from thalweg.systems.accl.cluster import Cluster
from thalweg.systems.accl.names import return_bits

NEVER = 2**63 - 1  #: tick that is never reached


@dataclass(frozen=True)
class End:
    """End of a call."""

    code: int  #: return code
    why: str  #: reason if the code is not 0
    at: int  #: tick of the end


class Engine(Protocol):
    """The ranks of a cluster: their memories, and the calls that their engines execute in virtual time.

    A rank has three command streams, its `ports`: 0 for the host, 1 for a second controller of the host, 2 for kernels.
    Addresses are in bytes.
    """

    @property
    def ranks(self) -> int: ...
    @property
    def ticks_per_second(self) -> int: ...
    @property
    def unreliable(self) -> frozenset[int]:
        """Ranks whose transport does not retransmit lost packets."""

    @property
    def now(self) -> int:
        """Virtual time in ticks."""

    def read(self, rank: int, address: int) -> int | None:
        """Reads a word of the exchange memory; None if the address is beyond its end or not a multiple of 4."""

    def write(self, rank: int, address: int, value: int) -> bool:
        """Writes a word of the exchange memory; False if the address is invalid."""

    def allocate(self, rank: int, host: bool, address: int, size: int) -> None:
        """Allocates bytes of the board's or the host's memory. Raises ValueError with a one-line message."""

    def load(self, rank: int, host: bool, address: int, size: int) -> bytes | None:
        """Reads bytes of memory; None if they have not been allocated or written."""

    def store(self, rank: int, host: bool, address: int, data: bytes) -> None:
        """Writes bytes of memory, which grows if necessary. Raises ValueError with a one-line message."""

    def call(self, rank: int, port: int, words: list[int]) -> int:
        """Starts a call and returns its handle.

        `words` are 15 words of 32 bits in the order of the command stream. Raises ValueError with a one-line message.
        """

    def ends(self, rank: int) -> dict[int, End]:
        """Returns and forgets the ends of a rank's calls by handle, in the order in which they ended."""

    def advance(self, until: int | None) -> bool:
        """Advances virtual time, at most to `until`.

        Returns True as soon as a call has ended. Returns False if no event is left before `until`, except for
        time-outs.
        """

    def expire(self) -> bool:
        """Advances to the next time-out, which ends its calls. Returns True if a call has ended."""

    def pass_to(self, tick: int) -> bool:
        """Like advance(), but virtual time reaches `tick` even without an event."""

    def quiet(self) -> bool:
        """True if no event is left, except for time-outs."""

    def time_out(self) -> int | None:
        """Tick of the next time-out; None if there is none."""

    def blocked(self) -> list[str]:
        """Lines that say which rank waits for which."""

    def lost(self) -> list[str]:
        """Lines on dropped or lost data: kind, location and amount."""

    def failed(self) -> list[str]:
        """Lines on calls of kernels that ended with a return code other than 0."""

    def give(self, rank: int, data: bytes) -> None:
        """Sends a message, a multiple of 64 bytes, into the stream from kernels to the engine."""

    def take(self, rank: int) -> list[tuple[int, bytes]]:
        """Returns messages from the engine to kernels, each as number of the stream and data."""

    def close(self) -> None:
        """Closes the capture file, if there is one."""


class Simulated:
    """Implements Engine for the first ranks of a simulated cluster."""

    def __init__(self, network: Network, ranks: int, unreliable: frozenset[int] = frozenset()) -> None:
        self.network, self.ranks, self.unreliable = network, ranks, unreliable
        self.ticks_per_second = network.ticks_per_second
        self._next = 0
        self._rank_of: dict[int, int] = {}  # rank of each call in progress, by handle
        self._ends: dict[int, dict[int, End]] = {}  # by rank and handle

    @property
    def now(self) -> int:
        return self.network.now

    def read(self, rank: int, address: int) -> int | None:
        return self.network.read(rank, address)

    def write(self, rank: int, address: int, value: int) -> bool:
        return self.network.write(rank, address, value)

    def allocate(self, rank: int, host: bool, address: int, size: int) -> None:
        self.network.allocate(rank, host, address, size)

    def load(self, rank: int, host: bool, address: int, size: int) -> bytes | None:
        return self.network.load(rank, host, address, size)

    def store(self, rank: int, host: bool, address: int, data: bytes) -> None:
        self.network.store(rank, host, address, data)

    def call(self, rank: int, port: int, words: list[int]) -> int:
        self._next += 1
        self.network.submit(handle=self._next, rank=rank, port=port, words=words)
        self._rank_of[self._next] = rank
        return self._next

    def start_kernel(self, rank: int, **how: Any) -> int:
        """Starts an HLS kernel and returns its handle. Raises InputError."""
        self._next += 1
        try:
            self.network.start_kernel(handle=self._next, rank=rank, **how)
        except (RuntimeError, ValueError) as error:
            raise InputError(str(error)) from None
        self._rank_of[self._next] = rank
        return self._next

    def ends(self, rank: int) -> dict[int, End]:
        return self._ends.pop(rank, {})

    def advance(self, until: int | None) -> bool:
        return self._note(lambda: self.network.work(NEVER if until is None else until))

    def expire(self) -> bool:
        return self._note(self.network.expire)

    def pass_to(self, tick: int) -> bool:
        return self._note(lambda: self.network.advance(tick))

    def _note(self, work: Callable[[], Sequence[Completion]]) -> bool:
        """Records the ends of calls. Raises CheckFailed if a kernel has failed."""
        try:
            ended = work()
        except (Misuse, ValueError) as error:
            raise CheckFailed(str(error)) from None
        for completion in ended:
            code, why = self.network.take_end(completion.handle)
            ends = self._ends.setdefault(self._rank_of.pop(completion.handle), {})
            ends[completion.handle] = End(code, why, completion.at)
        return bool(ended)

    def quiet(self) -> bool:
        return self.network.idle

    def time_out(self) -> int | None:
        return self.network.time_out()

    def blocked(self) -> list[str]:
        return self.network.unlit + [
            f"{one.who} waits {one.what}"
            + (f", for {one.on}" if one.on else "")
            + (f"; {one.why}" if one.why else "")
            + (f" ({one.where})" if one.where else "")
            for one in self.network.blocked
        ]

    def lost(self) -> list[str]:
        return [f"node {node}: {counted(count, what)}" for node, what, count in self.network.lost]

    def failed(self) -> list[str]:
        return [
            f"{who}, called by a kernel: {', '.join(return_bits(code))} ({code:#x}): {why}"
            for who, code, why in self.network.failed
        ]

    def give(self, rank: int, data: bytes) -> None:
        self.network.give(rank, data)

    def take(self, rank: int) -> list[tuple[int, bytes]]:
        return [(stream, data) for stream, data, _ in self.network.take(rank)]

    def close(self) -> None:
        self.network.close()


def make_engine(cluster: str | Path, ranks: int, pcap: str = "", in_switch: str | None = None) -> Simulated:
    """Returns the engines of the first `ranks` boards of a cluster.

    `in_switch` is a cluster of MPI-FPGA whose switches compute the collectives. Raises InputError.
    """
    loaded = Cluster.load(cluster)
    if ranks > len(loaded.boards):
        raise InputError(f"{ranks} ranks, but {loaded.name} has {len(loaded.boards)} boards")
    return Simulated(loaded.network(pcap, (), in_switch, ranks), ranks, loaded.unreliable)
