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
    """Sequencer command: writes a virtual port's row of the circuit table."""

    def __init__(self, port: int, virtual_port: int, to: VirtualPort | None, credits: bool = False) -> None: ...

class Connect:
    """Sequencer command: sets an output of the crossbar."""

    def __init__(self, output: int, input: int | None) -> None: ...

class SendWord:
    """Sequencer command: sends a packet of one word from its crossbar input."""

    def __init__(self) -> None: ...

class AwaitWord:
    """Sequencer command: waits for a word at its crossbar output."""

    def __init__(self) -> None: ...

class Read:
    """Sequencer command: sends (address, bytes) of memory as one packet."""

    def __init__(self, engine: int, segments: Sequence[tuple[int, int]]) -> None: ...

class Write:
    """
    Sequencer command: receives the next packet into (address, bytes) of memory.
    """

    def __init__(self, engine: int, segments: Sequence[tuple[int, int]]) -> None: ...

class Session:
    """Session at one end of a circuit."""

    @property
    def state(self) -> str:
        """
        none, opening (peer not known yet), open, refused (the peer has begun another session), silent (the peer did not answer)
        """

    @property
    def under_way(self) -> int:
        """frames in flight, not yet acknowledged"""

    @property
    def settled(self) -> bool:
        """
        True if all received data have left the receive buffer, and the sender knows
        """

    @property
    def sent(self) -> int:
        """frames sent, without retransmissions"""

    @property
    def resent(self) -> int:
        """frames retransmitted"""

    @property
    def repeated(self) -> int:
        """duplicates received"""

class Cluster:
    """
    Describes which external ports Ethernet connects, and which server writes each FPGA's registers.
    """

    def __init__(self, name: str, description: dict) -> None:
        """Raises ValueError if the description is invalid."""

    def reaches(self, one: tuple[int, int], other: tuple[int, int]) -> bool:
        """
        Returns whether the network carries frames between two external ports, given as (node, port).
        """

    def group_ports(self, source: tuple[int, int], members: Sequence[tuple[int, int]]) -> dict[int, list[int]]:
        """
        Returns, for each switch on the flooding tree, the ports on the paths from an external port, (node, port), to others.

        Raises InputError.
        """

    def way(self, source: int, destination: int, first: int | None = None) -> list[tuple[int, int, int]]:
        """
        Returns the shortest path between two FPGAs of a direct network, as (node, input port, output port); -1 stands for the memory at both ends. `first`: output port at `source`.

        Raises InputError if there is no path.
        """

    def step(self, source: int, destination: int) -> Move:
        """
        Returns the move of a block between two FPGAs over serial links; crossbars of FPGAs between them forward it.

        Raises InputError.
        """

    def gather_schedule(self, by: str, nodes: Sequence[int], root: int) -> Schedule:
        """
        Returns the schedule of a gather. `by`: tree, ring or relink over circuits; only ring in a direct network, where ports 0 must lead to larger numbers around the ring.

        Raises InputError.
        """

    def allgather_schedule(self, nodes: Sequence[int]) -> Schedule:
        """
        Returns the schedule of an allgather around a ring.

        Raises InputError.
        """

    def mapped(self, name: str, edges: Sequence[tuple[int, int]]) -> list[tuple[VirtualPort, VirtualPort]]:
        """
        Returns the virtual ports of a circuit for each edge of a topology, in the order of the edges.

        Raises InputError if none are free.
        """

def edges_of(shape: str, nodes: Sequence[int], size: Sequence[int]) -> list[tuple[int, int]]:
    """
    Returns the edges of a topology of FPGAs.

    Raises InputError.
    """

class Rewired:
    """
    Rows written by a re-wiring, and the times to write them in us; None if one of the FPGAs is in no server.
    """

    @property
    def rows(self) -> tuple[tuple[VirtualPort, VirtualPort | None], ...]: ...

    @property
    def registers_us(self) -> float | None:
        """
        Time in hardware: servers write all rows back to back. A row is one 64-bit register, and an FPGA accepts one per cycle.
        """

    @property
    def servers_us(self) -> float | None:
        """
        Time by the servers' programs: each row takes the software's time (t of the paper's Table 5), and a barrier follows.
        """

