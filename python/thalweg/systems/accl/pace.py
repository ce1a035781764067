# SPDX-License-Identifier: Apache-2.0
"""Advances the virtual time of an engine whose clients run in wall time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from thalweg.systems.accl.engine import Engine

Clock = Callable[[], float]

_SHORT_S, _LONG_S = 0.005, 0.02  # target range of a step's wall time, so that messages are answered soon


class Pace:
    """Virtual time advances in steps while no client is busy, until no event is left without a message, except for
    time-outs.

    A client is busy unless it waits for a call's end or the last answer to it is older than the grace; the server
    decides which are. Virtual time stops before a time-out until the same amount of wall time, and at least `patience`
    seconds, have passed without a message, so that a fast simulation does not time a slow client out. Polls do not
    count as messages, as a waiting client repeats them.
    """

    def __init__(self, engine: Engine, patience: float, clock: Clock = time.monotonic) -> None:
        self._engine, self._patience, self._clock = engine, patience, clock
        self._step = max(1, engine.ticks_per_second // 100_000)
        self._stands_since: float | None = None  # wall time since which virtual time is stopped
        self._stands_at = 0

    def disturb(self) -> None:
        """A message has arrived, so a new event is possible."""
        self._stands_since = None

    @property
    def stands_since(self) -> float:
        """Wall time since which virtual time is stopped; infinite if it may advance."""
        return math.inf if self._stands_since is None else self._stands_since

    def due(self, limit: int | None = None) -> float | None:
        """Earliest wall time at which virtual time may advance; None if it needs a message. `limit` is a tick until which
        a client waits."""
        if self._stands_since is None:
            return 0.0
        if (stop := self._stop(limit)) is None:
            return None
        ahead = (stop - self._stands_at) / self._engine.ticks_per_second
        return self._stands_since + max(ahead, self._patience)

    def move(self, limit: int | None = None, at_once: bool = False) -> None:
        """Makes one step, or executes the event before which virtual time is stopped: a time-out, or the end of a wait.

        With `at_once`, all clients wait, so no message can come before it.
        """
        stop = self._stop(limit)
        if self._stands_since is not None:
            self._stands_since = None
            self._reach(stop)
            return
        until = self._engine.now + self._step
        if stop is not None and stop <= until:
            until = stop
        begin = self._clock()
        ended = until > self._engine.now and self._engine.advance(until)
        elapsed = self._clock() - begin
        if elapsed < _SHORT_S:
            self._step = min(2 * self._step, self._engine.ticks_per_second)
        elif elapsed > _LONG_S:
            self._step = max(1, self._step // 2)
        if ended or (until != stop and not self._engine.quiet()):
            return
        if at_once and stop is not None:
            self._reach(stop)
        else:
            self._stands_since, self._stands_at = self._clock(), self._engine.now

    def _stop(self, limit: int | None) -> int | None:
        """Tick before which virtual time stops."""
        return min((tick for tick in (self._engine.time_out(), limit) if tick is not None), default=None)

    def _reach(self, stop: int | None) -> None:
        if stop is not None and stop == self._engine.time_out():
            self._engine.expire()
        elif stop is not None:
            self._engine.pass_to(stop)
