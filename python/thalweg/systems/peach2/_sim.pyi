"""Clusters of PEACH2 hubs."""

from collections.abc import Sequence

import thalweg.errors


class WritesLost(Exception):
    pass

class StaleRead(Exception):
    pass

class Difference(Exception):
    pass

class Times:
    @property
    def begin(self) -> int:
        """cycle of the packet clock; negative before the operation begins"""

    @property
    def end(self) -> int: ...

    @property
    def error(self) -> str:
        """reason for a failure; empty if there was none"""

    @property
    def seen(self) -> list[bytes]:
        """what a kernel has read, by range"""

class Reduction:
    def __init__(self, context: int, op: int, type: int, record_bytes: int, tree: bool) -> None: ...

class Group:
    pass

class Hubs:
    def __init__(self, description: dict, windows: Sequence[Sequence[tuple[int, int, int, int]]], library: str = '') -> None: ...

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

    @property
    def cycles_per_second(self) -> float: ...

    @property
    def ram_copies(self) -> tuple[int, int]:
        """
        maximum numbers of copies of a chain in the working RAM, and of descriptors of a context's chain
        """

    def write(self, arg0: int, arg1: int, arg2: int, arg3: bytes, /) -> None: ...

    def read(self, arg0: int, arg1: int, arg2: int, arg3: int, /) -> bytes: ...

    def store(self, arg0: int, arg1: int, arg2: bytes, /) -> Times: ...

    def wait_for(self, arg0: int, arg1: int, arg2: int, /) -> Times: ...

    def work(self, node: int, ns: float) -> Times: ...

    def copy(self, arg0: int, arg1: int, arg2: int, arg3: int, arg4: int, arg5: int, /) -> Times: ...

    def kernel(self, arg0: int, arg1: float, arg2: Sequence[tuple[int, int]], /) -> Times: ...

    def flush(self, arg0: int, arg1: int, /) -> Times: ...

    def chain(self, arg0: int, arg1: Sequence[tuple[int, int, int]], arg2: bool, arg3: bool, /) -> Times: ...

    def get(self, arg0: int, arg1: int, arg2: int, arg3: int, /) -> Times: ...

    def reduce(self, arg0: int, arg1: int, arg2: Sequence[tuple[int, int]], arg3: Reduction, arg4: bool, /) -> Times: ...

    def group(self, arg0: Sequence[int], arg1: int, arg2: Reduction, arg3: Sequence[int], /) -> Group: ...

    def reduce_in(self, arg0: Group, arg1: int, arg2: Sequence[tuple[int, int]], /) -> Times: ...

    def load(self, arg: Sequence[Sequence[tuple[int, int, int, int]]], /) -> None: ...

    def run(self) -> None: ...

    def abort(self, node: int, channel: int) -> Times: ...

    def reset(self, arg: int, /) -> Times: ...

    def timeout(self, node: int, us: float) -> Times: ...

    def restart_host(self, arg: int, /) -> Times: ...

    def owners(self, node: int, nodes: int) -> Times: ...

    def translate(self, arg0: int, arg1: int, arg2: bool, arg3: int, arg4: int, arg5: int, /) -> Times: ...

    def counts(self, arg: int, /) -> dict: ...

    def us(self, arg: Times, /) -> float: ...

    @property
    def start(self) -> int:
        """tick of time 0"""

    def link_use(self) -> list:
        """
        Returns, per link direction: sending node and port, ticks per window, words in each window.
        """

def memory_address(node: int, memory: int, at: int = 0) -> int: ...

def hub_address(node: int, at: int = 0) -> int: ...

def register_address(node: int, number: int) -> int: ...

HUB_MEMORY: int = 3

PROGRAM_BYTES: int = 8587837440

MOST_CONTEXTS: int = 16

MOST_SUMS: int = 64

MOST_RECORD: int = 8

TIMEOUT_UNIT: int = 1024

MOST_TIMEOUT: int = 65535
