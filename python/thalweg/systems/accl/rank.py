# SPDX-License-Identifier: Apache-2.0
"""Executes the requests of one rank's clients on its engine."""

from __future__ import annotations

from typing import NoReturn

from thalweg.systems.accl import wire
from thalweg.systems.accl.calls import Calls
from thalweg.systems.accl.engine import Engine
from thalweg.systems.accl.report import RankReport


class Rank:
    """One rank: answers requests, each with one message, and counts them. A request that is refused has its line in the report."""

    def __init__(self, engine: Engine, rank: int, limits: wire.Limits) -> None:
        self._engine, self._rank, self._limits = engine, rank, limits
        self.report = RankReport()
        self.calls = Calls(engine, rank, self.report)

    def decode(self, parts: list[bytes]) -> wire.Request | bytes:
        """The request of a message, or the answer to one that is refused."""
        try:
            if len(parts) != 1:
                raise wire.Refused(f"a message of {len(parts)} parts", wire.failed())
            return wire.request(parts[0], self._limits)
        except wire.Refused as refused:
            self.report.refused.add(str(refused))
            return refused.answer

    def execute(self, owner: object, request: wire.Request) -> bytes | None:
        """The answer; None to a poll of which no call has ended."""
        try:
            return self._execute(owner, request)
        except wire.Refused as refused:
            self.report.refused.add(str(refused))
            return refused.answer

    def give(self, parts: list[bytes]) -> bool:
        """A message from kernels into the engine's stream; False if it is refused."""
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
            if line := self.calls.start(owner, request.port, request.words):
                _refuse(line, 5)
            return wire.ok()
        if isinstance(request, wire.ReadWord):
            value = self._engine.read(self._rank, request.address)
            return wire.word(value) if value is not None else _no_word("read", request.address, 0)
        if isinstance(request, wire.WriteWord):
            written = self._engine.write(self._rank, request.address, request.value)
            return wire.ok() if written else _no_word("write", request.address, 1)
        try:
            return self._move(request)
        except (ValueError, OverflowError, MemoryError) as error:
            _refuse(str(error) or "not enough memory", 2 if isinstance(request, wire.Load) else 3)

    def _move(self, request: wire.Load | wire.Store | wire.Allocate) -> bytes:
        if isinstance(request, wire.Store):
            if request.data:
                self._engine.store(self._rank, request.host, request.address, request.data)
            return wire.ok()
        if isinstance(request, wire.Allocate):
            if request.size:
                self._engine.allocate(self._rank, request.host, request.address, request.size)
            return wire.ok()
        if not request.size:
            return wire.data(b"")
        found = self._engine.load(self._rank, request.host, request.address, request.size)
        if found is None:
            memory = "host" if request.host else "device"
            raise ValueError(f"read of {request.size} bytes of {memory} memory at {request.address:#x}: not allocated")
        return wire.data(found)


def _no_word(what: str, address: int, kind: int) -> NoReturn:
    _refuse(f"{what} of the exchange memory at {address:#x}, where no word is", kind)


def _refuse(line: str, kind: int) -> NoReturn:
    raise wire.Refused(line, wire.refusal(kind))
