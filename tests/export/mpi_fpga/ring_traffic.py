# SPDX-License-Identifier: Apache-2.0
"""External tests of exported nodes (ring.sv), by cocotb: tables over AXI4-Lite, packets over AXI4-Stream.

Started by test_ring.py; the folder of the export is in the environment.
"""

from __future__ import annotations

import csv
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.handle import HierarchyObject
from cocotb.triggers import ClockCycles, FallingEdge, with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiStreamBus, AxiStreamSink, AxiStreamSource
from thalweg.spec import Operator
from thalweg.systems.mpi_fpga.spec import Algorithm, Collective
from unit_host import Operation, UnitHost

FOLDER = Path(os.environ["THALWEG_EXPORT"])
FRAME_BITS, SILENCE = (
    int(re.search(rf"{name} = (\d+)", (FOLDER / "rtl/tw_cluster_pkg.sv").read_text())[1])  # type: ignore[index]
    for name in ("FrameBits", "DownCycles")
)
with (FOLDER / "tables/routes.csv").open() as _file:
    TABLE = {(int(row["node"]), int(row["destination"])): int(row["entry"], 16) for row in csv.DictReader(_file)}
FLIT = 32
IDENTITY, CONTROL, NODE, LINKS, UNROUTED, LOST, HOST, LINK, ROUTES = (
    0x00,
    0x0C,
    0x10,
    0x14,
    0x18,
    0x1C,
    0x40,
    0x1000,
    0x40000,
)
WORD_BITS = 262  # of a frame, followed by a bit that marks a word
LATENCY = 4  # cycles, counted as in docs/links.md: three registers of ring.sv, and the codec's
FIRST_CHANNEL = 12  # bit of an entry
NODES = 1 + max(node for node, _ in TABLE)
ONE_LAYER = not any(entry >> FIRST_CHANNEL & 15 for entry in TABLE.values())


def far_end(wire: int) -> tuple[int, int]:
    """Node and port to which a wire leads, as in ring.sv."""
    node, port = divmod(wire, 2)
    return ((node + 1) % NODES, 1) if port == 0 else ((node - 1) % NODES, 0)


def way(source: int, destination: int) -> list[int]:
    """The wires of a path, by the tables."""
    wires, node = [], source
    while node != destination:
        wires.append(2 * node + (TABLE[node, destination] & 0x3F))
        node = far_end(wires[-1])[0]
    return wires


def header(destination: int, flits: int) -> bytes:
    """As in spec/generated/packets.md."""
    bits = destination | (flits.bit_length() - 1) << 28
    return bits.to_bytes(8, "little")


def packet(destination: int, label: bytes) -> bytes:
    flits = 1 << random.randrange(7)
    return header(destination, flits) + label + random.randbytes(flits * FLIT - 8 - len(label))


def pauses() -> Iterator[bool]:
    """Periods of backpressure of various strength."""
    while True:
        share = random.choice((0, 0.1, 0.5, 0.9))
        for _ in range(random.randrange(1, 200)):
            yield random.random() < share


class Node:
    """One of the two tops, with its environment."""

    def __init__(self, dut: HierarchyObject, index: int) -> None:
        top = dut.nodes[index].node
        clocked = (dut.aclk, top.aresetn, False)
        self.index = index
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(top, "s_axil"), *clocked)
        self.host_in = AxiStreamSource(AxiStreamBus.from_prefix(top, "s_axis_host"), *clocked)
        self.host_out = AxiStreamSink(AxiStreamBus.from_prefix(top, "m_axis_host"), *clocked)
        self.unit = UnitHost(top, clocked, self.registers, FOLDER, index)
        for stream in (self.host_in, self.host_out, *self.unit.streams()):
            stream.set_pause_generator(pauses())

    async def count(self, address: int) -> int:
        low = await self.registers.read_dword(address)
        return low | await self.registers.read_dword(address + 4) << 32

    async def of_link(self, link: int) -> dict[str, int]:
        names = ("sent", "received", "repeated", "damaged", "lost")
        return {name: await self.count(LINK + 0x40 * link + 8 * i) for i, name in enumerate(names)}

    async def set_up(self) -> None:
        assert await self.registers.read_dword(IDENTITY) == 0x54574C47
        await self.registers.write_dword(NODE, self.index)
        for destination in range(NODES):
            entry = TABLE[self.index, destination]
            if ONE_LAYER:
                entry |= destination % 2 << FIRST_CHANNEL  # either of the messages' two
            await self.registers.write_dword(ROUTES + 4 * destination, entry)
        await self.registers.read_dword(ROUTES)  # returns no information, but is answered


