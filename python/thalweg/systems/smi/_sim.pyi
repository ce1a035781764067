"""Clusters of SMI, and the kernels that run on them."""

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
        With `switches` the description has a clock of theirs, and ports of `collectives` are served by them.
        """

    @property
    def ranks(self) -> int: ...

    @property
    def hertz(self) -> float: ...

    @property
    def warnings(self) -> list[str]: ...

    @property
    def elements(self) -> int:
        """that kernels have given and taken"""

    def load(self, tables: Sequence[tuple[Sequence[Sequence[int]], Sequence[Sequence[int]]]]) -> None: ...

    def buffer(self, rank: int, bank: int, name: str, bytes: int) -> int: ...

    def view(self, number: int) -> NDArray[numpy.uint8]: ...

    def start(self, rank: int, library: str, kernel: str, arguments: list, serves: bool) -> None: ...

    def run(self) -> None: ...

    def limit(self, cycle: int) -> None:
        """The last cycle in which a kernel that does not serve may end"""

    def watch(self, patience: int) -> None:
        """
        In a process that was forked for the run: a fault of a kernel ends it, and so do so many seconds of processor time in which no kernel has used a channel or memory; 0: never
        """

    def fault(self) -> tuple:
        """
        What ended such a process, empty where nothing did, and whether it was its patience
        """

    def started(self) -> list:
        """
        rank, kernel, whether it serves, whether it has ended, cycle of its end
        """

    def record(self) -> None:
        """Kernels that are started from then on record their stalls"""

    def stalls(self) -> list:
        """
        Of each kernel: what it stalled for, and begin, end and stalled ticks of spans
        """

    def link_use(self) -> list:
        """node and port that send, ticks of a window, words of each window"""

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
