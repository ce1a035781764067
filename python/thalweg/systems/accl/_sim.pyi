"""ACCL: boards with offload engines."""

from collections.abc import Mapping, Sequence
from typing import Any

import thalweg._core
import thalweg.errors
import thalweg.systems.mpi_fpga._sim


class Network:
    def __init__(self, description: dict, capture: str = '', libraries: Mapping[int, str] = {}, switches: thalweg.systems.mpi_fpga._sim.FabricConfig | None = None, ranks: int = 0, choice: thalweg.systems.mpi_fpga._sim.Choice | None = None) -> None:
        """
        `capture`: pcapng file to write. `libraries`: files of the Verilated nodes, by rank. `switches`: the switches that execute the collectives of the first `ranks`; their clock must be in the description. `choice`: selects their algorithms.

        Raises ValueError if the description is invalid, or if the switches have fewer nodes than ranks.
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

    @property
    def ranks(self) -> int: ...

    def read(self, rank: int, address: int) -> int | None:
        """Returns a word of the exchange memory, or None beyond its end."""

    def write(self, rank: int, address: int, value: int) -> bool:
        """Writes a word of the exchange memory; returns False beyond its end."""

    def record(self, rank: int) -> None:
        """Starts to record the transactions at the engine's ports."""

    def recorded(self, rank: int) -> list[tuple[str, bool, int, int, bytes]]:
        """
        Returns the recorded transactions: port (x, y: operand read; z: result write; s: frame sent), whether it accesses host memory, address, bytes, frame.
        """

    def rewire(self, node: int, pairs: Sequence[tuple[int, int]]) -> None:
        """
        Sets the port pairs that an optical switch connects; all others are disconnected.

        Raises ValueError if a port does not exist or is in two pairs.
        """

    def allocate(self, rank: int, host: bool, address: int, size: int) -> None:
        """
        Allocates a range of a memory.

        Raises ValueError beyond the end of the memory.
        """

    def load(self, rank: int, host: bool, address: int, size: int) -> bytes | None:
        """Returns bytes of a memory, or None if they are not allocated."""

    def store(self, rank: int, host: bool, address: int, data: bytes) -> None:
        """
        Allocates and writes bytes.

        Raises ValueError beyond the end of the memory.
        """

    def submit(self, *, handle: int, rank: int, port: int, words: Sequence[int]) -> None:
        """
        Submits a call, given as the words of the command stream. Ports: 0 and 1 are the host's, 2 is the kernels'.

        Raises ValueError if the call is invalid.
        """

    def take_end(self, handle: int) -> tuple[int, str]:
        """
        Returns and removes the return code of a completed call, and the reason if it is not 0.

        Raises ValueError if no such call has completed.
        """

    def advance(self, until: int) -> list[thalweg._core.Completion]:
        """
        Runs until a tick or the end of the first tick in which a call ended; NEVER: until idle.
        """

    def work(self, until: int) -> list[thalweg._core.Completion]:
        """As advance(), but does not move time beyond the last event."""

    def expire(self) -> list[thalweg._core.Completion]:
        """Advances to the next time-out, and ends the calls that time out."""

    def time_out(self) -> int | None:
        """Returns the tick of the next time-out, or None."""

    def give(self, rank: int, data: bytes) -> None:
        """
        Sends a packet from a kernel to the engine, padded to words of 64 bytes.
        """

    def take(self, rank: int) -> list[tuple[int, bytes, int]]:
        """
        Returns and removes the packets for kernels: stream number, data, tick of the last word.
        """

    @property
    def failed(self, /) -> list[tuple[str, int, str]]:
        """Failed calls of kernels: caller, return code, reason."""

    @property
    def unlit(self) -> list[str]:
        """
        One line for each pair of ranks that had no light path when one sent to the other.
        """

    def missing_light(self, one: int, other: int) -> str:
        """
        Returns why no light path connects the boards of two ranks; empty if one does.
        """

    def clock_hz(self, rank: int) -> float:
        """Returns the clock frequency of a board's engine, in Hz."""

    def kernel_stream(self, rank: int, what: str, number: int, depth: int, name: str) -> int:
        """
        Creates a stream of a rank's kernels and returns its number for start_kernel(). `what`: `commands`, `status` (of pair `number`), `to engine`, `from engine` (stream `number`), `between` (two kernels).
        """

    def start_kernel(self, *, handle: int, rank: int, library: str, kernel: str, arguments: list[tuple[Any, ...]], serves: bool, limit: int | None, patience: float) -> None:
        """
        Starts a kernel in the next cycle; the handle completes when it ends.

        Raises RuntimeError if the library has no kernel of that name.
        """

    def disconnect(self) -> None:
        """
        Starts to close the connections of all boards. With TCP, this takes simulated time until the peers have acknowledged.
        """

    @property
    def disconnecting(self) -> int:
        """
        Number of closed connections that their peers have not acknowledged yet.
        """

    def close(self) -> None:
        """Closes the capture file."""

    def link_use(self) -> list:
        """
        Returns, per link direction: sending node and port, ticks per window, 64-byte words in each window.
        """

def programs() -> dict[str, list[tuple[str, int | None]]]:
    """
    Returns the sequencer's program of each operation: text of each instruction, and target index of a jump.
    """

class Misuse(Exception):
    pass

def ip_address(node: int) -> int:
    """Returns the IP address of a board, as a number."""

def ethernet_address(node: int) -> int:
    """Returns the Ethernet address of a board, as a number."""
