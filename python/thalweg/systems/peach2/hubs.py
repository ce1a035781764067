# SPDX-License-Identifier: Apache-2.0
"""Programs on PEACH2's nodes: puts, chains of copies, notices and reductions, in simulated time.

    hubs = Hubs("peach2")
    a, b = hubs.nodes[:2]
    a.gpus[0].write(0, numbers)
    put = a.put(b.gpus[0].address(), a.gpus[0].address(), numbers.nbytes)
    hubs.run()
    print(put.time_us, b.gpus[0].read(0, numbers.size, numbers.dtype))

Operations of a node come one behind the other, those of different nodes at once; `run` lets them happen. Addresses are numbers
that all nodes share. What is written or read from here takes no time. What can't be is refused with InputError, one line that names
the argument, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from thalweg import _sim
from thalweg.bench.operation import ENGINES, one_of
from thalweg.errors import CheckFailed, FabricStopped, InputError
from thalweg.systems.peach2 import rtl_engine
from thalweg.systems.peach2.arguments import bytes_of, listed, real, rows, shown, truth, type_of, whole
from thalweg.systems.peach2.cluster import Cluster, pair_of

Sources = Sequence[tuple[int, int]]
"""Addresses, and how many bytes each."""


class WritesLost(FabricStopped):
    """Writes were refused or dropped: a line for each. The operations that they are of have it as their `error`, and are not done."""


@contextmanager
def _said() -> Iterator[None]:
    """What the simulator refuses is bad input; that it can't go on is what it says."""
    try:
        yield
    except (ValueError, IndexError) as error:
        raise InputError(str(error)) from None
    except _sim.Peach2Difference as error:
        raise CheckFailed(str(error)) from None
    except _sim.Peach2Stuck as error:
        raise FabricStopped(str(error)) from None
    except _sim.Peach2WritesLost as error:
        raise WritesLost(str(error)) from None


class Operation:
    """Something that a node's processor does."""

    def __init__(self, hubs: Hubs, times: _sim.Peach2Times) -> None:
        self._hubs, self._times = hubs, times

    @property
    def done(self) -> bool:
        """It has ended, and nothing that it wrote was refused or dropped."""
        return self._times.end >= 0 and not self._times.error

    @property
    def error(self) -> str:
        """Which of its writes was refused or dropped first, where and why; or nothing."""
        return self._times.error

    @property
    def begin(self) -> int:
        """In cycles of the packets' clock, since the cluster's start. Raises InputError where it has not been run."""
        return self._run(self._times.begin)

    @property
    def end(self) -> int:
        return self._run(self._times.end)

    @property
    def begin_us(self) -> float:
        return self.begin / self._hubs.cycles_per_us

    @property
    def end_us(self) -> float:
        return self.end / self._hubs.cycles_per_us

    @property
    def time_us(self) -> float:
        return self.end_us - self.begin_us

    def _run(self, cycle: int) -> int:
        if cycle < 0:
            raise InputError("the operation has not been run: run() lets it happen")
        return cycle


