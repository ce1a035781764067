# SPDX-License-Identifier: Apache-2.0
"""Operands and results of ACCL's operations in Python: buffers, streams, requests, communicators and element types."""

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
MAX_STREAMS = 247  #: streams from an engine to its kernels, numbered from 0

Array = npt.NDArray[Any]


class Function(IntEnum):
    """Reduction operators. ACCL itself has the first two.

    Element types are int8, int32, int64, float16, float32 and float64.

    Examples
    --------
    >>> from thalweg.accl import Function
    >>> [function.name for function in Function]
    ['SUM', 'MAX', 'PROD', 'MIN']
    """

    SUM = 0
    MAX = 1
    PROD = 2
    MIN = 3


# Engine's arithmetic units for sum, maximum, product and minimum, by element type (sim/accl/arithmetic.hpp).
UNITS = {
    "float32": (0, 5, 12, 18),
    "float64": (1, 6, 13, 19),
    "int32": (2, 7, 14, 20),
    "int64": (3, 8, 15, 21),
    "float16": (4, 9, 16, 22),
    "int8": (10, 11, 17, 23),
}


class AcclError(CheckFailed):
    """A call ended with a return code other than 0.

    Attributes
    ----------
    code : int
        The return code, a bit mask; the message names its bits.

    Examples
    --------
    >>> from thalweg.accl import AcclError, run
    >>> def program(rank):
    ...     buffer = rank.create_buffer(4)
    ...     try:
    ...         rank.recv(buffer, 4, src=0, tag=5)  # no rank sends
    ...     except AcclError as error:
    ...         return hex(error.code)
    >>> run(program, ranks=1, time_out_us=100).values
    ['0x800']
    """

    def __init__(self, operation: str, rank: int, code: int, why: str) -> None:
        super().__init__(f"rank {rank}: {operation}: {', '.join(return_bits(code))} ({code:#x}): {why}")
        self.code = code


class Buffer:
    """Array of elements in a board's memory or in its host's memory, made by `Rank.create_buffer`.

    `array` is the program's copy. An operation first copies its operands from `array` to the memory; `wait()` copies
    its results back. If results of earlier calls or kernels have not been read yet, the memory is newer than `array`,
    and an operation uses the memory. `from_fpga` and `to_fpga` omit the copies.

    A slice with step 1, such as `buffer[2:5]`, is a buffer that shares these elements.

    Attributes
    ----------
    address : int
        Address in the memory in bytes.
    host : bool
        True in the host's memory, False in the board's.

    Examples
    --------
    >>> from thalweg.accl import run
    >>> def program(rank):
    ...     source = rank.create_buffer([1, 2, 3, 4], dtype="int32")
    ...     copy = rank.create_buffer(4, dtype="int32")
    ...     rank.copy(source[1:3], copy[0:2], 2)
    ...     return copy.array.tolist()
    >>> run(program, ranks=1).values
    [[2, 3, 0, 0]]
    """

    def __init__(self, rank: Rank, address: int, array: Array, host: bool = False) -> None:
        self.rank, self.address, self.host, self._array = rank, address, host, array

    @property
    def array(self) -> Array:
        """The elements as the program sees them, of shape (length,).

        Assigning sets all elements, from an array of the same shape or from a number. Raises InputError on another
        shape.
        """
        return self._array

    @array.setter
    def array(self, elements: npt.ArrayLike) -> None:
        """Sets all elements."""
        if np.shape(elements) not in ((), self._array.shape):
            raise InputError(
                f"cannot assign an array of shape {np.shape(elements)} to a buffer of {len(self)} elements"
            )
        self._array[:] = elements

    def __len__(self) -> int:
        return int(self.array.size)

    def __getitem__(self, elements: slice) -> Buffer:
        if not isinstance(elements, slice):
            raise InputError(
                f"buffer[{elements!r}]: the index of a buffer must be a slice, such as buffer[2:5]; elements are in buffer.array"
            )
        begin, end, step = elements.indices(len(self))
        if step != 1:
            raise InputError("the step of a buffer's slice must be 1")
        return Buffer(self.rank, self.address + begin * self.array.itemsize, self.array[begin:end], self.host)

    def sync_to_device(self) -> None:
        """Copies `array` to the memory."""
        self._store(0, self.array.nbytes)

    def _store(self, begin: int, end: int) -> None:
        """Copies bytes [begin, end) of the array to the memory."""
        data = self.array.view(np.uint8)[begin:end].tobytes()
        self.rank._network.store(self.rank._board, self.host, self.address + begin, data)

    def store_older(self) -> None:
        """Copies the array to the memory, except for bytes where the memory is newer.

        The memory is newer where a call or kernel has written, or will write, results that the program has not read.
        """
        for begin, end in self.rank._newer.older(self):
            self._store(begin, end)

    def sync_from_device(self) -> None:
        """Copies the memory to `array`."""
        data = self.rank._network.load(self.rank._board, self.host, self.address, self.array.nbytes)
        assert data is not None
        self.array[:] = np.frombuffer(data, self.array.dtype)


