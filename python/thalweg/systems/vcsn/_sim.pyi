"""
Virtual circuits: FPGAs with their shells, Ethernet switches and links.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

import thalweg._core
import thalweg.errors
import thalweg.systems.vcsn.hosts


class NodeDifference(thalweg.errors.CheckFailed):
    pass

class VirtualPort:
    """A virtual port: node, external port, virtual port."""

    def __init__(self, node: int, port: int, virtual_port: int) -> None: ...

    @property
    def node(self) -> int: ...

    @property
    def port(self) -> int: ...

    @property
    def virtual_port(self) -> int: ...

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

SEQUENCER_INSTRUCTIONS: int = 1024

SEGMENT_BYTES: int = 4294967232

SEGMENTS: int = 32

class Row:
    """
    A sequencer's command: writes a virtual port's row of the circuit table.
    """

    def __init__(self, port: int, virtual_port: int, to: VirtualPort | None, credits: bool = False) -> None: ...

class Connect:
    """A sequencer's command: sets an output of the crossbar."""

    def __init__(self, output: int, input: int | None) -> None: ...

class SendWord:
    """
    A sequencer's command: a packet of one word from its input of the crossbar.
    """

    def __init__(self) -> None: ...

class AwaitWord:
    """A sequencer's command: waits for a word at its output of the crossbar."""

    def __init__(self) -> None: ...

class Read:
    """A sequencer's command: (address, bytes) of the memory as one packet."""

    def __init__(self, engine: int, segments: Sequence[tuple[int, int]]) -> None: ...

class Write:
    """
    A sequencer's command: the next packet to (address, bytes) of the memory.
    """

    def __init__(self, engine: int, segments: Sequence[tuple[int, int]]) -> None: ...

class Session:
    """Of an end of a circuit."""

    @property
    def state(self) -> str:
        """
        none, opening (its peer is not known yet), open, refused (its peer has begun another), silent (its peer did not answer)
        """

    @property
    def under_way(self) -> int:
        """frames that are not acknowledged"""

    @property
    def settled(self) -> bool:
        """all that came has left the receive buffer, and its sender knows"""

    @property
    def sent(self) -> int:
        """frames, each once"""

    @property
    def resent(self) -> int:
        """times that a frame was sent again"""

    @property
    def repeated(self) -> int:
        """frames that came again"""

class Cluster:
    """
    Which external ports Ethernet joins, and which server writes each FPGA's registers.
    """

    def __init__(self, name: str, description: dict) -> None:
        """Raises ValueError."""

    def reaches(self, one: tuple[int, int], other: tuple[int, int]) -> bool:
        """
        Whether frames go from an FPGA's external port, (node, port), to another one's.
        """

    def group_ports(self, source: tuple[int, int], members: Sequence[tuple[int, int]]) -> dict[int, list[int]]:
        """
        Of each switch on the tree for frames to all: the ports that lead from an external port, (node, port), to others.

        Raises InputError.
        """

    def way(self, source: int, destination: int, first: int | None = None) -> list[tuple[int, int, int]]:
        """
        Of a direct network: the shortest way between two FPGAs, as (node, port that it comes in at, port that it leaves by), where -1 stands for the memory at both ends. `first`: the port that it leaves `source` by.

        Raises InputError where there is none.
        """

    def step(self, source: int, destination: int) -> Move:
        """
        A block from an FPGA to another over serial links; between them are others' crossbars.

        Raises InputError.
        """

    def gather_schedule(self, by: str, nodes: Sequence[int], root: int) -> Schedule:
        """
        `by`: tree, ring or relink over circuits; a direct network, whose ports 0 lead to larger numbers around a ring, has ring.

        Raises InputError.
        """

    def allgather_schedule(self, nodes: Sequence[int]) -> Schedule:
        """
        By ring.

        Raises InputError.
        """

    def mapped(self, name: str, edges: Sequence[tuple[int, int]]) -> list[tuple[VirtualPort, VirtualPort]]:
        """
        The virtual ports of a circuit for each edge of a topology, in their order.

        Raises InputError where none are found.
        """

def edges_of(shape: str, nodes: Sequence[int], size: Sequence[int]) -> list[tuple[int, int]]:
    """
    The edges of a topology of FPGAs.

    Raises InputError.
    """

