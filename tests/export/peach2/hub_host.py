# SPDX-License-Identifier: Apache-2.0
"""The environment of an exported hub, according to its README.md: the other ends of its links, a host with memory, the
hub's memory."""

from __future__ import annotations

import random
import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import cocotb
from cocotb.handle import HierarchyObject
from cocotb.queue import Queue
from cocotb.triggers import ClockCycles, Event, RisingEdge, Timer, with_timeout
from cocotbext.axi import AxiStreamBus, AxiStreamSink, AxiStreamSource
from thalweg.spec import PcieCompletion, PcieCompletionWithoutData, PcieMemoryRead, PcieMemoryWrite

LINE, BEAT, UNIT = 32, 16, 16  # bytes
PAGE, LARGEST = 4096, 256
CYCLE_NS = 4  # of net_aclk
WRITE, READ, COMPLETION, FAILURE = 0x60, 0x20, 0x4A, 0x0A  # first byte of a header

LONG = 0x20  # in the first byte of a request: four double words
FOUR_GBYTE = 1 << 32

Header = PcieMemoryWrite | PcieMemoryRead | PcieCompletion | PcieCompletionWithoutData


@dataclass(frozen=True)
class Packet:
    header: Header
    data: bytes = b""

    @property
    def address(self) -> int:
        """Of its first byte; for a completion, the lowest bits."""
        if isinstance(self.header, PcieCompletion | PcieCompletionWithoutData):
            return self.header.lower_address
        return 4 * self.header.address

    @property
    def units(self) -> int:
        return -(-len(self.data) // UNIT)

    def beats(self) -> bytes:
        """The packet's beats on a link."""
        lines = bytes(self.address % LINE) + self.data if self.data else b""
        header = self.header.pack()
        if len(header) == 16 and self.address < FOUR_GBYTE:  # three double words
            header = bytes([header[0] & ~LONG]) + header[1:8] + header[12:]
        return header.ljust(LINE, b"\0") + lines + bytes(-len(lines) % LINE)

    @classmethod
    def of(cls, beats: bytes) -> Packet:
        kinds: dict[int, type[Header]] = {
            WRITE: PcieMemoryWrite,
            READ: PcieMemoryRead,
            COMPLETION: PcieCompletion,
            FAILURE: PcieCompletionWithoutData,
        }
        header = beats[:16]
        if header[0] in (WRITE & ~LONG, READ & ~LONG):
            header = bytes([header[0] | LONG]) + header[1:8] + bytes(4) + header[8:12]
            assert header[8:12] == bytes(4)
        kind = kinds[header[0]]
        bare = cls(kind.unpack(header))
        if isinstance(bare.header, PcieMemoryRead | PcieMemoryWrite):
            assert (bare.address < FOUR_GBYTE) == (not beats[0] & LONG), "a header of the wrong length"
        size = 4 * bare.header.length if beats[0] & 0x40 else 0
        first = LINE + bare.address % LINE
        return replace(bare, data=beats[first : first + size])


def write(address: int, data: bytes, requester: int = 0, first: int = 15, last: int = 15) -> Packet:
    """`first`, `last`: byte enables of the first and of the last double word."""
    last = 0 if len(data) == 4 else last
    header = PcieMemoryWrite(
        length=len(data) // 4, requester=requester, first_enable=first, last_enable=last, address=address // 4
    )
    return Packet(header, data)


def writes(address: int, data: bytes) -> Iterator[Packet]:
    """Writes of any size, in packets of maximum size."""
    while data:
        size = min(len(data), random.choice((LARGEST, 64)), PAGE - address % PAGE)
        yield write(address, data[:size])
        address, data = address + size, data[size:]


def read(address: int, size: int, requester: int = 0, tag: int = 0) -> Packet:
    last = 0 if size == 4 else 15
    return Packet(
        PcieMemoryRead(
            length=size // 4, requester=requester, tag=tag, first_enable=15, last_enable=last, address=address // 4
        )
    )


class Carried(Protocol):
    @property
    def units(self) -> int: ...
    def beats(self) -> bytes: ...


AnyPacket = TypeVar("AnyPacket", bound=Carried)


class Link(Generic[AnyPacket]):
    """A link's other end. It sends if the hub has room, never stores more than its credits allow, and returns credits
    at any time."""

    def __init__(
        self,
        dut: HierarchyObject,
        name: str,
        packets: int,
        units: int,
        take: Callable[[AnyPacket], None],
        of: Callable[[bytes], AnyPacket],
    ) -> None:
        clocked = (dut.net_aclk, dut.aresetn, False)
        self._out = AxiStreamSource(AxiStreamBus.from_prefix(dut, f"s_axis_{name}"), *clocked)
        self._freed = AxiStreamSink(AxiStreamBus.from_prefix(dut, f"m_axis_{name}_credit"), *clocked)
        self._in = AxiStreamSink(AxiStreamBus.from_prefix(dut, f"m_axis_{name}"), *clocked)
        self._credit = AxiStreamSource(AxiStreamBus.from_prefix(dut, f"s_axis_{name}_credit"), *clocked)
        self._out.set_pause_generator(random.random() < 0.2 for _ in iter(int, 1))
        self._clock, self._take, self._of = dut.net_aclk, take, of
        self._capacity = (packets, units)
        self.packets, self.units = packets, units  #: that the hub has room for
        self._kept: Queue[AnyPacket] = Queue()
        self._changed, self._came = Event(), Event()
        self._to_send: Queue[AnyPacket] = Queue()
        for task in (self._send(), self._count(), self._receive(), self._give_back()):
            cocotb.start_soon(task)

    def send(self, packet: AnyPacket) -> None:
        self._to_send.put_nowait(packet)

    async def sent(self) -> None:
        """Waits until all queued data have left the hub's buffer."""
        while not self._to_send.empty() or (self.packets, self.units) != self._capacity:
            await ClockCycles(self._clock, 10)

    async def _send(self) -> None:
        while True:
            packet = await self._to_send.get()
            while self.packets == 0 or self.units < packet.units:
                self._changed.clear()
                await self._changed.wait()
            self.packets -= 1
            self.units -= packet.units
            await self._out.send(packet.beats())

    async def _count(self) -> None:
        while True:
            credit = await self._freed.recv()
            self.packets += 1
            self.units += credit.tdata[0]
            assert self.packets <= self._capacity[0] and self.units <= self._capacity[1], "credits from nothing"
            self._changed.set()

    async def _receive(self) -> None:
        while True:
            packet = self._of(bytes((await self._in.recv()).tdata))
            self._kept.put_nowait(packet)
            self._came.set()
            kept = list(self._kept._queue)
            assert len(kept) <= self._capacity[0] and sum(each.units for each in kept) <= self._capacity[1], "no room"
            self._take(packet)

    async def _give_back(self) -> None:
        while True:
            await self._came.wait()
            self._came.clear()
            while not self._kept.empty():
                await Timer(random.choice((1, 1, 1, 60)) * CYCLE_NS, "ns")
                await self._credit.send([self._kept.get_nowait().units])


class HubMemory:
    """The hub's 512 MByte: accepts a beat at any time, and answers in order."""

    def __init__(self, dut: HierarchyObject) -> None:
        self.dut = dut
        self.beats: dict[int, bytes] = {}
        cocotb.start_soon(self._run())

    def read(self, at: int, size: int) -> bytes:
        first, end = at // BEAT, -(-(at + size) // BEAT)
        data = b"".join(self.beats.get(beat, bytes(BEAT)) for beat in range(first, end))
        return data[at % BEAT :][:size]

    async def _run(self) -> None:
        dut, replies = self.dut, deque[bytes]()
        dut.mem_ready.value = dut.mem_rvalid.value = 0
        ready = shown = False
        while True:
            await RisingEdge(dut.bus_aclk)
            taken = ready and dut.mem_valid.value == 1 and dut.aresetn.value == 1
            shows = bool(replies) and random.random() < 0.7
            if shows:
                dut.mem_rdata.value = int.from_bytes(replies.popleft(), "little")
            if shows != shown:
                dut.mem_rvalid.value = shown = shows
            if taken:
                at = int(dut.mem_address.value)
                old = self.beats.get(at, bytes(BEAT))
                if dut.mem_write.value:
                    new, enable = int(dut.mem_wdata.value).to_bytes(BEAT, "little"), int(dut.mem_wstrb.value)
                    self.beats[at] = bytes(
                        b if enable >> i & 1 else a for i, (a, b) in enumerate(zip(old, new, strict=True))
                    )
                else:
                    replies.append(old)
            if (now := random.random() < 0.8) != ready:
                dut.mem_ready.value = ready = now


class Map:
    """Addresses from the tables of README.md."""

    def __init__(self, folder: Path, gbyte: int) -> None:
        rows = re.findall(
            r"^\| `(\w+)` \| 0x([0-9A-F]{8})(?: \+ (\w+) \w)?.* \|", (folder / "README.md").read_text(), re.M
        )
        self._rows = {name: (gbyte << 30 | int(at, 16), int(stride or "0", 0)) for name, at, stride in rows}

    def __call__(self, name: str, index: int = 0) -> int:
        at, stride = self._rows[name]
        assert stride or not index
        return at + stride * index


class Host:
    """A processor at the north port, with memory at the start of the node's addresses."""

    def __init__(
        self, dut: HierarchyObject, link: Callable[[str, Callable[[Packet], None]], Link[Packet]], node: int
    ) -> None:
        self.base, self.memory = node << 35, bytearray(1 << 20)
        self.requester, self.came = 0x0000, list[Packet]()  # writes
        self._clock = dut.net_aclk
        self._loaded: Queue[bytes] = Queue()
        self._reads: Queue[Packet] = Queue()
        self.link = link("north", self._take)
        cocotb.start_soon(self._answer())

    def address(self, at: int) -> int:
        return self.base + at

    def store(self, address: int, data: bytes) -> None:
        for packet in writes(address, data):
            self.link.send(packet)

    async def load(self, address: int, size: int) -> bytes:
        """Reads up to 256 bytes from the hub."""
        self.link.send(read(address, size, self.requester, tag=7))
        data = await with_timeout(self._loaded.get(), 100, "us")
        assert len(data) == size
        return data

    async def register(self, address: int, bit: int = 0, bits: int = 32) -> int:
        return int.from_bytes(await self.load(address, 16), "little") >> bit & (1 << bits) - 1

    async def wait_for(self, at: int, value: int) -> None:
        """Waits until a word of the memory has a value."""
        while int.from_bytes(self.memory[at : at + 4], "little") != value:
            await ClockCycles(self._clock, 20)

    def _take(self, packet: Packet) -> None:
        header = packet.header
        if isinstance(header, PcieCompletion):
            assert (header.requester, header.tag, header.status) == (self.requester, 7, 0)
            self._loaded.put_nowait(packet.data)
        elif isinstance(header, PcieMemoryRead):
            assert header.length <= LARGEST // 4
            self._reads.put_nowait(packet)
        else:
            at, end = (packet.address - self.base + count for count in (0, len(packet.data)))
            if end <= len(self.memory):
                self.memory[at:end] = packet.data
            self.came.append(packet)

    async def _answer(self) -> None:
        """In the order of the reads, in parts that end at multiples of 64 bytes."""
        while True:
            asked = (await self._reads.get()).header
            assert isinstance(asked, PcieMemoryRead)
            await ClockCycles(self._clock, random.choice((1, 1, 5, 100)))
            at, size = 4 * asked.address - self.base, 4 * asked.length
            while size:
                part = random.choice((size, min(size, 64 - at % 64)))
                answer = PcieCompletion(
                    length=part // 4,
                    byte_count=size,
                    requester=asked.requester,
                    tag=asked.tag,
                    lower_address=at % 128,
                )
                self.link.send(Packet(answer, bytes(self.memory[at : at + part])))
                at, size = at + part, size - part
