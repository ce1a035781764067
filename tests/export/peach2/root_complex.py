# SPDX-License-Identifier: Apache-2.0
"""The environment of an exported hub behind the root complex of cocotbext-pcie, another author's model of PCI Express.

The root complex enumerates a device with two BARs: of 1 GByte below 4 GByte, which the hub translates, and of 32 at the node's
addresses in the cluster. The device's configuration space is that of the vendor's PCIe block; packets to its BARs are the hub's.
"""

from __future__ import annotations

import logging
import random
import struct
from dataclasses import dataclass

import cocotb
from cocotb.clock import Clock
from cocotb.handle import HierarchyObject
from cocotb.queue import Queue
from cocotb.triggers import ClockCycles, with_timeout
from cocotbext.pcie.core import Device, Endpoint, RootComplex
from cocotbext.pcie.core.tlp import CplStatus, Tlp, TlpType
from hub_host import LINE, PAGE, UNIT, HubMemory, Link, Map
from hub_traffic import FOLDER, NODE, NODES, NUMBERS, window
from thalweg.systems.peach2.spec import DmaDescriptor

GBYTE = 1 << 30
READS = (TlpType.MEM_READ, TlpType.MEM_READ_64)
WRITES = (TlpType.MEM_WRITE, TlpType.MEM_WRITE_64)