class Rewired:
    """
    The rows that a re-wiring has written, and the time in us of writing them. Times are None if one of the FPGAs is in no server.
    """

    @property
    def rows(self) -> tuple[tuple[VirtualPort, VirtualPort | None], ...]: ...

    @property
    def registers_us(self) -> float | None:
        """
        In hardware: servers write all rows back to back. A row is one register of 64 bits, and an FPGA accepts one per cycle.
        """

    @property
    def servers_us(self) -> float | None:
        """
        By programs on the servers: each row takes the software's time (t of the paper's Table 5), and a barrier follows.
        """

class Partition:
    @property
    def name(self) -> str: ...

    @property
    def nodes(self) -> list[int]: ...

    def own(self, node: int) -> int:
        """
        An FPGA's number.

        Raises InputError where it is another partition's.
        """

    @property
    def lost(self, /) -> list[tuple[int, str, int]]: ...

class Network:
    def __init__(self, cluster: Cluster, capture: str = '', libraries: Mapping[int, str] = {}, part: dict | None = None) -> None:
        """
        `capture`: a pcapng file to write. `libraries`: of FPGAs the file of their Verilated node, which follows the simulator's. `part`: the description of a part of the cluster [default: all of it].

        Raises ValueError where the description is none.
        """

    @property
    def now(self) -> int:
        """in ticks"""

    @property
    def ticks_per_second(self) -> int: ...

    @property
    def idle(self) -> bool:
        """Nothing will happen until something is given to it."""

    @property
    def blocked(self, /) -> list[thalweg.errors.Blocked]:
        """Who waits for whom; where it is idle, why it is stuck."""

    @property
    def failure(self) -> str | None:
        """Why it cannot go on: a link that stays down."""

    @property
    def lost(self, /) -> list[tuple[int, str, int]]:
        """Of each node that dropped anything: its number, what, and how many."""

    def attach(self, *, lines: Sequence[tuple[int, int, str]], longest: int, ratio: float, limit_s: float = 0.0) -> None:
        """
        Before anything has moved: joins nodes of kind `ethernet-outside` with network interfaces, and time with the wall clock.

        `lines`: of each its node, the node whose line it ends, and the interface's name. `longest`: bytes of a frame without FCS. `ratio`: seconds of virtual time in a second of the wall clock. `limit_s`: seconds of the wall clock after which it fails; 0: none.

        Raises RuntimeError where an interface cannot be opened.
        """

    @property
    def interfaces(self) -> list[dict[str, Any]]:
        """
        Of each interface that is attached: its name, and the frames that were sent and received.
        """

    @property
    def wall_s(self) -> float:
        """Seconds of the wall clock since it was attached."""

    def wall_s_at(self, tick: int) -> float:
        """
        Seconds of the wall clock from when it was attached to when virtual time reached a tick, to some milliseconds.
        """

    @property
    def behind_s(self) -> float:
        """Of these, the seconds that virtual time did not keep up with."""

    def finish(self) -> int:
        """
        Ends the simulation: runs the Verilated nodes to the simulator's time, and compares their counters. Returns the cycles, of all clocks and nodes, in which they were evaluated.

        Raises NodeDifference where RTL and simulator differ.
        """

    @property
    def nodes(self) -> int: ...

    def set_circuit(self, at: VirtualPort, to: VirtualPort | None) -> None:
        """
        Writes the circuit table: what `at` sends goes to `to`, and it takes frames of `to` alone. None: of nobody.

        Raises ValueError.
        """

    def circuit(self, at: VirtualPort) -> VirtualPort | None:
        """
        The other end in a virtual port's row of the circuit table.

        Raises ValueError.
        """

    def set_partition(self, nodes: Sequence[int], name: str) -> None:
        """
        Circuits join nodes of one partition, or nodes of none: an empty name.

        Raises ValueError where a circuit would leave it. A circuit that is being closed would, until time has passed (`advance`) and its row is closed in the hardware, too: frames go over it until then.
        """

    def inject(self, node: int, port: int, frame: bytes, *, damaged: bool = False) -> None:
        """
        A frame arrives at an external port as if from outside, behind those under way: any bytes, without FCS. `damaged`: the FCS is wrong.

        Raises ValueError.
        """

    def received(self, node: int, port: int) -> dict[str, int]:
        """
        Frames that have arrived at an external port, by what became of them: taken, sequenced (of a session, which counts them, too), indications, credits; dropped: damaged (FCS), strays (to another address), others (of another protocol), foreign (of no circuit), sessionless (with a session where the virtual port has none, or without), unformed (not of whole words), full (no room), misfits (too short or too long for Ethernet).

        Raises ValueError.
        """

    def set_multicast(self, at: VirtualPort, virtual_port: int) -> None:
        """
        Writes the row of a circuit to several ends: what `at` sends goes to a multicast address of its own, for this virtual port of all whose rows name `at`. It takes nothing.

        Raises ValueError.
        """

    def set_group(self, node: int, source: VirtualPort, ports: Sequence[int]) -> None:
        """
        The ports of a switch that what `source` multicasts goes to.

        Raises ValueError.
        """

    def set_pace(self, at: VirtualPort, *, priority: int = 0, pace: int = 0) -> None:
        """
        `pace`: cycles of the MAC's clock in 1/256 that a word of a frame takes at least.

        Raises ValueError.
        """

    def set_monitor(self, node: int, port: int, *, cycles: int, words: int) -> None:
        """
        An external port at which more than `words` of data come in `cycles` of the MAC's clock sends indications to the other ends of their circuits. 0 cycles: it does not. `cycles` is below 2^24, `words` below 2^15.

        Raises ValueError.
        """

    def set_reaction(self, at: VirtualPort, *, cycles: int, pace: int | None = None) -> None:
        """
        For so many cycles, below 2^24, after an indication `at` sends at a pace, or nothing.

        Raises ValueError.
        """

    def set_credits(self, at: VirtualPort, *, used: bool = True) -> None:
        """
        Both ends of the circuit of `at` send no more than the other's buffer has room for. Set while nothing moves.

        Raises ValueError.
        """

    def drained(self, at: VirtualPort) -> bool:
        """
        Whether all words that a virtual port was given by its crossbar have been sent.

        Raises ValueError.
        """

    def sequence(self, handle: int, node: int, sequencer: int, program: Sequence[Row | Connect | SendWord | AwaitWord | Read | Write]) -> None:
        """
        Starts a program of commands in an FPGA, which run one after another without a host; completes under the handle. Engines that it uses take no other transfers until then.

        Raises ValueError.
        """

    def sequencer_place(self, node: int, sequencer: int) -> int:
        """
        Of a sequencer at its node's crossbar.

        Raises ValueError.
        """

    def restart(self, node: int) -> None:
        """
        An FPGA starts again: tables, crossbar and buffers are empty, its operations never complete, and what it has forgotten is counted as lost. Its memory stays as it is.

        Raises ValueError.
        """

    def set_session(self, at: VirtualPort, number: int) -> None:
        """
        Begins a session at an end of a circuit, of a number that none of the circuit had before: all words arrive, once and in order, or both ends know that it has ended. The other end begins one, too. 0: none.

        Raises ValueError.
        """

    def session(self, at: VirtualPort) -> Session:
        """
        The session of a virtual port.

        Raises ValueError.
        """

    def indications(self, at: VirtualPort) -> int:
        """
        That came for a virtual port.

        Raises ValueError.
        """

    def connect(self, node: int, output: int, input: int | None) -> None:
        """
        Sets an output of a crossbar. Inputs and outputs are numbered alike: DMA engines, then the virtual ports of each port, sequencers, and user logic.

        Raises ValueError.
        """

    def place(self, node: int, port: int, virtual_port: int) -> int:
        """
        Of a virtual port at its node's crossbar.

        Raises ValueError.
        """

    def kernel_place(self, node: int, kernel: int = 0) -> int:
        """
        Of user logic at its node's crossbar.

        Raises ValueError.
        """

    def virtual_ports(self, node: int) -> int:
        """Of all external ports together."""

    def read(self, node: int, engine: int, segments: Sequence[tuple[int, int]], channel: int = 0, handle: int | None = None) -> None:
        """
        Sends (address, bytes) of a node's memory as one packet to the crossbar. With a handle it completes when its last word has left the engine.

        Raises ValueError.
        """

    def write(self, handle: int, node: int, engine: int, segments: Sequence[tuple[int, int]]) -> None:
        """
        Writes the next packet of the crossbar to (address, bytes) of a node's memory.

        Raises ValueError.
        """

    def written(self, handle: int) -> int:
        """
        Bytes that a write that has completed received. What fills a packet's last word of 64 bytes is in them, as far as the segments have room: frames do not say where data end.

        Raises ValueError.
        """

    def kernel_send(self, handle: int, node: int, kernel: int, data: bytes, ends: bool = True, channel: int = 0) -> None:
        """
        User logic gives bytes to the crossbar, in words of 64; `ends`: they end a packet. Completes when the last word was taken.

        Raises ValueError.
        """

    def kernel_receive(self, handle: int, node: int, kernel: int, words: int) -> None:
        """
        User logic takes so many words of the crossbar, or those to the end of a packet. Completes when it has them.

        Raises ValueError.
        """

    def taken(self, handle: int) -> tuple[bytes, bool, int]:
        """
        What a `kernel_receive` that has completed took, once: bytes, whether they end a packet, its channel.

        Raises ValueError.
        """

    def advance(self, until: int = 9223372036854775807) -> list[thalweg._core.Completion]:
        """
        Runs until a tick, or the end of the first tick in which operations completed, which it returns. By default: until nothing moves, or packets go around a circle of circuits and crossbars and nothing else moves, which is its `failure`.
        """

    def store(self, node: int, address: int, data: bytes) -> None:
        """Raises IndexError."""

    def load(self, node: int, address: int, bytes: int) -> bytes:
        """Raises IndexError."""

    def passed(self, node: int) -> list[tuple[int, int, int, int, int]]:
        """
        Packets that have passed a node's crossbar: input, output, the ticks at which the first word comes and the last one leaves, words; the last 2^20 at most.

        Raises ValueError.
        """

    def close(self) -> None:
        """Ends the capture."""

    def link_use(self) -> list:
        """
        node and port that send, ticks of a window, words of 64 bytes of each window
        """

    def circuits(self, nodes: Sequence[int] | None = None) -> dict[VirtualPort, VirtualPort]:
        """
        The rows of the circuit tables of some FPGAs, or of all.

        Raises InputError.
        """

    def changes(self, circuits: Sequence[tuple[VirtualPort, VirtualPort]], nodes: Sequence[int] | None = None) -> list[tuple[VirtualPort, VirtualPort | None]]:
        """
        The rows to write so that some FPGAs, or all, have these circuits and no others.

        Raises InputError.
        """

    def rewire_to(self, circuits: Sequence[tuple[VirtualPort, VirtualPort]], nodes: Sequence[int] | None = None) -> Rewired:
        """
        Writes them.

        Raises InputError, and nothing changes.
        """

    def multicast(self, source: VirtualPort, members: Sequence[VirtualPort]) -> None:
        """
        A circuit from one end to several, which are the same virtual port of their external ports: the rows of all of them, and the ports of switches, on a tree that no frame takes twice. Only the source sends.

        Raises InputError, and nothing changes, where it cannot be.
        """

    def group(self, source: VirtualPort, members: Sequence[VirtualPort]) -> None:
        """
        Sets the ports of switches alone.

        Raises InputError.
        """

    def least_us(self, rows: Sequence[tuple[VirtualPort, VirtualPort | None]], by: str) -> float:
        """
        A lower bound on the time of writing these rows: by registers, of the PCIe slot with the most rows; by servers, of the software of the server with the most.

        Raises InputError.
        """

    def make_partition(self, name: str, nodes: Sequence[int]) -> Partition:
        """
        Moves FPGAs into a partition, out of the one they are in.

        Raises InputError if a circuit would cross the partition's boundary, or one that is being closed still does (`set_partition`).
        """

    def run_programs(self, programs: Sequence[tuple[int, dict[str, Any], Iterator[Any]]], late: bool, kernels: Sequence[tuple[int, int, Iterator[Any], bool]]) -> float:
        """
        Runs programs of servers (number, what its actions take, steps) and kernels (node, number, actions, whether it is not waited for) from now on; the time in us at which the last one ends.

        Raises FabricStopped, InputError and ValueError.
        """

    def rewire_to_in_time(self, circuits: Sequence[tuple[VirtualPort, VirtualPort]], by: str) -> tuple[list[tuple[int, tuple[VirtualPort, VirtualPort | None]]], float]:
        """
        Runs a re-wiring of all FPGAs in simulated time; the rows, each with the tick of its write, and the duration in us.

        Raises InputError and FabricStopped.
        """

