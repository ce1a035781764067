# SPDX-License-Identifier: Apache-2.0
"""Programs on PEACH2's nodes in simulated time: puts, gets, chains of copies, stores and reductions.

>>> import numpy as np
>>> numbers = np.arange(16, dtype=np.float32)
>>> hubs = Hubs("peach2-ring-4")
>>> a, b = hubs.nodes[:2]
>>> a.gpus[0].write(0, numbers)
>>> put = a.put(b.gpus[0].address(), a.gpus[0].address(), numbers.nbytes)
>>> hubs.run()
>>> put.done, put.time_us > 0
(True, True)
>>> bool((b.gpus[0].read(0, numbers.size, numbers.dtype) == numbers).all())
True

Operations of one node run one after another, those of different nodes concurrently; `run` executes them. All nodes
share one address space. `Memory.write` and `Memory.read` take no simulated time. An invalid argument raises InputError,
names the argument, and has no effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from thalweg.arguments import shown
from thalweg.bench.operation import ENGINES, one_of
from thalweg.cluster import of_system
from thalweg.errors import FabricStopped, InputError
from thalweg.route.proof import BadRoutes
from thalweg.systems.peach2 import _sim, rtl_engine
from thalweg.systems.peach2.arguments import bytes_of, listed, real, rows, truth, type_of, whole
from thalweg.systems.peach2.cluster import Cluster, pair_of
from thalweg.systems.peach2.routes import LINKS, check_windows
from thalweg.systems.peach2.running import (
    Kernel,
    Operation,
    RecordedOperation,
    StaleRead,
    WritesLost,
    translated_errors,
)

if TYPE_CHECKING:
    from thalweg.trace import Recorded

DIRECTIONS = ("inbound", "outbound")
Sources = Sequence[tuple[int, int]]
"""Pairs of address and size in bytes."""


@dataclass(frozen=True)
class Memory:
    """A memory of a node: of its processor, a GPU or its hub.

    A program may use `size` bytes; the last 2 MByte of a processor's 8 GByte are reserved.

    Attributes
    ----------
    node : int
        The node.
    number : int
        0 for the processor's memory, 1 and 2 for those of the GPUs, 3 for the hub's.
    """

    hubs: Hubs
    node: int
    number: int

    def __post_init__(self) -> None:
        _check_node(self.hubs, self.node)
        if whole("number", self.number) >= len(_SIZES):
            raise InputError(f"memory {self.number}; a node has memories 0 to {len(_SIZES) - 1}")

    @property
    def size(self) -> int:
        """Bytes that a program may use."""
        return _SIZES[self.number]

    def address(self, at: int = 0) -> int:
        """Returns the global address of byte `at`. Raises InputError if the memory has no such byte."""
        if whole("the place in a memory", at) >= self.size:
            raise InputError(f"the offset in a memory is {at}; this memory has {self.size} bytes for programs")
        if self.number == _sim.HUB_MEMORY:
            return _sim.hub_address(self.node, at)
        return _sim.memory_address(self.node, self.number, at)

    def write(self, at: int, values: ArrayLike) -> None:
        """Writes bytes or an array of numbers at byte `at`; takes no simulated time. Raises InputError."""
        data = bytes_of("values", values)
        with translated_errors():
            self.hubs._sim.write(self.node, self.number, whole("the place in a memory", at), data)

    def read(self, at: int, count: int, dtype: DTypeLike = np.uint8) -> NDArray[Any]:
        """Reads values; takes no simulated time.

        Parameters
        ----------
        at : int
            Offset in bytes.
        count : int
            Number of values; at most 1 GByte in total.
        dtype : numpy type
            Type of the values.

        Returns
        -------
        numpy.ndarray of shape (count,)

        Raises
        ------
        InputError
            An argument is invalid, or the range exceeds the memory.
        """
        kind = type_of("dtype", dtype)
        place, size = (
            whole("the place in a memory", at),
            whole("count x its type's bytes", whole("count", count) * kind.itemsize),
        )
        with translated_errors():
            return np.frombuffer(self.hubs._sim.read(self.node, self.number, place, size), kind)


_SIZES = (_sim.PROGRAM_BYTES, 1 << 33, 1 << 33, 1 << 29)


def _check_node(hubs: object, number: int) -> None:
    if not isinstance(hubs, Hubs):
        raise InputError(f"hubs is {shown(hubs)}; give an object of class Hubs")
    if whole("node", number) >= hubs._sim.nodes:
        raise InputError(f"node {number} does not exist; the last one is {hubs._sim.nodes - 1}")


@dataclass(frozen=True)
class Reduction:
    """A reduction by a calculator.

    Parameters
    ----------
    op : str, optional
        Operator, such as "sum".
    type : str, optional
        Type of the fields, such as "float32".
    record_bytes : int, optional
        Size of a record in bytes. Records are combined field by field.
    tree : bool, optional
        Combine all fields of all records into one.
    context : int, optional
        Context of the calculator.
    """

    op: str = "sum"
    type: str = "float32"
    record_bytes: int = 32
    tree: bool = False
    context: int = 0

    def sim(self, cluster: Cluster) -> _sim.Reduction:
        """Returns the simulator's description. Raises InputError if the calculators do not support the reduction."""
        if not isinstance(self.op, str) or not isinstance(self.type, str):
            raise InputError(
                f"op is {shown(self.op)} and type is {shown(self.type)}; give names such as 'sum' and 'float32'"
            )
        pair = f"{self.op} {self.type}"
        if pair not in cluster.node.pairs:
            raise InputError(
                f"{pair!r} is not supported by the calculators of {cluster.name}; supported are {', '.join(cluster.node.pairs)}"
            )
        op, datatype = pair_of(pair)
        context, record = whole("context", self.context), whole("record_bytes", self.record_bytes)
        return _sim.Reduction(context, int(op), int(datatype), record, truth("tree", self.tree))


