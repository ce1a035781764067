# SPDX-License-Identifier: Apache-2.0
"""Merging of rows of communicators of one kind and size: `4000 of MPI_Comm_dup`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = dict[str, Any]

_NUMBER = re.compile(r" #\d+$")
"""Suffix that distinguishes communicators created by one function."""


def together(
    rows: Iterable[Row],
    alike: Sequence[str],
    sums: Sequence[str],
    means: Sequence[str] = (),
    ratios: Mapping[str, tuple[str, str]] | None = None,
) -> list[Row]:
    """Merges rows that are equal in the columns `alike`, and whose communicators were created by the same function.

    `means` are averages per operation. A column is None if it is None in one of the rows, or if a ratio has divisor 0.
    """
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        key = (_NUMBER.sub("", row["communicator"]), *(str(row[name]) for name in alike))
        groups.setdefault(key, []).append(row)
    return [
        group[0] if len(group) == 1 else _one(kind, group, sums, means, ratios or {})
        for (kind, *_), group in groups.items()
    ]


def _one(
    kind: str, group: list[Row], sums: Sequence[str], means: Sequence[str], ratios: Mapping[str, tuple[str, str]]
) -> Row:
    row = {**group[0], "communicator": f"{len({row['communicator'] for row in group})} of {kind}"}

    def total(column: str, weight: str | None = None) -> Any:
        if any(part[column] is None for part in group):
            return None
        return sum(part[column] * (part[weight] if weight else 1) for part in group)

    for column in sums:
        row[column] = total(column)
    for column in means:
        whole = total(column, "operations")
        row[column] = None if whole is None else whole / total("operations")
    for column, (above, below) in ratios.items():
        row[column] = row[above] / row[below] if row[above] and row[below] else None
    return row