class Partition:
    @property
    def name(self) -> str: ...

    @property
    def nodes(self) -> list[int]: ...

    def own(self, node: int) -> int:
        """
        Returns an FPGA's number.

        Raises InputError if it is in another partition.
        """

    @property
    def lost(self, /) -> list[tuple[int, str, int]]: ...

class Network:
    def __init__(self, cluster: Cluster, capture: str = '', libraries: Mapping[int, str] = {}, part: dict | None = None) -> None:
        """
        `capture`: pcapng file to write. `libraries`: files of Verilated nodes, by FPGA, which are compared with the simulator's. `part`: description of a part of the cluster [default: all].

        Raises ValueError if the description is invalid.
        """

    @property
    def now(self) -> int:
        """Current time in ticks."""

    @property
    def ticks_per_second(self) -> int: ...

    @property
    def idle(self) -> bool:
        """True if nothing will happen before the next submission."""

    @property
    def blocked(self, /) -> list[thalweg.errors.Blocked]:
        """Who waits for whom; in an idle engine, why it is stuck."""

    @property
    def failure(self) -> str | None:
        """
        Why the engine cannot continue, for example a link that stays down; None otherwise.
        """

    @property
    def lost(self, /) -> list[tuple[int, str, int]]:
        """Dropped data: node, kind, and count."""

    def attach(self, *, lines: Sequence[tuple[int, int, str]], longest: int, ratio: float, limit_s: float = 0.0) -> None:
        """
        Attaches nodes of kind `ethernet-outside` to network interfaces, and virtual time to the wall clock. Call before the simulation starts.

        `lines`: (outside node, node at the other end of its line, interface name). `longest`: maximum frame length in bytes, without FCS. `ratio`: seconds of virtual time per second of the wall clock. `limit_s`: time-out in seconds of the wall clock; 0: none.

        Raises RuntimeError if an interface cannot be opened.
        """

    @property
    def interfaces(self) -> list[dict[str, Any]]:
        """
        The attached interfaces: node, name, type, and numbers of sent and received frames and bytes.
        """

    @property
    def wall_s(self) -> float:
        """Seconds of the wall clock since attach()."""

    def wall_s_at(self, tick: int) -> float:
        """
        Returns the seconds of the wall clock from attach() until virtual time reached a tick, accurate to some milliseconds.
        """

    @property
    def behind_s(self) -> float:
        """Seconds of the wall clock by which virtual time has fallen behind."""

    def finish(self) -> int:
        """
        Ends the simulation: runs the Verilated nodes to the simulator's time, and compares their counters. Returns the number of evaluated cycles of all clocks and nodes.

        Raises NodeDifference if RTL and simulator differ.
        """

    @property
    def nodes(self) -> int: ...

    def set_circuit(self, at: VirtualPort, to: VirtualPort | None) -> None:
        """
        Writes a row of the circuit table: `at` sends to, and accepts frames from, `to` only. None: no circuit.

        Raises ValueError.
        """

    def circuit(self, at: VirtualPort) -> VirtualPort | None:
        """
        Returns the peer in a virtual port's row of the circuit table, or None.

        Raises ValueError.
        """

    def set_partition(self, nodes: Sequence[int], name: str) -> None:
        """
        Puts nodes into a partition; an empty name: none. Circuits connect nodes of one partition, or nodes of none.

        Raises ValueError, without a change, if a circuit would leave its partition. This includes a circuit that is being closed, which carries frames until its row is closed in the hardware: advance time first.
        """

    def inject(self, node: int, port: int, frame: bytes, *, damaged: bool = False) -> None:
        """
        Injects a frame at an external port as if received, after those in flight: any bytes, without FCS. `damaged`: the FCS is wrong.

        Raises ValueError.
        """

    def received(self, node: int, port: int) -> dict[str, int]:
        """
        Returns the numbers of frames received at an external port, by outcome: taken, sequenced (of a session, which counts their outcomes), indications, credits; dropped: damaged (FCS), strays (other destination address), others (other protocol), foreign (of no circuit), sessionless (with a session where the virtual port has none, or without where it has one), unformed (not whole words), full (no buffer space), misfits (too short or too long for Ethernet).

        Raises ValueError.
        """

    def set_multicast(self, at: VirtualPort, virtual_port: int) -> None:
        """
        Writes a row of a multicast circuit: frames go to a multicast address of `at`, and reach virtual port `virtual_port` of all external ports whose rows name `at`. `at` accepts no frames.

        Raises ValueError.
        """

    def set_group(self, node: int, source: VirtualPort, ports: Sequence[int]) -> None:
        """
        Sets the ports of a switch to which multicasts of `source` are forwarded.

        Raises ValueError.
        """

    def set_pace(self, at: VirtualPort, *, priority: int = 0, pace: int = 0) -> None:
        """
        Sets the arbitration of a virtual port. `pace`: minimum time per word of a frame, in 1/256 cycles of the MAC's clock.

        Raises ValueError.
        """

    def set_monitor(self, node: int, port: int, *, cycles: int, words: int) -> None:
        """
        Sets the reception monitor of an external port: if more than `words` of data arrive in `cycles` of the MAC's clock, it sends indications to the peers of their circuits. `cycles`: below 2^24; 0: disabled. `words`: below 2^15.

        Raises ValueError.
        """

    def set_reaction(self, at: VirtualPort, *, cycles: int, pace: int | None = None) -> None:
        """
        Sets the reaction of `at` to an indication: for `cycles`, below 2^24, it sends at a pace, or nothing.

        Raises ValueError.
        """

    def set_credits(self, at: VirtualPort, *, used: bool = True) -> None:
        """
        Enables or disables credits at both ends of the circuit of `at`: no more is sent than the peer's buffer can hold. Call only while nothing is in flight.

        Raises ValueError.
        """

    def drained(self, at: VirtualPort) -> bool:
        """
        Returns whether all words given to a virtual port by its crossbar have been sent.

        Raises ValueError.
        """

    def sequence(self, handle: int, node: int, sequencer: int, program: Sequence[Row | Connect | SendWord | AwaitWord | Read | Write]) -> None:
        """
        Starts a program of commands in an FPGA, which run in order without a host; completes under the handle. Until then, the engines that it uses accept no other transfers.

        Raises ValueError.
        """

    def sequencer_place(self, node: int, sequencer: int) -> int:
        """
        Returns a sequencer's index at its node's crossbar.

        Raises ValueError.
        """

    def restart(self, node: int) -> None:
        """
        Restarts an FPGA: its tables, crossbar and buffers are empty, its operations never complete, and forgotten words and operations are counted as lost. Its memory keeps its contents.

        Raises ValueError.
        """

    def set_session(self, at: VirtualPort, number: int) -> None:
        """
        Opens a session at one end of a circuit, with a number that is new on this circuit; 0: none. All words arrive once and in order, or both ends detect that the session has ended. The other end must open one, too.

        Raises ValueError.
        """

    def session(self, at: VirtualPort) -> Session:
        """
        Returns the session of a virtual port.

        Raises ValueError.
        """

    def indications(self, at: VirtualPort) -> int:
        """
        Returns the number of indications received for a virtual port.

        Raises ValueError.
        """

    def connect(self, node: int, output: int, input: int | None) -> None:
        """
        Selects the input of a crossbar output, or none. Order of indices: DMA engines, virtual ports of each external port, sequencers, user logic.

        Raises ValueError.
        """

    def place(self, node: int, port: int, virtual_port: int) -> int:
        """
        Returns a virtual port's index at its node's crossbar.

        Raises ValueError.
        """

    def kernel_place(self, node: int, kernel: int = 0) -> int:
        """
        Returns the index of user logic at its node's crossbar.

        Raises ValueError.
        """

    def virtual_ports(self, node: int) -> int:
        """Returns the number of virtual ports of all external ports."""

    def read(self, node: int, engine: int, segments: Sequence[tuple[int, int]], channel: int = 0, handle: int | None = None) -> None:
        """
        Sends (address, bytes) of a node's memory as one packet to the crossbar. With a handle, it completes when the last word has left the engine.

        Raises ValueError.
        """

    def write(self, handle: int, node: int, engine: int, segments: Sequence[tuple[int, int]]) -> None:
        """
        Receives the next packet from the crossbar into (address, bytes) of a node's memory.

        Raises ValueError.
        """

    def written(self, handle: int) -> int:
        """
        Returns the number of bytes received by a completed write. They include the padding of a packet's last 64-byte word, as far as the segments have space: frames do not contain the length of data.

        Raises ValueError.
        """

    def kernel_send(self, handle: int, node: int, kernel: int, data: bytes, ends: bool = True, channel: int = 0) -> None:
        """
        Sends bytes from user logic to the crossbar, in words of 64 bytes; `ends`: they end a packet. Completes when the last word is accepted.

        Raises ValueError.
        """

    def kernel_receive(self, handle: int, node: int, kernel: int, words: int) -> None:
        """
        Receives words from the crossbar in user logic, at most `words` and at most to the end of a packet.

        Raises ValueError.
        """

    def taken(self, handle: int) -> tuple[bytes, bool, int]:
        """
        Returns and removes the data of a completed `kernel_receive`: bytes, whether they end a packet, channel.

        Raises ValueError.
        """

    def advance(self, until: int = 9223372036854775807) -> list[thalweg._core.Completion]:
        """
        Runs until a tick or the end of the first tick with completions, which it returns. By default: until idle, or until packets only circulate forever in a cycle of circuits and crossbars, which `failure` then describes.
        """

    def store(self, node: int, address: int, data: bytes) -> None:
        """
        Writes bytes to a node's memory.

        Raises IndexError beyond its end.
        """

    def load(self, node: int, address: int, bytes: int) -> bytes:
        """
        Returns bytes of a node's memory.

        Raises IndexError beyond its end.
        """

    def passed(self, node: int) -> list[tuple[int, int, int, int, int]]:
        """
        Returns the packets that passed a node's crossbar: input, output, ticks at which the first word arrived and the last one left, words; at most the last 2^20 packets.

        Raises ValueError.
        """

    def close(self) -> None:
        """Closes the capture file."""

    def link_use(self) -> list:
        """
        Returns, per link direction: sending node and port, ticks per window, 64-byte words in each window.
        """

    def circuits(self, nodes: Sequence[int] | None = None) -> dict[VirtualPort, VirtualPort]:
        """
        Returns the rows of the circuit tables of some FPGAs, or of all.

        Raises InputError.
        """

    def changes(self, circuits: Sequence[tuple[VirtualPort, VirtualPort]], nodes: Sequence[int] | None = None) -> list[tuple[VirtualPort, VirtualPort | None]]:
        """
        Returns the rows to write so that some FPGAs, or all, have exactly these circuits.

        Raises InputError.
        """

    def rewire_to(self, circuits: Sequence[tuple[VirtualPort, VirtualPort]], nodes: Sequence[int] | None = None) -> Rewired:
        """
        Opens these circuits and closes all others of some FPGAs, or of all.

        Raises InputError, without a change.
        """

    def multicast(self, source: VirtualPort, members: Sequence[VirtualPort]) -> None:
        """
        Opens a circuit from `source` to several members, which must have the same virtual port number. Writes the rows of all, and the ports of switches on a tree, so that no frame is duplicated. Only the source sends.

        Raises InputError, without a change, if it is impossible.
        """

    def group(self, source: VirtualPort, members: Sequence[VirtualPort]) -> None:
        """
        Sets only the ports of switches of a multicast circuit.

        Raises InputError.
        """

    def least_us(self, rows: Sequence[tuple[VirtualPort, VirtualPort | None]], by: str) -> float:
        """
        Returns a lower bound on the time to write rows, in us. `by`: registers (time of the PCIe slot with the most rows) or servers (software time of the server with the most rows).

        Raises InputError.
        """

    def make_partition(self, name: str, nodes: Sequence[int]) -> Partition:
        """
        Moves FPGAs from their partitions into this one.

        Raises InputError if a circuit would cross the partition's boundary, including one that is being closed (`set_partition`).
        """

    def run_programs(self, programs: Sequence[tuple[int, dict[str, Any], Iterator[Any]]], late: bool, kernels: Sequence[tuple[int, int, Iterator[Any], bool]]) -> float:
        """
        Runs the programs of servers (number, durations of actions, steps) and kernels (node, number, actions, True: the run does not wait for it) from now on; returns the time in us at which the last one ends.

        Raises FabricStopped, InputError or ValueError.
        """

    def rewire_to_in_time(self, circuits: Sequence[tuple[VirtualPort, VirtualPort]], by: str) -> tuple[list[tuple[int, tuple[VirtualPort, VirtualPort | None]]], float]:
        """
        Runs a re-wiring of all FPGAs in simulated time; returns the rows, each with the tick of its write, and the duration in us.

        Raises InputError or FabricStopped.
        """

