"""SMI clusters and the kernels that run on them."""

from collections.abc import Sequence

import numpy
from numpy.typing import NDArray

import thalweg.errors
import thalweg.systems.mpi_fpga._sim


class Misuse(Exception):
    pass

class Difference(Exception):
    pass

class Run:
    def __init__(self, description: dict, endpoints: Sequence[Sequence[tuple[int, int, int, int]]], ranks: int, libraries: Sequence[str], switches: thalweg.systems.mpi_fpga._sim.FabricConfig | None = None, collectives: Sequence[Sequence[tuple[int, int, int, int]]] = []) -> None:
        """
        `switches`: the switches that execute the `collectives` ports; their clock must be in the description.
        """

    @property
    def ranks(self) -> int: ...

    @property
    def hertz(self) -> float: ...

    @property
    def warnings(self) -> list[str]: ...

    @property
    def elements(self) -> int:
        """Number of elements that kernels have pushed and popped."""

    def load(self, tables: Sequence[tuple[Sequence[Sequence[int]], Sequence[Sequence[int]]]]) -> None: ...

    def buffer(self, rank: int, bank: int, name: str, bytes: int) -> int: ...

    def view(self, number: int) -> NDArray[numpy.uint8]: ...

    def start(self, rank: int, library: str, kernel: str, arguments: list, serves: bool) -> None: ...

    def run(self) -> None: ...

    def limit(self, cycle: int) -> None:
        """Sets the last cycle in which a kernel that does not serve may end."""

    def watch(self, patience: int) -> None:
        """
        Call in the process that was forked for the run. A fault of a kernel ends it, as do `patience` seconds of processor time in which no kernel uses a channel or memory; 0: no limit.
        """

    def fault(self) -> tuple:
        """
        Returns why that process ended (empty without a fault), and whether its patience expired.
        """

    def started(self) -> list:
        """
        Returns, per started kernel: rank, name, whether it serves, whether it has ended, cycle of its end.
        """

    def record(self) -> None:
        """Makes kernels that are started later record their stalls."""

    def stalls(self) -> list:
        """
        Returns, per kernel, the causes of its stalls, each with spans (begin, end, stalled ticks).
        """

    def link_use(self) -> list:
        """
        Returns, per link direction: sending node and port, ticks per window, words in each window.
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
