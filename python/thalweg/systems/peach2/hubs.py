# SPDX-License-Identifier: Apache-2.0
"""Programs on PEACH2's nodes in simulated time: puts, gets, chains of copies, stores and reductions.

    hubs = Hubs("peach2")
    a, b = hubs.nodes[:2]
    a.gpus[0].write(0, numbers)
    put = a.put(b.gpus[0].address(), a.gpus[0].address(), numbers.nbytes)
    hubs.run()
    print(put.time_us, b.gpus[0].read(0, numbers.size, numbers.dtype))

Operations of one node run one after another, operations of different nodes concurrently; `run` executes them. All nodes share one address
space. `Memory.write` and `Memory.read` take no simulated time. A wrong argument raises InputError, one line that names
the argument, and has no effect.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from thalweg.arguments import shown
from thalweg.bench.operation import ENGINES, one_of
from thalweg.cluster import of_system
from thalweg.errors import CheckFailed, FabricStopped, InputError
from thalweg.route.proof import BadRoutes
from thalweg.systems.peach2 import _sim, rtl_engine
from thalweg.systems.peach2.arguments import bytes_of, listed, real, rows, truth, type_of, whole
from thalweg.systems.peach2.cluster import Cluster, pair_of
from thalweg.systems.peach2.routes import check_windows

if TYPE_CHECKING:
    from thalweg.trace import Recorded

Sources = Sequence[tuple[int, int]]
"""Pairs of an address and a number of bytes."""


class WritesLost(FabricStopped):
    """Writes were refused or dropped; the message has a line for each. The line is also the `error` of the write's operation, which is
    not `done`."""


@contextmanager
def _said() -> Iterator[None]:
    """Translates the simulator's exceptions: refused arguments into InputError, others into the classes of thalweg.errors."""
    try:
        yield
    except (ValueError, IndexError) as error:
        raise InputError(str(error)) from None
    except _sim.Difference as error:
        raise CheckFailed(str(error)) from None
    except _sim.WritesLost as error:
        raise WritesLost(str(error)) from None


class Operation:
    """An operation of a node's processor."""

    def __init__(self, hubs: Hubs, times: _sim.Times) -> None:
        self._hubs, self._times, self._stops = hubs, times, hubs.stops

    @property
    def span_us(self) -> tuple[float, float] | None:
        """Its begin and end in us, or None before it has begun; a begun operation without an end has the end `inf`."""
        if self._times.begin < 0:
            return None
        return self.begin_us, self.end_us if self._times.end >= 0 else math.inf

    @property
    def done(self) -> bool:
        """True if it has ended, and none of its writes was refused or dropped."""
        return self._times.end >= 0 and not self._times.error

    @property
    def error(self) -> str:
        """The first of its writes that was refused or dropped, where and why; else empty."""
        return self._times.error

    @property
    def begin(self) -> int:
        """Cycles of the packets' clock since the cluster's start. Raises InputError before the operation has begun."""
        return self._run(self._times.begin)

    @property
    def end(self) -> int:
        """As `begin`. Raises InputError before the operation has ended; one that a stopped run has discarded never ends."""
        return self._run(self._times.end)

    @property
    def begin_us(self) -> float:
        return self.begin / self._hubs.cycles_per_us

    @property
    def end_us(self) -> float:
        return self.end / self._hubs.cycles_per_us

    @property
    def time_us(self) -> float:
        """From begin to end in us. Raises InputError as `end` does."""
        return self.end_us - self.begin_us

    def _run(self, cycle: int) -> int:
        if cycle < 0 and self._stops != self._hubs.stops:
            raise InputError("the operation never ended: a run has stopped, and discarded it")
        if cycle < 0:
            raise InputError("the operation has not been run: run() lets it happen")
        return cycle


class Kept(NamedTuple):
    """An operation that was recorded: its node, the name of its kind, such as `chain`, and what a picture says of it."""

    node: int
    name: str
    operation: Operation
    about: Mapping[str, object]


