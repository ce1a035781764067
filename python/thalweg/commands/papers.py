# SPDX-License-Identifier: Apache-2.0
"""Output common to all `thalweg reproduce` commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg.commands.output import print_line, print_table
from thalweg.papers import Number, Row


def print_rows(rows: Sequence[Row], number: Callable[[Number], Any] = lambda number: number) -> None:
    """Prints a table of published and measured numbers, then the notes of its rows. `number` formats both numbers of a
    row."""
    notes = list(dict.fromkeys(row.note for row in rows if row.note))
    print_table(
        ["what", "published", "measured", "unit", "ratio", "note"],
        (
            [
                row.what,
                number(row.published),
                number(row.measured),
                row.unit,
                row.ratio,
                f"({notes.index(row.note) + 1})" if row.note else "",
            ]
            for row in rows
        ),
        left=["what", "unit", "note"],
    )
    for index, note in enumerate(notes, start=1):
        print_line(f"({index}) {note}")
