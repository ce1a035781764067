# SPDX-License-Identifier: Apache-2.0
"""Moves the virtual time of an engine whose clients live in wall time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from thalweg.systems.accl.engine import Engine

Clock = Callable[[], float]

_SHORT_S, _LONG_S = 0.005, 0.02  # a step of virtual time should take between them, so that messages are answered soon


class Pace:
    """Virtual time moves while no client is busy, in steps, until nothing can happen without a message, apart from time-outs.

    A client is busy unless it waits for a call's end, or the last answer to it is older than the grace; the server knows which are. Virtual
    time stands before a time-out until as much wall time has passed without a message as virtual time lies between, and at least `patience`
    seconds, so that a fast simulation does not time a slow client out. Polls are no messages here: a client that waits repeats them.
    """

    def __init__(self, engine: Engine, patience: float, clock: Clock = time.monotonic) -> None:
        self._engine, self._patience, self._clock = engine, patience, clock
        self._step = max(1, engine.ticks_per_second // 100_000)
        self._stands_since: float | None = None  # wall time
        self._stands_at = 0

    def disturb(self) -> None:
        """A message has come, and something may happen now."""
        self._stands_since = None

    @property
    def stands_since(self) -> float:
        """The wall time since which nothing has happened; infinite if virtual time may move."""
        return math.inf if self._stands_since is None else self._stands_since

    def due(self, limit: int | None = None) -> float | None:
        """The earliest wall time at which virtual time may move; None if it needs a message. `limit`: a tick until which a client waits."""
        if self._stands_since is None:
            return 0.0
        if (stop := self._stop(limit)) is None:
            return None
        ahead = (stop - self._stands_at) / self._engine.ticks_per_second
        return self._stands_since + max(ahead, self._patience)

    def move(self, limit: int | None = None, at_once: bool = False) -> None:
        """Makes one step, or lets what time stands before happen: the next time-out, or the end of a wait. `at_once`: no message can come before it,
        as all clients wait."""
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
        took = self._clock() - begin
        if took < _SHORT_S:
            self._step = min(2 * self._step, self._engine.ticks_per_second)
        elif took > _LONG_S:
            self._step = max(1, self._step // 2)
        if ended or (until != stop and not self._engine.quiet()):
            return
        if at_once and stop is not None:
            self._reach(stop)
        else:
            self._stands_since, self._stands_at = self._clock(), self._engine.now

    def _stop(self, limit: int | None) -> int | None:
        """The tick before which virtual time stands."""
        return min((tick for tick in (self._engine.time_out(), limit) if tick is not None), default=None)

    def _reach(self, stop: int | None) -> None:
        if stop is not None and stop == self._engine.time_out():
            self._engine.expire()
        elif stop is not None:
            self._engine.pass_to(stop)
