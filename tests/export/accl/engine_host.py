# SPDX-License-Identifier: Apache-2.0
"""The environment of an exported engine, for cocotb: memories and MAC (board_host.py), a host with the exchange memory,
and callers."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from board_host import End, Memory, sometimes
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout
from cocotbext.axi import (
    AxiLiteBus,
    AxiLiteMaster,
    AxiResp,
    AxiStreamBus,
    AxiStreamFrame,
    AxiStreamSink,
    AxiStreamSource,
)

PORTS = ("host", "host2", "kernel")


class Status(NamedTuple):
    port: int
    before: int  #: calls of this port
    code: int


class Engine:
    """The engine's environment. `own`: its session's index in `ends`."""

    def __init__(self, dut: Any, ends: list[End], own: int, identity: int) -> None:
        self.dut, self.ends, self.own, self.identity = dut, ends, own, identity
        clock = dut.engine_aclk
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), clock)
        self.sessions = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis_session"), clock)
        self.callers = [AxiStreamSource(AxiStreamBus.from_prefix(dut, f"s_axis_call_{port}"), clock) for port in PORTS]
        self.statuses = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis_status"), clock)
        self.from_kernel = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis_kernel"), clock)
        self.to_kernel = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis_kernel"), clock)
        self.tx = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis_mac_tx"), dut.mac_aclk)
        self.rx = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis_mac_rx"), dut.mac_aclk)
        for stream in (*self.callers, self.statuses, self.from_kernel, self.to_kernel, self.tx):
            stream.set_pause_generator(sometimes(0.3))
        self.memory = Memory(dut)

    async def reset(self) -> None:
        own = self.ends[self.own]
        self.dut.own_address.value, self.dut.own_ip.value, self.dut.own_port.value = own
        self.dut.identity.value = self.identity
        self.dut.aresetn.value = 0
        await ClockCycles(self.dut.engine_aclk, 4)
        self.dut.aresetn.value = 1
        await ClockCycles(self.dut.engine_aclk, 16)
        for number, (address, ip, port) in enumerate(self.ends):
            end = port | ip << 16 | address << 48
            await self.sessions.send(number.to_bytes(4, "little") + end.to_bytes(12, "little"))

    async def write(self, at: int, *words: int) -> None:
        for k, word in enumerate(words):
            done = await with_timeout(self.registers.write(at + 4 * k, word.to_bytes(4, "little")), 20, "us")
            assert done.resp == AxiResp.OKAY

    async def read(self, at: int) -> int:
        done = await with_timeout(self.registers.read(at, 4), 20, "us")
        assert done.resp == AxiResp.OKAY
        return int.from_bytes(done.data, "little")

    async def call(self, *words: int, port: int = 0) -> None:
        """The first 9 words, and the addresses of the operands and the result."""
        assert len(words) == 12
        for word in struct.unpack("<15I", struct.pack("<9I3Q", *words)):
            await self.callers[port].send(AxiStreamFrame(word.to_bytes(4, "little")))

    async def status(self) -> Status:
        frame = await with_timeout(self.statuses.recv(), 200, "us")
        data = bytes(frame.tdata)
        assert data[5:] == bytes(3)
        return Status(
            int(frame.tdest[0] if isinstance(frame.tdest, list) else frame.tdest),
            data[4],
            int.from_bytes(data[:4], "little"),
        )

    async def frame(self) -> bytes:
        """The next frame sent to the MAC."""
        return bytes((await with_timeout(self.tx.recv(), 100, "us")).tdata)

    async def comes(self, frame: bytes) -> None:
        await self.rx.send(AxiStreamFrame(frame, tuser=0))

    async def quiet(self) -> None:
        await self.rx.wait()
        await ClockCycles(self.dut.engine_aclk, 300)
        await RisingEdge(self.dut.mac_aclk)