@dataclass(frozen=True)
class Memory:
    """A memory of a node: its processor's, a GPU's or its hub's. A program may use `size` bytes; the library reserves the last 2 MByte of a
    processor's 8 GByte."""

    hubs: Hubs
    node: int
    number: int

    def __post_init__(self) -> None:
        _check_node(self.hubs, self.node)
        if whole("number", self.number) >= len(_SIZES):
            raise InputError(f"memory {self.number}; a node has 0 to {len(_SIZES) - 1}")

    @property
    def size(self) -> int:
        return _SIZES[self.number]

    def address(self, at: int = 0) -> int:
        """The address of a byte, valid on all nodes."""
        if whole("the place in a memory", at) > self.size:
            raise InputError(f"the place in a memory is {at}; a program has {self.size} bytes of this one")
        if self.number == _sim.HUB_MEMORY:
            return _sim.hub_address(self.node, at)
        return _sim.memory_address(self.node, self.number, at)

    def write(self, at: int, values: ArrayLike) -> None:
        data = bytes_of("values", values)
        with _said():
            self.hubs._sim.write(self.node, self.number, whole("the place in a memory", at), data)

    def read(self, at: int, count: int, dtype: DTypeLike = np.uint8) -> NDArray[Any]:
        """`count` values from byte `at` on, at most 1 GByte."""
        kind = type_of("dtype", dtype)
        place, size = (
            whole("the place in a memory", at),
            whole("count x its type's bytes", whole("count", count) * kind.itemsize),
        )
        with _said():
            return np.frombuffer(self.hubs._sim.read(self.node, self.number, place, size), kind)


_SIZES = (_sim.PROGRAM_BYTES, 1 << 33, 1 << 33, 1 << 29)


def _check_node(hubs: object, number: int) -> None:
    if not isinstance(hubs, Hubs):
        raise InputError(f"hubs is {shown(hubs)}; it is a cluster, as Hubs(...) makes it")
    if whole("node", number) >= hubs._sim.nodes:
        raise InputError(f"node {number}; the last one is {hubs._sim.nodes - 1}")


def _named(memory: object) -> str:
    if not isinstance(memory, Memory):
        return shown(memory)
    return f"memory {memory.number} of node {memory.node}"


@dataclass(frozen=True)
class Reduction:
    """A reduction by a calculator: it combines records of `record_bytes` field by field, or with `tree` all fields into one."""

    op: str = "sum"
    type: str = "float32"
    record_bytes: int = 32
    tree: bool = False
    context: int = 0

    def sim(self, cluster: Cluster) -> _sim.Reduction:
        if not isinstance(self.op, str) or not isinstance(self.type, str):
            raise InputError(
                f"op is {shown(self.op)} and type {shown(self.type)}; they are names such as 'sum', 'float32'"
            )
        pair = f"{self.op} {self.type}"
        if pair not in cluster.node.pairs:
            raise InputError(
                f"{pair!r} is nothing that the calculators of {cluster.name} can: {', '.join(cluster.node.pairs)}"
            )
        op, datatype = pair_of(pair)
        context, record = whole("context", self.context), whole("record_bytes", self.record_bytes)
        return _sim.Reduction(context, int(op), int(datatype), record, truth("tree", self.tree))


def _how(how: object) -> Reduction:
    if how is None:
        return Reduction()
    if not isinstance(how, Reduction):
        raise InputError(f"how is {shown(how)}; it is a Reduction")
    return how


def _sources(sources: object) -> list[Any]:
    return rows("sources", sources, ("address", "bytes"))


class Group:
    """Nodes that reduce together (`Hubs.group`)."""

    def __init__(self, hubs: Hubs, nodes: Sequence[int], at: int, sim: _sim.Group) -> None:
        self.nodes, self.at = tuple(nodes), at
        self._hubs, self._sim = hubs, sim

    def reduce(self, node: int, sources: Sources) -> Operation:
        """Contributes a node's records, and waits until the result is in its processor's memory. All nodes of the group have to take part."""
        number, brought = whole("node", node), _sources(sources)
        with _said():
            operation = Operation(self._hubs, self._hubs._sim.reduce_in(self._sim, number, brought))
        self._hubs._keep(number, "reduce", operation, self.at, brought)
        return operation


