# SPDX-License-Identifier: Apache-2.0
"""The simulator of a cluster, with calls that re-wire whole topologies of circuits and divide the cluster into partitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thalweg.arguments import shown
from thalweg.bench.operation import one_of
from thalweg.errors import InputError
from thalweg.systems.vcsn import _sim, hosts, rtl_engine, topologies
from thalweg.systems.vcsn._sim import Place
from thalweg.systems.vcsn.hosts import Barrier, Program, Work

if TYPE_CHECKING:
    from thalweg.cluster.leaves import Wire
    from thalweg.systems.vcsn.cluster import Cluster

Row = tuple[Place, Place | None]
"""A row of a circuit table: a virtual port and its new other end, or None to close the circuit."""

Command = _sim.Row | _sim.Connect | _sim.Send | _sim.Receive | _sim.Read | _sim.Write
"""Of a program of a sequencer."""

Wiring = topologies.Topology | Mapping[Place, Place] | Iterable[topologies.Circuit]
"""A topology, which is mapped on virtual ports, or both ends of each circuit."""

STORE_BYTES = 32
"""Bytes on a PCIe link of a posted write to a register of 8 bytes: sequence number, header with a 64-bit address, data and LCRC (PCI Express Base
Specification 3.0, sections 2.2.4 and 4.2.2)."""
CROSSING_CYCLES = 3
"""Most cycles of the MAC's clock that a row takes to cross into it through two registers."""

WAYS = ("registers", "servers")


@dataclass(frozen=True)
class Rewired:
    """The rows that a re-wiring has written, and the time in us of writing them. Times are None if one of the FPGAs is in no server."""

    rows: tuple[Row, ...]
    registers_us: float | None
    """In hardware: servers write all rows back to back. A row is one register of 64 bits, and an FPGA accepts one per cycle."""
    servers_us: float | None
    """By programs on the servers: each row takes the software's time (t of the paper's Table 5), and a barrier follows."""


