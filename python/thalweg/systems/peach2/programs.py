# SPDX-License-Identifier: Apache-2.0
"""Random programs on a cluster of hubs, and expected results computed by the processor: each write arrives, or its loss is
reported.

Every operation has its own target, and sources that are never written, so that its result does not depend on timing.
Windows overlap and divert some pages. Groups have their results at the same addresses. Programs use all contexts, types
and operators; `disturbances` adds faults.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.errors import CheckFailed, FabricStopped
from thalweg.systems.peach2 import arithmetic, disturbances, raw
from thalweg.systems.peach2.cluster import Cluster
from thalweg.systems.peach2.hubs import Group, Hubs, Memory, Node, Reduction
from thalweg.systems.peach2.random_windows import ENGINE, PAGE, Rings, lands, load_random, way
from thalweg.systems.peach2.routes import NORTH, Tables
from thalweg.systems.peach2.running import Operation, WritesLost

SOURCES = 1 << 14
"""Size of the area of sources in each memory, from byte 0 on, which is never written."""
TARGETS = 1 << 16
"""Size of the following area of targets, which do not overlap."""
RESULTS = 1 << 20
"""Address of the results of groups in processors' memories."""
AREA = SOURCES + TARGETS
_BURST = 8 << 10
"""Size of a burst in bytes: twice a link's receive buffer."""
_PAGES = range(SOURCES // PAGE, AREA // PAGE)
_UNTOUCHED = 0xA5


def with_phase(cluster: Cluster, phase: int) -> Cluster:
    """Returns a copy of the cluster in which the first edge of the bus clock is `phase` ticks later."""
    name = cluster.node.bus_clock
    clock = cluster.clocks[name].model_copy(update={"phase_ns": phase * 1e9 / cluster.ticks_per_second})
    return cluster.with_clock(name, clock)


def with_all_pairs(cluster: Cluster) -> Cluster:
    """Returns a copy of the cluster whose calculators support every operator and type."""
    nodes = {name: node.model_copy(update={"pairs": arithmetic.PAIRS}) for name, node in cluster.nodes.items()}
    return replace(cluster, nodes=nodes)


@dataclass
class Target:
    """The bytes that an operation should write."""

    memory: Memory
    at: int
    data: bytes
    lost: list[bool]  #: for each double word, whether windows divert its page
    sure: bool = True  #: the bytes must be there when the operation is done
    reported: bool = True  #: an operation reports the loss; chains started by a store have no operation
    maybe: bool = False  #: windows of its pages are rewritten: the bytes are there, or their loss is reported
    of: Operation | None = None

    @property
    def key(self) -> tuple[int, int]:
        return self.memory.node, self.memory.number


@dataclass
class Outcome:
    said: list[str]  #: messages of runs that stopped
    times: list[tuple[int, int, str]]  #: start, end and error of each operation; negative if it has not happened
    counts: list[dict[str, Any]]
    memories: list[bytes]
    lost: int  #: number of double words that windows divert
    wrong: list[str] = field(default_factory=list)

    @property
    def refused(self) -> int:
        """Number of refused packets."""
        return sum(count for of_hub in self.counts for count, *_ in of_hub["refused"])


class Program:
    """A program drawn from a seed, phase by phase; each phase runs before the next one is drawn."""

    def __init__(self, hubs: Hubs, seed: int) -> None:
        self.hubs, self.draw = hubs, random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.rings = Rings.of(hubs.cluster)
        self.operations: list[Operation] = []
        self.targets: list[Target] = []
        self.said: list[str] = []
        self.used = {(m.node, m.number): SOURCES for node in hubs.nodes for m in _memories(node)}
        self.used_lines = [0] * len(hubs.nodes)  #: lines of the working RAM in use, by node
        self.by_itself = False  #: whether it has started invalid or too many chains by stores, or has aborted chains
        self.unsure: set[int] = set()  #: pages whose windows have been rewritten
        self.owners: list[set[int]] = [set() for _ in hubs.nodes]  #: nodes that may write the registers, by hub
        self.left: list[tuple[Operation, bool]] = []  #: unawaited puts, and whether their reads are refused
        self.trespasses: list[Operation] = []
        self.wrong: list[str] = []  #: errors found during the run
        self.pages = _PAGES
        self.reducing: list[list[int]] = [[] for _ in hubs.nodes]  #: contexts of reductions, by node
        self.contexts = {node.number: list(range(hubs.cluster.node.contexts)) for node in hubs.nodes}
        self.tables: Tables | None = load_random(self.draw, hubs, _PAGES) if self.draw.random() < 0.7 else None
        for node in hubs.nodes:
            for memory in _memories(node):
                memory.write(0, self.random_bytes(SOURCES))
                memory.write(SOURCES, np.full(TARGETS, _UNTOUCHED, np.uint8))
            node.processor.write(RESULTS, self.numbers.integers(0, 4, 256, np.uint32))  # like result numbers
        self.sources = {
            (m.node, m.number): m.read(0, SOURCES).tobytes() for node in hubs.nodes for m in _memories(node)
        }
        self.groups = [group for group in (self._group() for _ in range(self.draw.randrange(3))) if group]

    # --- Phases

    def phase(self) -> bool:
        """Runs a phase. Returns False if it must be the last one, because processors wait forever."""
        for _ in range(self.draw.randint(1, 4)):
            for node in self.draw.sample(self.hubs.nodes, len(self.hubs.nodes)):
                if self.draw.random() < 0.3:
                    self.did(node.work(self.draw.randrange(4000)))
                self.draw.choice((*4 * (self.transfer,), self._copy, self._reduce))(node)
            for group, how in self.groups:
                if self.draw.random() < 0.5:
                    self.reduce_in(group, how)
        if self.draw.random() < 0.15:
            disturbances.rewrite_windows(self)
        if self.draw.random() < 0.1:
            disturbances.trespass(self)
        if self.draw.random() < 0.1:
            self._burst()
        if self.draw.random() < 0.1:
            self._flood()
        if self.draw.random() < 0.05:
            self._misdescribe()
        if self.draw.random() < 0.05:
            self._round()
        if self.draw.random() < 0.3:
            disturbances.leave(self)
        return all(self.run() for _ in chain(self._pour(), self._stream()))

    def run(self) -> bool:
        try:
            self.hubs.run()
        except WritesLost:  # because of windows; the operations have the error
            return True
        except FabricStopped as stopped:
            self.said.append(str(stopped))
            return False
        return True

    def transfer(self, node: Node) -> None:
        self.draw.choice((self._store, self._chain, self._chain, self._get))(node)

    def _store(self, node: Node) -> None:
        data = self.random_bytes(4 * self.draw.randint(1, 100))
        memory = self._memory()
        own = memory.node == node.number and memory.number == 0
        target = self.target(memory, data, None if own else (node.number, NORTH))
        self.did(node.store(memory.address(target.at), np.frombuffer(data, np.uint8)), target)

    def _chain(self, node: Node) -> None:
        copies, targets = [], []
        most, _ = self.hubs.ram_copies
        for _ in range(min(most, self.draw.choice((1, 1, 2, 5, 12)))):
            source, at, data = self._source(
                node, 4 * self.draw.choice((1, 2, self.draw.randint(1, 64), self.draw.randint(1, 1000)))
            )
            memory = self._memory()
            target = self.target(memory, data, (node.number, ENGINE))
            copies.append((memory.address(target.at), source.address(at), len(data)))
            targets.append(target)
        self.did(node.chain(copies, self.draw.choice(("ram", "host")), self.draw.random() < 0.7), *targets)

    def _burst(self) -> None:
        """Several nodes write to one hub's memory faster than its bus accepts, so that links run out of credits."""
        hub = self.draw.choice(self.hubs.nodes).hub
        if self.used[hub.node, hub.number] > AREA - 3 * _BURST - PAGE:
            return
        for node in self.draw.sample(self.hubs.nodes, min(3, len(self.hubs.nodes))):
            at = 4 * self.draw.randrange((SOURCES - _BURST) // 4)
            target = self.target(hub, self.sources[node.number, 0][at : at + _BURST], (node.number, ENGINE))
            self.did(node.put(hub.address(target.at), node.processor.address(at), _BURST), target)

    def _get(self, node: Node) -> None:
        other = self.draw.choice(self.hubs.nodes)
        source, at, data = self._source(
            other, 4 * self.draw.choice((1, self.draw.randint(1, 64), self.draw.randint(1, 500)))
        )
        memory = self.draw.choice(_memories(node))
        target = self.target(memory, data, (other.number, ENGINE))
        self.did(node.get(memory.address(target.at), source.address(at), len(data)), target)

    def _copy(self, node: Node) -> None:
        source = self.draw.choice(_memories(node)[:3])
        size = self.draw.randint(1, 3000)
        at = self.draw.randrange(SOURCES - size)
        data = self.sources[source.node, source.number][at : at + size]
        memory = self.draw.choice(_memories(node)[:3])
        target = self.target(memory, data, None)
        self.did(node.copy(memory, target.at, source, at, size), target)

    def _reduce(self, node: Node) -> None:
        reducing, free = self.reducing[node.number], self.contexts[node.number]
        if not reducing and not free:
            return self._chain(node)
        context = self.draw.choice(reducing + free)
        if context in free:
            free.remove(context)
            reducing.append(context)
        how = self._how(context)
        sources, data = self._records(node, how)
        memory = self._memory()
        target = self.target(
            memory, self._reduced(data, how)[: 16 if how.tree else how.record_bytes], (node.number, ENGINE)
        )
        self.did(node.reduce(memory.address(target.at), sources, how, self.draw.random() < 0.7), target)

    def _group(self) -> tuple[Group, Reduction] | None:
        """A random group, if there are enough free contexts."""
        hubs, draw = self.hubs, self.draw
        members = draw.sample(range(len(hubs.nodes)), draw.randint(1, len(hubs.nodes)))
        how = replace(self._how(0), tree=False)
        most = hubs.cluster.node.sums * 16 // how.record_bytes
        levels = 2 if len(members) > most else 1
        leaders = -(-len(members) // most)
        if leaders > most or 1 + 2 * most + 3 * leaders > self.hubs.ram_copies[1]:
            return None
        for context in draw.sample(range(4), 4):
            taken = range(context, context + levels + 1)
            if all(set(taken) <= set(self.contexts[member]) for member in members):
                break
        else:
            return None
        for member in members:
            if draw.random() < 0.3:
                hubs.nodes[member].work(draw.randrange(20_000))
            self.contexts[member] = [free for free in self.contexts[member] if free not in taken]
        how = replace(how, context=context)
        return hubs.group(members, RESULTS + draw.choice((0, 4, 16)), how), how

    def reduce_in(self, group: Group, how: Reduction, missing: int | None = None) -> None:
        """Reduces in a group, and copies the result of each member to a target. Windows route only targets elsewhere, so nothing of the
        reduction is lost. `missing`: a member that does not take part."""
        parts, operations = [], []
        for member in group.nodes:
            if member == missing:
                continue
            sources, data = self._records(self.hubs.nodes[member], how)
            parts.append(self._reduced(data, how))
            operations.append(group.reduce(member, sources))
            self.did(operations[-1])
        most = self.hubs.cluster.node.sums * 16 // how.record_bytes
        while len(parts) > 1:
            groups = [parts[first : first + most] for first in range(0, len(parts), most)]
            parts = [self._reduced(b"".join(of), how) for of in groups]
        for member in group.nodes if missing is None else ():
            node = self.hubs.nodes[member]
            memory = self.draw.choice(_memories(node)[:3])
            target = self.target(memory, parts[0], None)
            self.did(node.copy(memory, target.at, node.processor, group.at, how.record_bytes), target)

    # --- Accesses to a hub's own addresses

    def _pour(self) -> Iterator[None]:
        """Several nodes write into a context concurrently, at the same addresses, after other reductions and an aborted
        one.

        Each step runs before the next one is drawn.
        """
        yield
        hub = self.draw.choice(self.hubs.nodes)
        pairs = [pair for pair in self.hubs.cluster.node.pairs if pair in arithmetic.EXACT]
        free = self.contexts[hub.number]
        if not free or not pairs or self.draw.random() < 0.5:
            return
        op, kind = self.draw.choice(pairs).split()
        how = replace(self._how(free.pop(self.draw.randrange(len(free)))), op=op, type=kind)
        beat = replace(how, record_bytes=16)
        at = raw.calculator(self.hubs, hub, how.context)
        self.did(raw.set_up(hub, beat, 1))
        self._write_beats(at, hub, beat, 16, self.draw.randrange(3))
        yield
        self.did(raw.set_up(hub, how, 64))
        self._write_beats(at, hub, how, how.record_bytes, self.draw.randrange(3))
        yield
        writers = self.draw.sample(self.hubs.nodes, self.draw.randint(1, len(self.hubs.nodes)))
        pieces = [how.record_bytes * self.draw.choice((1, 1, 2, 8)) for _ in writers]
        counts = [self.draw.randint(1, 8) for _ in writers]
        total = sum(piece * count for piece, count in zip(pieces, counts, strict=True))
        by = self.draw.choice([hub, disturbances.owner(self, hub)])
        yield
        self.did(raw.set_up(hub, how, total // 16, by=by))
        yield
        drawn = zip(writers, pieces, counts, strict=True)
        parts = [self._write_beats(at, node, how, piece, count) for node, piece, count in drawn]
        yield
        size = 16 if how.tree else how.record_bytes
        memory = self._memory()
        target = self.target(memory, self._reduced(b"".join(parts), how)[:size], (hub.number, ENGINE))
        self.did(hub.put(memory.address(target.at), at, size), target)
        yield

    def _stream(self) -> Iterator[None]:
        """Nodes write records without pause into a context. The hub copies each result into another context, which reduces the results."""
        hub = self.draw.choice(self.hubs.nodes)
        pairs = [pair for pair in self.hubs.cluster.node.pairs if pair in arithmetic.EXACT]
        free = self.contexts[hub.number]
        if len(free) < 2 or not pairs or self.draw.random() < 0.5:
            return
        op, kind = self.draw.choice(pairs).split()
        how = replace(self._how(free.pop()), op=op, type=kind, tree=False)
        all_of_them = replace(how, context=free.pop(0))
        at, total = (raw.calculator(self.hubs, hub, each.context) for each in (how, all_of_them))
        writers = self.draw.sample(self.hubs.nodes, self.draw.randint(1, len(self.hubs.nodes)))
        records, count = self.draw.choice((1, 1, 2)), self.draw.randint(1, 20)
        line = self.lines(hub, 1)
        self.did(raw.write_chain(hub, line, (total, at, how.record_bytes)))
        self.did(raw.set_up(hub, all_of_them, how.record_bytes // 16 * count * len(writers)))
        self.did(raw.set_up(hub, how, how.record_bytes // 16 * records, raw.line_at(hub, line)))
        yield
        parts = []
        for node in writers:
            memory = self.draw.choice(_memories(node)[:3])
            elements = how.record_bytes * records * count // arithmetic.type_of(kind).itemsize
            parts.append(arithmetic.whole_values(self.numbers, kind, elements))
            # No packet ends within a record, so each reduction has whole records; they begin at any address.
            source = self.written(memory, parts[-1], how.record_bytes)
            first = self.draw.randrange(self.hubs.cluster.node.sums * 16 // how.record_bytes) * how.record_bytes
            self.did(node.put(at + first, source, len(parts[-1])))
        yield
        memory = self._memory()
        target = self.target(memory, self._reduced(b"".join(parts), how)[: how.record_bytes], (hub.number, ENGINE))
        self.did(hub.put(memory.address(target.at), total, how.record_bytes), target)
        yield

    def _write_beats(self, at: int, node: Node, how: Reduction, piece: int, count: int) -> bytes:
        """Writes `count` pieces of records to random ones of a context's first places."""
        data, copies = b"", []
        memory = self.draw.choice(_memories(node)[:3])
        for _ in range(count):
            part = arithmetic.whole_values(self.numbers, how.type, piece // arithmetic.type_of(how.type).itemsize)
            copies.append((at + how.record_bytes * self.draw.randrange(4), self.written(memory, part), piece))
            data += part
        most, _ = self.hubs.ram_copies
        for first in range(0, len(copies), most):
            self.did(node.chain(copies[first : first + most]))
        return data

    def _flood(self) -> None:
        """Starts more chains than a hub may have room for; the hub counts dropped starts."""
        node = self.draw.choice(self.hubs.nodes)
        source, at, data = self._source(node, 4 * self.draw.randint(1, 64))
        memory = self._memory()
        target = self.target(memory, data, (node.number, ENGINE))
        target.sure = target.reported = False
        line = self.lines(node, 1)
        self.by_itself = True
        self.did(raw.write_chain(node, line, (memory.address(target.at), source.address(at), len(data))), target)
        for _ in range(self.draw.randint(1, 40)):
            self.did(raw.start(node, raw.line_at(node, line)))
        self.did(node.work(40_000))

    def _misdescribe(self) -> None:
        """Starts a chain whose second descriptor is invalid. The first copy may or may not be executed."""
        node = self.draw.choice(self.hubs.nodes)
        source, at, data = self._source(node, 4 * self.draw.randint(1, 64))
        memory = self._memory()
        target = self.target(memory, data, (node.number, ENGINE))
        target.sure = target.reported = False
        line = self.lines(node, 2)
        self.by_itself = True
        copy = memory.address(target.at), source.address(at), len(data)
        self.did(raw.write_wrong_chain(self.draw, node, line, copy), target)
        self.did(raw.start(node, raw.line_at(node, line)))

    def _round(self) -> None:
        """Starts an endless chain, and lets the hub abort it."""
        node = self.draw.choice(self.hubs.nodes)
        source, at, data = self._source(node, 4 * self.draw.randint(1, 64))
        memory = self._memory()
        target = self.target(memory, data, (node.number, ENGINE))
        target.sure = target.reported = False
        line = self.lines(node, 1)
        self.by_itself = True
        self.did(raw.write_round_chain(node, line, (memory.address(target.at), source.address(at), len(data))), target)
        self.did(raw.start(node, raw.line_at(node, line)))
        self.did(node.work(self.draw.randrange(20_000)))
        if self.draw.random() < 0.5:
            self.did(node.abort())
            self.did(node.work(self.draw.randrange(5_000)))
        self.did(node.reset())  # ends this chain in any case, as the abort may have ended another one

    def lines(self, node: Node, count: int) -> int:
        """Allocates lines of the working RAM, and returns the first one."""
        first = self.used_lines[node.number]
        self.used_lines[node.number] += count
        return first

    # --- Random parts

    def random_bytes(self, count: int) -> bytes:
        return self.numbers.bytes(count)

    def _memory(self) -> Memory:
        return self.draw.choice(_memories(self.draw.choice(self.hubs.nodes)))

    def _source(self, node: Node, size: int) -> tuple[Memory, int, bytes]:
        memory = self.draw.choice(_memories(node))
        at = 4 * self.draw.randrange((SOURCES - size) // 4)
        return memory, at, self.sources[memory.node, memory.number][at : at + size]

    def _how(self, context: int) -> Reduction:
        op, kind = self.draw.choice(self.hubs.cluster.node.pairs).split()
        records = [size for size in (16, 32, 64, 128) if size <= 16 * self.hubs.cluster.node.records]
        return Reduction(op, kind, self.draw.choice(records), self.draw.random() < 0.2, context)

    def _reduced(self, data: bytes, how: Reduction) -> bytes:
        return arithmetic.reduced(data, how.op, how.type, how.record_bytes, self.hubs.cluster.node.sums, how.tree)

    def _records(self, node: Node, how: Reduction) -> tuple[list[tuple[int, int]], bytes]:
        """Writes random records to free places of a node's memories; their sources and their data."""
        sources, data = [], b""
        for _ in range(self.draw.choice((1, 1, 2))):
            count = how.record_bytes * self.draw.choice((1, 2, self.draw.randint(1, 20)))
            memory = self.draw.choice(_memories(node)[:3])
            part = arithmetic.random_values(self.numbers, how.type, count // arithmetic.type_of(how.type).itemsize)
            sources.append((self.written(memory, part), count))
            data += part
        return sources, data

    def written(self, memory: Memory, data: bytes, step: int = 16) -> int:
        """Writes data to a free place at a multiple of `step`, and returns its address."""
        at = self._place(memory, len(data), step)
        memory.write(at, data)
        self.targets.append(Target(memory, at, data, [False] * (len(data) // 4)))
        return memory.address(at)

    def _place(self, memory: Memory, size: int, step: int = 4) -> int:
        key = memory.node, memory.number
        at = -(-self.used[key] // step) * step + step * self.draw.randrange(3)
        self.used[key] = -(-(at + size) // 4) * 4
        if self.used[key] > AREA:
            raise AssertionError("the area of targets is full")
        return at

    def target(self, memory: Memory, data: bytes, came: tuple[int, int] | None) -> Target:
        """Allocates a target. `came` is the node and the port where the packets that write it enter."""
        at = self._place(memory, len(data))
        lost = [False] * -(-len(data) // 4)
        maybe = False
        if came:
            address = memory.address(at)
            pages = range(address // PAGE, (address + len(data) - 1) // PAGE + 1)
            gone = {page: not self._lands(*came, page) for page in pages}
            lost = [gone[(address + 4 * word) // PAGE] for word in range(len(lost))]
            maybe = not self.unsure.isdisjoint(pages)
        target = Target(memory, at, data, lost, maybe=maybe)
        self.targets.append(target)
        return target

    def readable(self, node: int, page: int) -> bool:
        """True if the node's DMA controller can read a page of its own node."""
        hub = page // (1 << 18) % 32 == 31
        return hub or self.tables is None or way(self.tables[node], page) == NORTH

    def _lands(self, node: int, port: int, page: int) -> bool:
        if self.tables is not None:
            return lands(self.rings, self.tables, node, port, page)
        hub = page // (1 << 18) % 32 == 31
        return hub or (page >> 23, port) != (node, NORTH)  # a hub does not send a packet of the host back to it

    def did(self, operation: Operation, *targets: Target) -> None:
        self.operations.append(operation)
        for target in targets:
            target.of = operation

    # --- Checks

    def outcome(self) -> Outcome:
        memories = [memory.read(0, AREA) for node in self.hubs.nodes for memory in _memories(node)]
        counts = [dict(node.counts()) for node in self.hubs.nodes]
        lost = sum(map(sum, (target.lost for target in self.targets)))
        times = [(operation._times.begin, operation._times.end, operation.error) for operation in self.operations]
        outcome = Outcome(self.said, times, counts, [memory.tobytes() for memory in memories], lost)
        keys = [(memory.node, memory.number) for node in self.hubs.nodes for memory in _memories(node)]
        outcome.wrong = self._wrong(dict(zip(keys, memories, strict=True)))
        outcome.wrong += disturbances.wrong_reports(self)
        if self.said or self.by_itself or self.unsure:
            return outcome
        reported = outcome.refused + sum(of_hub["unclaimed"] for of_hub in counts)
        faults = sum(refused for _, refused in self.left)
        if (lost > 0 or faults > 0 or len(self.trespasses) > 0) != (reported > 0):
            outcome.wrong.append(f"{lost} double words are diverted, but {reported} packets are reported")
        if any(of_hub[what] for of_hub in counts for what in ("missed", "strays", "dropped")) or faults != sum(
            of_hub["faults"] for of_hub in counts
        ):
            outcome.wrong.append(f"hubs have counted: {counts}")
        return outcome

    def _wrong(self, memories: dict[tuple[int, int], NDArray[np.uint8]]) -> list[str]:
        """Missing and unexpected bytes of memories."""
        rest = {key: memory.copy() for key, memory in memories.items()}
        wrong = []
        for target in self.targets:
            size = len(target.data)
            got, data = memories[target.key][target.at : target.at + size], np.frombuffer(target.data, np.uint8)
            rest[target.key][target.at : target.at + size] = _UNTOUCHED
            old = np.full(size, _UNTOUCHED, np.uint8)
            lost = np.repeat(target.lost, 4)[:size]
            ended, error = (target.of._times.end >= 0, target.of.error) if target.of else (True, "")
            # an operation with an error guarantees nothing if chains are aborted; otherwise only the words that windows
            # do not divert
            done = ended and target.sure and not (error and (self.said or self.by_itself or "chain" in error))
            if lost.any() and target.reported and ended and not error and not target.maybe:
                wrong.append(
                    f"{size} bytes at {target.at} of memory {target.key[1]} of node {target.key[0]} are lost, but their operation is done"
                )
            right = np.where(lost, got == old, (got == data) | ((got == old) & (not done)))
            if target.maybe:
                right = (got == data) | ((got == old) & (not (done and target.reported) or bool(error)))
            if not right.all():
                at = int(np.argmin(right))
                wrong.append(
                    f"byte {at} of {size} at {target.at} of memory {target.key[1]} of node {target.key[0]} is {got[at]}, not {old[at] if lost[at] else data[at]}"
                )
        for key, memory in rest.items():
            if memory[:SOURCES].tobytes() != self.sources[key] or (memory[SOURCES:] != _UNTOUCHED).any():
                wrong.append(f"memory {key[1]} of node {key[0]} has changed outside of all writes")
        return wrong


def _memories(node: Node) -> Sequence[Memory]:
    return (node.processor, *node.gpus, node.hub)


def run(cluster: Cluster, engine: str, seed: int) -> Outcome:
    """Runs the program of a seed. Raises CheckFailed if the hardware differs, or if something is wrong and not reported."""
    draw = random.Random(seed)
    cluster = with_phase(cluster, draw.randrange(cluster.ticks_of(cluster.node.bus_clock)))
    program = Program(Hubs(cluster, engine), seed)
    if all(program.phase() for _ in range(draw.randint(1, 3))) and draw.random() < 0.2:
        disturbances.last_phase(program)
    if program.said or program.by_itself:
        disturbances.final_puts(program)
    outcome = program.outcome()
    if outcome.wrong:
        raise CheckFailed(f"seed {seed}: {outcome.wrong[0]}" + "".join(f"\n{said}" for said in outcome.said))
    return outcome
