# SPDX-License-Identifier: Apache-2.0
"""The calls that the clients of one rank have started, and their ends."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from thalweg.systems.accl.engine import Engine
from thalweg.systems.accl.names import WITHOUT_DATA, scenario
from thalweg.systems.accl.report import RankReport
from thalweg.systems.accl.wire import PORTS


@dataclass(frozen=True)
class Call:
    name: str
    owner: object  #: its client


class Calls:
    """The calls of one rank, in the order of each port: running calls, and ended calls that no client has polled yet."""

    def __init__(self, engine: Engine, rank: int, report: RankReport) -> None:
        self._engine, self._rank, self._report = engine, rank, report
        self._running: list[deque[Call]] = [deque() for _ in range(PORTS)]
        self._ended: list[deque[Call]] = [deque() for _ in range(PORTS)]

    def start(self, owner: object, port: int, words: list[int]) -> str | None:
        """Returns a line if the engine refuses it."""
        if line := self._engine.call(self._rank, port, words):
            return line
        call = Call(scenario(words[0]), owner)
        self._running[port].append(call)
        self._report.calls[call.name] += 1
        self._report.bytes += self._bytes(words)
        self.collect()
        return None

    def _bytes(self, words: list[int]) -> int:
        """Those of `count` elements, whose size is the first word of the arithmetic configuration; 0 without one."""
        operation, count, configuration = words[0], words[1], words[6]
        if operation in WITHOUT_DATA or not configuration:
            return 0
        return count * (self._engine.read(self._rank, configuration) or 0)

    @property
    def run(self) -> bool:
        """Whether a call has not ended."""
        return any(self._running)

    def collect(self) -> None:
        """Takes the calls that have ended from the engine, and drops those of disconnected clients. A call that a reset has removed counts as one
        that never ended."""
        for port, running in enumerate(self._running):
            while running and (end := self._engine.ended(self._rank, port)) is not None:
                call = running.popleft()
                code, why = end
                if code:
                    self._report.ended_wrong[call.name, code] += 1
                    self._report.why.setdefault((call.name, code), why)
                if call.owner is not None:
                    self._ended[port].append(call)
            removed = len(running) - self._engine.pending(self._rank, port) if running else 0
            for _ in range(removed):
                self._report.never_ended[running.popleft().name] += 1

    def take(self, port: int) -> bool:
        """Takes the end of the oldest ended call of a port; False if none has ended."""
        if not self._ended[port]:
            return False
        self._ended[port].popleft()
        return True

    def leave(self, owner: object) -> list[str]:
        """A client has left: the scenarios of its calls whose ends it has not taken."""
        left = [call.name for calls in (*self._ended, *self._running) for call in calls if call.owner is owner]
        for port in range(PORTS):
            self._ended[port] = deque(call for call in self._ended[port] if call.owner is not owner)
            self._running[port] = deque(
                Call(call.name, None) if call.owner is owner else call for call in self._running[port]
            )
        return left

    def finish(self) -> None:
        """Counts what has not ended."""
        self.collect()
        for running in self._running:
            self._report.never_ended.update(call.name for call in running)