def barrier_us(costs: dict, servers: int, since_us: float | None = None) -> float: ...

class Steps:
    """Iterator over the steps of a server's program."""

    def __iter__(self) -> Steps: ...

    def __next__(self) -> thalweg.systems.vcsn.hosts.Work | thalweg.systems.vcsn.hosts.Interrupt | thalweg.systems.vcsn.hosts.Barrier: ...

class Move:
    """Moves blocks from one node's memory to another's."""

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
        """Nodes whose crossbars forward the blocks, with input and output port."""

class Stage:
    """Concurrent transfers."""

    def __init__(self, moves: Sequence[Move]) -> None: ...

    @property
    def moves(self) -> tuple[Move, ...]: ...

class Schedule:
    """
    The stages of a gather to a root, of a scatter from it, or of an allgather, whose root is the first node.
    """

    def __init__(self, root: int, stages: Sequence[Stage], *, rewired: bool = False, everywhere: bool = False, steps: bool = False, others: Set[tuple[int, tuple[int, int], int, tuple[int, int]]] = ...) -> None:
        """
        `rewired`: each stage opens the circuits of its own moves. `everywhere`: every node receives all blocks, over all its external ports concurrently. `steps`: only the rows that the first stage needs are written before it. `others`: additional circuits opened before the first stage, as node and port of both ends.
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
        All participating nodes: sources, destinations, forwarding nodes, and ends of other circuits.
        """

