# SPDX-License-Identifier: Apache-2.0
"""The simulator of a cluster, with calls that re-wire whole topologies of circuits and divide the cluster into partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from thalweg.arguments import shown
from thalweg.bench.operation import one_of
from thalweg.errors import InputError
from thalweg.systems.vcsn import _sim, rtl_engine, topologies
from thalweg.systems.vcsn._sim import Place
from thalweg.systems.vcsn._sim import Rewired as Rewired

if TYPE_CHECKING:
    from thalweg.systems.vcsn.cluster import Cluster

Row = tuple[Place, Place | None]
"""A row of a circuit table: a virtual port and its new other end, or None to close the circuit."""

Command = _sim.Row | _sim.Connect | _sim.SendWord | _sim.AwaitWord | _sim.Read | _sim.Write
"""Of a program of a sequencer."""

Wiring = topologies.Topology | Mapping[Place, Place] | Iterable[topologies.Circuit]
"""A topology, which is mapped on virtual ports, or both ends of each circuit."""

WAYS = ("registers", "servers")


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
        part = None if assembly is None else dict(assembly)
        super().__init__(cluster.front, capture, rtl_engine.libraries(cluster, nodes), part)
        self.cluster = cluster
        self._capture = capture
        self._partitions: dict[str, Partition] = {}

    def close(self) -> None:
        """Ends the capture. Raises InputError where it could not be written."""
        try:
            super().close()
        except RuntimeError as error:
            raise InputError(f"{self._capture}: {error}") from None

    @property
    def shell_ticks(self) -> int:
        """Of a cycle of the FPGAs' shells."""
        return self.cluster.ticks_of(self.cluster.fpga(self.cluster.fpgas[0]).shell_clock)

    def rows(self, circuits: Wiring, nodes: Sequence[int] | None = None) -> list[Row]:
        """The rows to write so that some FPGAs, or all, have these circuits and no others. Raises InputError where they cannot be."""
        return self.changes(self._ends(circuits), nodes)

    def rewire(self, circuits: Wiring, nodes: Sequence[int] | None = None) -> Rewired:
        """Opens these circuits and closes all others of some FPGAs, or of all: at once, with what it takes in hardware and by servers. Rows that
        stay are not written. Raises InputError, and nothing changes, where a circuit cannot be."""
        return self.rewire_to(self._ends(circuits), nodes)

    def rewire_in_time(self, circuits: Wiring, by: str = "registers") -> tuple[list[tuple[int, Row]], float]:
        """Runs a re-wiring of all FPGAs in simulated time. Other traffic continues. Returns the rows, each with the tick of its write, and the duration in
        us. `by`: registers or servers (`Rewired`). Completions of other operations during that time are discarded. Raises InputError."""
        return self.rewire_to_in_time(self._ends(circuits), one_of("way", by, WAYS))

    def partition(self, name: str, nodes: Iterable[int]) -> Partition:
        """Moves FPGAs into a partition, out of the one they are in, and returns its user's view. Raises InputError if a circuit would cross the
        partition's boundary."""
        self._partitions[name] = Partition(self, self.make_partition(name, list(nodes)))
        return self._partitions[name]

    @property
    def partitions(self) -> Mapping[str, Partition]:
        return self._partitions

    def _ends(self, circuits: Wiring) -> list[topologies.Circuit]:
        if isinstance(circuits, topologies.Topology):
            return circuits.circuits(self.cluster)
        return [_pair(each) for each in (circuits.items() if isinstance(circuits, Mapping) else circuits)]


def _pair(given: object) -> topologies.Circuit:
    if isinstance(given, tuple | list) and len(given) == 2:
        one, other = given
        if isinstance(one, Place) and isinstance(other, Place):
            return one, other
    raise InputError(f"a circuit has two ends, each a Place; this one is {shown(given)}")


class Partition:
    """A user's view of a network: the FPGAs of one partition and their circuits. Calls that name another FPGA raise InputError."""

    def __init__(self, network: Network, of: _sim.Partition) -> None:
        self._network = network
        self._of = of

    @property
    def name(self) -> str:
        return self._of.name

    @property
    def nodes(self) -> list[int]:
        return self._of.nodes

    @property
    def circuits(self) -> dict[Place, Place]:
        return self._network.circuits(self.nodes)

    @property
    def lost(self) -> list[tuple[int, str, int]]:
        """What the partition's FPGAs have dropped: node, what, and how many."""
        return self._of.lost

    def rewire(self, circuits: Wiring) -> Rewired:
        """Like `Network.rewire`, for the partition's FPGAs alone. Raises InputError."""
        return self._network.rewire(circuits, self.nodes)

    def connect(self, node: int, output: int, input: int | None) -> None:
        self._network.connect(self._of.own(node), output, input)

    def kernel_place(self, node: int, kernel: int = 0) -> int:
        return self._network.kernel_place(self._of.own(node), kernel)

    def set_pace(self, at: Place, *, priority: int = 0, pace: int = 0) -> None:
        self._of.own(at.node)
        self._network.set_pace(at, priority=priority, pace=pace)

    def set_credits(self, at: Place, *, used: bool = True) -> None:
        self._of.own(at.node)
        self._network.set_credits(at, used=used)

    def set_session(self, at: Place, number: int) -> None:
        self._of.own(at.node)
        self._network.set_session(at, number)

    def received(self, node: int, port: int) -> dict[str, int]:
        return self._network.received(self._of.own(node), port)

    def place(self, node: int, port: int, virtual_port: int) -> int:
        return self._network.place(self._of.own(node), port, virtual_port)

    def store(self, node: int, address: int, data: bytes) -> None:
        self._network.store(self._of.own(node), address, data)

    def load(self, node: int, address: int, bytes: int) -> bytes:
        return self._network.load(self._of.own(node), address, bytes)

    def read(self, node: int, engine: int, segments: Sequence[tuple[int, int]], handle: int | None = None) -> None:
        self._network.read(self._of.own(node), engine, segments, handle=handle)

    def write(self, handle: int, node: int, engine: int, segments: Sequence[tuple[int, int]]) -> None:
        self._network.write(handle, self._of.own(node), engine, segments)

    def sequence(self, handle: int, node: int, sequencer: int, program: Sequence[Command]) -> None:
        self._network.sequence(handle, self._of.own(node), sequencer, program)