@dataclass(frozen=True)
class Node:
    hubs: Hubs
    number: int

    def __post_init__(self) -> None:
        _check_node(self.hubs, self.number)

    @property
    def processor(self) -> Memory:
        return Memory(self.hubs, self.number, 0)

    @property
    def gpus(self) -> tuple[Memory, Memory]:
        return Memory(self.hubs, self.number, 1), Memory(self.hubs, self.number, 2)

    @property
    def hub(self) -> Memory:
        """The hub's own 512 MByte."""
        return Memory(self.hubs, self.number, _sim.HUB_MEMORY)

    def store(self, to: int, values: ArrayLike) -> Operation:
        """The processor writes at most 16 MByte itself, 64 bytes at a time: to another node, to a hub, or into its own memory, which takes
        no time."""
        return self._op("store", whole("to", to), bytes_of("values", values))

    def wait_for(self, at: int, value: int) -> Operation:
        """Waits until the 32 bits at `at` in the processor's memory are `value`."""
        return self._op("wait_for", whole("at", at), whole("value", value))

    def work(self, ns: float) -> Operation:
        return self._op("work", real("ns", ns))

    def copy(self, to: Memory, to_at: int, source: Memory, source_at: int, count: int) -> Operation:
        """Copies between memories of the node without the hub, as its processor and GPUs do."""
        for memory in (to, source):
            if not isinstance(memory, Memory) or memory.hubs is not self.hubs or memory.node != self.number:
                raise InputError(f"a copy of node {self.number} is between its own memories, not {_named(memory)}")
        places = whole("to_at", to_at), whole("source_at", source_at)
        return self._op("copy", to.number, places[0], source.number, places[1], whole("count", count))

    def put(self, to: int, source: int, count: int, descriptors: str = "ram", wait: bool = True) -> Operation:
        """The hub's DMA controller copies bytes of this node's memories to any address; with `wait` the processor waits for the end."""
        return self.chain([(to, source, count)], descriptors, wait)

    def get(self, to: int, source: int, count: int) -> Operation:
        """Copies bytes of another node's memory to this node's. The other node's hub writes them, started by this node's processor."""
        return self._op("get", whole("to", to), whole("source", source), whole("count", count))

    def chain(self, copies: Sequence[tuple[int, int, int]], descriptors: str = "ram", wait: bool = True) -> Operation:
        """Runs copies (to, source, bytes) one after another. Their descriptors are in the hub's working RAM (`ram`) or in the host's
        memory (`host`)."""
        made = rows("copies", copies, ("to", "source", "bytes"))
        if not isinstance(descriptors, str) or descriptors not in ("ram", "host"):
            raise InputError(f"descriptors in {shown(descriptors)}; they are in ram or host")
        return self._op("chain", made, descriptors == "host", truth("wait", wait))

    def reduce(self, to: int, sources: Sources, how: Reduction | None = None, by_hub: bool = True) -> Operation:
        """The calculator reduces records, and the result is copied to an address. With `by_hub` the hub starts the copy, otherwise the
        processor, which polls for the result. A context may be used by this method, by one group, or by writes of a program, but not by
        several of them."""
        to, brought = whole("to", to), _sources(sources)
        return self._op("reduce", to, brought, _how(how).sim(self.hubs.cluster), truth("by_hub", by_hub))

    def abort(self, channel: int = 0) -> Operation:
        """The hub gives up the running chain of a channel and counts it in `given_up`. Channel 0 runs the chains that
        the host starts. Channel 1 runs the chains that the hub starts by itself when a result is ready."""
        if whole("channel", channel) > 1:
            raise InputError(f"channel {channel}; 0 has the chains that the host starts, 1 those of results")
        return self._op("abort", channel)

    def reset(self) -> Operation:
        """The hub gives up the running and the waiting chains of both channels. After `restart_host` it also gives up reads that have had
        no answer within the time-out; without one, within 262 us at 250 MHz."""
        return self._op("reset")

    def time_out(self, us: float) -> Operation:
        """Sets the time for which the hub waits for the answer to a read before it gives up the chain; it is rounded up to 1,024
        cycles. 0, the default, waits forever. Choose more than the time for which packets on the host's link may wait for room, as
        answers wait as long. The hub also gives up later chains, until all answers have arrived or `reset` says that none will."""
        return self._op("timeout", real("us", us))

    def restart_host(self) -> Operation:
        """Resets the host's root complex alone. Reads without an answer never get one; `reset` gives them up."""
        return self._op("restart_host")

    def let_write(self, nodes: Sequence[int]) -> Operation:
        """Permits these nodes to write the hub's registers. Other nodes, except its own host, may only start chains."""
        members = [whole("nodes", node) for node in listed("nodes", nodes)]
        for number in members:
            _check_node(self.hubs, number)
        return self._op("owners", sum(1 << number for number in set(members)))

    def counts(self) -> Mapping[str, Any]:
        """The counters in the hub's registers. Raises InputError while operations of the node have not ended, as the registers are read
        behind them."""
        with _said():
            return dict(self._sim.counts(self.number))

    @property
    def _sim(self) -> _sim.Hubs:
        return self.hubs._sim

    def _op(self, name: str, *arguments: Any) -> Operation:
        with _said():
            operation = Operation(self.hubs, getattr(self._sim, name)(self.number, *arguments))
        self.hubs._keep(self.number, name, operation, *arguments)
        return operation


