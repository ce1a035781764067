# SPDX-License-Identifier: Apache-2.0
"""`thalweg reproduce`: what papers published, beside what is measured here. Nothing is fitted to a published number."""

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
"""A value, a range from smallest to largest, or nothing where it is in no text."""

NOTABLE = 0.25
"""A ratio that differs from 1 by more is explained by its row's note."""


@dataclass
class Row:
    """One published number, or one point of a published curve, beside what was measured."""

    id: str
    what: str
    published: Number
    measured: Number
    unit: str
    note: str = ""
    about: dict[str, Any] = field(default_factory=dict)
    """What else identifies it, and what else was measured with it."""

    @property
    def ratio(self) -> float | None:
        """Measured over published. Ranges that overlap have 1, others the ratio of their nearest ends."""
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
    """Geometric."""
    logarithms = [log(value) for value in values]
    return exp(sum(logarithms) / len(logarithms))


def short(size: int) -> str:
    """`64K` and the like."""
    for unit, name in ((1 << 20, "M"), (1 << 10, "K")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{name}"
    return str(size)


def published(paper: str) -> dict[str, dict[str, Any]]:
    """The numbers of a paper by their ids, as reproduce/PAPER/published.toml has them."""
    text = resource(f"reproduce/{paper}/published.toml").read_text()
    return {number["id"]: number for number in tomllib.loads(text)["number"]}


Progress = Callable[[str, float], None]
"""Called with what is being done, and with the part of the work that has been."""

Part = tuple[str, Callable[[], Iterator[Row]]]
"""What it is about, and its rows."""


class Evaluation(ABC):
    """A paper's rows, part by part."""

    def __init__(self, paper: str) -> None:
        self.numbers = published(paper)

    @abstractmethod
    def parts(self) -> Sequence[Part]:
        """In the order in which they are shown."""

    def rows(self, progress: Progress) -> Iterator[Row]:
        parts = self.parts()
        for index, (what, part) in enumerate(parts):
            progress(what, index / len(parts))
            yield from part()
        progress("", 1)

    def row(self, id_: str, what: str, measured: Any, unit: str, note: str = "", **about: Any) -> Row:
        """Beside the number of that id, where there is one."""
        number = self.numbers.get(id_)
        return Row(id_, what, number["value"] if number else None, measured, unit, note, about)