@dataclass(frozen=True)
class Memory:
    """Of a node: the processor's, a GPU's, the hub's own. A program has `size` bytes of it: the library keeps the last 2 MByte of a
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
        """For all nodes."""
        if whole("the place in a memory", at) > self.size:
            raise InputError(f"the place in a memory is {at}; a program has {self.size} bytes of this one")
        if self.number == _sim.PEACH2_HUB_MEMORY:
            return _sim.peach2_hub_address(self.node, at)
        return _sim.peach2_memory_address(self.node, self.number, at)

    def write(self, at: int, values: ArrayLike) -> None:
        data = bytes_of("values", values)
        with _said():
            self.hubs._sim.write(self.node, self.number, whole("the place in a memory", at), data)

    def read(self, at: int, count: int, dtype: DTypeLike = np.uint8) -> NDArray[Any]:
        """At most 1 GByte."""
        kind = type_of("dtype", dtype)
        place, size = (
            whole("the place in a memory", at),
            whole("count x its type's bytes", whole("count", count) * kind.itemsize),
        )
        with _said():
            return np.frombuffer(self.hubs._sim.read(self.node, self.number, place, size), kind)


_SIZES = (_sim.PEACH2_PROGRAM_BYTES, 1 << 33, 1 << 33, 1 << 29)


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
    """What a calculator does: records of `record_bytes` combined field by field, or all fields to one, `tree`."""

    op: str = "sum"
    type: str = "float32"
    record_bytes: int = 32
    tree: bool = False
    context: int = 0

    def sim(self, cluster: Cluster) -> _sim.Peach2Reduction:
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
        return _sim.Peach2Reduction(context, int(op), int(datatype), record, truth("tree", self.tree))


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

    def __init__(self, hubs: Hubs, nodes: Sequence[int], at: int, sim: _sim.Peach2Group) -> None:
        self.nodes, self.at = tuple(nodes), at
        self._hubs, self._sim = hubs, sim

    def reduce(self, node: int, sources: Sources) -> Operation:
        """A node brings its records; it goes on when the result of all is in its processor's memory. All nodes of the group have to."""
        number, brought = whole("node", node), _sources(sources)
        with _said():
            return Operation(self._hubs, self._hubs._sim.reduce_in(self._sim, number, brought))


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
        return Memory(self.hubs, self.number, _sim.PEACH2_HUB_MEMORY)

    def store(self, to: int, values: ArrayLike) -> Operation:
        """The processor writes them itself, 64 bytes at a time: to another node, to a hub, or into its own memory, which takes no time. At
        most 16 MByte."""
        return self._op(self._sim.store, whole("to", to), bytes_of("values", values))

    def wait_for(self, at: int, value: int) -> Operation:
        """Until the 32 bits at a place of the processor's memory are `value`."""
        return self._op(self._sim.wait_for, whole("at", at), whole("value", value))

    def work(self, ns: float) -> Operation:
        return self._op(self._sim.work, real("ns", ns))

    def copy(self, to: Memory, to_at: int, source: Memory, source_at: int, count: int) -> Operation:
        """Between memories of the node, by its processor's and GPU's own means."""
        for memory in (to, source):
            if not isinstance(memory, Memory) or memory.hubs is not self.hubs or memory.node != self.number:
                raise InputError(f"a copy of node {self.number} is between its own memories, not {_named(memory)}")
        places = whole("to_at", to_at), whole("source_at", source_at)
        return self._op(self._sim.copy, to.number, places[0], source.number, places[1], whole("count", count))

    def put(self, to: int, source: int, count: int, descriptors: str = "ram", wait: bool = True) -> Operation:
        """The hub's DMA controller copies bytes from this node's memory to wherever; with `wait` the processor goes on when that is done."""
        return self.chain([(to, source, count)], descriptors, wait)

    def get(self, to: int, source: int, count: int) -> Operation:
        """Bytes of another node's memory to this node's: its hub writes them, as this node's processor tells it to."""
        return self._op(self._sim.get, whole("to", to), whole("source", source), whole("count", count))

    def chain(self, copies: Sequence[tuple[int, int, int]], descriptors: str = "ram", wait: bool = True) -> Operation:
        """Copies one after the other, each (to, source, bytes); their descriptors are in the hub's working RAM or in the `host`'s memory."""
        made = rows("copies", copies, ("to", "source", "bytes"))
        if not isinstance(descriptors, str) or descriptors not in ("ram", "host"):
            raise InputError(f"descriptors in {shown(descriptors)}; they are in ram or host")
        return self._op(self._sim.chain, made, descriptors == "host", truth("wait", wait))

    def reduce(self, to: int, sources: Sources, how: Reduction | None = None, by_hub: bool = True) -> Operation:
        """The calculator reduces records, and its result is copied to an address: started by the hub itself, or by the processor, which
        looks for it. A context is used by this, by a group, or by a program that writes to it itself, by one of them alone."""
        to, brought = whole("to", to), _sources(sources)
        return self._op(self._sim.reduce, to, brought, _how(how).sim(self.hubs.cluster), truth("by_hub", by_hub))

    def abort(self, channel: int = 0) -> Operation:
        """The hub gives up a chain of descriptors, and counts it in `given_up`: that of channel 0, which the host started, or of 1, which a
        result did."""
        if whole("channel", channel) > 1:
            raise InputError(f"channel {channel}; 0 has the chains that the host starts, 1 those of results")
        return self._op(self._sim.abort, channel)

    def reset(self) -> Operation:
        """The hub gives up the chains of both channels, and those that wait."""
        return self._op(self._sim.reset)

    def time_out(self, us: float) -> Operation:
        """From then on the hub gives up a chain of which a read has no answer for so long, rounded up to 1,024 cycles; 0, as at first: never.
        The host may hold answers back as long as its link's packets wait for room, so it takes more than that. Chains that are started
        behind it are given up too, until the answers have come after all, or `reset` says that none will."""
        return self._op(self._sim.timeout, real("us", us))

    def restart_host(self) -> Operation:
        """The host's root complex is reset by itself: reads that it has not answered get no answer any more."""
        return self._op(self._sim.restart_host)

    def let_write(self, nodes: Sequence[int]) -> Operation:
        """Packets of these nodes may write the hub's registers; of others than its host's they may only start chains."""
        members = [whole("nodes", node) for node in listed("nodes", nodes)]
        for number in members:
            _check_node(self.hubs, number)
        return self._op(self._sim.owners, sum(1 << number for number in set(members)))

    def counts(self) -> Mapping[str, Any]:
        """What the hub's registers have counted."""
        with _said():
            return dict(self._sim.counts(self.number))

    @property
    def _sim(self) -> _sim.Peach2Hubs:
        return self.hubs._sim

    def _op(self, call: Any, *arguments: Any) -> Operation:
        with _said():
            return Operation(self.hubs, call(self.number, *arguments))


