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

    def due(self) -> float | None:
        """The earliest wall time at which virtual time may move; None if it needs a message."""
        if self._stands_since is None:
            return 0.0
        time_out = self._engine.time_out()
        if time_out is None:
            return None
        ahead = (time_out - self._stands_at) / self._engine.ticks_per_second
        return self._stands_since + max(ahead, self._patience)

    def move(self) -> None:
        """Makes one step, or lets the next time-out happen if time stands before it."""
        time_out = self._engine.time_out()
        if self._stands_since is not None:
            self._stands_since = None
            if time_out is not None:
                self._engine.advance(max(time_out, self._engine.now) + 1)
            return
        until = self._engine.now + self._step
        if time_out is not None and time_out <= until:
            until = time_out
        begin = self._clock()
        ended = until > self._engine.now and self._engine.advance(until)
        took = self._clock() - begin
        if took < _SHORT_S:
            self._step = min(2 * self._step, self._engine.ticks_per_second)
        elif took > _LONG_S:
            self._step = max(1, self._step // 2)
        if not ended and (until == time_out or self._engine.quiet()):
            self._stands_since, self._stands_at = self._clock(), self._engine.now
