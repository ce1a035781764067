# SPDX-License-Identifier: Apache-2.0
"""ACCL's operations for Python programs, with numpy arrays in the memory of a board. launch.py runs programs.

Names and the order of arguments are those of ACCL's driver. A rank that waits lets the others go on; virtual time passes when all wait, so a
program takes the same virtual time in each run.
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
from thalweg.systems.accl.newer import Newer
from thalweg.systems.accl.running import Run
from thalweg.systems.accl.values import (
    ALL,
    ANY_TAG,
    MOST_STREAMS,
    UNITS,
    Buffer,
    Communicator,
    Packet,
    Place,
    Request,
    Started,
    Stream,
    array_of,
    microseconds,
    native,
    type_of,
    word,
)

EXCHANGE_END = 0x1FC4  #: of the words that communicators may take; the engine's registers follow


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


# Of these, the result may be where the operand is.
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
    """The exchange memory, which a rank shares with its views."""

    free: int  #: the first address that nothing uses yet


class Rank:
    """What a program's rank calls: ACCL's operations on its board.

    Each returns a Request that has ended, or with `run_async` at once. Arguments behind the operation's own: `comm`, a communicator other than all
    ranks; `from_fpga`, `to_fpga`: operands are in the memory already, results stay there; `compress_dtype`: float16 on the wire for operands of
    float32; `waitfor`: requests that end before it begins.
    """

    def __init__(self, run: Run, board: int) -> None:
        self._run, self._board, self._network = run, board, run.network
        self._port = 0
        self._memory = {False: 0, True: 0}
        self._exchange = _Exchange(0x8 + 28 * run.options.buffers)
        self._arithmetic: dict[tuple[str, str], int] = {}
        self._newer = Newer()
        self.world = self._initialize()

    @property
    def rank(self) -> int:
        return self._board

    @property
    def size(self) -> int:
        return self.world.size

    @property
    def now_us(self) -> float:
        return self._run.now_us

    def pause(self, us: float) -> None:
        """Lets so many microseconds of virtual time pass."""
        self._run.park([], microseconds(us))

    def kernel(self) -> Rank:
        """The same rank as its board's kernels see it: their calls take no time of the host."""
        view = object.__new__(Rank)
        view.__dict__ = self.__dict__ | {"_port": 2}
        return view

    def rewire(self, pairs: Sequence[tuple[int, int]]) -> None:
        """The optical switch connects these pairs of boards, and no others: from now on what boards send on other connections is lost, and on new ones until the
        mirrors have turned. Raises InputError."""
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
        """Resets the engine, and sets it up again: all calls of this rank's host and kernels end, and to wait for one raises AcclError. Messages are counted from 0
        again, so the other ranks of its communicators reset theirs, too; their calls that wait for this rank end by their time-outs."""
        self.call(_Scenario.CONFIG, function=0, comm=self.world)
        self._run.forget(self._board)
        self._enable(self.world)

    def _put(self, address: int, words: Iterable[int]) -> None:
        for k, value in enumerate(words):
            if not self._network.write(self._board, address + 4 * k, value):
                raise InputError(f"the exchange memory has no word {address + 4 * k:#x}")

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
            f"the exchange memory is full: {buffers} receive buffers, and communicators, take more than {EXCHANGE_END} bytes"
        )

    def _communicator(self, boards: Sequence[int]) -> Communicator:
        rank = list(boards).index(self._board)
        words = [len(boards), rank]
        for board in boards:
            words += [0x7F00_0001, 5500 + board, 0, 0, board, self._run.options.buffer_bytes]
        return Communicator(self._append(words), boards, rank)

    def create_communicator(self, ranks: Sequence[int]) -> Communicator | None:
        """Of some of all ranks, in that order; None where this rank is not among them. Raises InputError."""
        boards = [word("a communicator", "a rank", rank) for rank in ranks]
        if not boards or len(set(boards)) != len(boards) or not set(boards) <= set(range(self.size)):
            raise InputError(f"a communicator of ranks {boards}; each is one of {self.size}, once")
        return self._communicator(boards) if self._board in boards else None

    def _allocate(self, size: int, host: bool) -> int:
        address = self._memory[host]
        if size >> 62:
            raise InputError(f"a buffer of {size} bytes")
        try:
            self._network.allocate(self._board, host, address, size)
        except ValueError as error:
            raise InputError(str(error)) from None
        self._memory[host] += -(-size // 4096) * 4096
        return address

    def create_buffer(
        self, length: int | npt.ArrayLike, dtype: npt.DTypeLike | None = None, host: bool = False
    ) -> Buffer:
        """A buffer of so many elements, which are zero, or of an array's elements. Raises InputError."""
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
        """A call with operands 0, 1 and the result, of which it uses `needs` elements."""
        name = scenario.name.lower()
        if unknown:
            raise TypeError(f"{name}() got an unexpected keyword argument {next(iter(unknown))!r}")
        comm = self._among(name, comm)
        for k, (place, need) in enumerate(zip(operands, needs, strict=True)):
            if place is None and need:
                raise InputError(f"{name}: no buffer for its {('operand 0', 'operand 1', 'result')[k]}")
            if not isinstance(place, Place):
                raise InputError(f"{name}: {type(place).__name__} in place of a Buffer or a Stream")
            if isinstance(place, Buffer) and place.rank._board != self._board:
                raise InputError(f"{name}: a buffer in the memory of rank {place.rank.rank}")
        words = [int(scenario), word(name, "count", count), comm.address, word(name, "the other rank or root", root)]
        words += [word(name, "function", function), word(name, "tag", tag)]
        types = {type_of(place) for place in operands if place is not None}
        compressed = None if compress_dtype is None else native(compress_dtype).name
        wide = "float32" if "float32" in types else next(iter(types), "float32")
        narrow = "float16" if wide == "float32" and (compressed == "float16" or "float16" in types) else wide
        if types - {wide, narrow} or compressed not in (None, wide, narrow):
            raise InputError(
                f"{name}: operands of types {', '.join(sorted(types))}; they have one, or float32 and float16"
            )
        compression = 8 if narrow != wide and compressed == narrow else 0
        stream = 0
        addresses = []
        for k, (place, need) in enumerate(zip(operands, needs, strict=True)):
            if place is not None and narrow != wide and type_of(place) == narrow:
                compression |= 1 << k
            if isinstance(place, Stream):
                if k == 1:
                    raise InputError(f"{name}: operand 1 is in memory")
                stream |= 1 if k == 0 else 2
            elif place is not None:
                if len(place) < need:
                    raise InputError(f"{name}: a buffer of {len(place)} elements; it takes {need}")
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
            raise InputError(f"{name}: waitfor is a sequence of requests")
        if other := next((before for before in waitfor if before.rank._board != self._board), None):
            raise InputError(f"{name}: waitfor has a request of rank {other.rank.rank}")
        request = Request(self, name, [result[: needs[2]] for result in results], tuple(waitfor), words=words)
        self._run.submit(request, self._board, self._port)
        if not request.done:
            self._newer.add(request)
        if not run_async:
            request.wait()
        return request

    def _among(self, name: str, comm: Communicator | None) -> Communicator:
        if comm is ALL:
            return self.world
        if comm is None:
            raise InputError(f"{name}: comm is None; this rank is not in that communicator")
        if not isinstance(comm, Communicator):
            raise InputError(f"{name}: {type(comm).__name__} in place of a Communicator")
        if comm.boards[comm.rank] != self._board:
            raise InputError(f"{name}: a communicator that rank {comm.boards[comm.rank]} has made")
        return comm

    def _size(self, common: dict[str, Any]) -> int:
        return self._among("comm", common.get("comm", ALL)).size

    def _is(self, root: int, common: dict[str, Any]) -> bool:
        return self._among("comm", common.get("comm", ALL)).rank == root

    @staticmethod
    def _check_overlap(scenario: _Scenario, places: Sequence[Place], needs: Sequence[int], own: int) -> None:
        """The engine writes a result while it still reads operands. `own`: elements before this rank's block."""
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
        return self.call(_Scenario.NOP, **common)

    def barrier(self, **common: Any) -> Request:
        return self.call(_Scenario.BARRIER, **common)

    def copy(self, srcbuf: Place, dstbuf: Place, count: int, **common: Any) -> Request:
        return self.call(_Scenario.COPY, (srcbuf, None, dstbuf), count=count, needs=(count, 0, count), **common)

    def combine(self, count: int, function: int, val1: Place, val2: Place, result: Place, **common: Any) -> Request:
        places = (val1, val2, result)
        return self.call(_Scenario.COMBINE, places, count=count, function=function, needs=(count,) * 3, **common)

    def send(self, srcbuf: Place, count: int, dst: int, tag: int = ANY_TAG, **common: Any) -> Request:
        return self.call(
            _Scenario.SEND, (srcbuf, None, None), count=count, root=dst, tag=tag, needs=(count, 0, 0), **common
        )

    def recv(self, dstbuf: Place, count: int, src: int, tag: int = ANY_TAG, **common: Any) -> Request:
        return self.call(
            _Scenario.RECV, (None, None, dstbuf), count=count, root=src, tag=tag, needs=(0, 0, count), **common
        )

    def stream_put(self, srcbuf: Place, count: int, dst: int, stream_id: int, **common: Any) -> Request:
        """Into a stream of the destination's kernels."""
        if not 0 <= word("stream_put", "stream_id", stream_id) < MOST_STREAMS:
            raise InputError(f"stream {stream_id}; their numbers are 0 to {MOST_STREAMS - 1}")
        to = Stream(type_of(srcbuf) if isinstance(srcbuf, (Buffer, Stream)) else np.float32)
        places = (srcbuf, None, to)
        return self.call(_Scenario.SEND, places, count=count, root=dst, tag=stream_id, needs=(count, 0, 0), **common)

    def bcast(self, buf: Place, count: int, root: int, **common: Any) -> Request:
        places, needs = (
            ((buf, None, None), (count, 0, 0)) if self._is(root, common) else ((None, None, buf), (0, 0, count))
        )
        return self.call(_Scenario.BCAST, places, count=count, root=root, needs=needs, **common)

    def scatter(self, sendbuf: Place, recvbuf: Place, count: int, root: int, **common: Any) -> Request:
        needs = (count * self._size(common) if self._is(root, common) else 0, 0, count)
        return self.call(_Scenario.SCATTER, (sendbuf, None, recvbuf), count=count, root=root, needs=needs, **common)

    def gather(self, sendbuf: Place, recvbuf: Place, count: int, root: int, **common: Any) -> Request:
        needs = (count, 0, count * self._size(common) if self._is(root, common) else 0)
        return self.call(_Scenario.GATHER, (sendbuf, None, recvbuf), count=count, root=root, needs=needs, **common)

    def allgather(self, sendbuf: Place, recvbuf: Place, count: int, **common: Any) -> Request:
        needs = (count, 0, count * self._size(common))
        return self.call(_Scenario.ALLGATHER, (sendbuf, None, recvbuf), count=count, needs=needs, **common)

    def reduce(self, sendbuf: Place, recvbuf: Place, count: int, root: int, function: int, **common: Any) -> Request:
        needs = (count, 0, count if self._is(root, common) else 0)
        places = (sendbuf, None, recvbuf)
        return self.call(_Scenario.REDUCE, places, count=count, root=root, function=function, needs=needs, **common)

    def allreduce(self, sendbuf: Place, recvbuf: Place, count: int, function: int, **common: Any) -> Request:
        places, needs = (sendbuf, None, recvbuf), (count, 0, count)
        return self.call(_Scenario.ALLREDUCE, places, count=count, function=function, needs=needs, **common)

    def reduce_scatter(self, sendbuf: Place, recvbuf: Place, count: int, function: int, **common: Any) -> Request:
        places, needs = (sendbuf, None, recvbuf), (count * self._size(common), 0, count)
        return self.call(_Scenario.REDUCE_SCATTER, places, count=count, function=function, needs=needs, **common)

    def alltoall(self, sendbuf: Place, recvbuf: Place, count: int, **common: Any) -> Request:
        all_of = count * self._size(common)
        places, needs = (sendbuf, None, recvbuf), (all_of, 0, all_of)
        return self.call(_Scenario.ALLTOALL, places, count=count, needs=needs, **common)

    # Kernels.

    def arithmetic(self, dtype: npt.DTypeLike = np.float32, compress_dtype: npt.DTypeLike | None = None) -> int:
        """The address of the arithmetic configuration for a type, which kernels give to the engine."""
        wide = np.dtype(dtype).name
        narrow = wide if compress_dtype is None else np.dtype(compress_dtype).name
        if (wide, narrow) not in self._arithmetic:
            raise InputError(f"no arithmetic for {wide}, {narrow} on the wire; types are {', '.join(UNITS)}")
        return self._arithmetic[wide, narrow]

    @property
    def clock_hz(self) -> float:
        """Of the engine and the kernels."""
        return self._network.clock_hz(self._board)

    def kernel_port(self, stream: int = 0, pair: int = 0, depth: int = 64) -> KernelPort:
        """Streams to the engine and from it: those of commands and status, of which a rank may have several pairs, the data stream to it, and the
        one of a number from it. Data streams have `depth` words. The same call gives the same streams."""
        if not 0 <= word("kernel_port", "stream", stream) < MOST_STREAMS:
            raise InputError(f"stream {stream}; their numbers are 0 to {MOST_STREAMS - 1}")
        made = self._kernel_stream
        return KernelPort(
            made("commands", pair),
            made("status", pair),
            made("to engine", 0, depth),
            made("from engine", stream, depth),
        )

    def kernel_stream(self, name: str = "stream", depth: int = 2) -> KernelStream:
        """A new stream between two kernels of this rank."""
        return self._kernel_stream("between", 0, depth, name)

    def _kernel_stream(self, what: str, number: int, depth: int = 1, name: str = "") -> KernelStream:
        if word("a stream", "its depth", depth) < 1:
            raise InputError(f"a stream of {depth} words; it has 1 or more")
        number = word("kernel_port", "pair" if what in ("commands", "status") else "stream", number)
        return KernelStream(
            self._board, self._network.kernel_stream(self._board, what, number, depth, name), name or what
        )

    def start(
        self,
        kernels: Kernels,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        max_cycles: int | None = None,
        patience: float = 60.0,
        **more: Any,
    ) -> Started:
        """Starts a kernel of a source, with its arguments by their names, in a mapping or as keywords: numbers, buffers, streams. It runs beside the program. The arrays of buffers
        are written to the memory; `wait` reads those behind pointers that are not const. Until then they are results of the kernel, which calls do not write over.

        `max_cycles`: after which it is taken for one that does not end. `patience`: seconds of processor time in which a loop may run while no kernel
        uses a stream or memory; 0: any. Raises InputError."""
        given = {**(arguments or {}), **more}
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
        started = Started(self, f"kernel {name}", results)
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
        """Elements into the engine's stream, as a kernel gives them; they are padded to words of 64 bytes. What has no type is float32."""
        self._network.give(self._board, array_of(data, None if hasattr(data, "dtype") else np.float32).tobytes())

    def pull(self, dtype: npt.DTypeLike = np.float32) -> list[Packet]:
        """What has left the engine for kernels since the last call; elements are padded to words of 64 bytes."""
        us = 1e6 / self._network.ticks_per_second
        return [
            Packet(stream, np.frombuffer(data, native(dtype)), tick * us)
            for stream, data, tick in self._network.take(self._board)
        ]
