# SPDX-License-Identifier: Apache-2.0
"""External tests of an exported hub, by cocotb, through its ports alone.

Started by test_hub.py; the folder of the export is in the environment.
"""

from __future__ import annotations

import csv
import os
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.handle import HierarchyObject
from cocotb.triggers import ClockCycles, with_timeout
from hub_host import LARGEST, PAGE, Host, HubMemory, Link, Map, Packet, read, write, writes
from numpy.typing import NDArray
from thalweg.spec import Datatype, Operator, PcieCompletionWithoutData, PcieMemoryWrite
from thalweg.systems.peach2.spec import DmaDescriptor

FOLDER = Path(os.environ["THALWEG_EXPORT"])
NUMBERS = {
    name: int(value)
    for name, value in re.findall(r"int unsigned (\w+) = (\d+);", (FOLDER / "rtl/tw_cluster_pkg.sv").read_text())
}
with (FOLDER / "tables/windows.csv").open() as _file:
    ROWS = [(int(row["node"]), int(row["address"], 16), int(row["value"], 16)) for row in csv.DictReader(_file)]
NODES = 1 + max(node for node, _, _ in ROWS)
PORTS = ("north", "east", "west", "south", "bus")
NODE = 1 << 35  # bytes of a node's addresses
ALL_PAGES = (1 << 27) - 1
OUTSIDE, BACK, CROSSES, READS = 1, 2, 3, 5  # reasons
UNSUPPORTED = 1  # status of a completion


@dataclass
class Hub:
    """The top with its environment, out of reset and with its windows."""

    dut: HierarchyObject
    node: int
    memory: HubMemory
    at: Map
    links: dict[str, Link[Packet]]
    came: dict[str, list[Packet]]  # from east, west and south
    host: Host

    async def quiet(self) -> None:
        for link in self.links.values():
            await with_timeout(link.sent(), 500, "us")
        await ClockCycles(self.dut.net_aclk, 600)

    async def right(self) -> None:
        """Checks that nothing was refused or dropped."""
        assert await self.host.load(self.at("dropped"), 16) == bytes(16)
        assert await self.host.register(self.at("chains"), 32, 64) == 0
        for port in range(6):
            assert await self.host.register(self.at("refused", port)) == 0


async def start(dut: HierarchyObject, more: tuple[int, ...] = ()) -> Hub:
    """`more`: values of windows behind those of the table."""
    node = random.randrange(NODES)
    Clock(dut.net_aclk, 4000, "ps").start()
    Clock(dut.bus_aclk, 6666, "ps").start(start_high=random.random() < 0.5)
    dut.aresetn.value = 0
    dut.base_gbyte.value = 32 * node + 31
    dut.requester_id.value = 0x0100
    came: dict[str, list[Packet]] = {name: [] for name in PORTS[1:4]}

    def link(name: str, take: Callable[[Packet], None]) -> Link[Packet]:
        return Link(dut, name, NUMBERS["Packets"], NUMBERS["Units"], take, Packet.of)

    memory, host = HubMemory(dut), Host(dut, link, node)
    links = {"north": host.link, **{name: link(name, packets.append) for name, packets in came.items()}}
    await ClockCycles(dut.bus_aclk, 3)
    dut.aresetn.value = 1
    await ClockCycles(dut.bus_aclk, 5)
    hub = Hub(dut, node, memory, Map(FOLDER, 32 * node + 31), links, came, host)
    rows = [(address, value) for of, address, value in ROWS if of == node]
    rows += [(hub.at("window", len(rows) + i), value) for i, value in enumerate(more)]
    for address, value in rows:
        host.store(address, value.to_bytes(16, "little"))
    await hub.quiet()
    return hub


def window(port: int, mask: int, lower: int, upper: int) -> int:
    """The value of its register."""
    return lower | upper << 32 | mask << 64 | port << 96 | 1 << 104


def way(windows: list[int], node: int, came_by: str, packet: Packet) -> str | int:
    """The port by which a write leaves, or the reason for its refusal."""
    page, size = packet.address // PAGE, len(packet.data)
    if packet.address % PAGE + size > PAGE:
        return CROSSES
    to = None
    for value in reversed(windows):
        lower, upper, mask = (value >> at & ALL_PAGES for at in (0, 32, 64))
        if lower <= page & mask <= upper:
            to = value >> 96 & 7
    if page >> 18 == 32 * node + 31:
        to = PORTS.index("bus")
    if to is None:
        return OUTSIDE
    return PORTS[to] if to < len(PORTS) and PORTS[to] != came_by else BACK


def as_it_goes(packet: Packet, came_by: str, node: int) -> Packet:
    """A write by the host gets its source in its header; for one that arrived by a cable, the hop count is incremented."""
    header = packet.header
    assert isinstance(header, PcieMemoryWrite)
    if came_by == "north":
        return replace(packet, header=replace(header, requester=node << 8, tag=0))
    return replace(packet, header=replace(header, tag=header.tag + 1))


