"""
Virtual circuits: FPGAs with their shells, Ethernet switches and links.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import thalweg._core
import thalweg.errors


class NodeDifference(thalweg.errors.CheckFailed):
    pass

class Place:
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

SEQUENCER_COMMANDS: int = 1024

SEGMENT_BYTES: int = 4294967232

class Row:
    """
    A sequencer's command: writes a virtual port's row of the circuit table.
    """

    def __init__(self, port: int, virtual_port: int, to: Place | None, credits: bool = False) -> None: ...

class Connect:
    """A sequencer's command: sets an output of the crossbar."""

    def __init__(self, output: int, input: int | None) -> None: ...

class Send:
    """
    A sequencer's command: a packet of one word from its input of the crossbar.
    """

    def __init__(self) -> None: ...

class Receive:
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

class Network:
    def __init__(self, description: dict, capture: str = '', libraries: Mapping[int, str] = {}) -> None:
        """
        `capture`: a pcapng file to write. `libraries`: of FPGAs the file of their Verilated node, which follows the simulator's.

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

    def set_circuit(self, at: Place, to: Place | None) -> None:
        """
        Writes the circuit table: what `at` sends goes to `to`, and it takes frames of `to` alone. None: of nobody.

        Raises ValueError.
        """

    def circuit(self, at: Place) -> Place | None:
        """
        The other end in a virtual port's row of the circuit table.

        Raises ValueError.
        """

    def changes(self, circuits: Sequence[tuple[Place, Place]], nodes: Sequence[int]) -> list[tuple[Place, Place | None]]:
        """
        The rows of the circuit tables to write, so that some nodes have these circuits, each of two ends, and no others.

        Raises ValueError where a virtual port is in two, or one leaves the nodes or a partition.
        """

    def set_partition(self, nodes: Sequence[int], name: str) -> None:
        """
        Circuits join nodes of one partition, or nodes of none: an empty name.

        Raises ValueError where a circuit would leave it.
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

    def set_multicast(self, at: Place, virtual_port: int) -> None:
        """
        Writes the row of a circuit to several ends: what `at` sends goes to a multicast address of its own, for this virtual port of all whose rows name `at`. It takes nothing.

        Raises ValueError.
        """

    def set_group(self, node: int, source: Place, ports: Sequence[int]) -> None:
        """
        The ports of a switch that what `source` multicasts goes to.

        Raises ValueError.
        """

    def set_pace(self, at: Place, *, priority: int = 0, pace: int = 0) -> None:
        """
        `pace`: cycles of the MAC's clock in 1/256 that a word of a frame takes at least.

        Raises ValueError.
        """

    def set_monitor(self, node: int, port: int, *, cycles: int, words: int) -> None:
        """
        An external port at which more than `words` of data come in `cycles` of the MAC's clock sends indications to the other ends of their circuits. 0 cycles: it does not. `cycles` is below 2^24, `words` below 2^15.

        Raises ValueError.
        """

    def set_reaction(self, at: Place, *, cycles: int, pace: int | None = None) -> None:
        """
        For so many cycles, below 2^24, after an indication `at` sends at a pace, or nothing.

        Raises ValueError.
        """

    def set_credits(self, at: Place, *, used: bool = True) -> None:
        """
        Both ends of the circuit of `at` send no more than the other's buffer has room for. Set while nothing moves.

        Raises ValueError.
        """

    def drained(self, at: Place) -> bool:
        """
        Whether all words that a virtual port was given by its crossbar have been sent.

        Raises ValueError.
        """

    def sequence(self, handle: int, node: int, sequencer: int, program: Sequence[Row | Connect | Send | Receive | Read | Write]) -> None:
        """
        Starts a program of commands in an FPGA, which run one after another without a host; completes under the handle.

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

    def set_session(self, at: Place, number: int) -> None:
        """
        Begins a session at an end of a circuit, of a number that none of the circuit had before: all words arrive, once and in order, or both ends know that it has ended. The other end begins one, too. 0: none.

        Raises ValueError.
        """

    def session(self, at: Place) -> Session:
        """
        The session of a virtual port.

        Raises ValueError.
        """

    def indications(self, at: Place) -> int:
        """
        That came for a virtual port.

        Raises ValueError.
        """

    def connect(self, node: int, output: int, input: int | None) -> None:
        """
        Sets an output of a crossbar. Inputs and outputs are numbered alike: DMA engines, then the virtual ports of each port, then user logic.

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

    def advance(self, until: int) -> list[thalweg._core.Completion]:
        """
        Runs until a tick, or the end of the first tick in which a write completed. NEVER: until nothing moves.
        """

    def store(self, node: int, address: int, data: bytes) -> None:
        """Raises IndexError."""

    def load(self, node: int, address: int, bytes: int) -> bytes:
        """Raises IndexError."""

    def passed(self, node: int) -> list[tuple[int, int, int, int, int]]:
        """
        Packets that have passed a node's crossbar: input, output, the ticks at which the first word comes and the last one leaves, words.

        Raises ValueError.
        """

    def close(self) -> None:
        """Ends the capture."""

    def link_use(self) -> list:
        """
        node and port that send, ticks of a window, words of 64 bytes of each window
        """
