# SPDX-License-Identifier: Apache-2.0
"""The environment of an exported board, for cocotb: DataMovers and their memories, a control plane, a MAC. Fields of
commands are read from the folder's README."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path
from typing import Any, NamedTuple

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

WORD = 64
BYTES = 1 << 16  #: of each memory
OKAY, SLAVE_ERROR = 0x80, 0x40
MOVED, DIFFERS, CANCELLED = range(3)
BEGIN, CANCEL, END_COLLECTIVE, CLEAR = range(4)
MEMORY, STREAM, MESSAGE = 1, 2, 3
TO_MEMORY, TO_STREAM, TO_RANK = 1, 2, 3


def fields() -> dict[str, range]:
    """The bytes of each field of a command."""
    text = (Path(os.environ["THALWEG_EXPORT"]) / "README.md").read_text()
    rows = re.findall(r"^\| (\d+)(?: to (\d+))? \| `(\w+)` \|", text, re.MULTILINE)
    found = {name: range(int(first), int(last or first) + 1) for first, last, name in rows}
    assert sorted(byte for each in found.values() for byte in each) == list(range(64))
    return found


class End(NamedTuple):
    address: int
    ip: int
    port: int


class Ended(NamedTuple):
    slot: int
    how: int
    length: int  #: of a message that differs


def sometimes(share: float) -> Any:
    """Pauses in the given share of all cycles."""
    return iter(lambda: random.random() < share, None)


class Memory:
    """The board's and the host's memory, behind four DataMovers with random pauses."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.device, self.host = bytearray(random.randbytes(BYTES)), bytearray(random.randbytes(BYTES))
        self.status = dict.fromkeys(("x", "y", "z", "buffer"), OKAY)  #: of accesses that begin
        for name in ("x", "y"):
            cocotb.start_soon(self.reads(name))
        for name in ("z", "buffer"):
            cocotb.start_soon(self.writes(name))

    def source(self, prefix: str) -> AxiStreamSource:
        source = AxiStreamSource(AxiStreamBus.from_prefix(self.dut, prefix), self.dut.engine_aclk)
        source.set_pause_generator(sometimes(0.2))
        return source

    def sink(self, prefix: str) -> AxiStreamSink:
        sink = AxiStreamSink(AxiStreamBus.from_prefix(self.dut, prefix), self.dut.engine_aclk)
        sink.set_pause_generator(sometimes(0.2))
        return sink

    async def command(self, sink: AxiStreamSink) -> tuple[bytearray, int, int]:
        """The memory, the address in it, and the number of bytes."""
        word = int.from_bytes((await sink.recv()).tdata, "little")
        size, at = word & (1 << 23) - 1, word >> 32 & (1 << 64) - 1
        assert word == size | 1 << 23 | 1 << 30 | at << 32 and 0 < size < 1 << 15
        place = at & (1 << 48) - 1
        assert at >> 48 in (0, 1) and place + size <= BYTES
        return (self.host if at >> 48 else self.device), place, size

    async def reads(self, name: str) -> None:
        commands, data = self.sink(f"m_axis_{name}_command"), self.source(f"s_axis_{name}")
        statuses = self.source(f"s_axis_{name}_status")
        while True:
            memory, at, size = await self.command(commands)
            await ClockCycles(self.dut.engine_aclk, random.randint(1, 20))
            await data.send(bytes(memory[at : at + size]) + random.randbytes(-size % WORD))
            await statuses.send([self.status[name]])

    async def writes(self, name: str) -> None:
        commands, data = self.sink(f"m_axis_{name}_command"), self.sink(f"m_axis_{name}")
        statuses = self.source(f"s_axis_{name}_status")
        while True:
            memory, at, size = await self.command(commands)
            frame = await data.recv(compact=False)
            assert frame.tkeep == [1] * size + [0] * (-size % WORD)
            await ClockCycles(self.dut.engine_aclk, random.randint(1, 20))
            memory[at : at + size] = bytes(frame.tdata[:size])
            await statuses.send([self.status[name]])


