# SPDX-License-Identifier: Apache-2.0
"""Random legal transactions of an exported hub and the root complex of cocotbext-pcie, several at once: data are right, or the
requester gets an error and a register of the hub counts it. Started by test_hub.py; the folder of the export is in the environment.
"""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

import cocotb
from cocotb.handle import HierarchyObject
from cocotb.triggers import Timer
from cocotbext.pcie.core.tlp import CplStatus, Tlp, TlpAttr, TlpTc
from cocotbext.pcie.core.utils import PcieId
from hub_host import CYCLE_NS, LARGEST, PAGE
from hub_traffic import NODE, NODES, NUMBERS, window
from root_complex import READS, WRITES, Host, TlpPacket, begin
from thalweg.systems.peach2.spec import DmaDescriptor

COUNT = int(os.environ.get("THALWEG_TRANSACTIONS", "300"))
REQUESTERS = 6  # at once; each has a page of the hub's memory
CHAINS = 5 + COUNT // 80
BEAT = 16
NORTH, EAST, CHANNEL = 0, 1, 5  # ports
MALFORMED, REFUSED, FAILED, LATE = 1, 2, 3, 6  # faults of a chain
ROOT = PcieId(0, 0, 0)
UNITS = 1  # of 1,024 cycles: the time-out


async def cycles(count: int) -> None:
    """Of the packets' clock."""
    await Timer(count * CYCLE_NS, "ns")


class Account:
    """Errors that the hub's registers must have counted."""

    def __init__(self) -> None:
        self.refused = {NORTH: 0, EAST: 0, CHANNEL: 0}
        self.dropped = self.ended = self.given_up = 0  # beats of the bus; chains

    async def check(self, host: Host) -> None:
        for port, count in self.refused.items():
            assert await host.register("refused", port) & 0xFFFFFFFF == count, port
        assert await host.register("dropped") & 0xFFFFFFFFFFFFFFFF == self.dropped
        assert await host.register("chains") == self.ended | self.given_up << 64


