# SPDX-License-Identifier: Apache-2.0
"""Programs on PEACH2's nodes: puts, chains of copies, notices and reductions, in simulated time.

    hubs = Hubs("peach2")
    a, b = hubs.nodes[:2]
    a.gpus[0].write(0, numbers)
    put = a.put(b.gpus[0].address(), a.gpus[0].address(), numbers.nbytes)
    hubs.run()
    print(put.time_us, b.gpus[0].read(0, numbers.size, numbers.dtype))

Operations of a node come one behind the other, those of different nodes at once; `run` lets them happen. Addresses are numbers
that all nodes share. What is written or read from here takes no time.
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
from thalweg.systems.peach2.cluster import Cluster, pair_of

Sources = Sequence[tuple[int, int]]
"""Addresses, and how many bytes each."""


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


class Operation:
    """Something that a node's processor does."""

    def __init__(self, hubs: Hubs, times: _sim.Peach2Times) -> None:
        self._hubs, self._times = hubs, times

    @property
    def done(self) -> bool:
        return self._times.end >= 0

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
    """Of a node: the processor's, a GPU's, the hub's own."""

    hubs: Hubs
    node: int
    number: int

    def address(self, at: int = 0) -> int:
        """For all nodes."""
        if self.number == _sim.PEACH2_HUB_MEMORY:
            return _sim.peach2_hub_address(self.node, at)
        return _sim.peach2_memory_address(self.node, self.number, at)

    def write(self, at: int, values: ArrayLike) -> None:
        with _said():
            self.hubs._sim.write(self.node, self.number, at, np.ascontiguousarray(values).tobytes())

    def read(self, at: int, count: int, dtype: DTypeLike = np.uint8) -> NDArray[Any]:
        kind = np.dtype(dtype)
        with _said():
            return np.frombuffer(self.hubs._sim.read(self.node, self.number, at, count * kind.itemsize), kind)


@dataclass(frozen=True)
class Reduction:
    """What a calculator does: records of `record_bytes` combined field by field, or all fields to one, `tree`."""

    op: str = "sum"
    type: str = "float32"
    record_bytes: int = 32
    tree: bool = False
    context: int = 0

    def sim(self, cluster: Cluster) -> _sim.Peach2Reduction:
        pair = f"{self.op} {self.type}"
        if pair not in cluster.node.pairs:
            raise InputError(
                f"{pair!r} is nothing that the calculators of {cluster.name} can: {', '.join(cluster.node.pairs)}"
            )
        op, datatype = pair_of(pair)
        return _sim.Peach2Reduction(self.context, int(op), int(datatype), self.record_bytes, self.tree)


class Group:
    """Nodes that reduce together (`Hubs.group`)."""

    def __init__(self, hubs: Hubs, nodes: Sequence[int], sim: _sim.Peach2Group) -> None:
        self.nodes = tuple(nodes)
        self._hubs, self._sim = hubs, sim

    def reduce(self, node: int, sources: Sources) -> Operation:
        """A node brings its records; it goes on when the result of all is in its processor's memory. All nodes of the group have to."""
        with _said():
            return Operation(self._hubs, self._hubs._sim.reduce_in(self._sim, node, list(sources)))


@dataclass(frozen=True)
class Node:
    hubs: Hubs
    number: int

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
        """The processor writes them itself, 64 bytes at a time: to another node, to a hub, or into its own memory, which takes no time."""
        return self._op(self._sim.store, to, np.ascontiguousarray(values).tobytes())

    def wait_for(self, at: int, value: int) -> Operation:
        """Until the 32 bits at a place of the processor's memory are `value`."""
        return self._op(self._sim.wait_for, at, value)

    def work(self, ns: float) -> Operation:
        return self._op(self._sim.work, ns)

    def copy(self, to: Memory, to_at: int, source: Memory, source_at: int, count: int) -> Operation:
        """Between memories of the node, by its processor's and GPU's own means."""
        return self._op(self._sim.copy, to.number, to_at, source.number, source_at, count)

    def put(self, to: int, source: int, count: int, descriptors: str = "ram", wait: bool = True) -> Operation:
        """The hub's DMA controller copies bytes from this node's memory to wherever; with `wait` the processor goes on when that is done."""
        return self.chain([(to, source, count)], descriptors, wait)

    def get(self, to: int, source: int, count: int) -> Operation:
        """Bytes of another node's memory to this node's: its hub writes them, as this node's processor tells it to."""
        return self._op(self._sim.get, to, source, count)

    def chain(self, copies: Sequence[tuple[int, int, int]], descriptors: str = "ram", wait: bool = True) -> Operation:
        """Copies one after the other, each (to, source, bytes); their descriptors are in the hub's working RAM or in the `host`'s memory."""
        if descriptors not in ("ram", "host"):
            raise InputError(f"descriptors in {descriptors!r}; they are in ram or host")
        return self._op(self._sim.chain, list(copies), descriptors == "host", wait)

    def reduce(self, to: int, sources: Sources, how: Reduction | None = None, by_hub: bool = True) -> Operation:
        """The calculator reduces records, and its result is copied to an address: started by the hub itself, or by the processor, which
        looks for it."""
        return self._op(self._sim.reduce, to, list(sources), (how or Reduction()).sim(self.hubs.cluster), by_hub)

    def counts(self) -> Mapping[str, Any]:
        """What the hub's registers have counted."""
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
        self.cluster = cluster if isinstance(cluster, Cluster) else Cluster.load(cluster)
        library = "" if one_of("engine", engine, ENGINES) == "sim" else str(rtl_engine.library(self.cluster))
        with _said():
            self._sim = _sim.Peach2Hubs(self.cluster.assembly, library)
        self.nodes = [Node(self, number) for number in range(self._sim.nodes)]
        self.cycles_per_us = self._sim.cycles_per_second / 1e6

    def group(self, nodes: Sequence[int], at: int, how: Reduction | None = None) -> Group:
        """Nodes that reduce together, the first one the root; each has results at `at` of its processor's memory."""
        with _said():
            return Group(self, nodes, self._sim.group(list(nodes), at, (how or Reduction()).sim(self.cluster)))

    def load_windows(self, windows: Sequence[Sequence[tuple[int, int, int, int]]]) -> None:
        """Of each hub: (port, mask, lower, upper), in pages of 4 KByte. Raises InputError where they lead round, or nowhere."""
        with _said():
            self._sim.load([list(of_hub) for of_hub in windows])
        self.run()

    def run(self) -> None:
        """Until all processors have done what they have to. Raises FabricStopped, with who waits for what."""
        with _said():
            self._sim.run()
