# SPDX-License-Identifier: Apache-2.0
"""Runs `thalweg reproduce`, and prints published and measured numbers as a Markdown table: tools/published.py PAPER [OPTION...]

Options are those of the command. Rows of one `id` and one published number are one line of the table
where the id has a name, `what`, in reproduce/PAPER/published.toml; its measured numbers are then a range. Nothing is shortened.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from thalweg.papers import published

HEAD = ["|quantity|published|measured|unit|table, figure or section|`id`|", "|---|---|---|---|---|---|"]


def lines(paper: str, rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The lines of a paper's table, without its head. `rows` are those of `thalweg.reproduce`; those without a published number are left out."""
    numbers = published(paper)
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["published"] is not None:
            number = numbers[row["id"]]
            named = row["published"] == number["value"]  # a part of it has a name of its own
            what = number.get("what", row["what"]) if named else row["what"]
            groups.setdefault((row["id"], what, _text(row["published"], "")), []).append(row)
    return [_line(numbers[id_], what, value, group) for (id_, what, value), group in groups.items()]


def _line(number: Mapping[str, Any], what: str, value: str, group: Sequence[Mapping[str, Any]]) -> str:
    ends = [
        end for row in group for end in (row["measured"] if isinstance(row["measured"], list) else [row["measured"]])
    ]
    units = dict.fromkeys([number["unit"], group[0]["unit"]])
    where = number["where"] + (", input" if number["use"] == "input" else "")
    measured = _text([min(ends), max(ends)], ".4g")
    return "|".join(["", what, value, measured, " / ".join(units), where, f"`{number['id']}`", ""])


def _text(number: float | list[float], digits: str) -> str:
    """A range as both of its ends; integers and thousands are whole, others have `digits`."""
    if isinstance(number, list):
        return " to ".join(dict.fromkeys(_text(end, digits) for end in number))
    whole = isinstance(number, int) or (digits and abs(number) >= 1000)
    return f"{number:,.0f}" if whole else f"{number:{digits or ','}}"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.json"
        command = [sys.executable, "-m", "thalweg", "reproduce", *sys.argv[1:], "--json", str(file)]
        if status := subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode:
            sys.exit(status)
        rows = json.loads(file.read_text())["rows"]
    print("\n".join([*HEAD, *lines(sys.argv[1], rows)]))


if __name__ == "__main__":
    main()
