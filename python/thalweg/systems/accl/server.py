# SPDX-License-Identifier: Apache-2.0
"""Serves the engines of a cluster to programs that use ACCL's driver or Thalweg's library."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.systems.accl import wire
from thalweg.systems.accl.drivers import Drivers
from thalweg.systems.accl.engine import Engine
from thalweg.systems.accl.hosts import Hosts
from thalweg.systems.accl.pace import Clock, Pace
from thalweg.systems.accl.rank import Rank
from thalweg.systems.accl.report import Lines, Report

if TYPE_CHECKING:
    from thalweg.systems.accl.attached_kernels import AttachedKernels

_WATCH_S = 0.05  # interval of checks whether to stop


@dataclass(frozen=True)
class Settings:
    """Settings of a server; times in seconds of wall time."""

    port: int = 5500
    loopback: bool = False  #: the output of a kernel stream returns to the engine
    grace: float = 0.002  #: silence after which virtual time does not wait for a client
    hold: float = 0.05  #: time that a poll waits for the end of a call
    patience: float = 1.0  #: minimum silence before a call's time-out
    limits: wire.Limits = wire.Limits()
    hosts: Path | None = None  #: socket of programs that use Thalweg's library
    exact: bool = False  #: there are no other programs, and virtual time waits for all ranks


class Server:
    """The clients of all ranks of an engine, on one thread. Raises InputError if a port is in use."""

    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        clock: Clock = time.monotonic,
        kernels: AttachedKernels | None = None,
    ) -> None:
        self._engine, self.settings, self.clock, self._kernels = engine, settings, clock, kernels
        self._ranks = [Rank(engine, rank, settings.limits) for rank in range(engine.ranks)]
        self._pace = Pace(engine, settings.patience, clock)
        self._hosts: Hosts | None = None
        self.drivers: Drivers | None = None
        if not settings.exact:
            self.drivers = Drivers(
                self._ranks,
                self._pace,
                clock,
                settings.limits,
                port=settings.port,
                loopback=settings.loopback,
                hold=settings.hold,
            )
        if settings.hosts:
            self._hosts = Hosts(
                engine,
                self._ranks,
                settings.hosts,
                settings.limits,
                clock,
                exact=settings.exact,
                start_kernel=kernels.start if kernels else None,
            )
            if self.drivers:
                self.drivers.watch(self._hosts.fileno())

    @property
    def report(self) -> Report:
        seconds = self._engine.now / self._engine.ticks_per_second
        return Report([rank.report for rank in self._ranks], virtual_s=seconds, deterministic=self.settings.exact)

    def serve(self, stopped: Callable[[], bool]) -> Report:
        """Answers until `stopped`. Waiting clients then get an answer that makes the driver raise an error. Raises
        CheckFailed if a kernel fails."""
        try:
            while not stopped():
                self._poll(self._pause())
                self._receive()
                if (moment := self._moment()) is not None and moment <= self.clock():
                    self._pace.move(self._limit, at_once=self.settings.exact)
                    self._collect()
                if self.drivers:
                    self.drivers.answer_polls()
                if self._hosts:
                    self._hosts.answer_waits()
        finally:
            if self.drivers:
                self.drivers.dismiss()
        return self.finish()

    def stuck(self, ranks: Collection[int]) -> bool:
        """True on deadlock: no event is left unless one of these ranks acts, which it has not for `patience`.

        Each rank has clients, and all of them wait for calls without a time-out. External kernels may act at any time.
        """
        if not self._engine.quiet() or self._pace.due(self._limit) is not None:
            return False
        waiting, busy = set[int](), set[int]()
        if self._hosts:
            waiting, busy = self._hosts.ranks - self._hosts.busy, self._hosts.busy
        if self.drivers:
            if self.drivers.with_kernels or self._pace.stands_since >= self.clock() - self.settings.patience:
                return False
            waiting, busy = waiting | self.drivers.waiting, busy | self.drivers.busy
        return bool(waiting) and waiting >= set(ranks) and not busy & set(ranks)

    @property
    def works_on(self) -> bool:
        """True if all programs have ended and calls that they have started are still in progress, which will end."""
        if not self._hosts or not self.settings.exact or self._hosts.busy or self._hosts.ranks:
            return False
        if self._engine.quiet() and self._pace.due() is None:
            return False
        return any(rank.calls.open_calls for rank in self._ranks)

    def ended(self, ranks: Collection[int]) -> None:
        """The processes of these ranks have ended."""
        if self._hosts:
            self._hosts.ended(ranks)

    def held_up_by(self, seconds: float) -> set[int]:
        """Ranks for which all others have been waiting for this time, as virtual time is stopped while they run."""
        if not self._hosts or not self.settings.exact or not self._hosts.waiting:
            return set()
        return self._hosts.busy if self.clock() - self._hosts.last > seconds else set()

    def close(self) -> None:
        if self._hosts:
            self._hosts.close()
        if self.drivers:
            self.drivers.close()

    @property
    def _limit(self) -> int | None:
        return self._hosts.limit if self._hosts else None

    def _poll(self, seconds: float) -> None:
        if self.drivers:
            self.drivers.poll(seconds)
        elif self._hosts:
            self._hosts.poll(seconds)

    def _pause(self) -> float:
        """Seconds until the next action without a message."""
        moments = [self.clock() + _WATCH_S]
        if self.drivers:
            moments.append(self.drivers.deadline)
        if (moment := self._moment()) is not None:
            moments.append(moment)
        return max(min(moments) - self.clock(), 0.0)

    def _moment(self) -> float | None:
        """Wall time from which virtual time may advance; None if it needs a message.

        It advances while a call is in progress or an event is left, and every client waits for a call's end or has been
        silent for the grace. So a client that has just been answered may send its next request before time advances,
        and one that computes delays nobody. If all clients are processes of this run with Thalweg's library, one that
        computes stops virtual time.
        """
        limit = self._limit
        if self._engine.quiet() and limit is None and not any(rank.calls.run for rank in self._ranks):
            return None
        if (due := self._pace.due(limit)) is None:
            return None
        if self._hosts and self.settings.exact:
            return None if self._hosts.busy else 0.0
        lasts = [clients.last for clients in (self.drivers, self._hosts) if clients]
        return max(due, max(lasts) + self.settings.grace)

    def _receive(self) -> None:
        if self.drivers:
            self.drivers.receive()
        if self._hosts and self._hosts.receive():
            self._pace.disturb()

    def _collect(self) -> None:
        """Takes the engine's results: data for kernels, and ends of calls."""
        for number, rank in enumerate(self._ranks):
            for stream, content in self._engine.take(number):
                if self.drivers:
                    self.drivers.publish(number, stream, content)
                elif self.settings.loopback:
                    self._engine.give(number, content)
                else:
                    rank.report.unheard[stream] += 1
            rank.calls.collect()
        if self._kernels:
            self._kernels.begin(self._ranks)

    def finish(self) -> Report:
        """Returns the report at the end."""
        while self._hosts and self._hosts.receive():  # requests sent before the programs ended
            pass
        for rank in self._ranks:
            rank.calls.finish()
        report = self.report
        report.lost, report.failed = self._engine.lost(), self._engine.failed()
        if any(rank.never_ended for rank in report.ranks):
            report.blocked = list(Lines.of(self._engine.blocked()))
        return report
