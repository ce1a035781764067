# SPDX-License-Identifier: Apache-2.0
"""Host software for the collective unit of an exported node, as described in its README.md: registers, and packets to
and from the unit."""

from __future__ import annotations

import csv
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import cocotb
from cocotb.handle import HierarchyObject, LogicObject
from cocotb.queue import Queue
from cocotb.triggers import Event
from cocotbext.axi import AxiLiteMaster, AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource
from systemrdl.compiler import RDLCompiler
from thalweg.spec import Datatype, Operator
from thalweg.systems.mpi_fpga.spec import (
    Algorithm,
    Collective,
    Descriptor,
    Kind,
    NetworkHeader,
    PersonalHeader,
    RelayHeader,
)

FLIT, HEADER, WORD = 32, 8, 8  # bytes: of a flit, of a packet's header, of an element
PACKET_FLITS = 4  # of a full packet
NO_LINK = 255  # of a relay header: the packet occupies no entry
TYPE = Datatype.INT64


class Registers:
    """The map of the folder: addresses and words by name."""

    def __init__(self, folder: Path) -> None:
        compiler = RDLCompiler()
        compiler.compile_file(str(folder / "registers/tw_registers.rdl"))
        self._top = compiler.elaborate().top

    def address(self, name: str) -> int:
        return int(self._top.find_by_path(name).absolute_address)

    def word(self, register: str, **fields: int) -> int:
        return sum(value << self._top.find_by_path(f"{register}.{name}").low for name, value in fields.items())

    def get(self, register: str, field_name: str, word: int) -> int:
        of_field = self._top.find_by_path(f"{register}.{field_name}")
        return word >> of_field.low & (1 << of_field.width) - 1


Stream = tuple[int, int, int, int]  # process, step, round, stream of the step


@dataclass
class Operation:
    """An operation in flight: the data received, by stream."""

    processes: int
    streams: int  #: expected by the host
    described: dict[Stream, Descriptor] = field(default_factory=dict)
    elements: dict[Stream, dict[int, int]] = field(default_factory=dict)
    ended: int = 0
    over: Event = field(default_factory=Event)

    def settle(self) -> None:
        """Marks it as complete once all data have arrived."""
        whole = all(len(self.elements.get(key, {})) == each.count for key, each in self.described.items())
        if self.ended == self.processes and len(self.described) == self.streams and whole:
            self.over.set()

    def blocks(self) -> dict[int, list[int]]:
        """The received data, by the rank that owns the block."""
        return {
            each.block: [self.elements[key][place] for place in range(each.count)]
            for key, each in self.described.items()
        }


def flits_of(elements: int, header: int) -> int:
    """Number of flits, a power of two."""
    flits = 1
    while flits * FLIT < header + elements * WORD:
        flits *= 2
    return flits


def packets_of(elements: Sequence[int], header: int) -> list[Sequence[int]]:
    """The elements of each packet of a stream: one packet without elements if there are none."""
    most = (PACKET_FLITS * FLIT - header) // WORD
    return [elements[at : at + most] for at in range(0, max(1, len(elements)), most)]


