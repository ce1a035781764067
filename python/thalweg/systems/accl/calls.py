# SPDX-License-Identifier: Apache-2.0
"""The calls that the clients of one rank have started, and their ends."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from thalweg.systems.accl.chains import Chains, behind
from thalweg.systems.accl.engine import End, Engine
from thalweg.systems.accl.names import WITHOUT_DATA, scenario
from thalweg.systems.accl.oversized_messages import beyond_buffers
from thalweg.systems.accl.report import RankReport, counted
from thalweg.systems.accl.wire import PORTS

_CONFIG = 0  # scenario
_RESET, _ENABLE = 0, 1  # functions of this scenario


@dataclass(eq=False)
class Call:
    """A client's call. Clients poll the ends of a port in order, or ask for the end of one call."""

    name: str
    owner: object  #: its client; None if it has disconnected
    begun: int = 0  #: tick of the call
    handle: int | None = None  #: the engine's handle; None while it waits for other calls
    end: End | None = None
    refused: bool = False  #: refused by the engine once the calls `after` had ended; `end` has the reason
    after: Collection[Call] = ()  #: calls that end before this one is passed to the engine
    port: int = 0
    words: Sequence[int] = ()


class Calls:
    """The calls of one rank, in order per port: calls in progress, and ended calls that no client has polled yet."""

    def __init__(self, engine: Engine, rank: int, report: RankReport) -> None:
        self._engine, self._rank, self._report = engine, rank, report
        self._given: dict[int, Call] = {}  # calls in the engine, by handle
        self._held = Chains[Call]()
        self.enabled = False  #: the engine is configured and accepts packets
        self._running: list[deque[Call]] = [deque() for _ in range(PORTS)]  # calls whose ends clients poll
        self._ended: list[deque[Call]] = [deque() for _ in range(PORTS)]

    def start(self, owner: object, port: int, words: list[int]) -> None:
        """Starts a call whose end its client polls. Raises ValueError if the engine refuses it."""
        self._running[port].append(self._start(owner, port, words))
        self.collect()

    def begin(self, owner: object, port: int, words: list[int], after: Collection[Call]) -> Call:
        """Starts a call once the calls `after` have ended; its client reads `end`. Raises ValueError if the engine refuses
        it."""
        return self._start(owner, port, words, after)

    def add(self, owner: object, name: str, handle: int, ends: bool = True) -> Call:
        """Adds a kernel that the engine has started; `ends` is False if it restarts at its end."""
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
        """Passes a call to the engine, or fails it if a call before it has failed. Raises ValueError."""
        for before in call.after:
            assert before.end
            if before.end.code or before.refused:
                call.refused = before.refused
                self._finish(call, End(before.end.code, behind(before.name, before.end.why), self._engine.now))
                return
        call.handle = self._engine.call(self._rank, call.port, list(call.words))
        self._given[call.handle] = call

    def _bytes(self, words: list[int]) -> int:
        """Returns `count` times the element size, the first word of the arithmetic configuration; 0 without one."""
        operation, count, configuration = words[0], words[1], words[6]
        if operation in WITHOUT_DATA or not configuration:
            return 0
        return count * (self._engine.read(self._rank, configuration) or 0)

    @property
    def run(self) -> bool:
        """True if a call has not ended."""
        return bool(self._given or self._held)

    @property
    def open_calls(self) -> int:
        """Number of the engine's calls that have not ended; kernels do not count."""
        return sum(bool(call.words) for call in self._given.values()) + len(self._held)

    def _open(self) -> list[str]:
        """Lists the scenarios of the calls that have not ended."""
        return [call.name for call in (*self._given.values(), *self._held)]

    def collect(self) -> None:
        """Takes ended calls from the engine, and drops those of disconnected clients."""
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
        """Passes calls to the engine whose predecessors have ended."""
        while ready := self._held.take():
            for call in ready:
                try:
                    self._give(call)
                except ValueError as error:
                    self._report.refused.add(str(error))
                    call.refused, call.end = True, End(0, str(error), self._engine.now)
                    self._held.end(call)

    def take(self, port: int) -> bool:
        """Takes the oldest ended call of a port; False if there is none."""
        if not self._ended[port]:
            return False
        self._ended[port].popleft()
        return True

    def leave(self, owner: object) -> str:
        """Disconnects a client; returns the scenarios of its calls that it has not polled."""
        polled = [call for calls in (*self._ended, *self._running) for call in calls]
        every = dict.fromkeys((*polled, *self._given.values(), *self._held))
        left = [call for call in every if call.owner is owner]
        for call in left:
            call.owner = None
        for port in range(PORTS):
            self._ended[port] = deque(call for call in self._ended[port] if call.owner is not None)
        return counted(call.name for call in left)

    def finish(self) -> None:
        """Counts the calls that have not ended."""
        self.collect()
        self._report.never_ended.update(self._open())
        self._report.open_calls = self.open_calls
