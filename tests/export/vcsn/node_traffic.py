# SPDX-License-Identifier: Apache-2.0
"""External tests of an exported node of VCSN or DCN, by cocotb, through its ports alone: its two external ports are
connected by a cable.

Started by test_node.py.
"""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, First, RisingEdge, with_timeout
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

WORD = 64
BYTES = 1 << 16
CROSSBAR, CIRCUIT, PACE, READ, WRITE, MONITOR, REACTION, CREDITS = range(8)
ADDRESSES = [0x02_00_00_00_00_07, 0x02_00_00_01_00_07]
ENGINES = 2


class Memory:
    """Memory of all engines: answers reads in order, and accepts writes, both with random pauses."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.bytes = bytearray(random.randbytes(BYTES))
        for engine in range(ENGINES):
            self.of(engine, "read_data_valid").value = 0
            self.of(engine, "write_ready").value = 0
            self.of(engine, "write_done").value = 0
            cocotb.start_soon(self.reads(engine))
            cocotb.start_soon(self.writes(engine))

    def of(self, engine: int, name: str) -> Any:
        return getattr(self.dut, f"dma{engine}_{name}")

    async def reads(self, engine: int) -> None:
        asked: deque[int] = deque()
        while True:
            await RisingEdge(self.dut.shell_aclk)
            answers = bool(asked) and random.random() < 0.8
            self.of(engine, "read_data_valid").value = answers
            if answers:
                at = asked.popleft()
                self.of(engine, "read_data").value = int.from_bytes(self.bytes[at : at + WORD], "little")
            if self.of(engine, "read_valid").value:
                at, words = (int(self.of(engine, f"read_{name}").value) for name in ("address", "words"))
                asked += [at + WORD * k for k in range(words)]

    async def writes(self, engine: int) -> None:
        left, at, done = 0, 0, 0
        while True:
            await RisingEdge(self.dut.shell_aclk)
            if self.of(engine, "write_valid").value:
                assert left == 0
                at, left = (int(self.of(engine, f"write_{name}").value) for name in ("address", "words"))
            assert bool(self.of(engine, "write_data_valid").value) == (left > 0)
            if left > 0:
                data = int(self.of(engine, "write_data").value).to_bytes(WORD, "little")
                strobe = int(self.of(engine, "write_strobe").value)
                for k in range(WORD):
                    if strobe >> k & 1:
                        self.bytes[at + k] = data[k]
                at, left = at + WORD, left - 1
                done += left == 0
            says = done > 0 and random.random() < 0.5
            self.of(engine, "write_done").value = says
            done -= says
            self.of(engine, "write_ready").value = random.random() < 0.7


class Host:
    def __init__(self, dut: Any) -> None:
        self.source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis_command"), dut.shell_aclk)

    async def command(self, kind: int, place: int, body: int) -> None:
        await self.source.send(AxiStreamFrame((kind << 120 | place << 112 | body).to_bytes(16, "little")))

    async def segments(self, kind: int, engine: int, parts: list[tuple[int, int]]) -> None:
        for number, (address, size) in enumerate(parts):
            words, tail, last = -(-size // WORD), size % WORD, number + 1 == len(parts)
            await self.command(kind, engine, address << 41 | words << 15 | tail << 9 | last << 8)


def parts_of(size: int, first: int, end: int) -> list[tuple[int, int]]:
    """Segments of `size` bytes in all, all but the last one of whole words, without overlap between two addresses."""
    parts: list[tuple[int, int]] = []
    while size > 0:
        some = size if len(parts) == 7 or size <= WORD else min(size, WORD * random.randint(1, max(1, size // WORD)))
        parts.append((first, some))
        first, size = first + -(-some // WORD) * WORD, size - some
    assert first <= end
    return parts


async def cable(dut: Any, here: int, there: int) -> None:
    sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, f"m_axis_port{here}_tx"), dut.mac_aclk)
    source = AxiStreamSource(AxiStreamBus.from_prefix(dut, f"s_axis_port{there}_rx"), dut.mac_aclk)
    sink.set_pause_generator(iter(lambda: random.random() < 0.3, None))
    while True:
        frame = await sink.recv()
        assert len(frame.tdata) >= 60
        await source.send(AxiStreamFrame(bytes(frame.tdata), tuser=0))


async def serial_link(dut: Any, latency: int) -> None:
    """Words and credits of both ports, in each direction."""
    way: deque[list[tuple[int, int, int]]] = deque([(0, 0, 0)] * 2 for _ in range(latency))
    while True:
        await RisingEdge(dut.link_aclk)
        there = [
            tuple(int(getattr(dut, f"port{port}_{name}").value) for name in ("tx_valid", "tx_data", "credit_out"))
            for port in range(2)
        ]
        way.append(there)
        for port, values in enumerate(reversed(way.popleft())):
            for name, value in zip(("rx_valid", "rx_data", "credit_in"), values, strict=True):
                getattr(dut, f"port{port}_{name}").value = value


@cocotb.test()
async def transfers(dut: Any) -> None:
    """Bytes that an engine reads travel by changing paths to the destination of another engine."""
    circuits = hasattr(dut, "mac_aclk")
    virtual = 2 if circuits else 1
    Clock(dut.shell_aclk, 4000, "ps").start()
    dut.aresetn.value = 0
    memory, host = Memory(dut), Host(dut)
    dut.s_axis_user0_tvalid.value = 0
    dut.m_axis_user0_tready.value = 1
    if circuits:
        Clock(dut.mac_aclk, 3102, "ps").start()
        for port, address in enumerate(ADDRESSES):
            getattr(dut, f"port{port}_address").value = address
        cocotb.start_soon(cable(dut, 0, 1))
        cocotb.start_soon(cable(dut, 1, 0))
    else:
        Clock(dut.link_aclk, 5198, "ps").start()
        cocotb.start_soon(serial_link(dut, random.randint(1, 60)))
    await ClockCycles(dut.shell_aclk, 100)
    dut.aresetn.value = 1
    await ClockCycles(dut.shell_aclk, 10)
    for number in range(6):
        here, there = random.randrange(2), [random.randrange(virtual) for _ in range(2)]
        ends = (here * virtual + there[0], (1 - here) * virtual + there[1])
        reader, writer = random.randrange(ENGINES), random.randrange(ENGINES)
        if circuits:
            await host.command(CIRCUIT, ends[0], 1 << 56 | ADDRESSES[1 - here] << 8 | there[1])
            await host.command(CIRCUIT, ends[1], 1 << 56 | ADDRESSES[here] << 8 | there[0])
            await host.command(PACE, ends[0], random.randrange(8) << 20 | random.randrange(600))
            if number % 2:
                for end in ends:  # of receive buffers of 40 words, for frames of 20
                    await host.command(CREDITS, end, 21 << 15 | 1)
            await host.command(MONITOR, ends[1], random.randint(1, 100) << 15 | 0)  # any frame is too much
            await host.command(REACTION, ends[0], random.randrange(300) << 21 | random.randrange(2) << 20 | 1000)
        for place in range(ENGINES + 2 * virtual + 1):
            await host.command(CROSSBAR, place, 0)
        await host.command(CROSSBAR, ENGINES + ends[0], 1 << 8 | reader)
        await host.command(CROSSBAR, writer, 1 << 8 | ENGINES + ends[1])
        await ClockCycles(dut.shell_aclk, 80)
        sizes = [random.randint(1, 3 * WORD), random.randint(1, BYTES // 4)]
        size = random.choice(sizes) if number < 5 else BYTES // 4  # more words than arrive without a credit
        sent = parts_of(size, random.randrange(64), BYTES // 2)
        expected = bytearray(memory.bytes)
        data = b"".join(memory.bytes[at : at + some] for at, some in sent)
        room = parts_of(size, BYTES // 2 + random.randrange(64), BYTES)
        for at, some in room:
            expected[at : at + some], data = data[:some], data[some:]
        await host.segments(WRITE, writer, room)
        await host.segments(READ, reader, sent)
        await with_timeout(First(RisingEdge(getattr(dut, f"dma{writer}_write_ended"))), 100, "us")
        await ClockCycles(dut.shell_aclk, 2)
        assert memory.bytes == expected, number
    indications, credits = 0, 0
    for port in range(2 if circuits else 0):  # all frames were accepted, or are indications or credits
        counts = int(getattr(dut, f"port{port}_counts").value).to_bytes(44, "little")
        assert counts[:8] + counts[16:36] + counts[40:] == bytes(32)
        credits += int.from_bytes(counts[8:12], "little")
        indications += int.from_bytes(counts[12:16], "little")
    assert (indications > 0, credits > 0) == (circuits, circuits)
