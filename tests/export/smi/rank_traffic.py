# SPDX-License-Identifier: Apache-2.0
"""External tests of exported ranks (ranks.sv), by cocotb: tables over AXI4-Lite, and kernels over AXI4-Stream.

Started by test_rank.py; the folder of the export is in the environment.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.handle import HierarchyObject
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiResp, AxiStreamBus, AxiStreamFrame, AxiStreamMonitor, AxiStreamSink, AxiStreamSource
from numpy.typing import NDArray
from rank_host import Folder, Rank
from thalweg.systems.smi.spec import SmiHeader

FOLDER = Folder(Path(os.environ["THALWEG_EXPORT"]))
RANKS, LINKS = 4, 2
RANK, STRAYS, LINKS_AT, ENDPOINTS_AT, UNROUTED = 0x8000, 0x8004, 0x8008, 0x800C, 0x8010
SEND, RECEIVE, SYNCH = 0, 1, 3  # operations of packets
MAX, SUM, MIN = 4, 1, 3
TILE = 8  # of the cluster
LOADED: set[int] = set()  # ranks of the ring


async def reset(dut: HierarchyObject) -> None:
    Clock(dut.aclk, 4, "ns").start()
    dut.aresetn.value = 0
    await ClockCycles(dut.aclk, 3)
    dut.aresetn.value = 1
    await ClockCycles(dut.aclk, 2)


async def set_up(rank: Rank) -> None:
    """Loads the tables, which a reset does not change, and the rank's number, which it does."""
    if rank.number not in LOADED:
        await rank.load(FOLDER.send_tables(rank.number, LINKS))
        LOADED.add(rank.number)
    await rank.registers.write_dword(RANK, rank.number)


async def start(dut: HierarchyObject) -> list[Rank]:
    """The ranks of the ring."""
    ranks = [Rank(dut.joined[n].rank, dut.aclk, dut.aresetn, FOLDER, n) for n in range(RANKS)]
    await reset(dut)
    for task in [cocotb.start_soon(set_up(rank)) for rank in ranks]:
        await task
    return ranks


async def strays(rank: Rank) -> int:
    return await rank.registers.read_dword(STRAYS)


async def ended(ranks: list[Rank]) -> None:
    """Checks that no rank has data left, and that nothing was lost."""
    await ClockCycles(ranks[0].clock, 200)
    for rank in ranks:
        assert all(sink.empty() for sink in rank.takes.values())
        assert all(source.idle() for source in (*rank.gives.values(), *rank.opens.values()))