class Wires:
    """Delays, loses and damages frames at random in every cycle."""

    def __init__(self, dut: HierarchyObject) -> None:
        self.dut = dut
        self.taken, self.lost, self.damaged = 1.0, 0.0, 0.0
        self._running = cocotb.start_soon(self._run())

    async def _run(self) -> None:
        def some(share: float) -> int:
            return sum((random.random() < share) << wire for wire in range(2 * NODES))

        while True:
            self.dut.taken.value = some(self.taken)
            self.dut.lost.value = some(self.lost)
            self.dut.damaged.value = some(self.damaged)
            self.dut.wrong_bit.value = random.randrange(FRAME_BITS)
            await FallingEdge(self.dut.aclk)

    def stop(self) -> None:
        """Stops all changes."""
        self._running.cancel()

    def frames(self, wire: int, what: str) -> int:
        return int(getattr(self.dut, f"{what}_frames").value) >> 32 * wire & 0xFFFFFFFF


async def start(dut: HierarchyObject) -> tuple[list[Node], Wires]:
    """Resets all nodes together, and releases them one after the other; writes registers and tables."""
    Clock(dut.aclk, 4, "ns").start()
    dut.aresetn.value = 0
    wires, nodes = Wires(dut), [Node(dut, index) for index in range(NODES)]
    wires.taken = 0.0
    await ClockCycles(dut.aclk, 10)
    released = 0
    for index in random.sample(range(NODES), NODES):
        released |= 1 << index
        dut.aresetn.value = released
        await ClockCycles(dut.aclk, random.randrange(3, 50))
    assert int(dut.valid.value) == (1 << 2 * NODES) - 1, "TVALID waits for TREADY"
    wires.taken = 1.0
    for node in nodes:
        await node.set_up()
    return nodes, wires


async def enable(nodes: list[Node]) -> None:
    for node in nodes:
        await node.registers.write_dword(CONTROL, 1)


async def links(nodes: list[Node]) -> list[int]:
    return [await node.registers.read_dword(LINKS) for node in nodes]


