"""Ethernet: computers' ports, switches and links."""

import enum

import thalweg._core
import thalweg.errors


def wire_bytes(payload: int) -> int:
    """Bytes that a frame takes of its line, with preamble and gap."""

GAP: int = 12

LEAST_PAYLOAD: int = 24

MOST_PAYLOAD: int = 9198

class Gaps(enum.Enum):
    """Between the times at which frames of a flow are due."""

    even = 0

    exponential = 1

class FlowResult:
    """What became of a flow; times are in units of `units_per_us`."""

    @property
    def received(self) -> int:
        """frames"""

    @property
    def repeated(self) -> int:
        """that came again"""

    @property
    def wrong(self) -> int:
        """whose data were not those sent"""

    @property
    def last_end(self) -> int: ...

    @property
    def delay_sum(self) -> int:
        """from when a frame was due to its end at the receiver"""

    @property
    def delay_most(self) -> int: ...

class Network:
    def __init__(self, description: dict, capture: str = '') -> None:
        """
        `capture`: a pcapng file to write.

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

    @property
    def nodes(self) -> int: ...

    def is_nic(self, node: int) -> bool: ...

    def submit(self, *, handle: int, source: int, destination: int, payload: int, frames: int, load: float = 1.0, gaps: Gaps = Gaps.even, seed: int = 1) -> None:
        """
        Frames of `payload` bytes that offer a share `load` of the line from now on.

        Raises ValueError.
        """

    def advance(self, until: int) -> list[thalweg._core.Completion]:
        """
        Runs until a tick, or the end of the first tick in which a flow ended. NEVER: until nothing moves.
        """

    def result(self, handle: int) -> FlowResult: ...

    def units_per_us(self, node: int) -> float: ...

    def close(self) -> None:
        """Ends the capture."""

    def dropped(self) -> list:
        """
        node and port for which there was no room, ticks of a window, frames of each window
        """

    def link_use(self) -> list:
        """
        node and port that send, ticks of a window, words of 64 bytes of each window
        """
