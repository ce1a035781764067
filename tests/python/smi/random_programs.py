# SPDX-License-Identifier: Apache-2.0
"""Random programs of SMI that end by construction, with each kernel's expected results by plain arithmetic.

A program is an order of transactions: messages, messages that kernels forward, exchanges, collectives, channels within
a rank. Each kernel executes its own in that order, so that the first unfinished transaction can always proceed, unless
the network is full of packets that a kernel does not take yet. This is impossible: a kernel with several transactions
has room for everything sent to it before it asks, in its ports' buffers or by credits; larger messages go to a kernel
without other transactions.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from thalweg.systems.mpi_fpga.cluster import Cluster as Switches
from thalweg.systems.smi import metadata
from thalweg.systems.smi.cluster import HEADER_BYTES, Cluster
from thalweg.systems.smi.cosim import random_edges
from thalweg.systems.smi.run import Result, Run

FOLLOWS = Path(__file__).with_name("follows.c")
KERNELS = 4  #: of a rank, the number in that file
MAX_STEPS = 40
TYPES = ("", "int", "float", "double", "char", "short")  #: by SMI's numbers
COLLECTIVES = ("broadcast", "scatter", "gather", "reduce")
OPEN, PUSH, POP, FORWARD, EXCHANGE, COLLECTIVE, WRITE, READ, PAUSE = range(9)
KINDS = ("push", "pop", *COLLECTIVES)
FIELDS = ("what", "slot", "other", "count", "start", "kind", "type", "op", "peer", "port", "degree", "first", "stride", "size", "seed", "flush")  # fmt: skip

Numbers = NDArray[Any]


def elements(type_: int, seed: int, index: Numbers, small: bool = False) -> Numbers:
    """The elements of a message, generated as in follows.c."""
    h = np.uint32(seed) ^ (index.astype(np.uint32) * np.uint32(0x9E3779B1))
    h = (h ^ (h >> np.uint32(15))) * np.uint32(0x85EBCA77)
    h = h ^ (h >> np.uint32(13))
    if small:
        return (h % np.uint32(31)).astype(np.float64) - 15
    whole = h.astype(np.int32)
    if TYPES[type_] in ("char", "short"):
        return whole.astype(np.int8 if TYPES[type_] == "char" else np.int16).astype(np.float64)
    return (whole >> 8 if TYPES[type_] == "float" else whole).astype(np.float64)


CLUSTER = """
[clock.kernel]
frequency_mhz = 250

[node.board]
kind = "smi"
clock = "kernel"
links = {links}
packet_bytes = {packet_bytes}
reads = {reads}
depth = {depth}
link_buffer = {link_buffer}
latency = {latency}
tile = {tile}
protocol = "{protocol}"
arity = {arity}
any_order = {any_order}
banks = 4
bank_gb = 19.2
bank_ns = 100

[link.cable]
kind = "serial"
gbit_s = {gbit_s}
latency_ns = {latency_ns}