def check_example() -> None:
    """Checks that the packet shown in README.md is the first row of the table."""
    text = (FOLDER / "README.md").read_text()
    beats = bytes.fromhex("".join(re.findall(r"^    ((?:[0-9a-f]{16} ?){4})$", text, re.MULTILINE)))
    _, address, value = ROWS[0]
    assert beats == write(address, value.to_bytes(16, "little")).beats()


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def packets_go_where_windows_say(dut: HierarchyObject) -> None:
    """From all links at once, to all nodes and to missing ones, or invalid in one of several ways; writes to the hub's
    memory with byte enables."""
    check_example()
    odd = (
        window(random.randrange(4), 0xF << 23, 15 << 23, 15 << 23),
        window(random.randrange(6), ALL_PAGES, (14 << 23) + 5, (14 << 23) + 9),
    )
    hub = await start(dut, odd)
    windows = [value for of, _, value in ROWS if of == hub.node] + list(odd)
    wanted: dict[tuple[str, str], list[Packet]] = {}
    refused: dict[str, list[tuple[int, Packet]]] = {name: [] for name in PORTS[:4]}
    kept = bytearray(4 * PAGE)
    for number in range(400):
        port = random.randrange(4)
        name, size = PORTS[port], 4 * random.choice((1, 2, random.randint(1, 64), 64))
        to = random.choice((hub.node, random.randrange(NODES), random.randrange(16), 14))
        data = random.randbytes(size)
        if random.random() < 0.2:  # each link has a page of the memory
            at = port * PAGE + 4 * random.randrange((PAGE - size) // 4 + 1)
            first, last = random.randint(1, 15), random.randint(1, 15)
            packet = write(hub.at("memory") + at, data, first=first, last=last)
            enable = [True] * size
            if size > 4:
                enable[-4:] = [bool(last >> i & 1) for i in range(4)]
            enable[:4] = [bool(first >> i & 1) for i in range(4)]
            for i in range(size):
                if enable[i]:
                    kept[at + i] = data[i]
        else:
            page = random.randrange(3, 12) if to == 14 else random.choice((0, random.randrange(3 << 21)))
            at = PAGE * page + random.choice((4 * random.randrange(PAGE // 4), PAGE - 128))
            packet = write(NODE * to + at, data, requester=port << 12 | number)
        where = way(windows, hub.node, name, packet)
        if isinstance(where, str):
            wanted.setdefault((name, where), []).append(as_it_goes(packet, name, hub.node))
        else:
            refused[name].append((where, packet))
        hub.links[name].send(packet)
    await hub.quiet()

    for out, packets in {"north": hub.host.came, **hub.came}.items():
        for port, name in enumerate(PORTS[:4]):
            came = [p for p in packets if p.header.requester >> 12 == port]
            assert came == wanted.get((name, out), []), (name, out)
    assert hub.memory.read(0, len(kept)) == kept
    for port, name in enumerate(PORTS[:4]):
        value = await hub.host.register(hub.at("refused", port), 0, 128)
        reason, last = refused[name][-1]
        source = last.header.requester if port else hub.node << 8  # for a cable's packet, from its header
        assert value == (
            len(refused[name]) | reason << 32 | (source & 7) << 40 | (source >> 8 & 15) << 48 | last.address << 64
        )
        at = 4 * random.randrange(PAGE // 4 - 64)
        assert await hub.host.load(hub.at("memory") + port * PAGE + at, 256) == kept[port * PAGE + at :][:256]


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def reads_come_from_the_host_alone(dut: HierarchyObject) -> None:
    hub = await start(dut)
    for name in PORTS[1:4]:
        hub.links[name].send(read(hub.at("memory"), 16))
    await hub.quiet()
    for port in range(1, 4):
        value = await hub.host.register(hub.at("refused", port), 0, 128)
        assert value == 1 | READS << 32 | 1 << 35 | hub.at("memory") << 64
        (answer,) = hub.came[PORTS[port]]
        assert isinstance(answer.header, PcieCompletionWithoutData) and answer.header.status == UNSUPPORTED


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def chains_copy(dut: HierarchyObject) -> None:
    """Two chains, the descriptors of one in the working RAM and of the other in the host's memory: from the host's
    memory and the hub's to both and to a neighbour, at all alignments."""
    hub = await start(dut)
    host, size = hub.host, 1 << 16
    neighbours = {
        PORTS[value >> 96 & 7]: (value & ALL_PAGES) * PAGE
        for of, _, value in ROWS
        if of == hub.node and value >> 96 & 7
    }
    source = random.randbytes(size)
    host.memory[:size] = source
    host.store(hub.at("memory"), source[:4096])
    await hub.quiet()

    copies, taken = [], dict.fromkeys((hub.at("memory"), host.base, *neighbours.values()), size)
    for _ in range(12):
        count = 4 * random.choice((1, random.randint(1, 64), random.randint(1, 500)))
        to = random.choice(list(taken))
        at = 4 * random.randrange((4096 - count) // 4)
        begin = random.choice((hub.at("memory"), host.base)) + at
        copies.append((begin, to + taken[to], count, source[at : at + count]))
        taken[to] += count + 4 * random.randrange(40)
    flags = (1 << 19, (1 << 19) + 4)  # in the host's memory, with their later values beside them
    for flag, part, place in zip(flags, (copies[:6], copies[6:]), (hub.at("ram"), host.address(3 << 18)), strict=True):
        host.memory[flag + 8 : flag + 12] = (1).to_bytes(4, "little")
        all_of_it = [*((a, b, c) for a, b, c, _ in part), (host.address(flag + 8), host.address(flag), 4)]
        data = b"".join(
            DmaDescriptor(a, b, place + 32 * i + 32, count, last=i + 1 == len(all_of_it)).pack()
            for i, (a, b, count) in enumerate(all_of_it)
        )
        if place == hub.at("ram"):
            host.store(place, data)
        else:
            host.memory[place - host.base : place - host.base + len(data)] = data
        host.store(hub.at("start"), place.to_bytes(8, "little"))
    for flag in flags:
        await with_timeout(host.wait_for(flag, 1), 1000, "us")
    await hub.quiet()

    assert await host.register(hub.at("chains")) == 2
    await hub.right()
    there = {
        name: {p.address + i: b for p in packets for i, b in enumerate(p.data)} for name, packets in hub.came.items()
    }
    for begin, to, count, data in copies:
        if to >> 30 == 32 * hub.node + 31:
            found = hub.memory.read(to - hub.at("memory"), count)
        elif to >> 35 == hub.node:
            found = bytes(host.memory[to - host.base :][:count])
        else:
            name = next(name for name, first in neighbours.items() if first <= to < first + NODE)
            found = bytes(there[name].get(to + i, 0) for i in range(count))
        assert found == data, f"{count} bytes from 0x{begin:x} to 0x{to:x}"
    assert all(len(p.data) <= LARGEST for packets in hub.came.values() for p in packets)


def reduced(beats: NDArray[np.float32], record: int, tree: bool) -> NDArray[np.float32]:
    """By the processor's arithmetic, in the order given in README.md. `record`: beats."""
    places: list[NDArray[np.float32] | None] = [None] * NUMBERS["Sums"]

    def combine(a: NDArray[np.float32] | None, b: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
        return a + b if a is not None and b is not None else b if a is None else a

    for number, beat in enumerate(beats):
        places[number % len(places)] = combine(places[number % len(places)], beat)
    while len(places) > (1 if tree else record):
        half = len(places) // 2
        places = [combine(a, b) for a, b in zip(places[:half], places[half:], strict=True)]
    result = np.concatenate([np.zeros(4, np.float32) if place is None else place for place in places])
    while tree and len(result) > 1:
        result = result[: len(result) // 2] + result[len(result) // 2 :]
    return np.append(result, np.zeros(3, np.float32)) if tree else result


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def reductions_are_those_of_the_processor(dut: HierarchyObject) -> None:
    """Several in each context, whose beats arrive by different links; the hub itself copies each result to the host's
    memory."""
    hub = await start(dut)
    host = hub.host
    numbers = np.random.default_rng(random.randrange(2**32))
    area = (16 << NUMBERS["RamBits"]) // NUMBERS["Contexts"]
    ways = random.sample(PORTS[:4], min(4, NUMBERS["Contexts"]))
    setups = []
    for context, _ in enumerate(ways):
        record = 1 << random.randrange(NUMBERS["Records"].bit_length())
        beats, tree = record * random.randint(1, 64), random.random() < 0.3
        first = hub.at("ram") + area * context
        result, flag = 4096 * context, (1 << 16) + 64 * context
        chain = (
            DmaDescriptor(hub.at("calculator", context), host.address(result), first + 32, 16 if tree else 16 * record),
            DmaDescriptor(hub.at("results", context), host.address(flag), 0, 4, last=True),
        )
        host.store(first, b"".join(each.pack() for each in chain))
        value = beats | Operator.SUM << 32 | Datatype.FLOAT32 << 40 | (record.bit_length() - 1) << 48 | tree << 56
        host.store(hub.at("context", context), (value | first << 64 | 1 << 127).to_bytes(16, "little"))
        setups.append((record, beats, tree, result, flag))
    await hub.quiet()
    for turn in range(1, 4):
        given = []
        for context, (name, (_, beats, *_)) in enumerate(zip(ways, setups, strict=True)):
            data = (numbers.standard_normal((beats, 4)) * 10.0 ** numbers.integers(-3, 4, (beats, 4))).astype(
                np.float32
            )
            for packet in writes(hub.at("calculator", context), data.tobytes()):
                hub.links[name].send(packet)
            given.append(data)
        for context, (data, (record, _, tree, result, flag)) in enumerate(zip(given, setups, strict=True)):
            await with_timeout(host.wait_for(flag, turn), 1000, "us")
            wanted = reduced(data, record, tree).tobytes()
            assert bytes(host.memory[result : result + len(wanted)]) == wanted, (context, record, len(data), tree)
            assert await host.load(hub.at("calculator", context), len(wanted)) == wanted
    assert await host.register(hub.at("chains")) == 3 * len(ways)
    await hub.right()
