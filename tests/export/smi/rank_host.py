# SPDX-License-Identifier: Apache-2.0
"""The environment of an exported rank, according to its README.md: a processor that loads its tables, and kernels at
its endpoints."""

from __future__ import annotations

import csv
import ctypes
import random
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cocotb.handle import HierarchyObject
from cocotb.triggers import with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

LOADER = """
#include "{header}"
void load(volatile uint32_t* base, unsigned rank, const uint8_t* send) {{ smi_{name}_load(base, rank, (const void*)send); }}
"""
NEVER = 0xFEDCBA98  # is written to no register


@dataclass(frozen=True)
class Endpoint:
    """A row of README.md's table."""

    kind: str
    port: int
    type: str
    link: int
    datatype: int
    size: int
    most: int  # elements of a packet
    buffer: int  # packets

    @property
    def name(self) -> str:
        return f"{self.kind}_{self.port}"

    @property
    def bytes(self) -> int:
        return 1 << self.size


class Folder:
    """The contents of an exported folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        readme = (path / "README.md").read_text()
        rows = re.findall(r"^\| \d+ \| (\w+) \| (\d+) \| (\w+) \|" + r" (\d+) \|" * 5 + "$", readme, re.M)
        self.endpoints = [Endpoint(kind, int(port), of, *map(int, more)) for kind, port, of, *more in rows]
        fields = re.findall(r"^\| `(\w+)` \| (\d+)(?:-(\d+))? \| [^|]* \| [^|]* \|$", readme, re.M)
        self.open_fields = {name: (int(at), int(last or at) - int(at) + 1) for name, at, last in fields}
        found = re.search(r"an open, (\d+) bits", readme)
        assert found and sum(bits for _, bits in self.open_fields.values()) == int(found[1])
        with (path / "tables/links.csv").open() as file:
            self.links = [tuple(map(int, row)) for row in list(csv.reader(file))[1:]]

    def endpoint(self, name: str) -> Endpoint:
        return next(endpoint for endpoint in self.endpoints if endpoint.name == name)

    def send_tables(self, rank: int, links: int) -> bytes:
        return b"".join((self.path / f"tables/cks-rank{rank}-channel{link}").read_bytes() for link in range(links))

    def open(self, **values: int) -> int:
        """An open's TDATA."""
        data = 0
        for name, value in values.items():
            at, bits = self.open_fields[name]
            assert 0 <= value < 1 << bits, f"{name} is {value}"
            data |= value << at
        return data

    def loads(self, rank: int, send: bytes) -> list[tuple[int, int]]:
        """Addresses and words that the C header writes."""
        (header,) = self.path.glob("smi_*.h")
        name = header.stem.removeprefix("smi_")
        source, library = (self.path.parent / f"load{ending}" for ending in (".c", ".so"))
        if not library.exists():
            source.write_text(LOADER.format(header=header.name, name=name))
            subprocess.run(["cc", "-shared", "-fPIC", f"-I{self.path}", "-o", library, source], check=True)
        words = (ctypes.c_uint32 * (0x10000 // 4))(*[NEVER] * (0x10000 // 4))
        ctypes.CDLL(str(library)).load(words, rank, send)
        return [(4 * place, word) for place, word in enumerate(words) if word != NEVER]


def pauses() -> Iterator[bool]:
    """Periods of backpressure of various strength."""
    while True:
        share = random.choice((0, 0, 0.3, 0.8))
        for _ in range(random.randrange(1, 60)):
            yield random.random() < share


@dataclass
class Rank:
    """An exported rank, whose kernels are the test."""

    top: HierarchyObject
    clock: HierarchyObject
    reset: HierarchyObject
    folder: Folder
    number: int
    opens: dict[str, AxiStreamSource] = field(default_factory=dict)
    gives: dict[str, AxiStreamSource] = field(default_factory=dict)
    takes: dict[str, AxiStreamSink] = field(default_factory=dict)

    def __post_init__(self) -> None:
        clocked = (self.clock, self.reset, False)
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(self.top, "s_axil"), *clocked)

        def bus(name: str) -> AxiStreamBus:
            return AxiStreamBus.from_prefix(self.top, name)

        for of in self.folder.endpoints:
            self.opens[of.name] = AxiStreamSource(bus(f"s_axis_{of.name}_open"), *clocked)
            if of.kind != "pop":
                self.gives[of.name] = AxiStreamSource(bus(f"s_axis_{of.name}"), *clocked)
            if of.kind != "push":
                self.takes[of.name] = AxiStreamSink(bus(f"m_axis_{of.name}"), *clocked)
        for stream in (*self.gives.values(), *self.takes.values()):
            stream.set_pause_generator(pauses())

    async def load(self, send: bytes) -> None:
        """Loads all tables, in a random order."""
        writes = self.folder.loads(self.number, send)
        random.shuffle(writes)
        for address, word in writes:
            await self.registers.write_dword(address, word)

    def open(self, name: str, **values: int) -> None:
        endpoint = self.folder.endpoint(name)
        values = {"datatype": endpoint.datatype, "size": endpoint.size, "per_packet": endpoint.most} | values
        data = self.folder.open(**values)
        stream = self.opens[name]
        stream.send_nowait(AxiStreamFrame(data.to_bytes(stream.byte_lanes, "little")))

    def give(self, name: str, data: bytes, flushes: Iterable[int] = ()) -> None:
        """Sends elements, one after the other; `flushes`: numbers of elements after which a push's packet leaves."""
        size = self.folder.endpoint(name).bytes
        ends = [0, *sorted(size * count for count in flushes), len(data)]
        for begin, end in zip(ends, ends[1:], strict=False):
            if begin < end:
                self.gives[name].send_nowait(AxiStreamFrame(data[begin:end]))

    async def take(self, name: str, elements: int) -> list[AxiStreamFrame]:
        return [await with_timeout(self.takes[name].recv(), 50, "us") for _ in range(elements)]

    async def take_bytes(self, name: str, elements: int) -> bytes:
        return b"".join(bytes(frame.tdata) for frame in await self.take(name, elements))
