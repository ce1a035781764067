# SPDX-License-Identifier: Apache-2.0
"""The simulator of a cluster, with reconfiguration of whole circuit topologies and partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from thalweg.arguments import shown
from thalweg.bench.operation import one_of
from thalweg.errors import InputError
from thalweg.systems.vcsn import _sim, rtl_engine, topologies
from thalweg.systems.vcsn._sim import Rewired as Rewired
from thalweg.systems.vcsn._sim import VirtualPort

if TYPE_CHECKING:
    from thalweg.systems.vcsn.cluster import Cluster

Row = tuple[VirtualPort, VirtualPort | None]
"""A row of a circuit table: a virtual port and its new peer, or None to close the circuit."""

Command = _sim.Row | _sim.Connect | _sim.SendWord | _sim.AwaitWord | _sim.Read | _sim.Write
"""A command of a sequencer's program."""

Wiring = topologies.Topology | Mapping[VirtualPort, VirtualPort] | Iterable[topologies.Circuit]
"""A topology, to be mapped to virtual ports, or both ends of each circuit."""

WAYS = ("registers", "servers")


class Network(_sim.Network):
    """The simulator of a cluster.

    Parameters
    ----------
    cluster : Cluster
    capture : str
        pcapng file for all frames, if not empty.
    assembly : mapping, optional
        Description of a part of the cluster. Default: the whole cluster.
    verilated : iterable of int
        FPGAs with Verilated nodes in lockstep with the simulator's.

    Raises
    ------
    ValueError, RuntimeError
        An argument is invalid.
    InputError
        Verilator is missing, or there is no hardware for such an FPGA.
    """

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
        """Closes the capture file. Raises InputError if it could not be written."""
        try:
            super().close()
        except RuntimeError as error:
            raise InputError(f"{self._capture}: {error}") from None

    @property
    def shell_ticks(self) -> int:
        """Ticks per cycle of the shell clock."""
        return self.cluster.ticks_of(self.cluster.fpga(self.cluster.fpgas[0]).shell_clock)

    def rows(self, circuits: Wiring, nodes: Sequence[int] | None = None) -> list[Row]:
        """Returns the table rows to write so that some FPGAs (default: all) have exactly these circuits. Raises
        InputError."""
        return self.changes(self._ends(circuits), nodes)

    def rewire(self, circuits: Wiring, nodes: Sequence[int] | None = None) -> Rewired:
        """Replaces the circuits of some FPGAs (default: all) at once, without simulated time. Unchanged rows are not
        written.

        Returns
        -------
        Rewired
            Rows written, and the times that hardware and servers would take.

        Raises
        ------
        InputError
            A circuit is invalid; nothing is changed.
        """
        return self.rewire_to(self._ends(circuits), nodes)

    def rewire_in_time(self, circuits: Wiring, by: str = "registers") -> tuple[list[tuple[int, Row]], float]:
        """Replaces the circuits of all FPGAs in simulated time, while other traffic continues.

        Parameters
        ----------
        circuits : Topology or sequence of pairs of VirtualPort
        by : str
            "registers" or "servers" (see `Rewired`).

        Returns
        -------
        rows : list of (int, Row)
            Rows with the tick at which each is written.
        time_us : float
            Duration in us.

        Raises
        ------
        InputError
            A circuit is invalid.

        Notes
        -----
        Completions of other operations during that time are discarded.
        """
        return self.rewire_to_in_time(self._ends(circuits), one_of("way", by, WAYS))

    def partition(self, name: str, nodes: Iterable[int]) -> Partition:
        """Moves FPGAs into a partition, out of their current one, and returns the user's view of it.

        Raises InputError if a circuit would cross the boundary of a partition.
        """
        self._partitions[name] = Partition(self, self.make_partition(name, list(nodes)))
        return self._partitions[name]

    @property
    def partitions(self) -> Mapping[str, Partition]:
        """Partitions by name."""
        return self._partitions

    def _ends(self, circuits: Wiring) -> list[topologies.Circuit]:
        if isinstance(circuits, topologies.Topology):
            return circuits.circuits(self.cluster)
        return [_pair(each) for each in (circuits.items() if isinstance(circuits, Mapping) else circuits)]


