# SPDX-License-Identifier: Apache-2.0
"""Programs on servers, in simulated time. A program is a generator: between two of its steps it writes registers of FPGAs, and each step that it
yields takes its time, or waits for a DMA engine or for the programs of all servers."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thalweg._core import NEVER
from thalweg.errors import Blocked, FabricStopped

if TYPE_CHECKING:
    from thalweg.systems.vcsn._sim import Network
    from thalweg.systems.vcsn.cluster import Server


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


def barrier_us(server: Server, servers: int, since_us: float | None = None) -> float:
    """Of MPI_Barrier on so many servers: Equation 6 of the paper; one alone has nobody to wait for. `since_us`: the work since the last one, for what
    it adds on average."""
    if servers == 1:
        return 0.0
    late = 0.0 if since_us is None else server.late_us if since_us < server.long_us else server.very_late_us
    return server.barrier_us + server.barrier_round_us * math.ceil(math.log2(servers)) + late


def run(
    network: Network, servers: Mapping[int, Server], program: Callable[[int], Program], late: bool = False
) -> float:
    """Runs a program on each server, from now on; the time in us at which the last one ends. `late`: barriers take what they take on average
    after work. Raises FabricStopped where some wait for ever."""
    return _Run(network, servers, program, late).ends_us()


class _Run:
    def __init__(
        self, network: Network, servers: Mapping[int, Server], program: Callable[[int], Program], late: bool
    ) -> None:
        self.network = network
        self.servers = servers
        self.late = late
        self.per_us = network.ticks_per_second / 1e6
        self.programs = {server: program(server) for server in servers}
        self.due = [(network.now, server) for server in servers]
        heapq.heapify(self.due)
        self.completed: dict[int, int] = {}
        self.waiting: dict[int, int] = {}  #: servers by the handles that they wait for
        self.arrived: dict[int, int] = {}  #: when each came to the barrier
        self.last_barrier = network.now
        self.begin = self.end = network.now

    def ends_us(self) -> float:
        while self.programs:
            until = self.due[0][0] if self.due else NEVER
            if completions := self.network.advance(until):
                for completion in completions:
                    self._complete(completion.handle, completion.at)
            elif self.due and not self.network.failure:
                at, server = heapq.heappop(self.due)
                self._step(server, at)
            else:
                raise self._stopped()
        return (self.end - self.begin) / self.per_us

    def _complete(self, handle: int, at: int) -> None:
        self.completed[handle] = at
        if (server := self.waiting.pop(handle, None)) is not None:
            self._later(server, at, self.servers[server].interrupt_us)

    def _later(self, server: int, at: int, us: float) -> None:
        heapq.heappush(self.due, (max(self.network.now, at + round(us * self.per_us)), server))

    def _step(self, server: int, at: int) -> None:
        try:
            step = next(self.programs[server])
        except StopIteration:
            del self.programs[server]
            self.end = max(self.end, at)
            self._release()
            return
        if isinstance(step, Work):
            self._later(server, at, step.us)
        elif isinstance(step, Interrupt):
            if step.handle in self.completed:
                self._later(server, max(at, self.completed[step.handle]), self.servers[server].interrupt_us)
            else:
                self.waiting[step.handle] = server
        else:
            self.arrived[server] = at
            self._release()

    def _release(self) -> None:
        """Ends a barrier that all programs have come to that have not ended."""
        if not self.arrived or self.arrived.keys() != self.programs.keys():
            return
        last = max(self.arrived.values())
        for server in self.arrived:
            since = (last - self.last_barrier) / self.per_us if self.late else None
            self._later(server, last, barrier_us(self.servers[server], len(self.arrived), since))
        self.arrived = {}
        self.last_barrier = max(at for at, _ in self.due)

    def _stopped(self) -> FabricStopped:
        waits = list(self.network.blocked)
        since = self.network.now / self.per_us
        waits += [
            Blocked(f"server {server}", f"for the interrupt of transfer {handle}", "", "", since, "")
            for handle, server in sorted(self.waiting.items())
        ]
        waits += [
            Blocked(f"server {server}", "at a barrier", "", "", at / self.per_us, "")
            for server, at in self.arrived.items()
        ]
        lines = "; ".join(f"{one.who} waits {one.what}" + (f", for {one.on}" if one.on else "") for one in waits)
        lost = "; ".join(f"node {node} dropped {count} {what}" for node, what, count in self.network.lost)
        why = self.network.failure or "nothing moves any more"
        return FabricStopped(f"{why}: {lines}" + (f"; {lost}" if lost else ""), waits)