@dataclass(frozen=True)
class TlpPacket:
    """A packet of cocotbext-pcie in the hub's beats."""

    tlp: Tlp

    @property
    def units(self) -> int:
        return -(-len(self.tlp.data) // UNIT) if self.tlp.has_data() else 0

    def beats(self) -> bytes:
        first = (self.tlp.lower_address if self.tlp.is_completion() else self.tlp.address) % LINE // 4 * 4
        lines = bytes(first) + bytes(self.tlp.data) if self.tlp.has_data() else b""
        return bytes(self.tlp.pack_header()).ljust(LINE, b"\0") + lines + bytes(-len(lines) % LINE)

    @classmethod
    def of(cls, beats: bytes) -> TlpPacket:
        tlp = Tlp.unpack_header(beats)
        first = LINE + (tlp.lower_address if tlp.is_completion() else tlp.address) % LINE // 4 * 4
        if tlp.has_data():
            tlp.data = bytearray(beats[first : first + 4 * tlp.length])
        return cls(tlp)


class HubFunction(Endpoint):
    """Passes memory packets to the hub, and the hub's to the root complex."""

    def __init__(self) -> None:
        super().__init__()
        self.vendor_id, self.device_id = 0x1234, 0x0002
        self.configure_bar(0, GBYTE)
        self.configure_bar(2, NODE, ext=True, prefetch=True)
        self.link: Link[TlpPacket] | None = None
        self._sent: Queue[Tlp] = Queue()
        cocotb.start_soon(self._send())

    def match_bar(self, addr: int, io: bool = False) -> tuple[int, int] | None:
        """Also for BARs of more than 4 GByte, which cocotbext-pcie takes for unimplemented."""
        wide = self.bar[2] & ~15 | self.bar[3] << 32
        return (2, addr % NODE) if wide and wide == addr // NODE * NODE else super().match_bar(addr, io)

    async def handle_tlp(self, tlp: Tlp) -> None:
        if tlp.fmt_type in (*READS, *WRITES) or tlp.is_completion():
            tlp.release_fc()
            assert self.link is not None
            self.link.send(TlpPacket(tlp))
        else:
            await super().handle_tlp(tlp)

    def take(self, packet: TlpPacket) -> None:
        self._sent.put_nowait(packet.tlp)

    async def _send(self) -> None:
        while True:
            await self.send(await self._sent.get())


class Host:
    """The root complex, with memory at the pages that the hub's outbound translation leads to."""

    def __init__(self, dut: HierarchyObject) -> None:
        self.dut, self.node = dut, random.randrange(1, NODES)
        self.at = Map(FOLDER, 32 * self.node + 31)
        self.root = RootComplex()
        self.root.max_payload_size = 0x1  # 256 bytes
        self.root.prefetchable_mem_base = self.root.prefetchable_mem_limit = NODE * self.node
        self.function = HubFunction()
        self.device = Device(self.function)
        self.root.make_port().connect(self.device)
        self.memory = self.root.mem_pool.alloc_region(1 << 20)
        self.base = self.memory.get_absolute_address(0)
        self.bar = 0
        self.silent = False  # reads of the hub get no completion
        self.cables: dict[str, Link[TlpPacket]] = {}
        self.came: dict[str, list[TlpPacket]] = {"east": [], "west": [], "south": []}
        for kind in READS:
            self.root.register_rx_tlp_handler(kind, self._read)

    async def start(self) -> None:
        dut = self.dut
        Clock(dut.net_aclk, 4000, "ps").start()
        Clock(dut.bus_aclk, 6666, "ps").start()
        dut.aresetn.value = 0
        dut.base_gbyte.value = 32 * self.node + 31
        dut.requester_id.value = 0x0100
        size = NUMBERS["Packets"], NUMBERS["Units"]
        self.hub_memory = HubMemory(dut)
        self.function.link = Link(dut, "north", *size, self.function.take, TlpPacket.of)
        for name, came in self.came.items():
            self.cables[name] = Link(dut, name, *size, came.append, TlpPacket.of)
        await ClockCycles(dut.bus_aclk, 3)
        dut.aresetn.value = 1
        await ClockCycles(dut.bus_aclk, 8)
        await self.root.enumerate()
        device = self.root.find_device(self.function.pcie_id)
        await device.enable_device()
        await device.set_master()
        dut.requester_id.value = int(self.function.pcie_id)
        self.bar = device.bar_addr[0]
        assert self.bar < 1 << 32 and self.bar % GBYTE == 0 and device.bar_addr[2] == NODE * self.node
        # Inbound, the BAR leads to the hub's own GByte; outbound, the first MByte of the node's processor to the memory.
        own, all_pages = self.at("memory") // PAGE, (1 << 27) - 1
        pages = len(self.memory) // PAGE
        await self.write(self.at("window"), window(0, all_pages, self.node << 23, ((self.node + 1) << 23) - 1))
        await self.translate(0, GBYTE // PAGE, self.bar // PAGE, own)
        await self.translate(1, pages, self.node << 23, self.base // PAGE)

    async def translate(self, outbound: int, pages: int, page: int, to: int) -> None:
        """`pages`: number of pages, a power of two."""
        mask = (1 << 27) - pages
        await self.write(self.at("translation", outbound), page | to << 32 | mask << 64 | 1 << 104)
        await self.register("chains")  # its completion means that the write has arrived

    async def write(self, address: int, value: int) -> None:
        """Writes a register by its address in the cluster."""
        await self.request(WRITES, address, data=value.to_bytes(16, "little"))

    async def request(
        self, kinds: tuple[TlpType, TlpType], address: int, size: int = 0, data: bytes = b""
    ) -> list[Tlp]:
        tlp = Tlp()
        tlp.fmt_type = kinds[address >> 32 != 0]
        if kinds is WRITES:
            tlp.set_addr_be_data(address, data)
            await self.root.perform_posted_operation(tlp)
            return []
        tlp.set_addr_be(address, size)
        return list(await self.root.perform_nonposted_operation(tlp, 200, "us"))

    async def read(self, address: int, size: int) -> bytes | None:
        """The bytes, put together from all completions; None for Unsupported Request."""
        completions = await self.request(READS, address, size)
        assert completions, "no completion"
        if completions[-1].status == CplStatus.UR:
            return None
        first, left, data = completions[0].lower_address, max(size, 1), b""
        assert first == address % 128 // (1 if size else 4) * (1 if size else 4)
        for each in completions:
            assert each.status == CplStatus.SC and each.byte_count == left
            part = bytes(each.data)[each.lower_address % 4 :][:left]
            data, left = data + part, left - len(part)
        assert left == 0
        return data[:size]

    async def register(self, name: str, index: int = 0) -> int:
        data = await self.read(self.at(name, index), 16)
        assert data is not None
        return int.from_bytes(data, "little")

    async def chain(self, copies: list[tuple[int, int, int]]) -> None:
        place = self.at("ram")
        for i, (source, to, count) in enumerate(copies):
            line = DmaDescriptor(source, to, place + 32 * i + 32, count, last=i + 1 == len(copies)).pack()
            await self.request(WRITES, place + 32 * i, data=line)
        await self.request(WRITES, self.at("start"), data=struct.pack("<Q", place))

    async def ended(self, chains: int) -> int:
        """Waits until so many chains have ended or were given up; returns the number of those given up."""
        for _ in range(2000):
            value = await self.register("chains")
            if (value & 0xFFFFFFFF) + (value >> 64 & 0xFFFFFFFF) >= chains:
                await ClockCycles(self.dut.net_aclk, 200)  # the last data are on their way
                return value >> 64 & 0xFFFFFFFF
            await ClockCycles(self.dut.net_aclk, 50)
        raise AssertionError("the chain does not end")

    async def _read(self, tlp: Tlp) -> None:
        if not self.silent:
            self.root.split_on_all_rcb = random.random() < 0.5
            self.root.read_completion_boundary = random.random() < 0.3
            await self.root.handle_mem_read_tlp(tlp)


async def begin(dut: HierarchyObject) -> Host:
    logging.getLogger("cocotb.pcie").setLevel(logging.ERROR)
    host = Host(dut)
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("cocotb.pcie"):
            logging.getLogger(name).setLevel(logging.ERROR)
    await with_timeout(host.start(), 500, "us")
    return host