def _pair(given: object) -> topologies.Circuit:
    if isinstance(given, tuple | list) and len(given) == 2:
        one, other = given
        if isinstance(one, VirtualPort) and isinstance(other, VirtualPort):
            return one, other
    raise InputError(f"a circuit must be a pair of VirtualPort; this one is {shown(given)}")


class Partition:
    """A user's view of a network: FPGAs and circuits of one partition, made by `Network.partition`.

    Methods are those of `Network`, and raise InputError if they name FPGAs of other partitions.
    """

    def __init__(self, network: Network, of: _sim.Partition) -> None:
        self._network = network
        self._of = of

    @property
    def name(self) -> str:
        """Name of the partition."""
        return self._of.name

    @property
    def nodes(self) -> list[int]:
        """FPGAs of the partition."""
        return self._of.nodes

    @property
    def circuits(self) -> dict[VirtualPort, VirtualPort]:
        """Both ends of each circuit of the partition."""
        return self._network.circuits(self.nodes)

    @property
    def lost(self) -> list[tuple[int, str, int]]:
        """Drops of the partition's FPGAs: tuples of node, description and count."""
        return self._of.lost

    def rewire(self, circuits: Wiring) -> Rewired:
        """Like `Network.rewire`, for the partition's FPGAs only. Raises InputError."""
        return self._network.rewire(circuits, self.nodes)

    def connect(self, node: int, output: int, input: int | None) -> None:
        """Like `Network.connect`, for the partition's FPGAs only."""
        self._network.connect(self._of.own(node), output, input)

    def kernel_place(self, node: int, kernel: int = 0) -> int:
        """Like `Network.kernel_place`, for the partition's FPGAs only."""
        return self._network.kernel_place(self._of.own(node), kernel)

    def set_pace(self, at: VirtualPort, *, priority: int = 0, pace: int = 0) -> None:
        """Like `Network.set_pace`, for the partition's FPGAs only."""
        self._of.own(at.node)
        self._network.set_pace(at, priority=priority, pace=pace)

    def set_credits(self, at: VirtualPort, *, used: bool = True) -> None:
        """Like `Network.set_credits`, for the partition's FPGAs only."""
        self._of.own(at.node)
        self._network.set_credits(at, used=used)

    def set_session(self, at: VirtualPort, number: int) -> None:
        """Like `Network.set_session`, for the partition's FPGAs only."""
        self._of.own(at.node)
        self._network.set_session(at, number)

    def received(self, node: int, port: int) -> dict[str, int]:
        """Like `Network.received`, for the partition's FPGAs only."""
        return self._network.received(self._of.own(node), port)

    def place(self, node: int, port: int, virtual_port: int) -> int:
        """Like `Network.place`, for the partition's FPGAs only."""
        return self._network.place(self._of.own(node), port, virtual_port)

    def store(self, node: int, address: int, data: bytes) -> None:
        """Like `Network.store`, for the partition's FPGAs only."""
        self._network.store(self._of.own(node), address, data)

    def load(self, node: int, address: int, bytes: int) -> bytes:
        """Like `Network.load`, for the partition's FPGAs only."""
        return self._network.load(self._of.own(node), address, bytes)

    def read(self, node: int, engine: int, segments: Sequence[tuple[int, int]], handle: int | None = None) -> None:
        """Like `Network.read`, for the partition's FPGAs only."""
        self._network.read(self._of.own(node), engine, segments, handle=handle)

    def write(self, handle: int, node: int, engine: int, segments: Sequence[tuple[int, int]]) -> None:
        """Like `Network.write`, for the partition's FPGAs only."""
        self._network.write(handle, self._of.own(node), engine, segments)

    def sequence(self, handle: int, node: int, sequencer: int, program: Sequence[Command]) -> None:
        """Like `Network.sequence`, for the partition's FPGAs only."""
        self._network.sequence(handle, self._of.own(node), sequencer, program)