class Request(NamedTuple):
    """A legal request of at most 256 bytes within a page."""

    at: int
    length: int  #: double words
    first: int
    last: int

    @classmethod
    def draw(cls) -> Request:
        """Byte enables with gaps are allowed in one double word, and in two within eight bytes; none enabled in one alone (PCI
        Express Base Specification 2.1, section 2.2.5)."""
        kind = random.randrange(4)
        if kind == 0:
            return cls(4 * random.randrange(PAGE // 4), 1, random.randrange(16), 0)
        if kind == 1:
            return cls(8 * random.randrange(PAGE // 8), 2, random.randint(1, 15), random.randint(1, 15))
        length = random.choice((random.randint(2, 5), random.randint(2, LARGEST // 4), LARGEST // 4))
        at = random.choice((4 * random.randrange(PAGE // 4 - length + 1), PAGE - 4 * length))
        return cls(at, length, 15 << random.randrange(4) & 15, 15 >> random.randrange(4))

    @property
    def enabled(self) -> list[int]:
        """Places in the page."""
        enables = self.first | ((1 << 4 * self.length - 4) - 1) & ~15 | self.last << 4 * self.length - 4
        return [self.at + i for i in range(4 * self.length) if enables >> i & 1]

    @property
    def beats(self) -> int:
        return len(range(self.at // BEAT, -(-(self.at + 4 * self.length) // BEAT)))

    def tlp(self, base: int, data: bytes = b"") -> Tlp:
        tlp = Tlp()
        tlp.fmt_type = (WRITES if data else READS)[base >> 32 != 0]
        tlp.address, tlp.length, tlp.first_be, tlp.last_be = base + self.at, self.length, self.first, self.last
        tlp.data = bytearray(data)
        tlp.tc, tlp.attr = TlpTc(random.randrange(8)), TlpAttr(random.randrange(4))
        return tlp


class Requester:
    """Writes and reads of the root complex in a page of the hub's memory."""

    def __init__(self, host: Host, account: Account, page: int) -> None:
        self.host, self.account, self.page = host, account, page
        self.kept = bytearray(PAGE)

    async def run(self, left: Iterator[int]) -> None:
        for _ in left:
            base = random.choice((self.host.bar, self.host.at("memory"))) + self.page
            (what,) = random.choices((self.write, self.read, self.write_nowhere, self.read_nowhere), (35, 55, 3, 7))
            await what(Request.draw(), base)
            await cycles(random.choice((1, 1, 50)))

    async def write(self, asked: Request, base: int) -> None:
        data = random.randbytes(4 * asked.length)
        for at in asked.enabled:
            self.kept[at] = data[at - asked.at]
        await self.host.root.perform_posted_operation(asked.tlp(base, data))

    async def read(self, asked: Request, base: int) -> None:
        tlp, completions = await self._read(asked.tlp(base))
        count, first = (tlp.get_be_byte_count(), tlp.get_first_be_offset()) if asked.enabled else (1, 0)
        data = b""
        for each in completions:
            assert each.status == CplStatus.SC and len(each.data) == 4 * each.length <= LARGEST
            assert each.byte_count == count - max(len(data) - first, 0)
            assert each.lower_address == (tlp.address + max(len(data), first)) % 128
            data += each.data
        assert len(data) == 4 * asked.length
        assert {at: data[at - asked.at] for at in asked.enabled} == {at: self.kept[at] for at in asked.enabled}

    async def write_nowhere(self, asked: Request, base: int) -> None:
        data = random.randbytes(4 * asked.length)
        if random.random() < 0.5:  # to the port where it came in
            self.account.refused[NORTH] += 1
            base = NODE * self.host.node
        else:  # the bus has nothing there
            self.account.dropped += len({at // BEAT for at in asked.enabled})
            base = self._nowhere
        await self.host.root.perform_posted_operation(asked.tlp(base, data))

    async def read_nowhere(self, asked: Request, base: int) -> None:
        what = random.randrange(3)
        if what == 0:
            self.account.refused[NORTH] += 1
            base = NODE * self.host.node
        elif what == 1:
            self.account.dropped += asked.beats
            base = self._nowhere
        else:  # more than a packet holds
            self.account.refused[NORTH] += 1
            asked = Request(0, random.randint(LARGEST // 4 + 1, PAGE // 4), 15, 15)
        _, completions = await self._read(asked.tlp(base))
        assert [each.status for each in completions] == [CplStatus.UR]
        assert not completions[0].has_data()

    @property
    def _nowhere(self) -> int:
        ram = 0x30000000 + (BEAT << NUMBERS["RamBits"])
        return random.choice((self.host.bar + random.choice((ram, 0x3F000000)), self.host.at("window") + PAGE))

    async def _read(self, tlp: Tlp) -> tuple[Tlp, list[Tlp]]:
        completions = list(await self.host.root.perform_nonposted_operation(tlp, 200, "us"))
        assert completions, "no completion"
        for each in completions:
            assert (each.completer_id, each.tc, each.attr) == (self.host.function.pcie_id, tlp.tc, tlp.attr)
        return tlp, completions


async def cable(host: Host, account: Account, page: int, left: Iterator[int]) -> None:
    """A neighbour: writes to the hub's memory, and reads, which are refused."""
    kept, refused, answers = bytearray(PAGE), 0, host.came["east"]
    for _ in left:
        asked = Request.draw()
        data = random.randbytes(4 * asked.length) if random.random() < 0.8 else b""
        if data:
            for at in asked.enabled:
                kept[at] = data[at - asked.at]
        else:
            refused += 1
        host.cables["east"].send(TlpPacket(asked.tlp(host.at("memory") + page, data)))
        await cycles(random.randint(1, 1000))
    await host.cables["east"].sent()
    await cycles(2000)
    account.refused[EAST] += refused
    assert [each.tlp.status for each in answers if each.tlp.is_completion()] == [CplStatus.UR] * refused
    assert host.hub_memory.read(page, PAGE) == kept


class Completer:
    """The root complex's answers to the hub's reads: in any order of the reads, each cut at any read completion boundaries, or as
    `trouble` says."""

    def __init__(self, host: Host) -> None:
        self.host, self.trouble = host, ""
        self.offset = 0  # of the hub's pages in the memory
        self.withheld: list[Tlp] = []
        for kind in READS:
            host.root.register_rx_tlp_handler(kind, self._take)

    async def send(self, completions: list[Tlp]) -> None:
        for each in completions:
            await cycles(random.choice((1, 1, 1, 20, 100)))
            await self.host.root.send(each)

    async def _take(self, tlp: Tlp) -> None:
        parts = list(self._parts(tlp))
        at = random.randrange(len(parts))
        if self.trouble == "poisoned":
            parts[at].ep = True
        elif self.trouble == "aborted":
            parts[at:] = [Tlp.create_ca_completion_for_tlp(tlp, ROOT)]
        elif self.trouble == "unsupported":
            parts = [Tlp.create_ur_completion_for_tlp(tlp, ROOT)]
        elif self.trouble == "late":
            parts, late = parts[:at], parts[at:]
            self.withheld += late
        cocotb.start_soon(self.send(parts))

    def _parts(self, tlp: Tlp) -> Iterator[Tlp]:
        boundary, most = random.choice((64, 128)), random.choice((128, 256))
        at, end = tlp.address, tlp.address + 4 * tlp.length
        while at < end:
            ends = [*range(at - at % boundary + boundary, end, boundary), end]
            to = random.choice([each for each in ends if each - at <= most])
            part = Tlp.create_completion_data_for_tlp(tlp, ROOT)
            part.byte_count, part.lower_address = end - at, at % 128
            part.set_data(self.host.memory[at - self.host.base : to - self.host.base])
            yield part
            at = to


class Place(NamedTuple):
    """32 KByte that chains use: sources, destinations of each copy, flag, a destination that is not looked at, descriptors."""

    address: int
    read: Callable[[int, int], bytes]


SOURCES, TARGETS, FLAG, SCRATCH, CHAIN = 0, 8192, 16384, 20480, 24576
SLOT, COPIES = 2048, 3
SPACE = 1 << 15


class Chains:
    """Chains of the DMA controller, one after the other, between the host's memory, the hub's and a neighbour's."""

    def __init__(self, host: Host, account: Account, completer: Completer) -> None:
        self.host, self.account, self.completer = host, account, completer
        self.number = 0  # of chains
        self.neighbour = NODE * ((host.node + 1) % NODES)
        at = PAGE * (REQUESTERS + 1)
        self.ours = Place(NODE * host.node, lambda a, n: bytes(host.memory[completer.offset + a :][:n]))
        self.hub = Place(host.at("memory") + at, lambda a, n: host.hub_memory.read(at + a, n))
        self.far = Place(self.neighbour, self._arrived)
        self._there = bytearray(SPACE)

    async def run(self, left: Iterator[int]) -> None:
        for at in range(0, TARGETS, LARGEST):
            await self.host.request(WRITES, self.hub.address + at, data=random.randbytes(LARGEST))
        await self.host.write(self.host.at("timeout"), UNITS)
        await self.host.register("chains")
        for _ in left:
            await random.choice((self.right, self.right, self.right, self.wrong, self.late, self.moved))()

    async def right(self) -> None:
        self.number += 1
        source, target = random.choice((self.ours, self.hub)), random.choice((self.ours, self.hub, self.far))
        self._fill(SOURCES, random.randbytes(TARGETS))
        self._fill(FLAG + 4, struct.pack("<I", self.number))
        copies, wanted = [], []
        for slot in range(random.randint(1, COPIES)):
            count = 4 * random.choice((random.randint(1, 8), random.randint(1, 400)))
            begin, to = 4 * random.randrange((TARGETS - count) // 4), TARGETS + SLOT * slot + 4 * random.randrange(100)
            copies.append((source.address + begin, target.address + to, count))
            wanted.append((to, source.read(begin, count)))
        await self._start([*copies, (self.ours.address + FLAG + 4, target.address + FLAG, 4)])
        await self._until(lambda: target.read(FLAG, 4) == struct.pack("<I", self.number), "the flag does not arrive")
        for to, data in wanted:
            assert target.read(to, len(data)) == data
        self.account.ended += 1
        await self._ended()

    async def wrong(self) -> None:
        """A fault, and the next chain runs."""
        kind = random.choice(("poisoned", "aborted", "unsupported", "remote", "malformed"))
        if kind == "remote":
            self.account.refused[CHANNEL] += 1
            await self._fails([(self.neighbour, self.hub.address + SCRATCH, 64)], REFUSED)
        elif kind == "malformed":
            await self._fails([(self.ours.address, self.hub.address + SCRATCH, random.choice((0, 7)))], MALFORMED)
        else:
            self.completer.trouble = kind
            await self._fails([self._much()], REFUSED if kind == "unsupported" else FAILED)
            self.completer.trouble = ""
        await self.right()

    async def late(self) -> None:
        """Reads without an answer in time: chains are given up until all answers have come, the same time has passed again, or the
        host gives them up."""
        self.completer.trouble = "late"
        await self._fails([self._much()], LATE)
        self.completer.trouble = ""
        late, self.completer.withheld = self.completer.withheld, []
        how = random.choice(("answers", "time", "abort"))
        if how == "answers":
            if random.random() < 0.5:
                await self._fails([self._much()], LATE)
            await self.completer.send(late)
        elif how == "time":
            await cycles((UNITS + 1) * 1024)
        else:
            await self.host.request(WRITES, self.host.at("abort"), data=struct.pack("<Q", 1 << 8))
        await cycles(200)
        await self.right()

    async def moved(self) -> None:
        """The hub's pages become others of the root complex's."""
        pages = SPACE // PAGE << random.randrange(3)
        self.completer.offset = random.randrange(0, len(self.host.memory), pages * PAGE)
        to = (self.host.base + self.completer.offset) // PAGE
        await self.host.translate(1, pages, self.ours.address // PAGE, to)
        await self.right()

    def _much(self) -> tuple[int, int, int]:
        return self.ours.address + 4 * random.randrange(64), self.hub.address + SCRATCH, 4 * random.randint(200, 500)

    def _fill(self, at: int, data: bytes) -> None:
        first = self.completer.offset + at
        self.host.memory[first : first + len(data)] = data

    def _arrived(self, at: int, size: int) -> bytes:
        """Of what has come by the neighbour's cable."""
        writes = [each for each in self.host.came["east"] if not each.tlp.is_completion()]
        self.host.came["east"][:] = [each for each in self.host.came["east"] if each.tlp.is_completion()]
        for each in writes:
            first = each.tlp.address - self.neighbour
            self._there[first : first + len(each.tlp.data)] = each.tlp.data
        return bytes(self._there[at : at + size])

    async def _start(self, copies: list[tuple[int, int, int]]) -> None:
        in_host = random.random() < 0.4
        place = self.ours.address + CHAIN if in_host else self.host.at("ram")
        for i, (source, to, count) in enumerate(copies):
            line = DmaDescriptor(source, to, place + 32 * i + 32, count, last=i + 1 == len(copies)).pack()
            if in_host:
                self._fill(CHAIN + 32 * i, line)
            else:
                await self.host.request(WRITES, place + 32 * i, data=line)
        await self.host.request(WRITES, self.host.at("start"), data=struct.pack("<Q", place))

    async def _fails(self, copies: list[tuple[int, int, int]], reason: int) -> None:
        await self._start(copies)
        self.account.given_up += 1
        await self._ended()
        value = await self.host.register("given_up")
        assert (value & 0xFFFFFFFF, value >> 32 & 7) == (self.account.given_up, reason)

    async def _ended(self) -> None:
        wanted = self.account.ended | self.account.given_up << 64
        for _ in range(200):
            if await self.host.register("chains") == wanted:
                return
            await cycles(50)
        raise AssertionError("the chain does not end")

    async def _until(self, there: Callable[[], bool], otherwise: str) -> None:
        for _ in range(2000):
            if there():
                return
            await cycles(20)
        raise AssertionError(otherwise)


@cocotb.test(timeout_time=1000, timeout_unit="ms")
async def random_transactions(dut: HierarchyObject) -> None:
    host = await begin(dut)
    account, left = Account(), iter(range(COUNT - CHAINS))
    neighbour = (host.node + 1) % NODES
    await host.write(host.at("window", 1), window(EAST, (1 << 27) - 1, neighbour << 23, (neighbour + 1 << 23) - 1))
    completer = Completer(host)
    tasks = [
        cable(host, account, PAGE * REQUESTERS, left),
        Chains(host, account, completer).run(iter(range(CHAINS))),
        *(Requester(host, account, PAGE * page).run(left) for page in range(REQUESTERS)),
    ]
    for task in [cocotb.start_soon(each) for each in tasks]:
        await task
    await cycles(2000)  # the last events are on their way to the registers
    await account.check(host)