class Hubs:
    """A simulated cluster of PEACH2. Raises InputError.

    `engine`: `sim` for the simulator's hubs, `rtl` for Verilated hubs in step with them. `record`: keep all operations, for `recorded`.
    """

    def __init__(self, cluster: Cluster | str | Path, engine: str = "sim", record: bool = False) -> None:
        if not isinstance(engine, str):
            raise InputError(f"engine is {shown(engine)}; it is one of {', '.join(ENGINES)}")
        self.cluster = of_system(Cluster, cluster)
        library = "" if one_of("engine", engine, ENGINES) == "sim" else str(rtl_engine.library(self.cluster))
        with _said():
            self._sim = _sim.Hubs(self.cluster.assembly, self.cluster.windows, library)
        self.nodes = [Node(self, number) for number in range(self._sim.nodes)]
        self.cycles_per_us = self._sim.cycles_per_second / 1e6
        self.stops = 0  #: runs that have stopped, and discarded what had not ended
        self._kept: list[Kept] | None = [] if record else None

    def group(self, nodes: Sequence[int], at: int, how: Reduction | None = None) -> Group:
        """A group of nodes that reduce together. The first one is the root. Each gets results at `at` in its processor's memory. All
        nodes take part: each of them waits until the calculators that it will write to are set up."""
        members = [whole("nodes", node) for node in listed("nodes", nodes)]
        at = whole("at", at)
        with _said():
            return Group(self, members, at, self._sim.group(members, at, _how(how).sim(self.cluster)))

    def load_windows(self, windows: Sequence[Sequence[tuple[int, int, int, int]]]) -> None:
        """Loads the windows of each hub: (port, mask, lower, upper), in pages of 4 KByte. Raises InputError if they do not fit, or
        packets could loop, deadlock, or leave by a port without a link."""
        tables = [rows("windows", of_hub, ("port", "mask", "lower", "upper")) for of_hub in listed("windows", windows)]
        if len(tables) != len(self.nodes):
            raise InputError(f"windows are for {len(tables)} hubs, and there are {len(self.nodes)}")
        try:
            check_windows(self.cluster.topology, tables)
        except BadRoutes as error:
            raise InputError(f"windows: {error}") from None
        with _said():
            self._sim.load(tables)
        self.run()

    def recorded(self, title: str = "") -> Recorded:
        """What happened so far: each processor's operations, and what the cables carried; `write_trace` and `write_report` draw it. Raises
        InputError if the hubs do not record."""
        from thalweg.systems.peach2 import timelines

        if self._kept is None:
            raise InputError("these hubs record nothing: Hubs(..., record=True)")
        return timelines.of_hubs(self, self._kept, title or f"a program on {self.cluster.name}")

    def _keep(self, node: int, name: str, operation: Operation, *arguments: Any) -> None:
        if self._kept is not None:
            from thalweg.systems.peach2 import timelines

            self._kept.append(Kept(node, name, operation, timelines.about(name, arguments)))

    def run(self) -> None:
        """Runs until all operations have ended. Raises FabricStopped, which says what each processor waits for, and WritesLost, which
        says which writes were refused or dropped where."""
        try:
            with _said():
                self._sim.run()
        except FabricStopped as stopped:
            self.stops += not isinstance(stopped, WritesLost)
            raise
