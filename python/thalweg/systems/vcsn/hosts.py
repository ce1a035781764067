# SPDX-License-Identifier: Apache-2.0
"""Programs on servers, and kernels on FPGAs, in simulated time.

A program is a generator. Each step that it yields takes simulated time, or waits for a DMA engine, or waits for all other programs at a barrier. Between
two steps the program writes registers of FPGAs. A kernel is user logic at the crossbar of an FPGA. It yields sends and receives, and a receive
returns the words that have arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from thalweg.systems.vcsn import _sim

if TYPE_CHECKING:
    from thalweg.systems.vcsn.cluster import Server
    from thalweg.systems.vcsn.network import Network


@dataclass(frozen=True)
class Work:
    """The processor works."""

    us: float


@dataclass(frozen=True)
class Interrupt:
    """Until a write to the memory of an FPGA has completed, and its interrupt is there."""

    handle: int


@dataclass(frozen=True)
class Barrier:
    """Until all programs are here, and MPI_Barrier has ended."""


Step = Work | Interrupt | Barrier
Program = Generator[Step, None, None]


@dataclass(frozen=True)
class Send:
    """Bytes to the crossbar, in words of 64, one a cycle; until the last one was taken. `ends`: they end a packet; otherwise they are whole
    words."""

    data: bytes
    ends: bool = True
    channel: int = 0


@dataclass(frozen=True)
class Receive:
    """So many words of the crossbar, or those to the end of a packet; until the last one is there. Gives `Words`."""

    words: int


@dataclass(frozen=True)
class Exchange:
    """Both at once, as a pipeline does, until both have ended. Gives `Words`."""

    send: Send
    receive: Receive


@dataclass(frozen=True)
class Pause:
    """So many cycles of the shell's clock."""

    cycles: int


class Words(NamedTuple):
    """What a kernel has received."""

    data: bytes  #: of whole words
    ends: bool  #: the last one ends a packet
    channel: int


Action = Send | Receive | Exchange | Pause


@dataclass(frozen=True, eq=False)
class Kernel:
    """User logic of a node's stream `number`. What it does between two steps takes no time."""

    node: int
    program: Generator[Action, Words | None, None]
    number: int = 0
    serves: bool = False  #: it is not waited for


def barrier_us(server: Server, servers: int, since_us: float | None = None) -> float:
    """Of MPI_Barrier on so many servers: Equation 6 of the paper; one alone has nobody to wait for. `since_us`: the work since the last one, for what
    it adds on average."""
    return _sim.barrier_us(server.model_dump(), servers, since_us)


def run(
    network: Network,
    servers: Mapping[int, Server] | None = None,
    program: Callable[[int], Iterator[Step]] | None = None,
    late: bool = False,
    kernels: Sequence[Kernel] = (),
) -> float:
    """Runs a program on each server and kernels on FPGAs, from now on; the time in us at which the last one ends. `late`: barriers take what they
    take on average after work. Raises FabricStopped where some wait for ever, and InputError and ValueError of a step that cannot be."""
    tables = (servers or {}).items() if program else ()
    programs = [(server, table.model_dump(), program(server)) for server, table in tables] if program else []
    return network.run_programs(programs, late, [(one.node, one.number, one.program, one.serves) for one in kernels])