class Network(_sim.Network):
    """The simulator of a cluster; `capture`: a pcapng file to write, or nothing. `assembly`: of a part of it [default: the cluster's].
    `verilated`: FPGAs whose Verilated nodes follow the simulator's, in every cycle.

    Raises ValueError and RuntimeError; InputError where there is no Verilator, or no hardware of such an FPGA."""

    def __init__(
        self,
        cluster: Cluster,
        capture: str = "",
        assembly: Mapping[str, Any] | None = None,
        verilated: Iterable[int] = (),
    ) -> None:
        nodes = list(verilated)
        super().__init__(dict(assembly or cluster.assembly), capture, rtl_engine.libraries(cluster, nodes))
        self.cluster = cluster
        self._partitions: dict[str, Partition] = {}

    @property
    def shell_ticks(self) -> int:
        """Of a cycle of the FPGAs' shells."""
        return self.cluster.ticks_of(self.cluster.fpga(self.cluster.fpgas[0]).shell_clock)

    def circuits(self, nodes: Iterable[int] | None = None) -> dict[Place, Place]:
        """The rows of the circuit tables of some FPGAs, or of all. Raises InputError."""
        found: dict[Place, Place] = {}
        if self.cluster.is_direct:
            return found
        for node in self.cluster.fpgas if nodes is None else nodes:
            if node not in self.cluster.fpgas:
                raise InputError(f"node {node} is no FPGA of {self.cluster.name}")
            table = self.cluster.fpga(node)
            for port in range(table.ports):
                for virtual in range(table.virtual_of_port):
                    at = Place(node, port, virtual)
                    if (to := self.circuit(at)) is not None:
                        found[at] = to
        return found

    def multicast(self, source: Place, members: Sequence[Place]) -> None:
        """A circuit from one end to several, which are the same virtual port of their external ports: the rows of all of them, and the ports of
        switches, on a tree that no frame takes twice. Only the source sends. Raises InputError, and nothing changes, where it cannot be."""
        try:
            for member in members:
                self.changes([(source, member)], self.cluster.fpgas)  # refuses it before anything is written
            self.group(source, members)
            for member in members:
                self.set_circuit(member, source)
            self.set_multicast(source, members[0].virtual_port)
        except ValueError as error:
            raise InputError(str(error)) from None

    def group(self, source: Place, members: Sequence[Place]) -> None:
        """Sets the ports of switches alone. Raises InputError."""
        for place in (source, *members):
            if place.node not in self.cluster.fpgas or place.port not in self.cluster.joined(place.node):
                raise InputError(f"{place} is at no line")
        if not members or len({(one.node, one.port) for one in members}) < len(members):
            raise InputError("a circuit to several ends has one of each external port, at least one")
        if len({one.virtual_port for one in members}) > 1:
            raise InputError("the ends of a circuit to several are the same virtual port of their external ports")
        ports = self.cluster.group_ports((source.node, source.port), [(one.node, one.port) for one in members])
        try:
            for switch, each in ports.items():
                self.set_group(switch, source, each)
        except ValueError as error:
            raise InputError(str(error)) from None

    def rows(self, circuits: Wiring, nodes: Sequence[int] | None = None) -> list[Row]:
        """The rows to write so that some FPGAs, or all, have these circuits and no others. Raises InputError where they cannot be."""
        if isinstance(circuits, topologies.Topology):
            pairs = circuits.circuits(self.cluster)
        else:
            pairs = [_pair(each) for each in (circuits.items() if isinstance(circuits, Mapping) else circuits)]
            for one, other in pairs:
                self._check(one, other)
        try:
            return self.changes(pairs, self.cluster.fpgas if nodes is None else nodes)
        except ValueError as error:
            raise InputError(str(error)) from None

    def rewire(self, circuits: Wiring, nodes: Sequence[int] | None = None) -> Rewired:
        """Opens these circuits and closes all others of some FPGAs, or of all: at once, with what it takes in hardware and by servers. Rows that
        stay are not written. Raises InputError, and nothing changes, where a circuit cannot be."""
        rows = self.rows(circuits, nodes)
        for at, to in rows:
            self.set_circuit(at, to)
        return Rewired(tuple(rows), self._registers_us(rows), self._servers_us(rows))

    def rewire_in_time(self, circuits: Wiring, by: str = "registers") -> tuple[list[tuple[int, Row]], float]:
        """Runs a re-wiring of all FPGAs in simulated time. Other traffic continues. Returns the rows, each with the tick of its write, and the duration in
        us. `by`: registers or servers (`Rewired`). Completions of other operations during that time are discarded. Raises InputError."""
        one_of("way", by, WAYS)
        rows = self.rows(circuits)
        written: list[tuple[int, Row]] = []
        self._check_servers(rows)
        if by == "servers":
            tables = {server: self.cluster.server_tables[server] for server in self._by_server(rows)}
            return written, hosts.run(self, tables, lambda server: self._by_program(rows, server, written))
        cards = {at.node: self.cluster.server_tables[self._server(at.node)] for at, _ in rows}
        return written, hosts.run(self, cards, lambda node: self._by_registers(rows, node, written))

    def partition(self, name: str, nodes: Iterable[int]) -> Partition:
        """Moves FPGAs into a partition, out of the one they are in, and returns its user's view. Raises InputError if a circuit would cross the
        partition's boundary."""
        if not name:
            raise InputError("a partition has a name")
        own = sorted(set(nodes))
        for node in own:
            if node not in self.cluster.fpgas:
                raise InputError(f"partition {name}: node {node} is no FPGA of {self.cluster.name}")
        try:
            self.set_partition(own, name)
        except ValueError as error:
            raise InputError(f"partition {name}: {error}") from None
        for other in self._partitions.values():
            other.nodes = [node for node in other.nodes if node not in own]
        self._partitions[name] = Partition(self, name, own)
        return self._partitions[name]

    @property
    def partitions(self) -> Mapping[str, Partition]:
        return self._partitions

    def _check(self, one: Place, other: Place) -> None:
        """Raises InputError where no frames go between two virtual ports; what is no virtual port is refused elsewhere."""
        for place in (one, other):
            if place.node not in self.cluster.fpgas or place.port not in self.cluster.joined(place.node):
                return
        if one.node != other.node and not self.cluster.reaches((one.node, one.port), (other.node, other.port)):
            raise InputError(f"no Ethernet leads from {one} to {other}")

    def _server(self, node: int) -> int:
        server = self.cluster.server_of(node)
        assert server is not None
        return server

    def _check_servers(self, rows: Sequence[Row]) -> None:
        for at, _ in rows:
            if self.cluster.server_of(at.node) is None:
                raise InputError(f"FPGA {at.node} is in no server (kind vcsn-server), whose program writes its table")

    def _by_server(self, rows: Sequence[Row]) -> Counter[int]:
        return Counter(self._server(at.node) for at, _ in rows)

    def least_us(self, rows: Sequence[Row], by: str) -> float:
        """A lower bound on the time of writing these rows: by registers, of the PCIe slot with the most rows; by servers, of the software of the
        server with the most."""
        if by == "servers":
            tables = self.cluster.server_tables
            return max(
                (count * tables[server].circuit_us for server, count in self._by_server(rows).items()), default=0.0
            )
        slots = [(self.cluster.slot_of(node), count) for node, count in Counter(at.node for at, _ in rows).items()]
        return max(
            (slot.latency_ns * 1e-3 + count * STORE_BYTES * 8e-3 / slot.gbit_s for slot, count in slots), default=0.0
        )

    def _row_us(self, slot: Wire) -> float:
        """Of a row of several: the slower of the slot and of the shell, which takes one a cycle."""
        shell = self.cluster.clocks[self.cluster.fpga(self.cluster.fpgas[0]).shell_clock]
        return max(STORE_BYTES * 8e-3 / slot.gbit_s, 1 / shell.frequency_mhz)

    def _crossing_us(self) -> float:
        line = self.cluster.clocks[self.cluster.fpga(self.cluster.fpgas[0]).line_clock]
        return CROSSING_CYCLES / line.frequency_mhz

    def _registers_us(self, rows: Sequence[Row]) -> float | None:
        if any(self.cluster.server_of(at.node) is None for at, _ in rows):
            return None
        of_card = Counter(at.node for at, _ in rows)
        slots = {node: self.cluster.slot_of(node) for node in of_card}
        return max(
            (
                slots[node].latency_ns * 1e-3 + count * self._row_us(slots[node]) + self._crossing_us()
                for node, count in of_card.items()
            ),
            default=0.0,
        )

    def _servers_us(self, rows: Sequence[Row]) -> float | None:
        if any(self.cluster.server_of(at.node) is None for at, _ in rows):
            return None
        of_server = self._by_server(rows)
        tables = self.cluster.server_tables
        last = max((count * tables[server].circuit_us for server, count in of_server.items()), default=0.0)
        return last + max((hosts.barrier_us(tables[server], len(of_server)) for server in of_server), default=0.0)

    def _by_program(self, rows: Sequence[Row], server: int, written: list[tuple[int, Row]]) -> Program:
        for at, to in rows:
            if self._server(at.node) == server:
                yield Work(self.cluster.server_tables[server].circuit_us)
                self.set_circuit(at, to)
                written.append((self.now, (at, to)))
        yield Barrier()

    def _by_registers(self, rows: Sequence[Row], node: int, written: list[tuple[int, Row]]) -> Program:
        slot = self.cluster.slot_of(node)
        yield Work(slot.latency_ns * 1e-3 + self._crossing_us())
        for at, to in rows:
            if at.node == node:
                yield Work(self._row_us(slot))
                self.set_circuit(at, to)
                written.append((self.now, (at, to)))


