# SPDX-License-Identifier: Apache-2.0
"""Programs on servers and kernels on FPGAs, in simulated time.

A program is a generator. Each step that it yields takes simulated time, or waits for a DMA engine or a barrier. Between
steps the program writes registers of FPGAs. A kernel is user logic at the crossbar of an FPGA: it yields sends and
receives, and gets the received words as the value of the yield.

>>> from thalweg.systems.vcsn.cluster import Cluster
>>> cluster = Cluster.load("vcsn-d5005")
>>> def program(server):
...     yield Work(5.0)
>>> run(cluster.network(), dict(cluster.server_tables), program)
5.0
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
    """Step: the processor works.

    Parameters
    ----------
    us : float
        Time in us.
    """

    us: float


@dataclass(frozen=True)
class Interrupt:
    """Step: waits until a write to the memory of an FPGA has completed and its interrupt has been handled.

    Parameters
    ----------
    handle : int
        Handle given to `Network.write`.
    """

    handle: int


@dataclass(frozen=True)
class Barrier:
    """Step: waits until all programs have reached the barrier, plus the time of MPI_Barrier."""


Step = Work | Interrupt | Barrier
Program = Generator[Step, None, None]


@dataclass(frozen=True)
class Send:
    """Kernel step: sends bytes to the crossbar in words of 64, one per cycle, until the last one is accepted.

    Parameters
    ----------
    data : bytes
        A multiple of 64 bytes, unless they end a packet.
    ends : bool, optional
        The last word ends a packet.
    channel : int, optional
        Channel field of the words.
    """

    data: bytes
    ends: bool = True
    channel: int = 0


@dataclass(frozen=True)
class Receive:
    """Kernel step: receives words. Its value is `Words`.

    Parameters
    ----------
    words : int
        Maximum number of words of 64 bytes; the end of a packet ends the step earlier.
    """

    words: int


@dataclass(frozen=True)
class Exchange:
    """Kernel step: sends and receives concurrently, as a pipeline does, until both are complete. Its value is `Words`.

    Parameters
    ----------
    send : Send
        Words to send.
    receive : Receive
        Words to receive.
    """

    send: Send
    receive: Receive


@dataclass(frozen=True)
class Pause:
    """Kernel step: waits.

    Parameters
    ----------
    cycles : int
        Cycles of the shell clock.
    """

    cycles: int


class Words(NamedTuple):
    """Words received by a kernel.

    Attributes
    ----------
    data : bytes
        Whole words of 64 bytes.
    ends : bool
        True if the last word ends a packet.
    channel : int
        Channel field of the last word.
    """

    data: bytes  #: whole words
    ends: bool  #: the last word ends a packet
    channel: int


Action = Send | Receive | Exchange | Pause


@dataclass(frozen=True, eq=False)
class Kernel:
    """User logic at a kernel stream of a node. Computation between steps takes no simulated time.

    Parameters
    ----------
    node : int
        Node of the FPGA.
    program : generator
        Yields `Send`, `Receive`, `Exchange` and `Pause`.
    number : int, optional
        Number of the kernel stream.
    serves : bool, optional
        The run does not wait for the end of this kernel.
    """

    node: int
    program: Generator[Action, Words | None, None]
    number: int = 0
    serves: bool = False  #: the run does not wait for its end


def barrier_us(server: Server, servers: int, since_us: float | None = None) -> float:
    """Returns the time of MPI_Barrier in us (Equation 6 of the paper); 0 for one server.

    `since_us` is the work since the last barrier, which adds an average delay.
    """
    return _sim.barrier_us(server.model_dump(), servers, since_us)


def run(
    network: Network,
    servers: Mapping[int, Server] | None = None,
    program: Callable[[int], Iterator[Step]] | None = None,
    late: bool = False,
    kernels: Sequence[Kernel] = (),
) -> float:
    """Runs a program on each server and kernels on FPGAs.

    Parameters
    ----------
    network : Network
        The simulator; its time advances.
    servers : mapping of int to Server, optional
        Servers that run the program, by node.
    program : callable, optional
        Returns the program (a generator of steps) of a server.
    late : bool
        Whether barriers include their average delay after work.
    kernels : sequence of Kernel
        User logic.

    Returns
    -------
    float
        Time in us until the last one has ended.

    Raises
    ------
    FabricStopped
        A program or kernel waits forever.
    InputError, ValueError
        A step is invalid.
    """
    tables = (servers or {}).items() if program else ()
    programs = [(server, table.model_dump(), program(server)) for server, table in tables] if program else []
    return network.run_programs(programs, late, [(one.node, one.number, one.program, one.serves) for one in kernels])
