# SPDX-License-Identifier: Apache-2.0
"""Programs on servers, and kernels on FPGAs, in simulated time.

A program is a generator. Each step that it yields takes simulated time, or waits for a DMA engine, or waits for all other programs at a barrier. Between
two steps the program writes registers of FPGAs. A kernel is user logic at the crossbar of an FPGA. It yields sends and receives, and a receive
returns the words that have arrived.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from thalweg._core import NEVER
from thalweg.arguments import shown
from thalweg.errors import Blocked, FabricStopped, InputError

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
    if servers == 1:
        return 0.0
    late = 0.0 if since_us is None else server.late_us if since_us < server.long_us else server.very_late_us
    return server.barrier_us + server.barrier_round_us * math.ceil(math.log2(servers)) + late


def run(
    network: Network,
    servers: Mapping[int, Server] | None = None,
    program: Callable[[int], Program] | None = None,
    late: bool = False,
    kernels: Sequence[Kernel] = (),
) -> float:
    """Runs a program on each server and kernels on FPGAs, from now on; the time in us at which the last one ends. `late`: barriers take what they
    take on average after work. Raises FabricStopped where some wait for ever, and InputError and ValueError of a step that cannot be."""
    taken = Counter((kernel.node, kernel.number) for kernel in kernels)
    for (node, number), count in taken.items():
        if count > 1:
            raise InputError(f"kernel {number} of node {node} has {count} programs")
    programs = {server: program(server) for server in servers or ()} if program else {}
    return _Run(network, servers or {}, programs, late, kernels).ends_us()


_Who = int | Kernel
"""A server, or a kernel."""

KERNELS = 1 << 48  #: handles of kernels' steps are at and above it


class _Run:
    def __init__(
        self,
        network: Network,
        servers: Mapping[int, Server],
        programs: Mapping[int, Program],
        late: bool,
        kernels: Sequence[Kernel],
    ) -> None:
        self.network = network
        self.servers = servers
        self.late = late
        self.per_us = network.ticks_per_second / 1e6
        self.programs = dict(programs)
        self.kernels = set(kernels)
        everybody: list[_Who] = [*sorted(programs), *kernels]
        self.order = {who: number for number, who in enumerate(everybody)}
        self.due = [(network.now, order, who) for who, order in self.order.items()]
        heapq.heapify(self.due)
        self.completed: dict[int, int] = {}
        self.waiting: dict[int, _Who] = {}  #: by the handles that they wait for
        self.words: dict[Kernel, Words] = {}  #: received, until the kernel resumes
        self.steps = KERNELS
        self.receives: set[int] = set()  #: handles
        self.open: Counter[Kernel] = Counter()  #: operations that a kernel waits for
        self.arrived: dict[int, int] = {}  #: when each server came to the barrier
        self.last_barrier = network.now
        self.begin = self.end = network.now

    def ends_us(self) -> float:
        while self.programs or any(not kernel.serves for kernel in self.kernels):
            until = self.due[0][0] if self.due else NEVER
            if completions := self.network.advance(until):
                for completion in completions:
                    self._complete(completion.handle, completion.at)
            elif self.due and not self.network.failure:
                at, _, who = heapq.heappop(self.due)
                if isinstance(who, Kernel):
                    self._act(who, at)
                else:
                    self._step(who, at)
            else:
                raise self._stopped()
        return (self.end - self.begin) / self.per_us

    def _complete(self, handle: int, at: int) -> None:
        who = self.waiting.pop(handle, None)
        if isinstance(who, Kernel):
            if handle in self.receives:
                self.receives.discard(handle)
                self.words[who] = Words(*self.network.taken(handle))
            self.open[who] -= 1
            if not self.open[who]:
                self._later(who, at, 0)
            return
        self.completed[handle] = at
        if who is not None:
            self._later(who, at, self.servers[who].interrupt_us * self.per_us)

    def _later(self, who: _Who, at: int, ticks: float) -> None:
        heapq.heappush(self.due, (max(self.network.now, at + round(ticks)), self.order[who], who))

    def _step(self, server: int, at: int) -> None:
        try:
            step = next(self.programs[server])
        except StopIteration:
            del self.programs[server]
            self.end = max(self.end, at)
            self._release()
            return
        if isinstance(step, Work):
            self._later(server, at, step.us * self.per_us)
        elif isinstance(step, Interrupt):
            if step.handle in self.completed:
                us = self.servers[server].interrupt_us
                self._later(server, max(at, self.completed[step.handle]), us * self.per_us)
            else:
                self.waiting[step.handle] = server
        elif isinstance(step, Barrier):
            self.arrived[server] = at
            self._release()
        else:
            raise InputError(
                f"a program yields Work, Interrupt or Barrier; that of server {server} yields {shown(step)}"
            )

    def _act(self, kernel: Kernel, at: int) -> None:
        try:
            step = kernel.program.send(self.words.pop(kernel, None))
        except StopIteration:
            self.kernels.discard(kernel)
            self.end = max(self.end, at)
            return
        who = f"kernel {kernel.number} of node {kernel.node}"
        if isinstance(step, Pause):
            if step.cycles < 1:
                raise InputError(f"{who} pauses for {step.cycles} cycles; it is one at least")
            self._later(kernel, at, step.cycles * self.network.shell_ticks)
            return
        parts = (step.send, step.receive) if isinstance(step, Exchange) else (step,)
        for part in parts:
            self.steps += 1
            if isinstance(part, Send):
                self.network.kernel_send(self.steps, kernel.node, kernel.number, part.data, part.ends, part.channel)
            elif isinstance(part, Receive):
                self.network.kernel_receive(self.steps, kernel.node, kernel.number, part.words)
                self.receives.add(self.steps)
            else:
                raise InputError(f"a kernel yields Send, Receive, Exchange or Pause; {who} yields {shown(step)}")
            self.waiting[self.steps] = kernel
        self.open[kernel] = len(parts)

    def _release(self) -> None:
        """Ends a barrier that all programs have come to that have not ended."""
        if not self.arrived or self.arrived.keys() != self.programs.keys():
            return
        last = max(self.arrived.values())
        for server in self.arrived:
            since = (last - self.last_barrier) / self.per_us if self.late else None
            self._later(server, last, barrier_us(self.servers[server], len(self.arrived), since) * self.per_us)
        self.arrived = {}
        self.last_barrier = max(at for at, _, who in self.due if not isinstance(who, Kernel))

    def _stopped(self) -> FabricStopped:
        waits = list(self.network.blocked)
        since = self.network.now / self.per_us
        waits += [
            Blocked(f"server {server}", f"for the interrupt of transfer {handle}", "", "", since, "")
            for handle, server in sorted(self.waiting.items(), key=lambda one: one[0])
            if not isinstance(server, Kernel)
        ]
        waits += [
            Blocked(f"server {server}", "at a barrier", "", "", at / self.per_us, "")
            for server, at in self.arrived.items()
        ]
        lines = "; ".join(f"{one.who} waits {one.what}" + (f", for {one.on}" if one.on else "") for one in waits)
        lost = "; ".join(f"node {node} dropped {count} {what}" for node, what, count in self.network.lost)
        why = self.network.failure or "nothing moves any more"
        return FabricStopped(why + (f": {lines}" if lines else "") + (f"; {lost}" if lost else ""), waits)