def barrier_us(costs: dict, servers: int, since_us: float | None = None) -> float: ...

class Steps:
    """A server's program, as an iterator of its steps."""

    def __iter__(self) -> Steps: ...

    def __next__(self) -> thalweg.systems.vcsn.hosts.Work | thalweg.systems.vcsn.hosts.Interrupt | thalweg.systems.vcsn.hosts.Barrier: ...

class Move:
    """Blocks from a node's memory to another's."""

    def __init__(self, source: int, source_port: tuple[int, int], destination: int, destination_port: tuple[int, int], blocks: Sequence[int]) -> None:
        """Ports are (external port, virtual port)."""

    @property
    def source(self) -> int: ...

    @property
    def source_port(self) -> tuple[int, int]: ...

    @property
    def destination(self) -> int: ...

    @property
    def destination_port(self) -> tuple[int, int]: ...

    @property
    def blocks(self) -> tuple[int, ...]: ...

    @property
    def passes(self) -> tuple[tuple[int, tuple[int, int], tuple[int, int]], ...]:
        """
        Nodes whose crossbars pass it on, with ports that it comes in at and leaves by.
        """

class Stage:
    """Transfers that go at once."""

    def __init__(self, moves: Sequence[Move]) -> None: ...

    @property
    def moves(self) -> tuple[Move, ...]: ...