class UnitHost:
    """The unit of one node. The communicator of all nodes is row 0, its trees are by rank, and a rank is its node and
    its label."""

    def __init__(
        self,
        top: HierarchyObject,
        clocked: tuple[LogicObject, LogicObject, bool],
        registers: AxiLiteMaster,
        folder: Path,
        node: int,
    ) -> None:
        def bus(name: str) -> AxiStreamBus:
            return AxiStreamBus.from_prefix(top, name)

        self.node = node
        self._registers, self._map = registers, Registers(folder)
        with (folder / "tables/unit.csv").open() as file:
            rows = [row for row in csv.DictReader(file) if int(row["node"]) == node]
        self._writes = [(int(row["address"], 16), int(row["value"], 16)) for row in rows]
        [ranks] = (int(row["value"], 16) for row in rows if row["register"] == "unit.row.ranks")
        self.ranks = self._map.get("unit.row.ranks", "count", ranks)
        self._upload = AxiStreamSource(bus("s_axis_upload"), *clocked)
        self._freed = AxiStreamSink(bus("m_axis_free"), *clocked)
        self._results = AxiStreamSink(bus("m_axis_result0"), *clocked)
        self._ended = AxiStreamSink(bus("m_axis_ended"), *clocked)
        self._personal_in = AxiStreamSource(bus("s_axis_personal0"), *clocked)
        self._personal_out = AxiStreamSink(bus("m_axis_personal0"), *clocked)
        self._announced = [AxiStreamSink(bus(f"m_axis_announced{link}"), *clocked) for link in range(2)]
        self._under_way: dict[int, Operation] = {}
        self._started = self._on_tree = 0
        self._there: dict[tuple[int, int], Event] = {}  # of an all-to-all: ranks that have announced themselves
        self._came: dict[int, Queue[bytes]] = {}  # its packets, by rank

    def streams(self) -> list[AxiStreamSource | AxiStreamSink]:
        inputs, outputs = (
            (self._upload, self._personal_in),
            (self._freed, self._results, self._ended, self._personal_out),
        )
        return [*inputs, *outputs, *self._announced]

    async def set_up(self) -> None:
        """Loads the node's row, and starts the receivers of the unit's streams."""
        while not await self._read("unit.status", "ready"):
            pass
        for address, value in self._writes:
            await self._registers.write_dword(address, value)
        self._operations = await self._read("unit.shape", "row_operations")
        places = await self._read("unit.store", "places")
        self._places: list[Queue[int]] = [Queue() for _ in range(self._operations)]  # each operation has its own
        for place in range(places):
            self._places[place % self._operations].put_nowait(place)
        self._came = {rank: Queue() for rank in range(self.ranks)}
        loops = (self._keep_places, self._keep_ends, self._keep_results, self._keep_personal)
        for loop in (*(each() for each in loops), *map(self._keep_announced, self._announced)):
            cocotb.start_soon(loop)

    async def run(
        self,
        collective: Collective,
        algorithm: Algorithm,
        operator: Operator,
        root: int,
        elements: Sequence[int] | None,
        streams: int,
    ) -> Operation:
        """Begins an operation as soon as its entry is free, and sends this rank's data; `streams` streams will arrive."""
        along_tree = algorithm == Algorithm.TREE
        sequence = self._on_tree if along_tree else self._started
        two = along_tree and self.node > 0 and collective not in (Collective.BROADCAST, Collective.REDUCE)
        processes = 3 if algorithm == Algorithm.EXCHANGE else 2 if two else 1  # of four ranks
        operation = Operation(processes, streams)
        number = await self._start(collective, algorithm, operator, root, operation)
        head = NetworkHeader(
            operation=operator, algorithm=algorithm, collective=collective, sequence=sequence & 3, kind=Kind.DATA
        )
        if elements is not None:
            barrier = collective == Collective.BARRIER
            first = Descriptor(
                operation=operator,
                algorithm=algorithm,
                collective=collective,
                sequence=sequence & 3,
                last=barrier,
                type=Datatype.BYTE if barrier else TYPE,
                root=root,
                block=self.node if operator == Operator.NONE and not barrier else 0,  # equal for all operands
                ranks=self.ranks,
                count=len(elements),
            )
            data = [] if barrier else packets_of(elements, HEADER)
            cocotb.start_soon(self._give(number, first.pack(), head, data))
        return operation

    async def _start(
        self, collective: Collective, algorithm: Algorithm, operator: Operator, root: int, operation: Operation
    ) -> int:
        number = self._started % self._operations
        if number in self._under_way:
            await self._under_way[number].over.wait()
        self._under_way[number] = operation
        self._started += 1
        self._on_tree += algorithm == Algorithm.TREE
        size = PACKET_FLITS.bit_length() - 1
        barrier = collective == Collective.BARRIER
        await self._write(
            "unit.operation.kind",
            collective=collective,
            algorithm=algorithm,
            operator=operator,
            datatype=Datatype.BYTE if barrier else TYPE,
            size=0 if barrier else 3,
            shortest=size,
            longest=size,
            asks=collective != Collective.ALLTOALL,
        )
        await self._write("unit.operation.root", root=root)
        together = self.ranks if collective == Collective.ALLGATHER else 1
        await self._write("unit.operation.streams", together=together, burst=1)
        await self._write("unit.operation.start", operation=number)
        return number

    async def _give(self, number: int, first: bytes, head: NetworkHeader, data: list[Sequence[int]]) -> None:
        """Sends to the operation's process 0, which takes the host's packets in all collectives here."""
        packets = [first]
        for index, elements in enumerate(data):
            flits = flits_of(len(elements), HEADER)
            header = replace(head, size=flits.bit_length() - 1, last=index + 1 == len(data)).pack()
            packets.append(
                (header + bytes(2) + struct.pack(f"<{len(elements)}q", *elements)).ljust(flits * FLIT, b"\0")
            )
        for packet in packets:
            place = await self._places[number].get()
            await self._upload.send(AxiStreamFrame(packet, tdest=32 * number, tid=place))

    async def alltoall(self, blocks: Sequence[Sequence[int]], counts: Sequence[int]) -> list[list[int]]:
        """Block i is for rank i; counts[i] elements arrive from rank i. Returns the received data."""
        sequence = self._started & 3
        operation = Operation(0, 0)
        await self._start(Collective.ALLTOALL, Algorithm.EXCHANGE, Operator.NONE, 0, operation)
        others = [rank for rank in range(self.ranks) if rank != self.node]
        head = PersonalHeader(algorithm=Algorithm.EXCHANGE, sequence=sequence, kind=Kind.DATA, source=self.node)
        for rank in others:
            if counts[rank]:
                await self._hand_on(replace(head, kind=Kind.DESCRIPTOR), rank, [])

        async def send(rank: int) -> None:
            await self._announcement(rank, sequence).wait()
            del self._there[rank, sequence]
            packets = packets_of(blocks[rank], 2 * HEADER)
            for index, elements in enumerate(packets):
                await self._hand_on(replace(head, last=index + 1 == len(packets)), rank, elements)

        sends = [cocotb.start_soon(send(rank)) for rank in others if blocks[rank]]
        result: list[list[int]] = [list(blocks[rank]) if rank == self.node else [] for rank in range(self.ranks)]
        for rank in others:
            while len(result[rank]) < counts[rank]:
                packet = await self._came[rank].get()
                elements = min(counts[rank] - len(result[rank]), (len(packet) - 2 * HEADER) // WORD)
                result[rank] += struct.unpack_from(f"<{elements}q", packet, 2 * HEADER)
        for each in sends:
            await each
        operation.over.set()
        return result

    async def _hand_on(self, head: PersonalHeader, rank: int, elements: Sequence[int]) -> None:
        flits = flits_of(len(elements), 2 * HEADER)
        headers = replace(head, size=flits.bit_length() - 1).pack() + RelayHeader(receiver=rank, link=NO_LINK).pack()
        await self._personal_in.send(
            (headers + struct.pack(f"<{len(elements)}q", *elements)).ljust(flits * FLIT, b"\0")
        )

    def _announcement(self, rank: int, sequence: int) -> Event:
        return self._there.setdefault((rank, sequence), Event())

    # --- Reception

    async def _keep_places(self) -> None:
        while True:
            frame = await self._freed.recv()
            place = int.from_bytes(frame.tdata, "little")
            self._places[place % self._operations].put_nowait(place)

    async def _keep_ends(self) -> None:
        while True:
            frame = await self._ended.recv()
            operation = self._under_way[int.from_bytes(frame.tdata, "little") // 32]
            operation.ended += 1
            operation.settle()

    async def _keep_results(self) -> None:
        """Tags are tw_node_pkg::result_t."""
        while True:
            frame = await self._results.recv()
            tag, packet = int(frame.tuser), bytes(frame.tdata)
            descriptor, elements, first = tag & 1, tag >> 1 & 0x7FF, tag >> 12 & (1 << 48) - 1
            stream, round_, step, process = tag >> 60 & 0xFFFF, tag >> 76 & 0xFFFF, tag >> 92 & 0x7F, tag >> 99
            operation, key = self._under_way[process // 32], (process, step, round_, stream)
            if descriptor:
                operation.described[key] = Descriptor.unpack(packet)
            else:
                values = struct.unpack_from(f"<{elements}q", packet, HEADER)
                operation.elements.setdefault(key, {}).update(enumerate(values, first))
            operation.settle()

    async def _keep_personal(self) -> None:
        while True:
            packet = bytes((await self._personal_out.recv()).tdata)
            self._came[PersonalHeader.unpack(packet).source].put_nowait(packet)

    async def _keep_announced(self, sink: AxiStreamSink) -> None:
        while True:
            word = int.from_bytes((await sink.recv()).tdata, "little")
            assert word >> 16 & 0x1F == 0, "of another communicator"
            self._announcement(word & 0xFFFF, word >> 21).set()

    # --- Registers

    async def _read(self, register: str, of_field: str) -> int:
        return self._map.get(register, of_field, await self._registers.read_dword(self._map.address(register)))

    async def _write(self, register: str, **fields: int) -> None:
        await self._registers.write_dword(self._map.address(register), self._map.word(register, **fields))
