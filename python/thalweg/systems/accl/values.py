# SPDX-License-Identifier: Apache-2.0
"""What ACCL's operations in Python take and return: buffers, streams, requests, communicators, and the types of their elements."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thalweg.errors import CheckFailed, InputError
from thalweg.systems.accl.names import return_bits

if TYPE_CHECKING:
    from thalweg.systems.accl.library import Rank

ANY_TAG = 0xFFFF_FFFF
MOST_STREAMS = 247  #: numbers of a kernel's streams

Array = npt.NDArray[Any]


class Function(IntEnum):
    """What combines elements; the first two are ACCL's."""

    SUM = 0
    MAX = 1
    PROD = 2
    MIN = 3


# Numbers of the engine's units for sum, max, product and minimum of each type (sim/accl/arithmetic.hpp).
UNITS = {
    "float32": (0, 5, 12, 18),
    "float64": (1, 6, 13, 19),
    "int32": (2, 7, 14, 20),
    "int64": (3, 8, 15, 21),
    "float16": (4, 9, 16, 22),
    "int8": (10, 11, 17, 23),
}


class AcclError(CheckFailed):
    """A call ended with a return code; `code` has its bits."""

    def __init__(self, operation: str, rank: int, code: int, why: str) -> None:
        super().__init__(f"rank {rank}: {operation}: {', '.join(return_bits(code))} ({code:#x}): {why}")
        self.code = code


class Buffer:
    """Elements in a board's memory, or in its host's, and `array`, what the program sees of them.

    An operation first copies its operands from the arrays to the memory, and `wait()` copies its results from the memory to the arrays. Results of calls and kernels
    for which the program has not waited yet are newer than the arrays: an operation uses them as they are in the memory. `from_fpga` and `to_fpga` omit the copies. A slice `buffer[2:5]` is a buffer of the same elements.
    """

    def __init__(self, rank: Rank, address: int, array: Array, host: bool = False) -> None:
        self.rank, self.address, self.host, self._array = rank, address, host, array

    @property
    def array(self) -> Array:
        return self._array

    @array.setter
    def array(self, elements: npt.ArrayLike) -> None:
        """Sets all elements."""
        if np.shape(elements) not in ((), self._array.shape):
            raise InputError(f"an array of shape {np.shape(elements)} for a buffer of {len(self)} elements")
        self._array[:] = elements

    def __len__(self) -> int:
        return int(self.array.size)

    def __getitem__(self, elements: slice) -> Buffer:
        if not isinstance(elements, slice):
            raise InputError(
                f"buffer[{elements!r}]; a slice, as buffer[2:5], is a buffer, and buffer.array has elements"
            )
        begin, end, step = elements.indices(len(self))
        if step != 1:
            raise InputError("a slice of a buffer has every element")
        return Buffer(self.rank, self.address + begin * self.array.itemsize, self.array[begin:end], self.host)

    def sync_to_device(self) -> None:
        self._store(0, self.array.nbytes)

    def _store(self, begin: int, end: int) -> None:
        """Writes these bytes of the array to the memory."""
        data = self.array.view(np.uint8)[begin:end].tobytes()
        self.rank._network.store(self.rank._board, self.host, self.address + begin, data)

    def store_older(self) -> None:
        """Writes the array to the memory, except what calls and kernels have put there, or will, that the program has not read: there the memory is newer."""
        for begin, end in self.rank._newer.older(self):
            self._store(begin, end)

    def sync_from_device(self) -> None:
        data = self.rank._network.load(self.rank._board, self.host, self.address, self.array.nbytes)
        assert data is not None
        self.array[:] = np.frombuffer(data, self.array.dtype)


@dataclass(frozen=True)
class Stream:
    """In place of a buffer: the stream between the engine and the board's kernels, with elements of a type."""

    dtype: npt.DTypeLike = np.float32


Place = Buffer | Stream | None  #: of an operand or result


class Packet(NamedTuple):
    """What has left an engine for a kernel: the number of the stream, the elements, and when the last word is there."""

    stream: int
    data: Array
    at_us: float