[topology]
shape = "{shape}"
{size}
node = "board"
link = "cable"
"""


def random_cluster(draw: random.Random, folder: Path) -> Cluster:
    """Of 2 to 8 ranks."""
    ranks, links = draw.randint(2, 8), draw.choice((2, 3, 4, 4))
    shape = draw.choice(("ring", "line", "torus", "edges", "edges"))
    size = f"size = [{ranks}]"
    if shape == "torus":
        links, size = 4, f"size = {draw.choice(([2, 2], [2, 3], [3, 2], [2, 4], [4, 2]))}"
    elif shape == "edges":
        size = f"edges = {[list(edge) for edge in random_edges(draw, ranks, links)]}"
    file = folder / f"{draw.getrandbits(64):016x}.toml"
    values = {
        "packet_bytes": draw.choice((16, 24, 32, 32, 40, 64)),
        "reads": draw.choice((1, 2, 4, 8, 16)),
        "depth": draw.choice((2, 3, 8, 16)),
        "link_buffer": draw.choice((2, 4, 16)),
        "latency": draw.randint(1, 12),
        "tile": draw.choice((1, 2, 7, 32)),
        "protocol": draw.choice(("eager", "degree", "degree")),
        "arity": draw.choice((0, 0, 1, 2, 3)),
        "any_order": str(draw.random() < 0.3).lower(),
        "gbit_s": draw.choice((10, 40, 64)),
        "latency_ns": draw.choice((4, 40, 400)),
    }
    file.write_text(CLUSTER.format(shape=shape, size=size, links=links, **values))
    return Cluster.load(file)


@dataclass
class Port:
    number: int
    kind: str  #: "message", or a collective
    type: int
    op: int
    buffer: int  #: packets


@dataclass
class Kernel:
    rank: int
    number: int
    alone: bool  #: takes from one port, and has no other blocking transactions
    steps: list[dict[str, int]] = field(default_factory=list)
    gets: list[Numbers] = field(default_factory=list)
    slots: int = 0

    @property
    def name(self) -> str:
        return f"kernel_{self.number}"

    def step(self, what: int, gets: Numbers | None = None, at: int | None = None, **values: int) -> None:
        self.steps.insert(len(self.steps) if at is None else at, {"what": what, **values})
        if gets is not None:
            self.gets.append(gets)


class Program:
    """Grows by transactions; `run` runs it."""

    def __init__(self, draw: random.Random, cluster: Cluster) -> None:
        self.draw, self.cluster = draw, cluster
        self.ranks = draw.randint(min(2, cluster.topology.nodes), cluster.topology.nodes)
        self.ports: list[Port] = []
        self.kernels: dict[tuple[int, int], Kernel] = {}
        self.users: dict[tuple[int, int, str], Kernel] = {}  #: of a rank's port
        self.pipes: dict[tuple[int, int, str], Kernel] = {}
        self.reserved: dict[tuple[int, int], int] = {}  #: packets of a port's buffer at a rank
        self.windows: dict[tuple[int, int], int] = {}
        self.sources: dict[tuple[int, int], int] = {}  #: rank that sent last
        self.closed: set[int] = set()  #: ranks that get no more kernels
        for rank in range(self.ranks):
            for _ in range(draw.choice((1, 1, 2))):
                self.add_kernel(rank)
        for _ in range(draw.randint(1, 6)):
            self.add_port(draw.choice(("message", "message", *COLLECTIVES)))

    # Resources.

    def add_kernel(self, rank: int, alone: bool = False) -> Kernel:
        number = sum(of == rank for of, _ in self.kernels)
        return self.kernels.setdefault((rank, number), Kernel(rank, number, alone))

    def of(self, rank: int) -> list[Kernel]:
        return [kernel for kernel in self.kernels.values() if kernel.rank == rank]

    def add_port(self, kind: str) -> Port:
        number = self.draw.choice(
            [number for number in range(256) if all(port.number != number for port in self.ports)]
        )
        made = Port(number, kind, self.draw.randint(1, 5), self.draw.randrange(3), self.draw.choice((1, 2, 5, 16)))
        self.ports.append(made)
        return made

    def user(self, rank: int, port: Port, kind: str) -> Kernel:
        """The kernel that uses the port."""
        key = (rank, port.number, kind)
        if key not in self.users:
            more = rank not in self.closed and len(self.of(rank)) < KERNELS
            if kind == "pop" and more and self.draw.random() < 0.4:
                self.users[key] = self.add_kernel(rank, alone=True)
            else:
                self.users[key] = self.draw.choice([kernel for kernel in self.of(rank) if not kernel.alone])
        return self.users[key]

    def per_packet(self, type_: int, degree: int | None = None) -> int:
        most = min(31, (self.cluster.node.packet_bytes - HEADER_BYTES) // metadata.BYTES[TYPES[type_]])
        return most if degree is None else min(max(degree, 1), most)

    # Parts of transactions.

    def size(self) -> int:
        return self.draw.choice(
            (0, 1, 1, 2 * self.draw.randrange(30) + 1, self.draw.randrange(60), self.draw.randrange(1500))
        )

    def protocol(self, port: Port, receiver: Kernel, count: int) -> tuple[int, int]:
        """Number of elements of a message, and its asynchronicity degree, such that it does not fill the network."""
        draw, most = self.draw, self.per_packet(port.type)
        eager = self.cluster.node.protocol == "eager"
        degree = draw.choice((-1, -1, 0, 1, draw.randrange(2 * most), draw.randrange(2000)))
        if receiver.alone:
            return count, degree
        key = (receiver.rank, port.number)
        free = port.buffer - self.reserved.get(key, 0) - self.windows.get(key, 0)
        allowed = port.buffer * most if degree < 0 else degree
        if not eager and count > allowed:
            window = max(1, -(-allowed // self.per_packet(port.type, allowed)))
            more = window - self.windows.get(key, 0)
            if more <= free:
                self.windows[key] = max(window, self.windows.get(key, 0))
                return count, degree
            count = min(count, allowed)
        count = min(count, free * most)
        self.reserved[key] = self.reserved.get(key, 0) + -(-count // most)
        return count, degree

    def open(
        self,
        kernel: Kernel,
        port: Port,
        kind: str,
        count: int,
        peer: int,
        degree: int,
        early: bool | None = None,
        **comm: int,
    ) -> int:
        """Returns the channel's slot."""
        slot = kernel.slots
        kernel.slots += 1
        if early is None:
            early = self.draw.random() < 0.3
        kernel.step(
            OPEN, at=0 if early else None, slot=slot, count=count, kind=KINDS.index(kind), type=port.type,
            op=port.op, peer=peer, port=port.number, degree=degree, **comm,
        )  # fmt: skip
        return slot

    def seed(self) -> int:
        return self.draw.getrandbits(31)

    def room(self, *kernels: Kernel) -> bool:
        return all(len(kernel.steps) < MAX_STEPS for kernel in kernels)

    def in_turn(self, sender: Kernel, receiver: Kernel, port: Port) -> bool:
        """A port's senders take turns: the receiver tells the next one when it may begin."""
        key = (receiver.rank, port.number)
        before = self.sources.get(key, sender.rank)
        if before != sender.rank and receiver is not sender:
            if len(self.ports) >= 14:
                return False
            turn = self.add_port("message")
            self.users[receiver.rank, turn.number, "push"] = receiver
            self.users[sender.rank, turn.number, "pop"] = sender
            self.message(receiver, sender, turn, 1, -1)
            self.sources[sender.rank, turn.number] = receiver.rank
            self.reserved[sender.rank, turn.number] = 1
        self.sources[key] = sender.rank
        return True

    def message(self, sender: Kernel, receiver: Kernel, port: Port, count: int, degree: int) -> None:
        seed = self.seed()
        out = self.open(sender, port, "push", count, receiver.rank, degree)
        into = self.open(receiver, port, "pop", count, sender.rank, degree)
        sender.step(PUSH, slot=out, count=count, seed=seed)
        receiver.step(POP, elements(port.type, seed, np.arange(count)), slot=into, count=count)

    # Transactions; false if it does not fit.

    def add_message(self) -> bool:
        port = self.pick("message")
        sender = self.user(self.draw.randrange(self.ranks), port, "push")
        receiver = self.user(self.draw.randrange(self.ranks), port, "pop")
        if (
            not self.room(sender, receiver)
            or (sender is receiver and sender.alone)
            or not self.in_turn(sender, receiver, port)
        ):
            return False
        count, degree = self.protocol(port, receiver, self.size())
        if sender is receiver:  # all that it sends must be in its buffer before it receives
            key, most = (sender.rank, port.number), self.per_packet(port.type)
            free = port.buffer - self.windows.get(key, 0) - self.reserved.get(key, 0)
            count, degree = min(count, most * max(0, free)), 1 << 20
            self.reserved[key] = self.reserved.get(key, 0) + -(-count // most)
        self.message(sender, receiver, port, count, degree)
        return True

    def add_passed_on(self) -> bool:
        """A chain of kernels, each of which forwards its input, element by element."""
        wanted = self.size()
        ranks = [self.draw.randrange(self.ranks) for _ in range(self.draw.randint(3, 4))]
        port = self.pick("message")
        type_ = port.type
        ways: list[tuple[Kernel, Kernel, Port]] = []
        for a, b in zip(ranks, ranks[1:], strict=False):
            port = self.draw.choice([port for port in self.ports if port.kind == "message" and port.type == type_])
            ways.append((self.user(a, port, "push"), self.user(b, port, "pop"), port))
        kernels = [ways[0][0], *(way[1] for way in ways)]
        if len({id(kernel) for kernel in kernels}) < len(kernels) or not self.room(*kernels):
            return False
        if any(one is not other[0] for (_, one, _), other in zip(ways, ways[1:], strict=False)):
            return False
        if len({(way[1].rank, way[2].number) for way in ways}) < len(ways) or not all(
            self.in_turn(*way) for way in ways
        ):
            return False
        sizes = [self.protocol(port, receiver, wanted) for _, receiver, port in ways]
        count, seed = min(size for size, _ in sizes), self.seed()
        got = elements(type_, seed, np.arange(count))
        slot = -1
        for at, ((sender, receiver, port), (_, degree)) in enumerate(zip(ways, sizes, strict=True)):
            out = self.open(sender, port, "push", count, receiver.rank, degree)
            if at == 0:
                sender.step(PUSH, slot=out, count=count, seed=seed)
            else:
                sender.step(FORWARD, got, slot=slot, other=out, count=count)
            slot = self.open(receiver, port, "pop", count, sender.rank, degree)
        ways[-1][1].step(POP, got, slot=slot, count=count)
        return True

    def add_exchange(self) -> bool:
        """Element by element, each of them a packet."""
        a, b = self.draw.randrange(self.ranks), self.draw.randrange(self.ranks)
        there, back = self.pick("message"), self.pick("message")
        one, other = self.user(a, there, "push"), self.user(b, there, "pop")
        keys = ((b, there.number), (a, back.number))
        if self.user(b, back, "push") is not other or self.user(a, back, "pop") is not one or one is other:
            return False
        if keys[0] == keys[1] or not self.room(one, other):
            return False
        for key, port in zip(keys, (there, back), strict=True):
            if port.buffer - self.reserved.get(key, 0) - self.windows.get(key, 0) < 2:
                return False
        if not self.in_turn(one, other, there) or not self.in_turn(other, one, back):
            return False
        count, degree = self.draw.randint(1, 20), self.draw.choice((-1, 1, 1000))
        if self.cluster.node.protocol == "degree" and degree != 1000:
            degree = 1
        seeds = [self.seed(), self.seed()]
        for key in keys:
            self.reserved[key] = self.reserved.get(key, 0) + 2
        for kernel, peer, out, into, (own, theirs) in (
            (one, b, there, back, seeds),
            (other, a, back, there, seeds[::-1]),
        ):
            slot, from_ = (
                self.open(kernel, out, "push", count, peer, degree),
                self.open(kernel, into, "pop", count, peer, degree),
            )
            kernel.step(
                EXCHANGE, elements(into.type, theirs, np.arange(count)), slot=slot, other=from_, count=count, seed=own
            )
        return True

    def communicator(self) -> list[int]:
        """Ranks with a constant stride."""
        size = self.draw.randint(1, self.ranks)
        stride = self.draw.choice(
            [s for s in range(-self.ranks, self.ranks + 1) if s and abs(s) * (size - 1) < self.ranks]
        )
        low = self.draw.randrange(self.ranks - abs(stride) * (size - 1))
        ranks = [low + abs(stride) * i for i in range(size)]
        return ranks if stride > 0 else ranks[::-1]

    def add_collective(self) -> bool:
        port = self.pick(self.draw.choice(COLLECTIVES))
        ranks = self.communicator()
        kernels = [self.user(rank, port, port.kind) for rank in ranks]
        if not self.room(*kernels):
            return False
        self.collective(port, ranks, kernels, min(self.size(), 300), self.draw.randrange(len(ranks)))
        return True

    def collective(self, port: Port, ranks: list[int], kernels: list[Kernel], count: int, root: int) -> None:
        degree = self.draw.choice((-1, -1, 1, 5, 100))
        comm = {"first": ranks[0], "stride": ranks[1] - ranks[0] if len(ranks) > 1 else 1, "size": len(ranks)}
        seeds = [self.seed() for _ in ranks]
        index = np.arange(count)
        given = [elements(port.type, seed, index, port.kind == "reduce") for seed in seeds]
        for member, kernel in enumerate(kernels):
            slot = self.open(kernel, port, port.kind, count, root, degree, **comm)
            gets, calls = np.empty(0), count
            if port.kind == "broadcast" and member != root:
                gets = given[root]
            elif port.kind == "reduce" and member == root:
                gets = (np.sum, np.max, np.min)[port.op](given, axis=0)
            elif port.kind == "scatter":
                gets = elements(port.type, seeds[root], index + member * count)
            elif port.kind == "gather" and member == root:
                gets = np.concatenate(given)
            if port.kind in ("scatter", "gather") and member == root:
                calls *= len(ranks)
            kernel.step(COLLECTIVE, gets, slot=slot, count=calls, seed=seeds[member])

    def add_pipe(self) -> bool:
        rank, number = self.draw.randrange(self.ranks), self.draw.randrange(4)
        shared = [kernel for kernel in self.of(rank) if not kernel.alone]
        writer = self.pipes.setdefault((rank, number, "write"), self.draw.choice(shared))
        reader = self.pipes.setdefault((rank, number, "read"), self.draw.choice(shared))
        if writer is reader or not self.room(writer, reader):
            return False
        count, seed = self.size(), self.seed()
        writer.step(WRITE, slot=number, count=count, seed=seed)
        reader.step(READ, elements(1, seed, np.arange(count)), slot=number, count=count)
        return True

    def pick(self, kind: str) -> Port:
        return self.draw.choice([port for port in self.ports if port.kind == kind] or [self.add_port(kind)])

    def add_some(self, transactions: int) -> None:
        ways = (self.add_message, self.add_message, self.add_passed_on, self.add_exchange, self.add_collective, self.add_collective, self.add_pipe)  # fmt: skip
        for _ in range(transactions):
            self.draw.choice(ways)()

    # Running.

    def programs(self) -> list[metadata.Program | None]:
        """The operations of each rank of the cluster."""
        by_number = {port.number: port for port in self.ports}
        programs: list[metadata.Program | None] = []
        for rank in range(self.cluster.topology.nodes):
            operations = []
            for of, number, kind in self.users:
                if of != rank:
                    continue
                port = by_number[number]
                operations.append(
                    {
                        "type": kind,
                        "port": number,
                        "data_type": TYPES[port.type],
                        "buffer_size": port.buffer * (28 // metadata.BYTES[TYPES[port.type]]),
                        "args": {"op_type": ("add", "max", "min")[port.op]} if kind == "reduce" else {},
                    }
                )
            whole = {"operations": operations, "consecutive_reads": self.cluster.node.reads, "max_ranks": 8}
            programs.append(metadata.of_values(whole, "random") if operations else None)
        return programs

    def run(self, in_switch: Switches | None = None) -> Result:
        """Raises AssertionError if a kernel receives wrong elements."""
        run = _Mixed(self.cluster, self.ranks, in_switch=in_switch)
        run.by_rank = self.programs()
        outs = []
        for kernel in self.kernels.values():
            expected = np.concatenate([np.empty(0), *kernel.gets])
            most = sum(step["count"] for step in kernel.steps if step["what"] != PAUSE)
            out = run.buffer(kernel.rank, np.full(most + 1, np.nan), self.draw.randrange(4), kernel.name)
            packed = np.zeros((47, len(FIELDS)), np.int32)
            for at, step in enumerate(kernel.steps):
                packed[at] = [step.get(name, 0) for name in FIELDS]
            steps = np.int32(len(kernel.steps)).tobytes() + packed.tobytes()
            run.kernel(FOLLOWS, kernel.name, kernel.rank, steps=steps, out=out)
            outs.append((kernel, out, expected))
        result = run.run()
        for kernel, out, expected in outs:
            got = out.array[: len(expected)]
            assert np.array_equal(got, expected) and np.isnan(out.array[len(expected) :]).all(), (
                f"rank {kernel.rank}, {kernel.name}"
            )
        return result


class _Mixed(Run):
    """Ranks with different operations."""

    by_rank: Sequence[metadata.Program | None]

    def _programs(self) -> list[metadata.Program | None]:
        return list(self.by_rank)