class Schedule:
    """
    The stages of a gather to a root, of a scatter from it, or of an allgather, whose root is the first node.
    """

    def __init__(self, root: int, stages: Sequence[Stage], *, rewired: bool = False, everywhere: bool = False, steps: bool = False, others: Set[tuple[int, tuple[int, int], int, tuple[int, int]]] = ...) -> None:
        """
        `rewired`: each stage opens the circuits of its own moves. `everywhere`: every node gets all blocks, over all its external ports at once. `steps`: only the rows that it needs are written before the first stage. `others`: circuits that are opened before the first stage, too: nodes and ports of both ends.
        """

    @property
    def root(self) -> int: ...

    @property
    def rewired(self) -> bool: ...

    @property
    def everywhere(self) -> bool: ...

    @property
    def steps(self) -> bool: ...

    @property
    def stages(self) -> tuple[Stage, ...]: ...

    @property
    def nodes(self) -> set[int]:
        """
        The nodes that take part: sources, destinations, nodes that pass packets on, and ends of other circuits.
        """

def tree(nodes: Sequence[int], root: int, ports: int, virtual_ports: int) -> Schedule:
    """
    A gather to `root` from branches at all its virtual ports (Figures 10 and 12). Each is a chain along which every node passes a block on in every stage. The first virtual ports' branches come first, one at each external port; what the others have gathered meanwhile at their first node follows in a stage for each further virtual port.
    """