class Hubs:
    """A cluster of PEACH2, simulated. Raises InputError.

    `engine`: the simulator's hubs, `sim`, or the hardware's, `rtl`, Verilated and in step with them.
    """

    def __init__(self, cluster: Cluster | str | Path, engine: str = "sim") -> None:
        if not isinstance(cluster, Cluster | str | Path):
            raise InputError(f"cluster is {shown(cluster)}; it is a cluster of PEACH2, or the name or file of one")
        if not isinstance(engine, str):
            raise InputError(f"engine is {shown(engine)}; it is one of {', '.join(ENGINES)}")
        self.cluster = cluster if isinstance(cluster, Cluster) else Cluster.load(cluster)
        library = "" if one_of("engine", engine, ENGINES) == "sim" else str(rtl_engine.library(self.cluster))
        with _said():
            self._sim = _sim.Peach2Hubs(self.cluster.assembly, library)
        self.nodes = [Node(self, number) for number in range(self._sim.nodes)]
        self.cycles_per_us = self._sim.cycles_per_second / 1e6

    def group(self, nodes: Sequence[int], at: int, how: Reduction | None = None) -> Group:
        """Nodes that reduce together, the first one the root; each has results at `at` of its processor's memory. An operation of all of
        them: each goes on when those that it will write to are set up."""
        members = [whole("nodes", node) for node in listed("nodes", nodes)]
        at = whole("at", at)
        with _said():
            return Group(self, members, at, self._sim.group(members, at, _how(how).sim(self.cluster)))

    def load_windows(self, windows: Sequence[Sequence[tuple[int, int, int, int]]]) -> None:
        """Of each hub: (port, mask, lower, upper), in pages of 4 KByte. Raises InputError where they lead round, or nowhere."""
        tables = [rows("windows", of_hub, ("port", "mask", "lower", "upper")) for of_hub in listed("windows", windows)]
        for hub, of_hub in enumerate(tables):
            for index, window in enumerate(of_hub):
                if bad := [value for value in window if not 0 <= value < 1 << 32]:
                    raise InputError(f"window {index} of hub {hub}: {bad[0]} is not a number of 32 bits")
        with _said():
            self._sim.load(tables)
        self.run()

    def run(self) -> None:
        """Until all processors have done what they have to. Raises FabricStopped, with who waits for what, and WritesLost, with what was
        refused or dropped where."""
        with _said():
            self._sim.run()
