# SPDX-License-Identifier: Apache-2.0
"""Steps of programs on several ranks, with expected results computed by NumPy. `drawn_programs` draws programs of these
steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg.systems.accl.library import Rank
from thalweg.systems.accl.values import Buffer, Communicator, Function, Request, Stream

Array = npt.NDArray[Any]
TYPES = ("float16", "float32", "float64", "int32", "int64", "int8")
FUNCTIONS = {Function.SUM: np.add, Function.MAX: np.maximum, Function.PROD: np.multiply, Function.MIN: np.minimum}
ROOTED = ("bcast", "scatter", "gather", "reduce")
OPERATIONS = (*ROOTED, "allgather", "allreduce", "reduce_scatter", "alltoall")

BUFFERS = 200  #: receive buffers of a rank
_MAX_BUFFER_BYTES = 2048
_BEHIND_US = 50  #: maximum time between the ends of a barrier on two ranks


def data_of(key: int, rank: int, elements: int, dtype: str) -> Array:
    """Returns a rank's data: integers from -1 to 2, whose sums and products over 16 ranks are exact in float16."""
    return np.random.default_rng([key, rank]).integers(-1, 3, elements).astype(dtype)


def expected(operation: str, inputs: list[Array], count: int, root: int, function: Function) -> list[Array | None]:
    """Returns each rank's expected result; None if it has none."""
    size, combine = len(inputs), FUNCTIONS[function].reduce
    with np.errstate(over="ignore"):
        if operation == "bcast":
            return [inputs[root][:count]] * size
        if operation == "scatter":
            return [inputs[root][rank * count : (rank + 1) * count] for rank in range(size)]
        if operation == "gather":
            return [np.concatenate([i[:count] for i in inputs]) if rank == root else None for rank in range(size)]
        if operation == "reduce":
            return [
                _same(combine([i[:count] for i in inputs]), inputs) if rank == root else None for rank in range(size)
            ]
        if operation == "allgather":
            return [np.concatenate([i[:count] for i in inputs])] * size
        if operation == "allreduce":
            return [_same(combine([i[:count] for i in inputs]), inputs)] * size
        if operation == "reduce_scatter":
            whole = _same(combine([i[: size * count] for i in inputs]), inputs)
            return [whole[rank * count : (rank + 1) * count] for rank in range(size)]
        assert operation == "alltoall"
        blocks = [[i[rank * count : (rank + 1) * count] for i in inputs] for rank in range(size)]
        return [np.concatenate(of) for of in blocks]


def _same(result: Array, inputs: list[Array]) -> Array:
    return result.astype(inputs[0].dtype)


def start(
    rank: Rank,
    operation: str,
    send: Buffer | Stream,
    recv: Buffer | Stream,
    count: int,
    root: int,
    function: Function,
    **common: Any,
) -> Request:
    call = getattr(rank, operation)
    if operation == "bcast":
        comm = common.get("comm") or rank.world
        request: Request = call(send if comm.rank == root else recv, count, root, **common)
    elif operation == "reduce":
        request = call(send, recv, count, root, function, **common)
    elif operation in ROOTED:
        request = call(send, recv, count, root, **common)
    elif operation in ("allreduce", "reduce_scatter"):
        request = call(send, recv, count, function, **common)
    else:
        request = call(send, recv, count, **common)
    return request