def _how(how: object) -> Reduction:
    if how is None:
        return Reduction()
    if not isinstance(how, Reduction):
        raise InputError(f"how is {shown(how)}; give a Reduction")
    return how


def _sources(sources: object) -> list[Any]:
    return rows("sources", sources, ("address", "bytes"))


class Group:
    """Nodes that reduce together, created by `Hubs.group`.

    Attributes
    ----------
    nodes : tuple of int
        The members.
    at : int
        Offset of the result in each of the memories that receive it, in bytes.
    """

    def __init__(self, hubs: Hubs, nodes: Sequence[int], at: int, sim: _sim.Group) -> None:
        self.nodes, self.at = tuple(nodes), at
        self._hubs, self._sim = hubs, sim

    def reduce(self, node: int, sources: Sources) -> Operation:
        """Contributes a node's records, and waits until the result is in the node's memories.

        All nodes of the group must take part. `sources` are pairs (address, bytes). Raises InputError.
        """
        number, brought = whole("node", node), _sources(sources)
        with translated_errors():
            operation = Operation(self._hubs, self._hubs._sim.reduce_in(self._sim, number, brought))
        self._hubs._keep(number, "reduce", operation, self.at, brought)
        return operation


@dataclass(frozen=True)
class Node:
    """A node: a processor with memory, two GPUs and a hub. Methods add operations, which `Hubs.run` executes in order.

    Attributes
    ----------
    number : int
        The node's number.
    """

    hubs: Hubs
    number: int

    def __post_init__(self) -> None:
        _check_node(self.hubs, self.number)

    @property
    def processor(self) -> Memory:
        """Memory of the processor."""
        return Memory(self.hubs, self.number, 0)

    @property
    def gpus(self) -> tuple[Memory, Memory]:
        """Memories of the two GPUs."""
        return Memory(self.hubs, self.number, 1), Memory(self.hubs, self.number, 2)

    @property
    def hub(self) -> Memory:
        """Memory of the hub, 512 MByte."""
        return Memory(self.hubs, self.number, _sim.HUB_MEMORY)

    def store(self, to: int, values: ArrayLike) -> Operation:
        """The processor stores at most 16 MByte, 64 bytes at a time, to the global address `to`.

        The destination is another node, a hub, or its own memory, which takes no time.
        """
        return self._op("store", whole("to", to), bytes_of("values", values))

    def wait_for(self, at: int, value: int) -> Operation:
        """Waits until the 32 bits at offset `at` of the processor's memory equal `value`."""
        return self._op("wait_for", whole("at", at), whole("value", value))

    def work(self, ns: float) -> Operation:
        """Keeps the processor busy for `ns` nanoseconds."""
        return self._op("work", real("ns", ns))

    def kernel(self, ns: float, reads: Sequence[tuple[int, int]] = ()) -> Kernel:
        """Runs a kernel on the node's GPUs for `ns` nanoseconds; the processor waits for it.

        `reads` are pairs (address, bytes) in the GPUs' memories, which the kernel reads at its start. A GPU sees what the
        network has written only after the cluster's `gpu_landing_ns`, or after `flush`. Until then the kernel gets the
        old data, and `Hubs.run` raises StaleRead.
        """
        duration, ranges = real("ns", ns), rows("reads", reads, ("address", "bytes"))
        with translated_errors():
            kernel = Kernel(self.hubs, self._sim.kernel(self.number, duration, ranges))
        self.hubs._keep(self.number, "kernel", kernel, duration, ranges)
        return kernel

    def _named(self, memory: object) -> str:
        """What a call was given instead of a memory of this node."""
        if not isinstance(memory, Memory):
            return shown(memory)
        return f"memory {memory.number} of node {memory.node}" + " of other hubs" * (memory.hubs is not self.hubs)

    def flush(self, gpu: Memory) -> Operation:
        """Makes all writes that have arrived visible to a GPU of this node: the processor reads a word of its memory."""
        if gpu not in self.gpus:
            raise InputError(f"flush() of node {self.number} needs one of its GPUs' memories, not {self._named(gpu)}")
        return self._op("flush", gpu.number - 1)

    def copy(self, to: Memory, to_at: int, source: Memory, source_at: int, count: int) -> Operation:
        """Copies `count` bytes between memories of this node without the hub, as processor and GPUs do."""
        for memory in (to, source):
            if not isinstance(memory, Memory) or memory.hubs is not self.hubs or memory.node != self.number:
                raise InputError(f"copy() of node {self.number} needs memories of this node, not {self._named(memory)}")
        places = whole("to_at", to_at), whole("source_at", source_at)
        return self._op("copy", to.number, places[0], source.number, places[1], whole("count", count))

    def put(self, to: int, source: int, count: int, descriptors: str = "ram", wait: bool = True) -> Operation:
        """Copies `count` bytes of this node's memories to any address, by the hub's DMA controller.

        Parameters
        ----------
        to, source : int
            Global addresses (`Memory.address`).
        count : int
            Number of bytes.
        descriptors : str
            Location of the descriptors: "ram" (the hub's working RAM) or "host".
        wait : bool
            Whether the processor waits for the end.

        Returns
        -------
        Operation

        Raises
        ------
        InputError
            An argument is invalid.
        """
        return self.chain([(to, source, count)], descriptors, wait)

    def get(self, to: int, source: int, count: int) -> Operation:
        """Copies `count` bytes from another node's memory to this node's.

        The other node's hub writes them, started by this node's processor.
        """
        return self._op("get", whole("to", to), whole("source", source), whole("count", count))

    def chain(self, copies: Sequence[tuple[int, int, int]], descriptors: str = "ram", wait: bool = True) -> Operation:
        """Executes copies (to, source, bytes) in order, by the hub's DMA controller. Other parameters as for `put`."""
        made = rows("copies", copies, ("to", "source", "bytes"))
        if not isinstance(descriptors, str) or descriptors not in ("ram", "host"):
            raise InputError(f"descriptors is {shown(descriptors)}; it must be 'ram' or 'host'")
        return self._op("chain", made, descriptors == "host", truth("wait", wait))

    def reduce(self, to: int, sources: Sources, how: Reduction | None = None, by_hub: bool = True) -> Operation:
        """Reduces records with the calculator, and copies the result to an address.

        Parameters
        ----------
        to : int
            Global address of the result.
        sources : sequence of (int, int)
            Addresses and sizes in bytes of the records.
        how : Reduction, optional
            Operator, type and record size.
        by_hub : bool
            If true, the hub starts the copy; otherwise the processor, which polls for the result.

        Returns
        -------
        Operation

        Raises
        ------
        InputError
            An argument is invalid, or the context is used by a group or by the program's own writes.
        """
        to, brought = whole("to", to), _sources(sources)
        return self._op("reduce", to, brought, _how(how).sim(self.hubs.cluster), truth("by_hub", by_hub))

    def abort(self, channel: int = 0) -> Operation:
        """Aborts the running chain of a channel; the hub counts it in `given_up`.

        Channel 0 runs chains started by the host, channel 1 those started by the hub for a result.
        """
        if whole("channel", channel) > 1:
            raise InputError(
                f"channel is {channel}; it must be 0 (chains started by the host) or 1 (chains of results)"
            )
        return self._op("abort", channel)

    def reset(self) -> Operation:
        """Aborts the running and waiting chains of both channels.

        After `restart_host` it also gives up reads unanswered within the time-out, or within 262 us at 250 MHz if that is
        shorter.
        """
        return self._op("reset")

    def time_out(self, us: float) -> Operation:
        """Sets the read time-out in us, rounded up to 1,024 cycles, after which the hub aborts a chain.

        0 waits forever; the default is the cluster's `completion_timeout_us`. The time-out must exceed the time for which packets wait for credits on the
        host's link. The hub also aborts later chains, until all answers have arrived, the same time has passed
        again, or `reset` declares them lost.
        """
        return self._op("timeout", real("us", us))

    def restart_host(self) -> Operation:
        """Resets the host's root complex alone. Unanswered reads stay unanswered; `reset` cancels them."""
        return self._op("restart_host")

    def let_write(self, nodes: Sequence[int]) -> Operation:
        """Permits `nodes` to write the hub's registers. Other nodes, except the hub's own host, may only start chains."""
        members = [whole("nodes", node) for node in listed("nodes", nodes)]
        for number in members:
            _check_node(self.hubs, number)
        return self._op("owners", sum(1 << number for number in set(members)))

    def translate(self, link: str, direction: str, first: int, to: int, count: int) -> Operation:
        """Translates requests that pass a link of the hub: those to `count` bytes from `first` on go to as many from `to` on.

        Replaces the link's rule in this direction. Translations are not checked for loops. `run` reports a write that is lost behind
        one by its new address, so not as an error of its operation.

        Parameters
        ----------
        link : str
            "north" (the host's), "east", "west" or "south".
        direction : str
            "inbound" (into the hub, before the windows) or "outbound".
        first, to : int
            Global addresses in memories, multiples of `count`. If they are equal, nothing is translated.
        count : int
            Number of bytes, a power of two from 4096 to 1 GByte.

        Returns
        -------
        Operation

        Raises
        ------
        InputError
            An argument is invalid.
        """
        for name, value, known in (("link", link, LINKS), ("direction", direction, DIRECTIONS)):
            if not isinstance(value, str) or value not in known:
                raise InputError(f"{name} is {shown(value)}; it must be one of {', '.join(known)}")
        places = whole("first", first), whole("to", to)
        return self._op("translate", LINKS.index(link), direction == "outbound", *places, whole("count", count))

    def counts(self) -> Mapping[str, Any]:
        """Reads the counters in the hub's registers. Raises InputError while operations of the node are pending."""
        with translated_errors():
            return dict(self._sim.counts(self.number))

    @property
    def _sim(self) -> _sim.Hubs:
        return self.hubs._sim

    def _op(self, name: str, *arguments: Any) -> Operation:
        with translated_errors():
            operation = Operation(self.hubs, getattr(self._sim, name)(self.number, *arguments))
        self.hubs._keep(self.number, name, operation, *arguments)
        return operation