class Board:
    """The board's environment. `own`: its index in `ends`."""

    def __init__(self, dut: Any, ends: list[End], own: int) -> None:
        self.dut, self.ends, self.own = dut, ends, own
        self.fields = fields()
        self.settings = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis_setting"), dut.engine_aclk)
        self.commands = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis_command"), dut.engine_aclk)
        self.ended = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis_ended"), dut.engine_aclk)
        self.from_kernel = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis_kernel"), dut.engine_aclk)
        self.to_kernel = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis_kernel"), dut.engine_aclk)
        self.tx = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis_mac_tx"), dut.mac_aclk)
        self.rx = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis_mac_rx"), dut.mac_aclk)
        for stream in (self.commands, self.ended, self.from_kernel, self.to_kernel, self.tx):
            stream.set_pause_generator(sometimes(0.3))
        self.memory = Memory(dut)

    async def reset(self) -> None:
        own = self.ends[self.own]
        self.dut.own_address.value, self.dut.own_ip.value, self.dut.own_port.value = own
        self.dut.own_number.value = self.own
        self.dut.aresetn.value = 0
        await ClockCycles(self.dut.engine_aclk, 4)
        self.dut.aresetn.value = 1
        await ClockCycles(self.dut.engine_aclk, 16)
        for number, (address, ip, port) in enumerate(self.ends):
            await self.set(3, number, port | ip << 16 | address << 48)

    async def set(self, kind: int, index: int, value: int) -> None:
        await self.settings.send(
            kind.to_bytes(1, "little") + index.to_bytes(1, "little") + bytes(2) + value.to_bytes(12, "little")
        )

    async def command(self, **values: int) -> None:
        beat = bytearray(64)
        for name, value in values.items():
            at = self.fields[name]
            beat[at.start : at.stop] = value.to_bytes(len(at), "little")
        await self.commands.send(bytes(beat))

    async def end(self) -> Ended:
        frame = await with_timeout(self.ended.recv(), 100, "us")
        data = bytes(frame.tdata)
        assert data[2:8] == bytes(6)
        return Ended(data[0], data[1], int.from_bytes(data[8:], "little") if data[1] == DIFFERS else 0)

    async def move(self, slot: int = 0, **values: int) -> None:
        """Executes a move to its end, without others in flight."""
        await self.command(slot=slot, **values)
        assert await self.end() == (slot, MOVED, 0)

    async def frame(self) -> bytes:
        """The next frame sent to the MAC."""
        return bytes((await with_timeout(self.tx.recv(), 100, "us")).tdata)

    async def comes(self, frame: bytes, *, damaged: bool = False) -> None:
        await self.rx.send(AxiStreamFrame(frame, tuser=int(damaged)))

    async def quiet(self) -> None:
        """Waits until all data in both directions have been transferred."""
        await self.rx.wait()
        await ClockCycles(self.dut.engine_aclk, 300)
        await RisingEdge(self.dut.mac_aclk)

    def counts(self, port: str) -> list[int]:
        signal = getattr(self.dut, port)
        data = int(signal.value).to_bytes(len(signal) // 8, "little")
        return [int.from_bytes(data[k : k + 4], "little") for k in range(0, len(data), 4)]


# --- frames


def internet_sum(data: bytes) -> int:
    """RFC 1071: with the end-around carry, not complemented."""
    data += bytes(len(data) % 2)
    total = sum(int.from_bytes(data[k : k + 2], "big") for k in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def ethernet(to: int, by: int, ethertype: int, data: bytes) -> bytes:
    return (to.to_bytes(6, "big") + by.to_bytes(6, "big") + ethertype.to_bytes(2, "big") + data).ljust(60, b"\0")


def ipv4(by: int, to: int, protocol: int, data: bytes, identification: int = 0) -> bytes:
    def header(checksum: int) -> bytes:
        words = b"\x45\0" + (20 + len(data)).to_bytes(2, "big") + identification.to_bytes(2, "big") + b"\x40\0"
        return (
            words + bytes([64, protocol]) + checksum.to_bytes(2, "big") + by.to_bytes(4, "big") + to.to_bytes(4, "big")
        )

    return header(0xFFFF - internet_sum(header(0))) + data


def datagram(by: End, to: End, data: bytes) -> bytes:
    udp = by.port.to_bytes(2, "big") + to.port.to_bytes(2, "big") + (8 + len(data)).to_bytes(2, "big") + bytes(2)
    return ethernet(to.address, by.address, 0x0800, ipv4(by.ip, to.ip, 17, udp + data))


def echo(by: End, to: End, kind: int, data: bytes) -> bytes:
    """ICMP: a request (8), or its answer (0)."""
    rest = data
    checksum = 0xFFFF - internet_sum(bytes([kind, 0, 0, 0]) + rest)
    message = bytes([kind, 0]) + checksum.to_bytes(2, "big") + rest
    return ethernet(to.address, by.address, 0x0800, ipv4(by.ip, to.ip, 1, message))


def arp(by: End, to: End, operation: int, ask: bool) -> bytes:
    head = b"\0\1\x08\0\6\4" + operation.to_bytes(2, "big")
    target = 0 if ask else to.address
    body = (
        by.address.to_bytes(6, "big") + by.ip.to_bytes(4, "big") + target.to_bytes(6, "big") + to.ip.to_bytes(4, "big")
    )
    return ethernet((1 << 48) - 1 if ask else to.address, by.address, 0x0806, head + body)