def _pair(given: object) -> topologies.Circuit:
    if isinstance(given, tuple | list) and len(given) == 2:
        one, other = given
        if isinstance(one, Place) and isinstance(other, Place):
            return one, other
    raise InputError(f"a circuit has two ends, each a Place; this one is {shown(given)}")


class Partition:
    """A user's view of a network: the FPGAs of one partition and their circuits. Calls that name another FPGA raise InputError."""

    def __init__(self, network: Network, name: str, nodes: list[int]) -> None:
        self.name = name
        self.nodes = nodes
        self._network = network

    @property
    def circuits(self) -> dict[Place, Place]:
        return self._network.circuits(self.nodes)

    @property
    def lost(self) -> list[tuple[int, str, int]]:
        """What the partition's FPGAs have dropped: node, what, and how many."""
        return [one for one in self._network.lost if one[0] in self.nodes]

    def rewire(self, circuits: Wiring) -> Rewired:
        """Like `Network.rewire`, for the partition's FPGAs alone. Raises InputError."""
        return self._network.rewire(circuits, self.nodes)

    def connect(self, node: int, output: int, input: int | None) -> None:
        self._network.connect(self._own(node), output, input)

    def kernel_place(self, node: int, kernel: int = 0) -> int:
        return self._network.kernel_place(self._own(node), kernel)

    def set_pace(self, at: Place, *, priority: int = 0, pace: int = 0) -> None:
        self._own(at.node)
        self._network.set_pace(at, priority=priority, pace=pace)

    def set_credits(self, at: Place, *, used: bool = True) -> None:
        self._own(at.node)
        self._network.set_credits(at, used=used)

    def set_session(self, at: Place, number: int) -> None:
        self._own(at.node)
        self._network.set_session(at, number)

    def received(self, node: int, port: int) -> dict[str, int]:
        return self._network.received(self._own(node), port)

    def place(self, node: int, port: int, virtual_port: int) -> int:
        return self._network.place(self._own(node), port, virtual_port)

    def store(self, node: int, address: int, data: bytes) -> None:
        self._network.store(self._own(node), address, data)

    def load(self, node: int, address: int, bytes: int) -> bytes:
        return self._network.load(self._own(node), address, bytes)

    def read(self, node: int, engine: int, segments: Sequence[tuple[int, int]], handle: int | None = None) -> None:
        self._network.read(self._own(node), engine, segments, handle=handle)

    def write(self, handle: int, node: int, engine: int, segments: Sequence[tuple[int, int]]) -> None:
        self._network.write(handle, self._own(node), engine, segments)

    def sequence(self, handle: int, node: int, sequencer: int, program: Sequence[Command]) -> None:
        self._network.sequence(handle, self._own(node), sequencer, program)

    def _own(self, node: int) -> int:
        if node not in self.nodes:
            raise InputError(f"node {node} is not in partition {self.name}")
        return node
