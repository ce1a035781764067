# SPDX-License-Identifier: Apache-2.0
"""ACCL's operations for Python programs, with NumPy arrays in the memory of a board. launch.py runs programs.

Names and order of arguments follow ACCL's driver. Virtual time advances only while all ranks wait, so a program takes
the same virtual time in every run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg.errors import InputError
from thalweg.systems.accl.kernels import KernelPort, Kernels, KernelStream, Memory, packed
from thalweg.systems.accl.running import Run
from thalweg.systems.accl.unread_results import UnreadResults
from thalweg.systems.accl.values import (
    ALL,
    ANY_TAG,
    MAX_STREAMS,
    UNITS,
    Buffer,
    Communicator,
    Packet,
    Place,
    Request,
    StartedKernel,
    Stream,
    array_of,
    microseconds,
    native,
    type_of,
    word,
)

EXCHANGE_END = 0x1FC4  #: end of the words for communicators; the engine's registers follow


class _Scenario(IntEnum):
    CONFIG = 0
    COPY = 1
    COMBINE = 2
    SEND = 3
    RECV = 4
    BCAST = 5
    SCATTER = 6
    GATHER = 7
    REDUCE = 8
    ALLGATHER = 9
    ALLREDUCE = 10
    REDUCE_SCATTER = 11
    BARRIER = 12
    ALLTOALL = 13
    NOP = 255


# Operations whose result may overwrite their operand.
_IN_PLACE = frozenset(
    (
        _Scenario.COPY,
        _Scenario.COMBINE,
        _Scenario.GATHER,
        _Scenario.REDUCE,
        _Scenario.ALLGATHER,
        _Scenario.ALLREDUCE,
        _Scenario.REDUCE_SCATTER,
    )
)


@dataclass
class _Exchange:
    """Allocation of the exchange memory, shared by the views of a rank."""

    free: int  #: first free address


class Rank:
    """ACCL's operations on one board, passed to the program's function by `run`.

    Every operation waits for its end and returns a `Request`. Operands and results are `Buffer` or, for the stream
    between the engine and kernels, `Stream`; `count` is the number of elements of a rank's block. All operations accept
    the keyword arguments below.

    Notes
    -----
    * `comm` (Communicator): A group of ranks instead of all; ranks and roots are then numbered within it.
    * `run_async` (bool): Return the request without waiting.
    * `waitfor` (sequence of Request): Requests of this rank that end before the operation begins.
    * `from_fpga` (bool): Operands are in the memory; do not copy the buffers' arrays to it.
    * `to_fpga` (bool): Leave results in the memory; do not copy them to the buffers' arrays.
    * `compress_dtype` (data-type): float16 sends float32 elements as float16. A stream of kernels at another rank gets
      them as float16.

    Attributes
    ----------
    world : Communicator
        All ranks.

    Raises
    ------
    InputError
        Invalid operand, count, rank, root or communicator.
    AcclError
        The operation ended with a return code other than 0.

    Examples
    --------
    >>> from thalweg.accl import run
    >>> def program(rank):
    ...     block = rank.create_buffer([rank.rank] * 2, dtype="int32")
    ...     blocks = rank.create_buffer(2 * rank.size, dtype="int32")
    ...     rank.allgather(block, blocks, 2)
    ...     return blocks.array.tolist()
    >>> run(program, ranks=3).values[1]
    [0, 0, 1, 1, 2, 2]
    """

    def __init__(self, run: Run, board: int) -> None:
        self._run, self._board, self._network = run, board, run.network
        self._port = 0
        self._memory = {False: 0, True: 0}
        self._exchange = _Exchange(0x8 + 28 * run.options.buffers)
        self._arithmetic: dict[tuple[str, str], int] = {}
        self._newer = UnreadResults()
        self.world = self._initialize()

    @property
    def rank(self) -> int:
        """This rank's number, from 0."""
        return self._board

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self.world.size

    @property
    def now_us(self) -> float:
        """Virtual time in us."""
        return self._run.now_us

    def pause(self, us: float) -> None:
        """Waits for `us` microseconds of virtual time."""
        self._run.park([], microseconds(us))

    def kernel(self) -> Rank:
        """Returns a view of this rank as its board's kernels see it: calls take no invocation time of the host."""
        view = object.__new__(Rank)
        view.__dict__ = self.__dict__ | {"_port": 2}
        return view

    def rewire(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Connects these pairs of boards by the optical switch, and disconnects all others.

        From now on, frames on removed connections are lost, and frames on new connections until the mirrors have
        turned.

        Parameters
        ----------
        pairs : sequence of (int, int)
            Boards to connect.

        Raises
        ------
        InputError
            A board is not connected to an optical switch, or a pair to different ones.
        """
        self._run.rewire(pairs)

    # Set-up.

    def _initialize(self) -> Communicator:
        options = self._run.options
        if 0x8 + 28 * options.buffers > EXCHANGE_END:
            raise self._full()
        self._put(0x0, [options.buffers, options.buffer_bytes])
        for number in range(options.buffers):
            address = self._allocate(options.buffer_bytes, host=False)
            self._put(0x8 + 28 * number, [0, address & 0xFFFF_FFFF, address >> 32, 0, 0, 0, 0])
        world = self._communicator(range(self._run.ranks))
        names = {(name, name) for name in UNITS} | {("float32", "float16")}
        for wide, narrow in sorted(names):
            units = UNITS[narrow]
            sizes = np.dtype(wide).itemsize, np.dtype(narrow).itemsize
            self._arithmetic[wide, narrow] = self._append([*sizes, int(wide != narrow), 0, 1, len(units), 1, *units])
        spare = self._allocate(max(options.flat_bytes, 64), host=False)
        tuning = [options.flat_bytes, 3, 4, options.flat_bytes // 4, spare & 0xFFFF_FFFF, spare >> 32]
        self._put(EXCHANGE_END + 4, tuning)
        self._enable(world)
        return world

    def _enable(self, world: Communicator) -> None:
        options = self._run.options
        for function, count in (1, 0), (2, options.time_out_us), (3, options.most_eager_bytes or options.buffer_bytes):
            self.call(_Scenario.CONFIG, function=function, count=count, comm=world)

    def reset(self) -> None:
        """Resets the engine and configures it again.

        All calls of this rank's host and kernels end; waiting for one raises AcclError. Sequence numbers of messages
        restart at 0, so the other ranks of its communicators must reset their engines, too. Their calls that wait for
        this rank end by time-out.
        """
        self.call(_Scenario.CONFIG, function=0, comm=self.world)
        self._run.forget(self._board)
        self._enable(self.world)

    def _put(self, address: int, words: Iterable[int]) -> None:
        for k, value in enumerate(words):
            if not self._network.write(self._board, address + 4 * k, value):
                raise InputError(f"the exchange memory has no word at {address + 4 * k:#x}")

    def _append(self, words: Sequence[int]) -> int:
        address = self._exchange.free
        if address + 4 * len(words) > EXCHANGE_END:
            raise self._full()
        self._put(address, words)
        self._exchange.free += 4 * len(words)
        return address

    def _full(self) -> InputError:
        buffers = self._run.options.buffers
        return InputError(
            f"the exchange memory is full: {buffers} receive buffers and the communicators take more than {EXCHANGE_END} bytes; use fewer buffers"
        )

    def _communicator(self, boards: Sequence[int]) -> Communicator:
        rank = list(boards).index(self._board)
        words = [len(boards), rank]
        for board in boards:
            words += [0x7F00_0001, 5500 + board, 0, 0, board, self._run.options.buffer_bytes]
        return Communicator(self._append(words), boards, rank, self._run)

    def create_communicator(self, ranks: Sequence[int]) -> Communicator | None:
        """Makes a communicator of some ranks. All its members must call this, in the same order.

        Parameters
        ----------
        ranks : sequence of int
            Members, in order of their ranks in the communicator.

        Returns
        -------
        Communicator or None
            None if this rank is not a member.

        Raises
        ------
        InputError
            A rank does not exist or is given twice, or the exchange memory is full.
        """
        boards = [word("a communicator", "a rank", rank) for rank in ranks]
        if not boards or len(set(boards)) != len(boards) or not set(boards) <= set(range(self.size)):
            raise InputError(f"a communicator of ranks {boards}; each must be below {self.size}, without repetitions")
        return self._communicator(boards) if self._board in boards else None

    def _allocate(self, size: int, host: bool) -> int:
        address = self._memory[host]
        if size >> 62:
            raise InputError(f"a buffer of {size} bytes is too large")
        try:
            self._network.allocate(self._board, host, address, size)
        except ValueError as error:
            raise InputError(str(error)) from None
        self._memory[host] += -(-size // 4096) * 4096
        return address

    def create_buffer(
        self, length: int | npt.ArrayLike, dtype: npt.DTypeLike | None = None, host: bool = False
    ) -> Buffer:
        """Allocates a buffer.

        Parameters
        ----------
        length : int or array-like
            Number of elements, initially 0; or the elements themselves, which are flattened.
        dtype : data-type, optional
            Element type: int8, int32, int64, float16, float32 or float64. By default that of the array, or float32.
        host : bool, optional
            Allocate in the host's memory instead of the board's.

        Returns
        -------
        Buffer
            With `array` of shape (length,).

        Raises
        ------
        InputError
            Unsupported type, or not enough memory.
        """
        known = None if np.ndim(length) == 0 and not isinstance(length, str) else array_of(length, dtype)
        kind = native(np.float32 if dtype is None else dtype) if known is None else known.dtype
        elements = word("a buffer", "its length", length) if known is None else known.size
        address = self._allocate(max(elements * kind.itemsize, 1), host)
        array = np.zeros(elements, kind) if known is None else known
        return Buffer(self, address, array, host)

    # Operations.

    def call(
        self,
        scenario: _Scenario,
        operands: Sequence[Place] = (None, None, None),
        *,
        count: int = 0,
        root: int = 0,
        function: int = 0,
        tag: int = ANY_TAG,
        comm: Communicator | None = ALL,
        needs: Sequence[int] = (0, 0, 0),
        from_fpga: bool = False,
        to_fpga: bool = False,
        compress_dtype: npt.DTypeLike | None = None,
        run_async: bool = False,
        waitfor: Sequence[Request] = (),
        **unknown: Any,
    ) -> Request:
        """Starts an operation with operand 0, operand 1 and result, of which it uses `needs` elements."""
        name = scenario.name.lower()
        if unknown:
            raise TypeError(f"{name}() got an unexpected keyword argument {next(iter(unknown))!r}")
        comm = self._among(name, comm)
        for k, (place, need) in enumerate(zip(operands, needs, strict=True)):
            if place is None and need:
                raise InputError(
                    f"{name}: {('operand 0', 'operand 1', 'result')[k]} is missing; give a Buffer or a Stream"
                )
            if not isinstance(place, Place):
                raise InputError(f"{name}: {type(place).__name__} instead of a Buffer or a Stream")
            if isinstance(place, Buffer) and place.rank._board != self._board:
                raise InputError(f"{name}: the buffer belongs to rank {place.rank.rank}, not to rank {self._board}")
            if isinstance(place, Buffer):
                self._check_run(f"{name}: the buffer", place.rank._run)
        words = [int(scenario), word(name, "count", count), comm.address, word(name, "the other rank or root", root)]
        words += [word(name, "function", function), word(name, "tag", tag)]
        types = {type_of(place) for place in operands if place is not None}
        compressed = None if compress_dtype is None else native(compress_dtype).name
        both = {"float16", "float32"}
        used = types | ({compressed} if compressed else set())
        if len(used) > 1 and used != both:
            sent = f" sent as {compressed}" if compressed else ""
            raise InputError(
                f"{name}: operands of types {', '.join(sorted(types))}{sent}; must be of one type, or float32 and float16"
            )
        wide, narrow = ("float32", "float16") if used == both else (next(iter(used), "float32"),) * 2
        compression = 8 if narrow != wide and compressed == narrow else 0
        stream = 0
        addresses = []
        for k, (place, need) in enumerate(zip(operands, needs, strict=True)):
            if place is not None and narrow != wide and type_of(place) == narrow:
                compression |= 1 << k
            if isinstance(place, Stream):
                if k == 1:
                    raise InputError(f"{name}: operand 1 must be a Buffer, not a Stream")
                stream |= 1 if k == 0 else 2
            elif place is not None:
                if len(place) < need:
                    raise InputError(f"{name}: a buffer of {len(place)} elements; must have at least {need}")
                stream |= place.host << (8 + k)
                if k < 2 and need and not from_fpga:
                    place[:need].store_older()
            addresses.append(place.address if isinstance(place, Buffer) else 0)
        self._check_overlap(scenario, operands, needs, comm.rank * count)
        arithmetic = self._arithmetic.get((wide, narrow), 0) if types else 0
        words += [arithmetic, compression, stream]
        for address in addresses:
            words += [address & 0xFFFF_FFFF, address >> 32]
        results = [operands[2]] if isinstance(operands[2], Buffer) and needs[2] and not to_fpga else []
        if isinstance(waitfor, Request) or not all(isinstance(before, Request) for before in waitfor):
            raise InputError(f"{name}: waitfor must be a sequence of requests")
        if other := next((before for before in waitfor if before.rank._board != self._board), None):
            raise InputError(
                f"{name}: waitfor has a request of rank {other.rank.rank}; all must be of rank {self._board}"
            )
        for before in waitfor:
            self._check_run(f"{name}: the request in waitfor", before.rank._run)
        request = Request(self, name, [result[: needs[2]] for result in results], tuple(waitfor), words=words)
        self._run.submit(request, self._board, self._port)
        if not request.done:
            self._newer.add(request)
        if not run_async:
            request.wait()
        return request

    def _check_run(self, what: str, run: object) -> None:
        """Raises InputError if an object is of another run, where its address may be another object's."""
        if run is not self._run:
            raise InputError(f"{what} belongs to another run")

    def _among(self, name: str, comm: Communicator | None) -> Communicator:
        if comm is ALL:
            return self.world
        if comm is None:
            raise InputError(f"{name}: comm is None, as this rank is not a member of that communicator")
        if not isinstance(comm, Communicator):
            raise InputError(f"{name}: {type(comm).__name__} instead of a Communicator")
        if comm.boards[comm.rank] != self._board:
            raise InputError(
                f"{name}: the communicator belongs to rank {comm.boards[comm.rank]}, not to rank {self._board}"
            )
        self._check_run(f"{name}: the communicator", comm._run)
        return comm

    def _size(self, common: dict[str, Any]) -> int:
        return self._among("comm", common.get("comm", ALL)).size

    def _is(self, root: int, common: dict[str, Any]) -> bool:
        return self._among("comm", common.get("comm", ALL)).rank == root

    @staticmethod
    def _check_overlap(scenario: _Scenario, places: Sequence[Place], needs: Sequence[int], own: int) -> None:
        """Raises InputError if the engine would overwrite operands that it still reads.

        `own` is the number of elements before this rank's block.
        """
        result = places[2]
        if not isinstance(result, Buffer) or not needs[2]:
            return
        size = result.array.itemsize
        for place, need in zip(places[:2], needs, strict=False):
            if not isinstance(place, Buffer) or not need or place.host != result.host:
                continue
            behind = result.address - place.address
            if behind >= need * place.array.itemsize or -behind >= needs[2] * size:
                continue
            right = scenario in _IN_PLACE and behind == 0
            right = right or (scenario in (_Scenario.GATHER, _Scenario.ALLGATHER) and behind == -own * size)
            right = right or (scenario in (_Scenario.SCATTER, _Scenario.REDUCE_SCATTER) and behind == own * size)
            if not right or place.array.dtype != result.array.dtype:
                raise InputError(f"{scenario.name.lower()}: operand and result overlap")

    def nop(self, **common: Any) -> Request:
        """Does nothing; measures the latency of a call."""
        return self.call(_Scenario.NOP, **common)

    def barrier(self, **common: Any) -> Request:
        """Synchronizes all ranks of the communicator."""
        return self.call(_Scenario.BARRIER, **common)

    def copy(self, srcbuf: Place, dstbuf: Place, count: int, **common: Any) -> Request:
        """Copies `count` elements from one buffer or stream of this board to another."""
        return self.call(_Scenario.COPY, (srcbuf, None, dstbuf), count=count, needs=(count, 0, count), **common)

    def combine(self, count: int, function: int, val1: Place, val2: Place, result: Place, **common: Any) -> Request:
        """Combines `val1` and `val2` element by element with a `Function`, into `result`."""
        places = (val1, val2, result)
        return self.call(_Scenario.COMBINE, places, count=count, function=function, needs=(count,) * 3, **common)

    def send(self, srcbuf: Place, count: int, dst: int, tag: int = ANY_TAG, **common: Any) -> Request:
        """Sends `count` elements to the rank `dst`, which receives them with `recv`.

        A message without a tag matches any `recv` from this rank.
        """
        return self.call(
            _Scenario.SEND, (srcbuf, None, None), count=count, root=dst, tag=tag, needs=(count, 0, 0), **common
        )

    def recv(self, dstbuf: Place, count: int, src: int, tag: int = ANY_TAG, **common: Any) -> Request:
        """Receives `count` elements from the rank `src`. Without a tag, it receives the next message."""
        return self.call(
            _Scenario.RECV, (None, None, dstbuf), count=count, root=src, tag=tag, needs=(0, 0, count), **common
        )

    def stream_put(self, srcbuf: Place, count: int, dst: int, stream_id: int, **common: Any) -> Request:
        """Sends `count` elements into stream `stream_id` (0 to 246) of the kernels of the rank `dst`."""
        if not 0 <= word("stream_put", "stream_id", stream_id) < MAX_STREAMS:
            raise InputError(f"stream {stream_id}; must be 0 to {MAX_STREAMS - 1}")
        to = Stream(type_of(srcbuf) if isinstance(srcbuf, (Buffer, Stream)) else np.float32)
        places = (srcbuf, None, to)
        return self.call(_Scenario.SEND, places, count=count, root=dst, tag=stream_id, needs=(count, 0, 0), **common)

    def bcast(self, buf: Place, count: int, root: int, **common: Any) -> Request:
        """Broadcasts `count` elements of the root's `buf` into `buf` of all ranks."""
        places, needs = (
            ((buf, None, None), (count, 0, 0)) if self._is(root, common) else ((None, None, buf), (0, 0, count))
        )
        return self.call(_Scenario.BCAST, places, count=count, root=root, needs=needs, **common)

    def scatter(self, sendbuf: Place, recvbuf: Place, count: int, root: int, **common: Any) -> Request:
        """Sends block r of the root's `sendbuf` (size * count elements) to rank r, into `recvbuf` (count elements)."""
        needs = (count * self._size(common) if self._is(root, common) else 0, 0, count)
        return self.call(_Scenario.SCATTER, (sendbuf, None, recvbuf), count=count, root=root, needs=needs, **common)

    def gather(self, sendbuf: Place, recvbuf: Place, count: int, root: int, **common: Any) -> Request:
        """Collects the ranks' `sendbuf` (count elements) in rank order in the root's `recvbuf` (size * count elements)."""
        needs = (count, 0, count * self._size(common) if self._is(root, common) else 0)
        return self.call(_Scenario.GATHER, (sendbuf, None, recvbuf), count=count, root=root, needs=needs, **common)

    def allgather(self, sendbuf: Place, recvbuf: Place, count: int, **common: Any) -> Request:
        """Collects the ranks' `sendbuf` (count elements) in rank order in all ranks' `recvbuf` (size * count elements)."""
        needs = (count, 0, count * self._size(common))
        return self.call(_Scenario.ALLGATHER, (sendbuf, None, recvbuf), count=count, needs=needs, **common)

    def reduce(self, sendbuf: Place, recvbuf: Place, count: int, root: int, function: int, **common: Any) -> Request:
        """Reduces the ranks' `sendbuf` with a `Function`, into the root's `recvbuf` (count elements each)."""
        needs = (count, 0, count if self._is(root, common) else 0)
        places = (sendbuf, None, recvbuf)
        return self.call(_Scenario.REDUCE, places, count=count, root=root, function=function, needs=needs, **common)

    def allreduce(self, sendbuf: Place, recvbuf: Place, count: int, function: int, **common: Any) -> Request:
        """Reduces the ranks' `sendbuf` with a `Function`, into all ranks' `recvbuf` (count elements each)."""
        places, needs = (sendbuf, None, recvbuf), (count, 0, count)
        return self.call(_Scenario.ALLREDUCE, places, count=count, function=function, needs=needs, **common)

    def reduce_scatter(self, sendbuf: Place, recvbuf: Place, count: int, function: int, **common: Any) -> Request:
        """Reduces the ranks' `sendbuf` (size * count elements); rank r gets block r in `recvbuf` (count elements)."""
        places, needs = (sendbuf, None, recvbuf), (count * self._size(common), 0, count)
        return self.call(_Scenario.REDUCE_SCATTER, places, count=count, function=function, needs=needs, **common)

    def alltoall(self, sendbuf: Place, recvbuf: Place, count: int, **common: Any) -> Request:
        """Sends block r of `sendbuf` to rank r, and receives its block into `recvbuf` (size * count elements each)."""
        all_of = count * self._size(common)
        places, needs = (sendbuf, None, recvbuf), (all_of, 0, all_of)
        return self.call(_Scenario.ALLTOALL, places, count=count, needs=needs, **common)

    # Kernels.

    def arithmetic(self, dtype: npt.DTypeLike = np.float32, compress_dtype: npt.DTypeLike | None = None) -> int:
        """Returns the address of the arithmetic configuration of an element type, which kernels pass to the engine.

        Raises InputError if the engine does not support the pair of types.
        """
        wide = np.dtype(dtype).name
        narrow = wide if compress_dtype is None else np.dtype(compress_dtype).name
        if (wide, narrow) not in self._arithmetic:
            raise InputError(f"no arithmetic for {wide} sent as {narrow}; element types are {', '.join(UNITS)}")
        return self._arithmetic[wide, narrow]

    @property
    def clock_hz(self) -> float:
        """Clock of the engine and the kernels in Hz."""
        return self._network.clock_hz(self._board)

    def kernel_port(self, stream: int = 0, pair: int = 0, depth: int = 64) -> KernelPort:
        """Returns the streams by which a kernel calls the engine and exchanges data with it.

        The same arguments give the same streams.

        Parameters
        ----------
        stream : int, optional
            Number of the data stream from the engine, 0 to 246.
        pair : int, optional
            Number of the pair of command and status stream.
        depth : int, optional
            Capacity of the data streams in words of 64 bytes.

        Returns
        -------
        KernelPort
            Streams of commands, status, and data in both directions.

        Raises
        ------
        InputError
            A number is out of range.
        """
        if not 0 <= word("kernel_port", "stream", stream) < MAX_STREAMS:
            raise InputError(f"stream {stream}; must be 0 to {MAX_STREAMS - 1}")
        made = self._kernel_stream
        return KernelPort(
            made("commands", pair),
            made("status", pair),
            made("to engine", 0, depth),
            made("from engine", stream, depth),
        )

    def kernel_stream(self, name: str = "stream", depth: int = 2) -> KernelStream:
        """Makes a stream between two kernels of this rank, with a capacity of `depth` words."""
        return self._kernel_stream("between", 0, depth, name)

    def _kernel_stream(self, what: str, number: int, depth: int = 1, name: str = "") -> KernelStream:
        if word("a stream", "its depth", depth) < 1:
            raise InputError(f"a stream of {depth} words; must be at least 1")
        number = word("kernel_port", "pair" if what in ("commands", "status") else "stream", number)
        made = self._network.kernel_stream(self._board, what, number, depth, name)
        return KernelStream(self._board, made, name or what, self._run)

    def start(
        self,
        kernels: Kernels,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        max_cycles: int | None = None,
        patience: float = 60.0,
        **more: Any,
    ) -> StartedKernel:
        """Starts a kernel, which runs concurrently with the program.

        Buffers' arrays are copied to the memory first. `StartedKernel.wait` copies back those whose pointers are not const;
        until then calls do not overwrite them.

        Parameters
        ----------
        kernels : Kernels
            Compiled source.
        name : str
            The kernel's function.
        arguments : mapping, optional
            Values by argument name: number, Buffer, or KernelStream.
        max_cycles : int, optional
            Cycles after which the kernel fails, as it seems not to end.
        patience : float, optional
            Seconds of processor time that a loop may take without an access to a stream or memory; 0 for no limit.
        **more
            Further arguments of the kernel.

        Returns
        -------
        StartedKernel
            The running kernel.

        Raises
        ------
        InputError
            Unknown kernel, or a missing, unknown or invalid argument.
        """
        given = {**(arguments or {}), **more}
        for key, each in given.items():
            if isinstance(each, Buffer | KernelStream):
                run = each.rank._run if isinstance(each, Buffer) else each._run
                self._check_run(f"kernel {name}: argument {key}", run)
        memories = {
            key: Memory(each.rank.rank, each.host, each.address, each.array.nbytes, each.array.dtype.name)
            if isinstance(each, Buffer)
            else each
            for key, each in given.items()
        }
        kernel, values = packed(kernels, name, self._board, memories)
        results = []
        for argument in kernel.arguments:
            if isinstance(buffer := given[argument.name], Buffer):
                buffer.store_older()
                results += [] if argument.constant else [buffer]
        started = StartedKernel(self, f"kernel {name}", results)
        self._run.start_kernel(
            started,
            rank=self._board,
            library=str(kernels.library),
            kernel=name,
            arguments=values,
            serves=kernel.restarts,
            limit=max_cycles,
            patience=patience,
        )
        self._newer.add(started)
        return started

    # The stream between the engine and kernels.

    def push(self, data: npt.ArrayLike) -> None:
        """Sends elements into the engine's stream as a kernel does, padded to words of 64 bytes.

        Python numbers and lists become float32.
        """
        self._network.give(self._board, array_of(data, None if hasattr(data, "dtype") else np.float32).tobytes())

    def pull(self, dtype: npt.DTypeLike = np.float32) -> list[Packet]:
        """Returns the messages that have left the engine for kernels since the last call, padded to words of 64 bytes."""
        us = 1e6 / self._network.ticks_per_second
        return [
            Packet(stream, np.frombuffer(data, native(dtype)), tick * us)
            for stream, data, tick in self._network.take(self._board)
        ]
