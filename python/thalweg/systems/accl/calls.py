# SPDX-License-Identifier: Apache-2.0
"""The calls that the clients of one rank have started, and their ends."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from thalweg.systems.accl.chains import Chains, behind
from thalweg.systems.accl.engine import End, Engine
from thalweg.systems.accl.names import WITHOUT_DATA, scenario
from thalweg.systems.accl.report import RankReport, counted
from thalweg.systems.accl.room import beyond_buffers
from thalweg.systems.accl.wire import PORTS

_CONFIG = 0  # scenario
_RESET, _ENABLE = 0, 1  # functions of it


@dataclass(eq=False)
class Call:
    """Of a client. Clients poll the ends of a port in order, or ask for the end of one call."""

    name: str
    owner: object  #: its client; None if that has left
    begun: int = 0  #: tick in which it was called
    handle: int | None = None  #: in the engine; None while it waits for others
    end: End | None = None
    refused: bool = False  #: by the engine, when the calls before it had ended; `end` says why
    after: Collection[Call] = ()  #: it goes to the engine when these have ended
    port: int = 0
    words: Sequence[int] = ()


class Calls:
    """The calls of one rank, in the order of each port: running calls, and ended calls that no client has polled yet."""

    def __init__(self, engine: Engine, rank: int, report: RankReport) -> None:
        self._engine, self._rank, self._report = engine, rank, report
        self._given: dict[int, Call] = {}  # to the engine, by handles
        self._held = Chains[Call]()
        self.enabled = False  #: the engine has been set up, and takes packets
        self._running: list[deque[Call]] = [deque() for _ in range(PORTS)]  # whose ends clients poll
        self._ended: list[deque[Call]] = [deque() for _ in range(PORTS)]

    def start(self, owner: object, port: int, words: list[int]) -> None:
        """Starts a call whose end its client polls. Raises ValueError if the engine refuses it."""
        self._running[port].append(self._start(owner, port, words))
        self.collect()

    def begin(self, owner: object, port: int, words: list[int], after: Collection[Call]) -> Call:
        """Starts a call whose `end` its client looks at, as soon as the calls `after` have ended. Raises ValueError if the engine refuses it."""
        return self._start(owner, port, words, after)

    def add(self, owner: object, name: str, handle: int, ends: bool = True) -> Call:
        """A kernel that the engine has started. `ends`: unless it begins again whenever it has ended."""
        call = Call(name, owner, self._engine.now, handle)
        if ends:
            self._given[handle] = call
        self._report.calls[name] += 1
        return call

    def _start(self, owner: object, port: int, words: list[int], after: Collection[Call] = ()) -> Call:
        call = Call(scenario(words[0]), owner, self._engine.now, after=after, port=port, words=words)
        if words[0] == _CONFIG and words[4] == _RESET and self.run:
            self._report.resets.append(counted(self._open()))
        if not self._held.hold(call, (before for before in after if not before.end)):
            self._give(call)
        self._report.calls[call.name] += 1
        self._report.bytes += self._bytes(words)
        if self._rank in self._engine.unreliable and (line := beyond_buffers(self._rank, words, self._engine.read)):
            self._report.beyond_buffers.append(line)
        return call

    def _give(self, call: Call) -> None:
        """To the engine, or ends it as one before it that has failed. Raises ValueError."""
        for before in call.after:
            assert before.end
            if before.end.code or before.refused:
                call.refused = before.refused
                self._finish(call, End(before.end.code, behind(before.name, before.end.why), self._engine.now))
                return
        call.handle = self._engine.call(self._rank, call.port, list(call.words))
        self._given[call.handle] = call

    def _bytes(self, words: list[int]) -> int:
        """Those of `count` elements, whose size is the first word of the arithmetic configuration; 0 without one."""
        operation, count, configuration = words[0], words[1], words[6]
        if operation in WITHOUT_DATA or not configuration:
            return 0
        return count * (self._engine.read(self._rank, configuration) or 0)

    @property
    def run(self) -> bool:
        """Whether a call has not ended."""
        return bool(self._given or self._held)

    def _open(self) -> list[str]:
        """The scenarios of the calls that have not ended."""
        return [call.name for call in (*self._given.values(), *self._held)]

    def collect(self) -> None:
        """Takes the calls that have ended from the engine, and drops those of disconnected clients."""
        for handle, end in self._engine.ends(self._rank).items():
            if call := self._given.pop(handle, None):
                self._finish(call, end)
        for port, running in enumerate(self._running):
            while running and running[0].end:
                call = running.popleft()
                if call.owner is not None:
                    self._ended[port].append(call)
        self._release()

    def _finish(self, call: Call, end: End) -> None:
        call.end = end
        self._held.end(call)
        if call.words and call.words[0] == _CONFIG and call.words[4] == _ENABLE and not end.code:
            self.enabled = True
        if end.code:
            self._report.ended_wrong[call.name, end.code] += 1
            self._report.why.setdefault((call.name, end.code), end.why)

    def _release(self) -> None:
        """Gives the engine calls whose chains have ended."""
        while ready := self._held.take():
            for call in ready:
                try:
                    self._give(call)
                except ValueError as error:
                    self._report.refused.add(str(error))
                    call.refused, call.end = True, End(0, str(error), self._engine.now)
                    self._held.end(call)

    def take(self, port: int) -> bool:
        """Takes the end of the oldest ended call of a port; False if none has ended."""
        if not self._ended[port]:
            return False
        self._ended[port].popleft()
        return True

    def leave(self, owner: object) -> str:
        """A client has left: the scenarios of its calls whose ends it has not taken."""
        polled = [call for calls in (*self._ended, *self._running) for call in calls]
        every = dict.fromkeys((*polled, *self._given.values(), *self._held))
        left = [call for call in every if call.owner is owner]
        for call in left:
            call.owner = None
        for port in range(PORTS):
            self._ended[port] = deque(call for call in self._ended[port] if call.owner is not None)
        return counted(call.name for call in left)

    def finish(self) -> None:
        """Counts what has not ended."""
        self.collect()
        self._report.never_ended.update(self._open())
