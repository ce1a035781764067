# SPDX-License-Identifier: Apache-2.0
"""Which bytes of a rank's memories are newer than the program's arrays: results that the program has not read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thalweg.systems.accl.values import Buffer, Request

Bytes = tuple[int, int]  #: begin and end (exclusive)


@dataclass
class _Places:
    """Multiset of byte intervals, indexed by size: those of up to 2^k bytes are found by the two blocks of 2^k bytes that
    they touch, so a query visits only nearby intervals."""

    _levels: dict[int, dict[int, dict[Bytes, int]]] = field(default_factory=dict)

    @staticmethod
    def _blocks(place: Bytes, level: int) -> range:
        return range(place[0] >> level, (place[1] - 1 >> level) + 1)

    def change(self, place: Bytes, by: int) -> None:
        level = (place[1] - place[0]).bit_length()
        blocks = self._levels.setdefault(level, {})
        for block in self._blocks(place, level):
            counts = blocks.setdefault(block, {})
            counts[place] = counts.get(place, 0) + by
            if not counts[place]:
                del counts[place]
            if not counts:
                del blocks[block]

    def beside(self, place: Bytes) -> set[Bytes]:
        """Returns a superset of the intervals that overlap this one."""
        found: set[Bytes] = set()
        for level, blocks in self._levels.items():
            touched = self._blocks(place, level)
            for block in touched if len(touched) < len(blocks) else list(blocks):
                found.update(blocks.get(block, ()))
        return found


@dataclass
class UnreadResults:
    """Results of a rank's requests that the program has not read."""

    _unread: dict[Request, None] = field(default_factory=dict)
    _places: dict[bool, _Places] = field(default_factory=lambda: {False: _Places(), True: _Places()})

    def add(self, request: Request) -> None:
        """Adds the results that a request will write."""
        if request.results:
            self._unread[request] = None
            self._change(request, 1)

    def remove(self, request: Request) -> None:
        """Removes a request's results: they have been read, or there are none."""
        if request in self._unread:
            del self._unread[request]
            self._change(request, -1)

    def _change(self, request: Request, by: int) -> None:
        for result in request.results:
            if place := _bytes(result):
                self._places[result.host].change(place, by)

    def older(self, operand: Buffer) -> Iterator[Bytes]:
        """Yields the bytes of an operand where its array is at least as new as the memory, as offsets."""
        if not (own := _bytes(operand)):
            return
        at, end = own
        for first, last in sorted(self._places[operand.host].beside(own)):
            if first >= end:
                break
            if first > at:
                yield at - own[0], first - own[0]
            at = max(at, last)
        if at < end:
            yield at - own[0], end - own[0]


def _bytes(buffer: Buffer) -> Bytes | None:
    size = buffer.array.nbytes
    return (buffer.address, buffer.address + size) if size else None