def flits(packets: list[bytes]) -> int:
    return sum(map(len, packets)) // FLIT


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_packet_arrives_once_and_unaltered(dut: HierarchyObject) -> None:
    nodes, wires = await start(dut)
    given: dict[tuple[int, int], list[bytes]] = {(a, b): [] for a in range(NODES) for b in range(NODES)}
    for node in nodes:
        for number in range(20):
            to = random.randrange(NODES)
            given[node.index, to].append(packet(to, bytes((node.index, number))))
            await node.host_in.send(given[node.index, to][-1])
    await ClockCycles(dut.aclk, 100)
    assert [await node.count(HOST) for node in nodes] == [0] * NODES, "packets are taken before control says so"
    assert await links(nodes) == [3] * NODES

    wires.taken, wires.lost, wires.damaged = 0.9, 0.02, 0.02  # some 25 of each on every wire
    await enable(nodes)

    for node in nodes:
        wanted = {source: given[source, node.index] for source in range(NODES)}
        seen: dict[int, list[bytes]] = {source: [] for source in range(NODES)}
        for _ in range(sum(map(len, wanted.values()))):
            frame = await with_timeout(node.host_out.recv(), 200, "us")
            seen[frame.tdata[8]].append(bytes(frame.tdata))
        assert seen == wanted
    wires.taken, wires.lost, wires.damaged = 1.0, 0.0, 0.0
    await ClockCycles(dut.aclk, 300)
    assert all(node.host_out.empty() for node in nodes), "a packet too many"

    crossed = [0] * (2 * NODES)
    for (source, destination), packets in given.items():
        for wire in way(source, destination):
            crossed[wire] += flits(packets)
    for node in nodes:
        assert await node.count(HOST) == sum(flits(given[node.index, other]) for other in range(NODES))
        assert await node.count(HOST + 8) == sum(flits(given[other, node.index]) for other in range(NODES))
    repeated = 0
    for wire, flits_here in enumerate(crossed):
        near = await nodes[wire // 2].of_link(wire % 2)
        far_node, far_port = far_end(wire)
        far = await nodes[far_node].of_link(far_port)
        assert near["sent"] == far["received"] == flits_here
        assert far["damaged"] == wires.frames(wire, "damaged") > 0
        assert wires.frames(wire, "lost") > 0
        assert near["repeated"] == 0 or flits_here > 0
        repeated += near["repeated"]
    assert repeated > 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def one_damaged_frame_is_repeated(dut: HierarchyObject) -> None:
    """A flit's frame is damaged in flight: it is repeated at the time given in docs/links.md, and each end counts one."""
    nodes, wires = await start(dut)
    await enable(nodes)
    await ClockCycles(dut.aclk, 50)
    wires.stop()

    data = header(1, 1) + random.randbytes(FLIT - 8)
    await nodes[0].host_in.send(data)

    def carries_it() -> bool:
        frame = int(dut.nodes[0].node.m_axis_link0_tdata.value)
        return bool(frame >> WORD_BITS & 1) and frame & ((1 << 8 * FLIT) - 1) == int.from_bytes(data, "little")

    while not carries_it():
        await FallingEdge(dut.aclk)
    dut.wrong_bit.value = random.randrange(FRAME_BITS)
    dut.damaged.value = 1
    await FallingEdge(dut.aclk)
    dut.damaged.value = 0
    cycles = 1
    while not carries_it():
        await FallingEdge(dut.aclk)
        cycles += 1
    assert cycles == 2 * LATENCY + 9

    frame = await with_timeout(nodes[1].host_out.recv(), 20, "us")
    assert bytes(frame.tdata) == data
    assert await nodes[0].of_link(0) == {"sent": 1, "received": 0, "repeated": 1, "damaged": 0, "lost": 0}
    assert await nodes[1].of_link(1) == {"sent": 0, "received": 1, "repeated": 0, "damaged": 1, "lost": 0}


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_cut_link_is_down_and_comes_back(dut: HierarchyObject) -> None:
    nodes, wires = await start(dut)
    await enable(nodes)
    wires.lost = 1.0
    given = [packet(1, bytes([number])) for number in range(10)]
    for data in given:
        await nodes[0].host_in.send(data)
    await ClockCycles(dut.aclk, SILENCE + 20)
    assert await links(nodes) == [0] * NODES
    wires.lost = 0.0
    for data in given:
        frame = await with_timeout(nodes[1].host_out.recv(), 50, "us")
        assert bytes(frame.tdata) == data
    assert await links(nodes) == [3] * NODES


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def packets_without_a_way_are_dropped_and_counted(dut: HierarchyObject) -> None:
    """To missing nodes, and to one that the table does not reach, whose entry names a missing channel."""
    nodes, _ = await start(dut)
    await enable(nodes)
    await nodes[0].registers.write_dword(ROUTES + 4 * 2, 15 << FIRST_CHANNEL)
    nowhere = [packet(destination, b"") for destination in (2, NODES, 7, 8, 0xFFFF, random.randrange(NODES, 1 << 16))]
    given = packet(1, b"")
    for data in (*nowhere, given):
        await nodes[0].host_in.send(data)
    frame = await with_timeout(nodes[1].host_out.recv(), 50, "us")
    assert bytes(frame.tdata) == given
    assert await nodes[0].registers.read_dword(UNROUTED) == flits(nowhere)


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def a_node_reset_alone_is_reported_at_both_ends(dut: HierarchyObject) -> None:
    """Under traffic. Its links stay down until the loss is acknowledged at both ends; after a reset of all nodes
    packets arrive as usual."""
    nodes, wires = await start(dut)
    await enable(nodes)
    for number in range(20):
        await nodes[0].host_in.send(packet(1, bytes([number])))
        await nodes[1].host_in.send(packet(0, bytes([number])))
    await ClockCycles(dut.aclk, random.randrange(50, 400))
    wires.lost, wires.damaged = 0.02, 0.02
    everybody = (1 << NODES) - 1
    dut.aresetn.value = everybody & ~1
    await ClockCycles(dut.aclk, random.randrange(3, 50))
    dut.aresetn.value = everybody
    await ClockCycles(dut.aclk, 200)

    lost = [3, 2, *[0] * (NODES - 3), 1]  # node 1 has node 0 at its port 1, the last node at its port 0

    async def told() -> list[int]:
        return [await node.registers.read_dword(LOST) for node in nodes]

    assert await told() == lost
    last = 1 << (NODES - 1)
    assert int(dut.irq.value) == last | 0b11
    assert await links(nodes) == [3 & ~ends for ends in lost]
    for node in nodes:
        for link in range(2):
            assert (await node.of_link(link))["lost"] == lost[node.index] >> link & 1

    await nodes[0].registers.write_dword(LOST, 3)  # of one end alone
    await ClockCycles(dut.aclk, 200)
    assert await links(nodes) == [3 & ~ends for ends in lost]
    assert int(dut.irq.value) == last | 0b10

    wires.lost, wires.damaged = 0.0, 0.0
    for node in nodes:
        node.host_in.clear()  # pending input is lost with the reset
    for index in random.sample(range(NODES), NODES):  # one after the other
        dut.aresetn.value = everybody & ~(1 << index)
        await ClockCycles(dut.aclk, random.randrange(3, 50))
    dut.aresetn.value = everybody
    await ClockCycles(dut.aclk, 50)  # the last one reset learns of the others' losses
    for node in nodes:
        await node.registers.write_dword(LOST, 3)
        await node.set_up()
    assert await told() == [0] * NODES
    assert await links(nodes) == [3] * NODES
    for node in nodes:
        node.host_out.clear()
    await enable(nodes)
    given = [packet(1, bytes([number])) for number in range(10)]
    for data in given:
        await nodes[0].host_in.send(data)
    for data in given:
        frame = await with_timeout(nodes[1].host_out.recv(), 50, "us")
        assert bytes(frame.tdata) == data


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def collectives_give_what_they_should(dut: HierarchyObject) -> None:
    """Consecutive ones, two in flight, of all kinds, beside messages, over wires that lose and damage frames. Sums
    wrap, as those of 64-bit integers do."""
    nodes, wires = await start(dut)
    for node in nodes:
        await node.unit.set_up()
    await enable(nodes)
    wires.taken, wires.lost, wires.damaged = 0.9, 0.005, 0.005

    plan = [
        (random.choice(KINDS), random.randrange(NODES), random.choice((0, 1, 15, 16, random.randrange(200))))
        for _ in range(32)
    ]
    plan += [(kind, random.randrange(NODES), 20) for kind in KINDS]  # each at least once
    numbers = [[[random.getrandbits(64) - (1 << 63) for _ in range(size)] for _ in range(NODES)] for _, _, size in plan]
    personal = {
        at: [
            [[random.getrandbits(60) for _ in range(random.choice((0, 1, 14, 15, 60)))] for _ in range(NODES)]
            for _ in range(NODES)
        ]
        for at, (kind, _, _) in enumerate(plan)
        if kind[0] == Collective.ALLTOALL
    }

    async def rank(node: Node) -> None:
        under_way: list[tuple[int, Operation]] = []
        for at, ((collective, algorithm, operator), root, _) in enumerate(plan):
            if collective == Collective.ALLTOALL:
                blocks = personal[at]
                came = await node.unit.alltoall(
                    blocks[node.index], [len(blocks[other][node.index]) for other in range(NODES)]
                )
                assert came == [blocks[other][node.index] for other in range(NODES)]
                continue
            own = numbers[at][node.index] if collective != Collective.BARRIER else []
            gives = collective != Collective.BROADCAST or node.index == root
            streams = len(expected(collective, operator, root, numbers[at], node.index))
            root = root if collective in (Collective.BROADCAST, Collective.REDUCE) else 0
            under_way.append(
                (at, await node.unit.run(collective, algorithm, operator, root, own if gives else None, streams))
            )
        for at, operation in under_way:
            await operation.over.wait()
            (collective, _, operator), root, _ = plan[at]
            wanted = expected(collective, operator, root, numbers[at], node.index)
            assert operation.blocks() == wanted, (plan[at], node.index)

    ranks = [cocotb.start_soon(rank(node)) for node in nodes]
    given = [packet(random.randrange(NODES), bytes((node.index, number))) for node in nodes for number in range(10)]
    for data in given:
        await nodes[data[8]].host_in.send(data)
    for each in ranks:
        await with_timeout(each, 5, "ms")
    for node in nodes:
        wanted = sorted(data for data in given if int.from_bytes(data[:2], "little") == node.index)
        frames = [await with_timeout(node.host_out.recv(), 200, "us") for _ in wanted]
        assert sorted(bytes(frame.tdata) for frame in frames) == wanted


KINDS = (
    (Collective.BARRIER, Algorithm.TREE, Operator.NONE),
    (Collective.BROADCAST, Algorithm.TREE, Operator.NONE),
    (Collective.REDUCE, Algorithm.TREE, Operator.SUM),
    (Collective.ALLREDUCE, Algorithm.TREE, Operator.SUM),
    (Collective.ALLREDUCE, Algorithm.TREE, Operator.MAX),
    (Collective.ALLREDUCE, Algorithm.EXCHANGE, Operator.SUM),
    (Collective.ALLGATHER, Algorithm.TREE, Operator.NONE),
    (Collective.ALLTOALL, Algorithm.EXCHANGE, Operator.NONE),
)


if NODES != 4:  # unit_host.py supports the exchanges of four ranks alone
    KINDS = tuple(kind for kind in KINDS if kind[:2] != (Collective.ALLREDUCE, Algorithm.EXCHANGE))


def expected(
    collective: Collective, operator: Operator, root: int, numbers: list[list[int]], rank: int
) -> dict[int, list[int]]:
    """The data received by a rank, by block."""
    if collective == Collective.BARRIER:
        return {0: []}
    if collective == Collective.BROADCAST:
        return {} if rank == root else {root: numbers[root]}
    if collective == Collective.ALLGATHER:
        return dict(enumerate(numbers))
    if collective == Collective.REDUCE and rank != root:
        return {}
    combine = max if operator == Operator.MAX else lambda column: (sum(column) + (1 << 63)) % (1 << 64) - (1 << 63)
    return {0: [combine(column) for column in zip(*numbers, strict=True)]}
