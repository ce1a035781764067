# SPDX-License-Identifier: Apache-2.0
"""`thalweg reproduce`: published numbers compared with measured ones. No parameter is fitted to a published number."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from math import exp, log
from typing import Any

from thalweg.resources import resource

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Number = float | list[float] | None
"""A value, a range (smallest, largest), or None if it is not published as a number."""

NOTABLE = 0.25
"""Maximum deviation of a ratio from 1 without an explanation in the row's note."""


@dataclass
class Row:
    """A published number, or a point of a published curve, with the measured value."""

    id: str
    what: str
    published: Number
    measured: Number
    unit: str
    note: str = ""
    about: dict[str, Any] = field(default_factory=dict)
    """Further identification, and other values measured with it."""

    @property
    def ratio(self) -> float | None:
        """Measured over published. Overlapping ranges have 1, others the ratio of their nearest ends."""
        if self.published is None or self.measured is None:
            return None
        published, measured = _ends(self.published), _ends(self.measured)
        if measured[1] < published[0]:
            return measured[1] / published[0]
        if measured[0] > published[1]:
            return measured[0] / published[1]
        return 1.0

    @property
    def differs(self) -> bool:
        return self.ratio is not None and abs(self.ratio - 1) > NOTABLE

    def as_json(self) -> dict[str, Any]:
        row = asdict(self)
        return {
            **{key: row[key] for key in ("id", "what", "published", "measured", "unit")},
            "ratio": self.ratio,
            "note": self.note,
            **self.about,
        }


def _ends(number: float | Sequence[float]) -> tuple[float, float]:
    return (number, number) if isinstance(number, (int, float)) else (number[0], number[1])


def mean(values: Iterable[float]) -> float:
    """Returns the geometric mean."""
    logarithms = [log(value) for value in values]
    return exp(sum(logarithms) / len(logarithms))


def short(size: int) -> str:
    """Formats a size as `64K`."""
    for unit, name in ((1 << 20, "M"), (1 << 10, "K")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{name}"
    return str(size)


def published(paper: str) -> dict[str, dict[str, Any]]:
    """Returns the numbers of a paper by id, from reproduce/PAPER/published.toml."""
    text = resource(f"reproduce/{paper}/published.toml").read_text()
    return {number["id"]: number for number in tomllib.loads(text)["number"]}


Progress = Callable[[str, float], None]
"""Called with a label of the current work, and the completed fraction, 0 to 1."""

Part = tuple[str, Callable[[], Iterator[Row]]]
"""A title, and its rows."""


class Evaluation(ABC):
    """The rows of a paper, part by part."""

    def __init__(self, paper: str) -> None:
        self.numbers = published(paper)

    @abstractmethod
    def parts(self) -> Sequence[Part]:
        """Returns the parts in display order."""

    def rows(self, progress: Progress) -> Iterator[Row]:
        parts = self.parts()
        for index, (what, part) in enumerate(parts):
            progress(what, index / len(parts))
            yield from part()
        progress("", 1)

    def row(self, id_: str, what: str, measured: Any, unit: str, note: str = "", **about: Any) -> Row:
        """Returns a row with the published number `id_`, if there is one."""
        number = self.numbers.get(id_)
        return Row(id_, what, number["value"] if number else None, measured, unit, note, about)