@dataclass
class RankState:
    """State of a rank that runs a program."""

    rank: Rank
    comms: Sequence[Communicator | None]
    alone: bool = False  #: at most one call in progress
    open: list[Request] = field(default_factory=list)
    took_us: list[tuple[str, float]] = field(default_factory=list)  #: operation and duration of calls that have ended
    results: dict[Any, Array] = field(default_factory=dict)

    @property
    def number(self) -> int:
        return self.rank.rank

    def caller(self, by_kernel: bool) -> Rank:
        return self.rank.kernel() if by_kernel else self.rank

    def source(self, data: Array, host: bool, stream: bool = False) -> Buffer | Stream:
        """Returns an operand with these elements."""
        if not stream:
            return self.rank.create_buffer(data, host=host)
        self.rank.push(data)
        return Stream(data.dtype)

    def target(self, key: Any, count: int, dtype: str, host: bool, stream: bool = False) -> Buffer | Stream:
        """Returns a buffer or stream for the result with this key."""
        if stream:
            return Stream(np.dtype(dtype))
        buffer = self.rank.create_buffer(count, dtype, host=host)
        self.results[key] = buffer.array
        return buffer

    def add(self, *requests: Request) -> None:
        """Adds calls in progress."""
        self.open += requests
        if self.alone:
            self.wait(self.open)

    def wait(self, requests: Sequence[Request]) -> None:
        for request in requests:
            request.wait()
            self.took_us.append((request.operation, request.duration_us))
        self.open = [request for request in self.open if request not in requests]


class Step:
    """A step of a program on some ranks. Results are identified by the step's key, or by a pair of it and a number."""

    def begin(self, on: RankState) -> None:
        """Executes the step on a rank; called on every rank."""

    def right(self, rank: int) -> dict[Any, Array]:
        """Expected results of a rank."""
        return {}

    def packets(self, rank: int) -> list[tuple[int, Array]]:
        """Expected packets of a rank's kernel: streams and elements."""
        return []

    def load(self) -> tuple[int, int]:
        """Maximum calls, and bytes in receive buffers, at one rank."""
        return 0, 0


