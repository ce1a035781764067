"""ACCL: boards with offload engines."""

from collections.abc import Mapping, Sequence
from typing import Any

import thalweg._core
import thalweg.errors
import thalweg.systems.mpi_fpga._sim


class Network:
    def __init__(self, description: dict, capture: str = '', libraries: Mapping[int, str] = {}, switches: thalweg.systems.mpi_fpga._sim.FabricConfig | None = None, ranks: int = 0, choice: thalweg.systems.mpi_fpga._sim.Choice | None = None) -> None:
        """
        `capture`: a pcapng file to write. `libraries`: of the Verilated nodes, by ranks. `switches`: that have the collectives of the first `ranks`, and whose clock the description has. `choice`: of their algorithms.

        Raises ValueError where the description is none, and where the switches have fewer nodes.
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

    @property
    def ranks(self) -> int: ...

    def read(self, rank: int, address: int) -> int | None:
        """A word of the exchange memory; None where there is none."""

    def write(self, rank: int, address: int, value: int) -> bool:
        """False where there is no such word."""

    def record(self, rank: int) -> None:
        """From now on what happens at its engine's ports is kept."""

    def recorded(self, rank: int) -> list[tuple[str, bool, int, int, bytes]]:
        """
        Of each: the port, x or y where an operand is read, z where a result is written, s where a frame is sent; whether it is the host's memory; address, bytes, frame.
        """

    def rewire(self, node: int, pairs: Sequence[tuple[int, int]]) -> None:
        """
        Connects these pairs of ports of an optical switch, and no others.

        Raises ValueError where it cannot.
        """

    def allocate(self, rank: int, host: bool, address: int, size: int) -> None:
        """
        The memory has these bytes from now on.

        Raises ValueError where it cannot.
        """

    def load(self, rank: int, host: bool, address: int, size: int) -> bytes | None:
        """Bytes of a memory; None where they were not allocated."""

    def store(self, rank: int, host: bool, address: int, data: bytes) -> None:
        """
        Writes bytes, and allocates them.

        Raises ValueError where it cannot.
        """

    def submit(self, *, handle: int, rank: int, port: int, words: Sequence[int]) -> None:
        """
        A call, in the order of the command stream. Ports: 0 and 1 the host's, 2 a kernel's.

        Raises ValueError where it is none.
        """

    def take_end(self, handle: int) -> tuple[int, str]:
        """
        The return code of a call that has ended, and why it is not 0; once.

        Raises ValueError.
        """

    def advance(self, until: int) -> list[thalweg._core.Completion]:
        """
        Runs until a tick, or the end of the first tick in which a call ended. NEVER: until nothing moves.
        """

    def work(self, until: int) -> list[thalweg._core.Completion]:
        """As advance(), but time does not move beyond what has happened."""

    def expire(self) -> list[thalweg._core.Completion]:
        """
        Lets time pass up to the next time-out, and ends the calls whose it is.
        """

    def time_out(self) -> int | None:
        """The tick of the next time-out."""

    def give(self, rank: int, data: bytes) -> None:
        """
        A packet for the engine's stream from a kernel, padded to words of 64 bytes.
        """

    def take(self, rank: int) -> list[tuple[int, bytes, int]]:
        """
        Packets that have left for a kernel since the last call: number of the stream, data, the tick in which the last word is there.
        """

    @property
    def failed(self, /) -> list[tuple[str, int, str]]:
        """
        Calls of kernels with another return code than 0: whose, the code, and why.
        """

    @property
    def unlit(self) -> list[str]:
        """
        Lines that say to which ranks calls have sent something without a light path to them.
        """

    def missing_light(self, one: int, other: int) -> str:
        """
        Says why no light path joins the boards of two ranks; empty if one does.
        """

    def clock_hz(self, rank: int) -> float:
        """Of a board's engine."""

    def kernel_stream(self, rank: int, what: str, number: int, depth: int, name: str) -> int:
        """
        A stream of a rank's kernels, by its number for start_kernel(): `commands`, `status`, of a pair; `to engine`; `from engine`, of a number; `between` kernels.
        """

    def start_kernel(self, *, handle: int, rank: int, library: str, kernel: str, arguments: list[tuple[Any, ...]], serves: bool, limit: int | None, patience: float) -> None:
        """
        Starts a kernel in the next cycle; its end completes the handle.

        Raises RuntimeError where the library has none of that name.
        """

    def disconnect(self) -> None:
        """
        Closes the connections of all boards. With TCP, time has to pass until the other ends have acknowledged it.
        """

    @property
    def disconnecting(self) -> int:
        """
        The number of connections whose closing the other end has not acknowledged yet.
        """

    def close(self) -> None:
        """Ends the capture."""

    def link_use(self) -> list:
        """
        node and port that send, ticks of a window, words of 64 bytes of each window
        """

def programs() -> dict[str, list[tuple[str, int | None]]]:
    """
    What the sequencer does for each operation: texts of instructions, and of a jump the number of its target.
    """

class Misuse(Exception):
    pass

def ip_address(node: int) -> int:
    """Of a board, as a number."""

def ethernet_address(node: int) -> int:
    """Of a board, as a number."""
