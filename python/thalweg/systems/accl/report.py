# SPDX-License-Identifier: Apache-2.0
"""The server's report at its end: calls of each rank, how they ended, and what was refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from thalweg.errors import one_line
from thalweg.systems.accl.names import return_bits

_MAX_LINES = 20


@dataclass
class Lines:
    """Distinct lines with their counts. Beyond a maximum, further lines are only counted."""

    lines: Counter[str] = field(default_factory=Counter)
    others: int = 0

    @property
    def count(self) -> int:
        return self.lines.total() + self.others

    @staticmethod
    def of(lines: Iterable[str]) -> Lines:
        made = Lines()
        for line in lines:
            made.add(line)
        return made

    def add(self, what: str) -> None:
        line = one_line(what)
        if line in self.lines or len(self.lines) < _MAX_LINES:
            self.lines[line] += 1
        else:
            self.others += 1

    def __iter__(self) -> Iterator[str]:
        for line, count in self.lines.items():
            yield line if count == 1 else f"{line} ({count} times)"
        if self.others:
            yield f"and {self.others} others"


@dataclass
class RankReport:
    """Counts of one rank."""

    clients: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    ended_wrong: Counter[tuple[str, int]] = field(default_factory=Counter)  #: scenario and return code
    why: dict[tuple[str, int], str] = field(default_factory=dict)  #: reason of the first call of each
    refused: Lines = field(default_factory=Lines)
    died: list[str] = field(
        default_factory=list
    )  #: scenarios of calls in progress when a client disconnected, one text per client
    never_ended: Counter[str] = field(default_factory=Counter)
    open_calls: int = 0  #: calls of the engine in `never_ended`; the others are kernels
    resets: list[str] = field(default_factory=list)  #: scenarios of calls in progress at a reset, one text per reset
    beyond_buffers: list[str] = field(default_factory=list)  #: one line per message larger than all receive buffers
    unheard: Counter[int] = field(default_factory=Counter)  #: messages from kernel streams without a subscriber

    def lines(self) -> Iterator[str]:
        """Lines on errors."""
        if not self.clients:
            yield "no client connected"
        for (scenario, code), count in self.ended_wrong.items():
            why = self.why.get((scenario, code))
            yield (
                f"{scenario} ended with {code:#x}, {', '.join(return_bits(code))}"
                + (f": {why}" if why else "")
                + _times(count)
            )
        for line in self.refused:
            yield f"refused: {line}"
        for scenarios in self.died:
            yield f"a client disconnected before the end of {scenarios}"
        for scenarios in self.resets:
            yield (f"reset during {scenarios}: they were ended, and messages and offers from other ranks dropped")
        for scenario, count in self.never_ended.items():
            yield f"{scenario} never ended" + _times(count)
        for stream, count in self.unheard.items():
            yield f"messages of kernel stream {stream} without a subscriber: {count}"

    def as_json(self) -> dict[str, Any]:
        return {
            "clients": self.clients,
            "calls": dict(self.calls),
            "bytes": self.bytes,
            "ended_wrong": [
                {
                    "scenario": scenario,
                    "return_code": code,
                    "bits": return_bits(code),
                    "calls": count,
                    "why": self.why.get((scenario, code), ""),
                }
                for (scenario, code), count in self.ended_wrong.items()
            ],
            "refused": self.refused.count,
            "refusals": list(self.refused),
            "died": list(self.died),
            "resets": list(self.resets),
            "never_ended": dict(self.never_ended),
            "beyond_buffers": len(self.beyond_buffers),
            "unheard": {str(stream): count for stream, count in self.unheard.items()},
        }


@dataclass
class Report:
    """Counts of all ranks, losses, and waits at the end."""

    ranks: list[RankReport]
    blocked: Sequence[str] = ()
    lost: Sequence[str] = ()
    failed: Sequence[str] = ()  #: calls of kernels with a return code other than 0
    virtual_s: float = 0.0
    deterministic: bool = False  #: the same in every run

    @property
    def right(self) -> bool:
        """True if all calls ended with return code 0 and nothing was refused."""
        wrong = (rank.ended_wrong or rank.open_calls or rank.refused.count for rank in self.ranks)
        return not self.failed and not any(wrong)

    def table(self) -> tuple[list[str], list[list[object]]]:
        """Columns and rows, one row per rank."""
        rows: list[list[object]] = []
        for number, rank in enumerate(self.ranks):
            calls = ", ".join(f"{count} {name}" for name, count in rank.calls.items())
            wrong, refused = rank.ended_wrong.total(), rank.refused.count
            rows.append([number, rank.clients, rank.calls.total(), rank.bytes, wrong, refused, calls])
        return ["rank", "clients", "calls", "bytes", "wrong", "refused", "which"], rows

    def lines(self) -> Iterator[str]:
        """Lines on errors, and on who still waits."""
        if not any(rank.clients for rank in self.ranks):
            yield "no client connected"
        else:
            for number, rank in enumerate(self.ranks):
                yield from (f"rank {number}: {line}" for line in rank.lines())
        yield from first_of([(number, line) for number, rank in enumerate(self.ranks) for line in rank.beyond_buffers])
        yield from self.failed
        yield from self.lost
        yield from self.blocked

    def as_json(self) -> dict[str, Any]:
        return {
            "deterministic": self.deterministic,
            "virtual_s": self.virtual_s,
            "ranks": [{"rank": number, **rank.as_json()} for number, rank in enumerate(self.ranks)],
            "failed": list(self.failed),
            "lost": list(self.lost),
            "blocked": list(self.blocked),
        }


def first_of(warnings: Sequence[tuple[int, str]]) -> list[str]:
    """Returns one line for the warnings of all ranks: the first one, and their number."""
    return [f"warning: rank {rank}: {line}" + _times(len(warnings)) for rank, line in warnings[:1]]


def counted(names: Iterable[str]) -> str:
    """Lists each name once, after its count."""
    return ", ".join(name if count == 1 else f"{count} {name}" for name, count in Counter(names).items())


def _times(count: int) -> str:
    return f" ({count} times)" if count > 1 else ""