@dataclass
class Collective(Step):
    key: int
    group: int
    members: list[int]
    operation: str
    count: int
    root: int
    function: Function
    dtype: str
    narrow: bool
    hosts: tuple[bool, bool]
    by_kernel: list[bool]  #: caller of each rank
    from_stream: set[int]
    to_stream: set[int]

    def begin(self, on: RankState) -> None:
        comm = on.comms[self.group]
        if comm is None:
            return
        length = len(self.members) * self.count
        data = data_of(self.key, on.number, length, self.dtype)
        from_stream, to_stream = on.number in self.from_stream, on.number in self.to_stream
        send = on.source(data[: self.count] if from_stream else data, self.hosts[0], from_stream)
        recv = on.target(self.key, length, self.dtype, self.hosts[1], to_stream)
        common: dict[str, Any] = {
            "comm": comm,
            "run_async": True,
            "compress_dtype": np.float16 if self.narrow else None,
        }
        caller = on.caller(self.by_kernel[on.number])
        on.add(start(caller, self.operation, send, recv, self.count, self.root, self.function, **common))

    def _right(self, rank: int) -> Array | None:
        if rank not in self.members or (self.operation == "bcast" and rank == self.members[self.root]):
            return None
        inputs = [data_of(self.key, member, len(self.members) * self.count, self.dtype) for member in self.members]
        return expected(self.operation, inputs, self.count, self.root, self.function)[self.members.index(rank)]

    def right(self, rank: int) -> dict[Any, Array]:
        right = self._right(rank)
        return {} if right is None or rank in self.to_stream else {self.key: right}

    def packets(self, rank: int) -> list[tuple[int, Array]]:
        right = self._right(rank)
        return [(0, right)] if right is not None and rank in self.to_stream else []

    def load(self) -> tuple[int, int]:
        bytes_ = self.count * np.dtype(self.dtype).itemsize
        if (
            self.operation == "bcast"
        ):  # in parts of 512 bytes, with flat_bytes=1024; parts and acknowledgements use at most BUFFERS // 4 buffers
            return 1, max(2 * bytes_, min(2 * bytes_ // 512, BUFFERS // 4) * _MAX_BUFFER_BYTES)
        return 1, 2 * len(self.members) * bytes_


@dataclass
class Part:
    """A message: its elements, and memory, type and caller at both ends."""

    tag: int | None
    count: int
    dtype: str
    narrow: bool
    hosts: tuple[bool, bool]
    by_kernel: tuple[bool, bool]
    streams: tuple[bool, bool] = (False, False)

    @property
    def common(self) -> dict[str, Any]:
        tag = {} if self.tag is None else {"tag": self.tag}
        return {"run_async": True, "compress_dtype": np.float16 if self.narrow else None, **tag}


@dataclass
class Messages(Step):
    """Messages from one rank to another or to itself, received in `order`: with tags, or all with any tag."""

    key: int
    group: int
    source: int
    destination: int
    parts: list[Part]
    order: list[int]

    def data(self, k: int) -> Array:
        return data_of(self.key + k, self.source, self.parts[k].count, self.parts[k].dtype)

    def begin(self, on: RankState) -> None:
        comm = on.comms[self.group]
        if on.number == self.source:
            for k, part in enumerate(self.parts):
                send = on.source(self.data(k), part.hosts[0], part.streams[0])
                caller = on.caller(part.by_kernel[0])
                on.add(caller.send(send, part.count, self.destination, comm=comm, **part.common))
        if on.number == self.destination:
            for k in self.order:
                part = self.parts[k]
                recv = on.target((self.key, k), part.count, part.dtype, part.hosts[1], part.streams[1])
                caller = on.caller(part.by_kernel[1])
                on.add(caller.recv(recv, part.count, self.source, comm=comm, **part.common))

    def right(self, rank: int) -> dict[Any, Array]:
        if rank != self.destination:
            return {}
        return {(self.key, k): self.data(k) for k, part in enumerate(self.parts) if not part.streams[1]}

    def packets(self, rank: int) -> list[tuple[int, Array]]:
        if rank != self.destination:
            return []
        return [((part.tag or 0) & 0xFF, self.data(k)) for k, part in enumerate(self.parts) if part.streams[1]]

    def load(self) -> tuple[int, int]:
        return 2 * len(self.parts), sum(part.count * np.dtype(part.dtype).itemsize for part in self.parts)


@dataclass
class Put(Step):
    """Data for a stream of another rank's kernel."""

    key: int
    source: int
    destination: int
    part: Part
    stream: int

    @property
    def data(self) -> Array:
        return data_of(self.key, self.source, self.part.count, self.part.dtype)

    def begin(self, on: RankState) -> None:
        if on.number != self.source:
            return
        part = self.part
        caller, send = on.caller(part.by_kernel[0]), on.source(self.data, part.hosts[0], part.streams[0])
        on.add(caller.stream_put(send, part.count, self.destination, self.stream, run_async=True))

    def packets(self, rank: int) -> list[tuple[int, Array]]:
        return [(self.stream, self.data)] if rank == self.destination else []

    def load(self) -> tuple[int, int]:
        return 1, 0


@dataclass
class Relay(Step):
    """A message that `via` forwards to `destination`, by calls for which the program does not wait.

    Each call follows the previous one in a chain, or because it uses the same data; a call that overwrites the data
    follows all of them.
    """

    key: int
    source: int
    via: int
    destination: int
    count: int
    chain: bool
    by_kernel: tuple[bool, bool]  #: callers; the same without chain

    def begin(self, on: RankState) -> None:
        count, kind, tag = self.count, "int32", self.key
        if on.number == self.source:
            send = on.source(data_of(self.key, self.source, count, kind), False)
            on.add(on.rank.send(send, count, self.via, tag, run_async=True))
        if on.number == self.via:
            first, second, other = (on.rank.create_buffer(count, kind, host=host) for host in (True, False, False))
            other.sync_to_device()
            caller, then = (on.caller(by_kernel) for by_kernel in self.by_kernel)
            common: dict[str, Any] = {"run_async": True, "from_fpga": True, "to_fpga": True}
            requests = [caller.recv(first, count, self.source, tag, **common)]
            requests += [then.copy(first, second, count, waitfor=requests if self.chain else [], **common)]
            after = requests[1:] if self.chain else []
            requests += [caller.send(second, count, self.destination, tag + 1, waitfor=after, **common)]
            if not self.chain:
                requests += [caller.copy(other, second, count, **common), caller.copy(other, first, count, **common)]
            on.add(*requests)
        if on.number == self.destination:
            recv = on.target(self.key, count, kind, False)
            on.add(on.rank.recv(recv, count, self.via, tag + 1, run_async=True))

    def right(self, rank: int) -> dict[Any, Array]:
        return {self.key: data_of(self.key, self.source, self.count, "int32")} if rank == self.destination else {}

    def load(self) -> tuple[int, int]:
        return 7, 8 * self.count


@dataclass
class Local(Step):
    """A copy or combination on each rank."""

    key: int
    count: int
    dtype: str
    function: Function | None  #: None: a copy
    hosts: tuple[bool, bool]
    by_kernel: list[bool]
    from_stream: set[int]

    def data(self, rank: int, operand: int) -> Array:
        return data_of(self.key + operand, rank, self.count, self.dtype)

    def begin(self, on: RankState) -> None:
        caller = on.caller(self.by_kernel[on.number])
        one = on.source(self.data(on.number, 0), self.hosts[0], on.number in self.from_stream)
        to = on.target(self.key, self.count, self.dtype, self.hosts[1])
        if self.function is None:
            request = caller.copy(one, to, self.count, run_async=True)
        else:
            other = on.source(self.data(on.number, 1), self.hosts[1])
            request = caller.combine(self.count, self.function, one, other, to, run_async=True)
        on.add(request)

    def right(self, rank: int) -> dict[Any, Array]:
        one = self.data(rank, 0)
        if self.function is None:
            return {self.key: one}
        with np.errstate(over="ignore"):
            return {self.key: FUNCTIONS[self.function](one, self.data(rank, 1))}

    def load(self) -> tuple[int, int]:
        return 1, 0


@dataclass
class Long(Step):
    """More segments than receive buffers, from one rank of a pair to the other, which receives or reduces them.

    The source's memory is slower than the link, and the destination calls first, so no segment is lost.
    """

    key: int
    group: int
    source: int
    destination: int
    root: int  #: destination in the group
    count: int
    dtype: str
    narrow: bool
    function: Function | None  #: None: a message
    by_kernel: list[bool]  #: caller of each rank

    def begin(self, on: RankState) -> None:
        if on.number not in (self.source, self.destination):
            return
        comm, caller = on.comms[self.group], on.caller(self.by_kernel[on.number])
        common: dict[str, Any] = {"comm": comm, "compress_dtype": np.float16 if self.narrow else None}
        common["run_async"] = True
        sends = on.number == self.source
        if sends:
            on.rank.pause(_BEHIND_US)
        data = on.source(data_of(self.key, on.number, self.count, self.dtype), sends)
        if self.function is not None:
            to = on.target(self.key, self.count, self.dtype, False)
            on.add(caller.reduce(data, to, self.count, self.root, self.function, **common))
        elif sends:
            on.add(caller.send(data, self.count, self.root, **common))
        else:
            to = on.target(self.key, self.count, self.dtype, False)
            on.add(caller.recv(to, self.count, 1 - self.root, **common))

    def right(self, rank: int) -> dict[Any, Array]:
        if rank != self.destination:
            return {}
        inputs = [data_of(self.key, one, self.count, self.dtype) for one in (self.source, self.destination)]
        return {self.key: inputs[0] if self.function is None else _same(FUNCTIONS[self.function](*inputs), inputs)}

    def load(self) -> tuple[int, int]:
        return 1, _MAX_BUFFER_BYTES


@dataclass
class Barrier(Step):
    group: int
    by_kernel: list[bool]
    together: bool  #: all ranks wait for all their calls

    def begin(self, on: RankState) -> None:
        if self.together:
            on.wait(on.open)
        if comm := on.comms[self.group]:
            on.add(on.caller(self.by_kernel[on.number]).barrier(comm=comm, run_async=True))
        if self.together:
            on.wait(on.open)

    def load(self) -> tuple[int, int]:
        return 1, 0


@dataclass
class Wait(Step):
    ranks: set[int]
    limit_us: float | None  #: None: until all its calls have ended

    def begin(self, on: RankState) -> None:
        if on.number not in self.ranks:
            return
        if self.limit_us is None:
            on.wait(on.open)
        elif on.open:
            on.open[-1].wait(self.limit_us)
        else:
            on.rank.pause(self.limit_us)