@dataclass(frozen=True)
class Stream:
    """Operand or result that is the stream between the engine and the board's kernels, instead of a buffer.

    Parameters
    ----------
    dtype : data-type, optional
        Type of its elements, float32 by default.
    """

    dtype: npt.DTypeLike = np.float32


Place = Buffer | Stream | None  #: operand or result


class Packet(NamedTuple):
    """Message from the engine to a kernel of this rank, returned by `Rank.pull`.

    Attributes
    ----------
    stream : int
        Number of the stream.
    data : ndarray
        Its elements, padded with zeros to a multiple of 64 bytes.
    at_us : float
        Virtual time at which its last word arrives, in us.
    """

    stream: int
    data: Array
    at_us: float


@dataclass(eq=False)
class Request:
    """A call of the engine, returned by the operations of `Rank`.

    Attributes
    ----------
    operation : str
        Name of the operation.
    code : int or None
        Return code once the call has ended; 0 is success. None before, or if the engine refused the call.
    why : str
        Reason if the call failed.
    begun_us, ended_us : float
        Virtual times of the call and of its end, in us.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.accl import run
    >>> def program(rank):
    ...     mine = rank.create_buffer(np.full(8, rank.rank, np.float32))
    ...     other = rank.create_buffer(8)
    ...     receive = rank.recv(other, 8, src=1 - rank.rank, run_async=True)
    ...     rank.send(mine, 8, dst=1 - rank.rank)
    ...     receive.wait()
    ...     return receive.done, other.array[0].item()
    >>> run(program, ranks=2).values
    [(True, 1.0), (True, 0.0)]
    """

    rank: Rank
    operation: str
    results: Sequence[Buffer] = ()
    after: Sequence[Request] = ()  #: requests that end before this one is passed to the engine
    code: int | None = None  #: return code, once ended
    refused: bool = False  #: refused by the engine once `after` had ended; there is no return code
    why: str = ""  #: reason if the code is not 0, or if it was refused
    begun_us: float = 0.0
    ended_us: float = 0.0
    words: Sequence[int] = field(default=(), repr=False)
    _seen: bool = False

    @property
    def done(self) -> bool:
        """True once the call has ended or was refused."""
        return self.code is not None or self.refused

    @property
    def failed(self) -> bool:
        """True if the call ended with a return code other than 0 or was refused."""
        return bool(self.code) or self.refused

    @property
    def duration_us(self) -> float:
        """Virtual time from the call to its end, in us."""
        return self.ended_us - self.begun_us

    def wait(self, limit_us: float | None = None) -> bool:
        """Waits for the end of the call, then copies its results to the buffers' arrays.

        Parameters
        ----------
        limit_us : float, optional
            Maximum virtual time to wait, in us.

        Returns
        -------
        bool
            False if the call has not ended within `limit_us`.

        Raises
        ------
        AcclError
            The call ended with a return code other than 0.
        InputError
            The engine refused the call once the requests in `waitfor` had ended.
        """
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
        """Records the end of the call; `code` is None if the engine refused it."""
        self.code, self.refused, self.why, self.ended_us = code, code is None, why, at_us
        if self.failed:
            self.rank._newer.remove(self)

    def read(self) -> None:
        """Copies the results of a successful call to the buffers' arrays, once."""
        self.rank._newer.remove(self)
        if self._seen:
            return
        self._seen = True
        for buffer in self.results if self.code == 0 else ():
            buffer.sync_from_device()