def tree(nodes: Sequence[int], root: int, ports: int, virtual_ports: int) -> Schedule:
    """
    Gathers to `root` from branches at all its virtual ports (Figures 10 and 12). Each branch is a chain in which every node forwards a block per stage. The branches of the first virtual ports are received first, one at each external port. The blocks that the other branches have meanwhile gathered at their first node follow, one stage per further virtual port.
    """

def ring(nodes: Sequence[int], root: int, ports: int, virtual_ports: int) -> Schedule:
    """
    Gathers to `root` from both sides of a ring (Figures 10 and 11), a block per stage; with one external port from one side.
    """

def relink(nodes: Sequence[int], root: int, ports: int, virtual_ports: int) -> Schedule:
    """
    Gathers directly to `root`, in each stage from as many nodes as it has external ports; each stage has its own circuits (Equation 5).
    """

def allgather_ring(nodes: Sequence[int], ports: int) -> Schedule:
    """
    Sends around a ring in both directions, or in one with one external port. Each node first sends its own block, then forwards the last received one. A line carries one stream in each direction.
    """

def scatter(gather: Schedule) -> Schedule:
    """Reverses a gather: each node receives its own block (section 6.6.1)."""

READS: int = 4294967296

class Collective:
    """A schedule on a cluster, with the addresses of its blocks in memories."""

    def __init__(self, cluster: Cluster, schedule: Schedule, size: int) -> None:
        """
        `size`: bytes of a block.

        Raises InputError.
        """

    @property
    def before(self) -> dict[tuple[int, int], int]:
        """Initial address of each (node, block)."""

    @property
    def after(self) -> dict[tuple[int, int], int]:
        """All addresses by (node, block)."""

    @property
    def ends(self) -> dict[tuple[int, int], int]:
        """Final address of each (node, block)."""

    @property
    def most_bytes(self) -> int:
        """Maximum number of bytes used in a bank."""

    def program(self, network: Network, server: int) -> Steps:
        """Returns a server's program for its FPGAs."""
