# SPDX-License-Identifier: Apache-2.0
"""Executes the requests of one rank's clients on its engine."""

from __future__ import annotations

from typing import NoReturn

from thalweg.systems.accl import wire
from thalweg.systems.accl.calls import Calls
from thalweg.systems.accl.engine import Engine
from thalweg.systems.accl.report import RankReport


class Rank:
    """One rank: answers each request with one message, and counts requests. Refused requests are listed in the report."""

    def __init__(self, engine: Engine, rank: int, limits: wire.Limits) -> None:
        self._engine, self._rank, self._limits = engine, rank, limits
        self.report = RankReport()
        self.calls = Calls(engine, rank, self.report)

    def decode(self, parts: list[bytes]) -> wire.Request | bytes:
        """Returns the request of a message, or the answer to a refused one."""
        try:
            if len(parts) != 1:
                raise wire.Refused(f"a message of {len(parts)} parts; must be 1", wire.failed())
            return wire.request(parts[0], self._limits)
        except wire.Refused as refused:
            self.report.refused.add(str(refused))
            return refused.answer

    def execute(self, owner: object, request: wire.Request) -> bytes | None:
        """Returns the answer; None to a poll if no call has ended."""
        try:
            return self._execute(owner, request)
        except wire.Refused as refused:
            self.report.refused.add(str(refused))
            return refused.answer

    def give(self, parts: list[bytes]) -> bool:
        """Passes a message from kernels to the engine's stream; False if it is refused."""
        try:
            self._engine.give(self._rank, wire.stream_message(parts, self._limits))
        except (wire.Refused, ValueError) as refused:
            self.report.refused.add(str(refused))
            return False
        return True

    def _execute(self, owner: object, request: wire.Request) -> bytes | None:
        if isinstance(request, wire.Poll):
            return wire.ok() if self.calls.take(request.port) else None
        if isinstance(request, wire.Start):
            try:
                self.calls.start(owner, request.port, request.words)
            except ValueError as error:
                _refuse(str(error), 5)
            return wire.ok()
        try:
            found = self.perform(request)
        except ValueError as error:
            _refuse(str(error), _KINDS[type(request)])
        if found is None:
            return wire.ok()
        return wire.word(found) if isinstance(found, int) else wire.data(found)

    def perform(self, request: wire.Access) -> int | bytes | None:
        """Accesses the exchange memory or a memory, and returns what was read. Raises ValueError with a one-line message."""
        engine, rank = self._engine, self._rank
        if isinstance(request, wire.ReadWord):
            if (value := engine.read(rank, request.address)) is None:
                raise _no_word("read", request.address)
            return value
        if isinstance(request, wire.WriteWord):
            if not engine.write(rank, request.address, request.value):
                raise _no_word("write", request.address)
            return None
        try:
            return self._move(request)
        except (OverflowError, MemoryError) as error:
            raise ValueError(str(error) or "not enough memory") from error

    def _move(self, request: wire.Load | wire.Store | wire.Allocate) -> bytes | None:
        if isinstance(request, wire.Store):
            if request.data:
                self._engine.store(self._rank, request.host, request.address, request.data)
            return None
        if isinstance(request, wire.Allocate):
            if request.size:
                self._engine.allocate(self._rank, request.host, request.address, request.size)
            return None
        if not request.size:
            return b""
        found = self._engine.load(self._rank, request.host, request.address, request.size)
        if found is None:
            memory = "host" if request.host else "device"
            raise ValueError(f"read of {request.size} bytes of {memory} memory at {request.address:#x}: not allocated")
        return found


_KINDS = {wire.ReadWord: 0, wire.WriteWord: 1, wire.Load: 2, wire.Store: 3, wire.Allocate: 4}


def _no_word(what: str, address: int) -> ValueError:
    return ValueError(f"{what} of the exchange memory at {address:#x}: not the address of a word")


def _refuse(line: str, kind: int) -> NoReturn:
    raise wire.Refused(line, wire.refusal(kind))
