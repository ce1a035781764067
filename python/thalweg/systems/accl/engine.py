# SPDX-License-Identifier: Apache-2.0
"""The engines of a cluster's ranks, as the server of ACCL's driver uses them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn, Protocol

from thalweg.errors import InputError


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

    def ended(self, rank: int, port: int) -> int | None:
        """Takes the oldest ended call off a port: its return code, 0 for success. None if none has ended."""

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

    def give(self, rank: int, data: bytes) -> None:
        """Sends a message, of a multiple of 64 bytes, into the stream from kernels to the engine."""

    def take(self, rank: int) -> list[tuple[int, bytes]]:
        """Messages that have left the engine for kernels: the number of the stream, and the data."""


def make_engine(cluster: str, ranks: int) -> Engine:
    """The engines of the first `ranks` ranks of a cluster. Raises InputError."""
    raise InputError(f"{cluster} cannot serve {ranks} ranks: clusters of ACCL cannot be simulated yet")


class Clusters:
    """Stands in for the class of ACCL's clusters."""

    @staticmethod
    def load(name: str | Path, faults: str | None = None) -> NoReturn:
        _none()

    @staticmethod
    def load_file(file: Path) -> NoReturn:
        _none()

    @staticmethod
    def schema() -> dict[str, Any]:
        _none()


def _none() -> NoReturn:
    raise InputError("there are no clusters of ACCL yet")