@dataclass(eq=False)
class StartedKernel(Request):
    """A kernel started by `Rank.start`.

    `wait` waits for its end. A kernel that restarts (`ap_ctrl_none`, or a free-running one) never ends.
    """

    @property
    def cycles(self) -> int:
        """Cycles of the engine's clock from its start to its end."""
        return round(self.duration_us * 1e-6 * self.rank.clock_hz)


class Communicator:
    """A group of ranks, made by `Rank.create_communicator`; `Rank.world` has all ranks.

    Attributes
    ----------
    boards : tuple of int
        The members' ranks in `Rank.world`, in order of their ranks in this group.
    rank : int
        This board's rank in the group.
    address : int
        Address in the exchange memory, which kernels pass to the engine.
    """

    def __init__(self, address: int, boards: Sequence[int], rank: int, run: object = None) -> None:
        self.address, self.boards, self.rank, self._run = address, tuple(boards), rank, run

    @property
    def size(self) -> int:
        """Number of ranks."""
        return len(self.boards)


ALL = Communicator(0, (), 0)  #: placeholder for `Rank.world`


def type_of(place: Buffer | Stream) -> str:
    return native(place.dtype if isinstance(place, Stream) else place.array.dtype).name


def native(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """Returns an element type in native byte order. Raises InputError if the engine does not support it."""
    try:
        kind = np.dtype(dtype).newbyteorder("=")
    except TypeError:
        raise InputError(f"{dtype!r} is not an element type; must be one of {', '.join(UNITS)}") from None
    if kind.name not in UNITS:
        raise InputError(f"elements of type {kind} are not supported; must be one of {', '.join(UNITS)}")
    return kind


def array_of(elements: npt.ArrayLike, dtype: npt.DTypeLike | None) -> Array:
    """Returns a one-dimensional copy. Raises InputError if these are no elements of a supported type, or out of its range."""
    try:
        given = np.asarray(elements)
        found = np.array(elements, None if dtype is None else native(dtype)).reshape(-1)
    except (OverflowError, TypeError, ValueError) as error:
        raise InputError(f"not an array of elements: {error}") from None
    if found.dtype.kind == "i" and given.dtype.kind in "uif":
        range_ = np.iinfo(found.dtype)
        if not ((given >= range_.min) & (given <= range_.max)).all():  # NumPy wraps them; NaN is outside, too
            raise InputError(
                f"{given.dtype} elements are outside the range of {found.dtype}, {range_.min} to {range_.max}"
            )
    return found.astype(native(found.dtype), copy=False)


def word(operation: str, what: str, value: Any) -> int:
    """Returns a 32-bit word of a call. Raises InputError if the value is out of range."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{operation}: {what} is {value!r}; must be an integer") from None
    if not 0 <= number <= ANY_TAG:
        raise InputError(f"{operation}: {what} is {number}; must be 0 to {ANY_TAG}")
    return number


_MAX_US = 1e13  #: longest pause in us: 115 days, whose ticks fit in 63 bits


def microseconds(value: Any) -> float:
    if not isinstance(value, (int, float, np.number)) or not 0 <= value <= _MAX_US:
        raise InputError(f"time of {value!r} us; must be 0 to {_MAX_US:g}")
    return float(value)