class Hubs:
    """A simulated PEACH2 cluster.

    Parameters
    ----------
    cluster : Cluster, str or Path
        A PEACH2 cluster, or an argument of `thalweg.load`.
    engine : str
        "sim" for the simulator's hubs, "rtl" for Verilated hubs in lockstep with them.
    record : bool
        Record all operations, for `recorded`.

    Raises
    ------
    InputError
        Invalid cluster or engine.
    """

    def __init__(self, cluster: Cluster | str | Path, engine: str = "sim", record: bool = False) -> None:
        if not isinstance(engine, str):
            raise InputError(f"engine is {shown(engine)}; it must be one of {', '.join(ENGINES)}")
        self.cluster = of_system(Cluster, cluster)
        library = "" if one_of("engine", engine, ENGINES) == "sim" else str(rtl_engine.library(self.cluster))
        with translated_errors():
            self._sim = _sim.Hubs(self.cluster.assembly, self.cluster.windows, library)
        self.nodes = [Node(self, number) for number in range(self._sim.nodes)]
        self.ram_copies: tuple[int, int] = self._sim.ram_copies  #: maximum of a chain in working RAM, and of a result's
        self.cycles_per_us = self._sim.cycles_per_second / 1e6
        self.stops = 0  #: number of stopped runs, which discard pending operations
        self._kept: list[RecordedOperation] | None = [] if record else None

    def group(
        self, nodes: Sequence[int], at: int, how: Reduction | None = None, memories: Sequence[int] = (0,)
    ) -> Group:
        """Creates a group of nodes that reduce together.

        Parameters
        ----------
        nodes : sequence of int
            Node numbers; the first is the root.
        at : int
            Offset of the results in each memory that receives them.
        how : Reduction, optional
            Operator, type and record size.
        memories : sequence of int
            Numbers of each node's memories that receive results: 0 the processor's, 1 and 2 those of the GPUs.

        Returns
        -------
        Group

        Raises
        ------
        InputError
            An argument is invalid.
        """
        members = [whole("nodes", node) for node in listed("nodes", nodes)]
        receive = [whole("memories", memory) for memory in listed("memories", memories)]
        at = whole("at", at)
        with translated_errors():
            return Group(self, members, at, self._sim.group(members, at, _how(how).sim(self.cluster), receive))

    def load_windows(self, windows: Sequence[Sequence[tuple[int, int, int, int]]]) -> None:
        """Loads the address windows of each hub: tuples (port, mask, lower, upper), in pages of 4 KByte.

        Raises InputError if they do not fit, or if packets could loop, deadlock, or leave by a port without a link.
        """
        tables = [rows("windows", of_hub, ("port", "mask", "lower", "upper")) for of_hub in listed("windows", windows)]
        if len(tables) != len(self.nodes):
            raise InputError(f"windows are for {len(tables)} hubs, but there are {len(self.nodes)}")
        try:
            check_windows(self.cluster.topology, tables)
        except BadRoutes as error:
            raise InputError(f"windows: {error}") from None
        with translated_errors():
            self._sim.load(tables)
        self.run()

    def recorded(self, title: str = "") -> Recorded:
        """Returns the timeline so far: operations of each processor, and traffic on the cables.

        Raises InputError if the hubs were created without `record=True`.
        """
        from thalweg.systems.peach2 import timelines

        if self._kept is None:
            raise InputError("these hubs do not record: create them with Hubs(..., record=True)")
        return timelines.of_hubs(self, self._kept, title or f"a program on {self.cluster.name}")

    def _keep(self, node: int, name: str, operation: Operation, *arguments: Any) -> None:
        if self._kept is not None:
            from thalweg.systems.peach2 import timelines

            self._kept.append(RecordedOperation(node, name, operation, timelines.about(name, arguments)))

    def run(self) -> None:
        """Executes all operations. After an interrupt, such as by Ctrl-C, the next call continues.

        Raises
        ------
        FabricStopped
            A deadlock; the message says what each processor waits for.
        WritesLost
            Writes were refused or dropped; the message says where.
        StaleRead
            Kernels read data that were not yet visible to their GPU.
        InputError
            Another thread runs these hubs, or they ran out of memory.
        """
        try:
            with translated_errors():
                self._sim.run()
        except FabricStopped as stopped:
            self.stops += not isinstance(stopped, WritesLost | StaleRead)
            raise