@cocotb.test(timeout_time=200, timeout_unit="us")
async def tables_and_registers(dut: HierarchyObject) -> None:
    """One rank by itself with random send tables: each packet leaves by the link of its entry, and packets without an
    endpoint are counted."""
    own = random.randrange(256)
    rank = Rank(dut.alone, dut.aclk, dut.aresetn, FOLDER, own)
    clocked = (dut.aclk, dut.aresetn, False)
    ins = [
        AxiStreamSource(AxiStreamBus.from_prefix(dut.alone, f"s_axis_link_{link}"), *clocked) for link in range(LINKS)
    ]
    outs = [
        AxiStreamSink(AxiStreamBus.from_prefix(dut.alone, f"m_axis_link_{link}"), *clocked) for link in range(LINKS)
    ]
    await reset(dut)

    # To the link, or to the other send kernel, whose table then names the link, or to no output; docs/smi.md has the
    # outputs' numbers.
    tables = np.zeros((LINKS, 256), np.uint8)
    leads = np.array([[link] * 256 for link in range(LINKS)])
    for rank_, link in enumerate(np.random.default_rng(random.randrange(2**32)).integers(-1, LINKS, 256)):
        if link >= 0:
            tables[link, rank_], leads[link, rank_] = 2, 1 - link
    lost = random.choice([to for to in range(256) if to != own])
    tables[:, lost] = 0xFF
    await rank.load(tables.tobytes())

    for address, value in (
        (RANK, own),
        (STRAYS, 0),
        (LINKS_AT, LINKS),
        (ENDPOINTS_AT, len(FOLDER.endpoints)),
        (UNROUTED, 0),
    ):
        assert await rank.registers.read_dword(address) == value
    refused = (LINKS << 12, 0x400, STRAYS, LINKS_AT, UNROUTED, 0x8014, 0xFFFC)
    for address in refused:
        assert (await rank.registers.write(address, bytes(4))).resp == AxiResp.SLVERR, hex(address)
    for address in (0, 0x800, 0x8014):
        assert (await rank.registers.read(address, 4)).resp == AxiResp.SLVERR, hex(address)
    assert await rank.registers.read_dword(RANK) == own

    size = ins[0].byte_lanes
    wanted: list[list[bytes]] = [[] for _ in range(LINKS)]
    sent = [(link, to) for link in range(LINKS) for to in range(256) if to != own]
    random.shuffle(sent)
    for link, to in sent:
        packet = SmiHeader(random.randrange(256), to, random.randrange(256), SEND, 1).pack() + random.randbytes(
            size - 4
        )
        if to != lost:
            wanted[leads[link, to]].append(packet)
        ins[link].send_nowait(AxiStreamFrame(packet))
    for out, packets in zip(outs, wanted, strict=True):
        came = [bytes((await out.recv()).tdata) for _ in packets]
        assert sorted(came) == sorted(packets)
    assert (await strays(rank), await rank.registers.read_dword(UNROUTED)) == (0, LINKS)

    data = {endpoint.port for endpoint in FOLDER.endpoints if endpoint.kind != "push"}
    control = {endpoint.port for endpoint in FOLDER.endpoints if endpoint.kind != "pop"}
    nowhere = [(port, SEND) for port in range(256) if port not in data]
    nowhere += [(port, SYNCH) for port in range(256) if port not in control]
    for link in ins:
        random.shuffle(nowhere)
        for port, operation in nowhere:
            await link.send(AxiStreamFrame(SmiHeader(1, own, port, operation, 1).pack().ljust(size, b"\0")))
        await link.wait()
    await ClockCycles(dut.aclk, 50)
    assert await strays(rank) == LINKS * len(nowhere)
    assert all(out.empty() for out in outs)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def eager_messages(dut: HierarchyObject) -> None:
    """From each rank to each, itself included, of any length; packets that leave early; and some for an unused port."""
    ranks = await start(dut)
    most = FOLDER.endpoint("push_0").most
    given: dict[tuple[int, int], bytes] = {}
    lost = [0] * RANKS
    for rank in ranks:
        for to in random.sample(range(RANKS), RANKS):
            count = random.choice((1, most, random.randint(1, 60)))
            given[rank.number, to] = random.randbytes(4 * count)
            rank.open("push_0", count=count, peer=to, per_packet=random.randint(1, most))
            rank.give(
                "push_0", given[rank.number, to], random.sample(range(1, count + 1), random.randint(0, count // 4))
            )
            ranks[to].open("pop_0", count=count, peer=rank.number)
        to, count = random.randrange(RANKS), random.randint(1, 40)
        rank.open("push_7", count=count, peer=to)
        rank.give("push_7", random.randbytes(8 * count))
        lost[to] += -(-count // FOLDER.endpoint("push_7").most)
    for rank in ranks:
        came = dict.fromkeys(range(RANKS), b"")
        for frame in await rank.take("pop_0", sum(len(given[source, rank.number]) for source in range(RANKS)) // 4):
            came[int(frame.tid)] += bytes(frame.tdata)
        assert came == {source: given[source, rank.number] for source in range(RANKS)}
    assert [await strays(rank) for rank in ranks] == lost

    # With TLAST an element need not wait until its packet is full.
    one, other = random.sample(ranks, 2)
    one.open("push_0", count=most, peer=other.number)
    other.open("pop_0", count=most, peer=one.number)
    for count in (1, most - 1):
        message = random.randbytes(4 * count)
        one.give("push_0", message)
        assert await other.take_bytes("pop_0", count) == message
    await ended(ranks)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def messages_with_credits(dut: HierarchyObject) -> None:
    """No more packets arrive than the window permits, until the kernel takes some; and the next channel's once it is
    open."""
    ranks = await start(dut)
    to, source = random.sample(ranks, 2)
    window, most = random.randint(1, FOLDER.endpoint("pop_0").buffer), FOLDER.endpoint("push_0").most
    monitors = [
        AxiStreamMonitor(AxiStreamBus.from_prefix(source.top, f"m_axis_link_{link}"), source.clock, source.reset, False)
        for link in range(LINKS)
    ]
    packets: list[SmiHeader] = []

    def seen() -> int:
        for monitor in monitors:
            while not monitor.empty():
                packets.append(SmiHeader.unpack(bytes(monitor.recv_nowait().tdata)))
        return sum(1 for packet in packets if packet.source == source.number and packet.operation == RECEIVE)

    sink = to.takes["pop_0"]
    sink.clear_pause_generator()
    sink.pause = True
    counts = [most * (window + random.randint(1, 10)) + random.randrange(most) for _ in range(2)]
    data = [random.randbytes(4 * count) for count in counts]
    for count, message in zip(counts, data, strict=True):
        source.open("push_0", count=count, peer=to.number, window=window)
        source.give("push_0", message)
    to.open("pop_0", count=counts[0], peer=source.number, window=window)
    await ClockCycles(dut.aclk, 500)
    assert seen() == window
    sink.pause = False
    assert await to.take_bytes("pop_0", counts[0]) == data[0]
    await ClockCycles(dut.aclk, 500)
    assert sink.empty(), "the second channel is not open"
    assert seen() == -(-counts[0] // most) + window
    to.open("pop_0", count=counts[1], peer=source.number, window=window)
    frames = await to.take("pop_0", counts[1])
    assert b"".join(bytes(frame.tdata) for frame in frames) == data[1]
    assert {int(frame.tid) for frame in frames} == {source.number}
    await ended(ranks)


def communicator() -> dict[str, int]:
    """Of at least two ranks, in a ring of four; with a root, and an arity."""
    stride = random.choice((1, 1, 1, 2, 3))
    first = random.randrange(RANKS - stride)
    ranks = random.randint(2, (RANKS - 1 - first) // stride + 1)
    return {
        "first": first,
        "stride": stride,
        "ranks": ranks,
        "root": random.randrange(ranks),
        "arity": random.randint(1, ranks - 1),
    }


def members(ranks: list[Rank], of: dict[str, int]) -> list[Rank]:
    return [ranks[of["first"] + of["stride"] * own] for own in range(of["ranks"])]


@cocotb.test(timeout_time=200, timeout_unit="us")
async def parts_and_copies(dut: HierarchyObject) -> None:
    """Consecutive broadcasts, scatters and gathers of various communicators and roots."""
    ranks = await start(dut)
    for _ in range(8):
        of, count = communicator(), random.randint(1, 40)
        data = random.randbytes(8 * count)
        for own, rank in enumerate(members(ranks, of)):
            rank.open("broadcast_1", count=count, own=own, **of)
        members(ranks, of)[of["root"]].give("broadcast_1", data)
        for own, rank in enumerate(members(ranks, of)):
            if own != of["root"]:
                assert await rank.take_bytes("broadcast_1", count) == data

        of, count = communicator(), random.randint(1, 40)
        of["arity"] = of["ranks"] - 1
        data = random.randbytes(2 * count * of["ranks"])
        for own, rank in enumerate(members(ranks, of)):
            rank.open("scatter_4", count=count, own=own, **of)
        members(ranks, of)[of["root"]].give("scatter_4", data)
        for own, rank in enumerate(members(ranks, of)):
            assert await rank.take_bytes("scatter_4", count) == data[2 * count * own :][: 2 * count]

        of, count = communicator(), random.randint(1, 40)
        of["arity"] = of["ranks"] - 1
        data = random.randbytes(count * of["ranks"])
        for own, rank in enumerate(members(ranks, of)):
            rank.open("gather_3", count=count, own=own, **of)
            rank.give("gather_3", data[count * own :][:count])
        assert await members(ranks, of)[of["root"]].take_bytes("gather_3", count * of["ranks"]) == data
    await ended(ranks)


def reduced(values: NDArray[np.float32], of: dict[str, int], op: int, place: int = 0) -> NDArray[np.float32]:
    """By the processor's arithmetic, in the order given in README.md. `values`: by rank of the communicator."""
    combine = {SUM: np.add, MAX: np.maximum, MIN: np.minimum}[op]
    arity, ranks = of["arity"], of["ranks"]
    children = range(arity * place + 1, min(arity * place + arity + 1, ranks))
    parts = [reduced(values, of, op, child) for child in children] + [values[(place + of["root"]) % ranks]]
    result = parts[0]
    for part in parts[1:]:
        result = combine(result, part)
    return result


@cocotb.test(timeout_time=200, timeout_unit="us")
async def reductions_are_those_of_the_processor(dut: HierarchyObject) -> None:
    """float32, over trees of all shapes, in tiles."""
    ranks = await start(dut)
    numbers = np.random.default_rng(random.randrange(2**32))
    whole = {"first": 0, "stride": 1, "ranks": RANKS, "root": random.randrange(RANKS), "arity": RANKS - 1}
    chosen = [(whole, SUM), *((communicator(), random.choice((SUM, SUM, MAX, MIN))) for _ in range(9))]
    for of, op in chosen:
        count, tile = random.randint(1, 5 * TILE), random.randint(1, TILE)
        shape = (of["ranks"], count)
        values = (numbers.standard_normal(shape) * 10.0 ** numbers.integers(-3, 4, shape)).astype(np.float32)
        for own, rank in enumerate(members(ranks, of)):
            rank.open("reduce_2", count=count, own=own, op=op, tile=tile, **of)
            rank.give("reduce_2", values[own].tobytes())
        came = await members(ranks, of)[of["root"]].take_bytes("reduce_2", count)
        assert came == reduced(values, of, op).tobytes(), (of, op, tile)
    await ended(ranks)
