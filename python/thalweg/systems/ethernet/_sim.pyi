"""Ethernet: NICs, switches and links."""

import enum

import thalweg._core
import thalweg.errors


def wire_bytes(payload: int) -> int:
    """
    Returns the bytes that a frame occupies on its line, including preamble and gap.
    """

GAP: int = 12

LEAST_PAYLOAD: int = 24

MOST_PAYLOAD: int = 9198

class Gaps(enum.Enum):
    """Intervals between the due times of a flow's frames."""

    even = 0

    exponential = 1

class FlowResult:
    """Result of a flow; times are in units of `units_per_us`."""

    @property
    def received(self) -> int:
        """frames"""

    @property
    def repeated(self) -> int:
        """duplicates, and frames received after a later one"""

    @property
    def wrong(self) -> int:
        """frames whose data differ from those sent"""

    @property
    def last_end(self) -> int: ...

    @property
    def delay_sum(self) -> int:
        """sum of delays, from a frame's due time to its end at the receiver"""

    @property
    def delay_most(self) -> int: ...

class Network:
    def __init__(self, description: dict, capture: str = '') -> None:
        """
        `capture`: pcapng file to write.

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

    @property
    def nodes(self) -> int: ...

    def is_nic(self, node: int) -> bool: ...

    def submit(self, *, handle: int, source: int, destination: int, payload: int, frames: int, load: float = 1.0, gaps: Gaps = Gaps.even, seed: int = 1) -> None:
        """
        Starts a flow of frames with `payload` bytes, which offers a fraction `load` of the line rate.

        Raises ValueError.
        """

    def advance(self, until: int) -> list[thalweg._core.Completion]:
        """
        Runs until a tick or the end of the first tick in which a flow ended; NEVER: until idle.
        """

    def result(self, handle: int) -> FlowResult: ...

    def units_per_us(self, node: int) -> float: ...

    def close(self) -> None:
        """Closes the capture file."""

    def dropped(self) -> list:
        """
        Returns, per node and port with frames dropped for lack of buffer space: ticks per window, frames in each window.
        """

    def link_use(self) -> list:
        """
        Returns, per link direction: sending node and port, ticks per window, 64-byte words in each window.
        """