def ring(nodes: Sequence[int], root: int, ports: int, virtual_ports: int) -> Schedule:
    """
    A gather to `root` from both sides of a ring (Figures 10 and 11), a block a stage; with one external port from one side.
    """

def relink(nodes: Sequence[int], root: int, ports: int, virtual_ports: int) -> Schedule:
    """
    A gather straight to `root`, as many nodes a stage as it has external ports; each stage has circuits of its own (Equation 5).
    """

def allgather_ring(nodes: Sequence[int], ports: int) -> Schedule:
    """
    Around a ring both ways, one way with one external port: each node passes the block on that has come last, its own first. A line carries one stream each way.
    """

def scatter(gather: Schedule) -> Schedule:
    """
    A gather the other way round: each node gets its own block (section 6.6.1).
    """

READS: int = 4294967296

class Collective:
    """A schedule on a cluster, with the places of its blocks in memories."""

    def __init__(self, cluster: Cluster, schedule: Schedule, size: int) -> None:
        """
        `size`: bytes of a block.

        Raises InputError.
        """

    @property
    def before(self) -> dict[tuple[int, int], int]:
        """The address of each (node, block) before it begins."""

    @property
    def after(self) -> dict[tuple[int, int], int]:
        """The address of each (node, block) that comes anywhere."""

    @property
    def ends(self) -> dict[tuple[int, int], int]:
        """Where blocks belong in the end: the addresses by (node, block)."""

    @property
    def most_bytes(self) -> int:
        """That a bank holds."""

    def program(self, network: Network, server: int) -> Steps:
        """The program of a server, for its FPGAs."""