@dataclass(eq=False)
class Request:
    """A call that has been made."""

    rank: Rank
    operation: str
    results: Sequence[Buffer] = ()
    after: Sequence[Request] = ()  #: it is given to the engine when these have ended
    code: int | None = None  #: its return code, when it has ended
    refused: bool = False  #: by the engine, when the calls before it had ended: it has no return code
    why: str = ""  #: where the code is not 0, or it was refused
    begun_us: float = 0.0
    ended_us: float = 0.0
    words: Sequence[int] = field(default=(), repr=False)
    _seen: bool = False

    @property
    def done(self) -> bool:
        return self.code is not None or self.refused

    @property
    def failed(self) -> bool:
        return bool(self.code) or self.refused

    @property
    def duration_us(self) -> float:
        """From the call to its end, in microseconds of virtual time."""
        return self.ended_us - self.begun_us

    def wait(self, limit_us: float | None = None) -> bool:
        """Waits for its end, for `limit_us` of virtual time at most; False where it has not ended by then. Raises AcclError, and InputError where the engine has
        refused it behind the calls of `waitfor`."""
        self.rank._run.park([self], None if limit_us is None else microseconds(limit_us))
        if not self.done:
            return False
        self.rank._run.unseen.pop(self, None)
        if self.refused:
            raise InputError(f"rank {self.rank.rank}: {self.operation}: {self.why}")
        if self.code:
            raise AcclError(self.operation, self.rank.rank, self.code, self.why)
        self.read()
        return True

    def end(self, code: int | None, why: str, at_us: float) -> None:
        """`code`: None where it was refused."""
        self.code, self.refused, self.why, self.ended_us = code, code is None, why, at_us
        if self.failed:
            self.rank._newer.remove(self)

    def read(self) -> None:
        """Reads its results, once, where it has succeeded."""
        self.rank._newer.remove(self)
        if self._seen:
            return
        self._seen = True
        for buffer in self.results if self.code == 0 else ():
            buffer.sync_from_device()


@dataclass(eq=False)
class Started(Request):
    """A kernel that has been started. `wait` waits for its end; one that restarts has none."""

    @property
    def cycles(self) -> int:
        """From its start to its end, in cycles of the engine's clock."""
        return round(self.duration_us * 1e-6 * self.rank.clock_hz)


class Communicator:
    """Ranks, numbered anew."""

    def __init__(self, address: int, boards: Sequence[int], rank: int) -> None:
        self.address, self.boards, self.rank = address, tuple(boards), rank

    @property
    def size(self) -> int:
        return len(self.boards)


ALL = Communicator(0, (), 0)  #: stands for that of all ranks


def type_of(place: Buffer | Stream) -> str:
    return native(place.dtype if isinstance(place, Stream) else place.array.dtype).name


def native(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """A type of elements, in this computer's order of bytes. Raises InputError."""
    try:
        kind = np.dtype(dtype).newbyteorder("=")
    except TypeError:
        raise InputError(f"{dtype!r} is no type of elements; there are {', '.join(UNITS)}") from None
    if kind.name not in UNITS:
        raise InputError(f"elements of type {kind}; there are {', '.join(UNITS)}")
    return kind


def array_of(elements: npt.ArrayLike, dtype: npt.DTypeLike | None) -> Array:
    """A copy, of one dimension. Raises InputError."""
    try:
        found = np.array(elements, None if dtype is None else native(dtype)).reshape(-1)
    except (TypeError, ValueError) as error:
        raise InputError(f"elements that are none: {error}") from None
    return found.astype(native(found.dtype), copy=False)


def word(operation: str, what: str, value: Any) -> int:
    """A word of a call. Raises InputError."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{operation}: {what} is {value!r}; wanted is a whole number") from None
    if not 0 <= number <= ANY_TAG:
        raise InputError(f"{operation}: {what} is {number}; wanted is 0 to {ANY_TAG}")
    return number


_MOST_US = 1e13  #: of a pause: 115 days, whose ticks fit in 63 bits


def microseconds(value: Any) -> float:
    if not isinstance(value, (int, float, np.number)) or not 0 <= value <= _MOST_US:
        raise InputError(f"a time of {value!r} us; it is 0 to {_MOST_US:g}")
    return float(value)
