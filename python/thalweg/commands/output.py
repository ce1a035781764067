# SPDX-License-Identifier: Apache-2.0
"""Output common to all commands: JSON files, written atomically, aligned tables and progress bars."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from thalweg.commands.named_files import OutputFile
from thalweg.files import write_text

if TYPE_CHECKING:
    from thalweg.cluster import Cluster


json_option = click.option(
    "--json", "json_file", type=OutputFile(), metavar="FILE", help="Also write the result as JSON; - is stdout."
)
"""Decorator: adds `--json FILE`, passed as `json_file: Path | None`; give it to `write_json`."""


def write_json(path: Path | None, data: Any, *clusters: Cluster, seeds: Mapping[str, int] | None = None) -> None:
    """Writes `data` as JSON to `path`, or does nothing if `path` is None.

    The key `thalweg` records the origin: version, command line, random seeds and clusters. A list is stored under
    `rows`.
    """
    if path is None:
        return
    context = click.get_current_context(silent=True)
    of_clusters = [seed for cluster in clusters for seed in cluster.seeds.items()]
    about = {
        "version": version(),
        "command": ["thalweg", *(context.find_root().obj or [] if context else [])],
        "seeds": {**dict(of_clusters), **(seeds or {})},
        "clusters": [cluster.description for cluster in clusters],
    }
    rest = data if isinstance(data, dict) else {"rows": data}
    write_text(path, json.dumps({"thalweg": about, **rest}, indent=2) + "\n")


def version() -> str | None:
    """Returns the version of the installed package, or None if it runs from a source tree."""
    import importlib.metadata  # slow to import

    try:
        return importlib.metadata.version("thalweg")
    except importlib.metadata.PackageNotFoundError:
        return None


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[..., None]]:
    """Yields a function that updates a progress bar with the completed fraction and, optionally, a new label. Shown only
    on a terminal."""
    if not sys.stderr.isatty():
        yield lambda done, what=what: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda done, what=what: bar.update(task, completed=done, description=what)


def _width(terminal: IO[str]) -> int:
    from rich.console import Console  # slow to import

    return Console(file=terminal).width


def print_line(text: str, file: IO[str] | None = None) -> None:
    """Prints a line; on a terminal, wraps it between words."""
    stream = file or sys.stdout
    folded = _folded(text, _width(stream)) if stream.isatty() else [text]
    stream.write("".join(f"{line}\n" for line in folded))


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], left: Iterable[str] = (), file: IO[str] | None = None
) -> None:
    """Prints an aligned table; columns in `left` are left-aligned, others right-aligned.

    If a row is wider than the terminal, its widest text is wrapped between words, or the row is split into indented
    lines. Numbers and names are never cut. Output to a file has one line per row.
    """
    stream = file or sys.stdout
    terminal = stream.isatty()
    table = [list(columns), *([_cell(value) for value in row] for row in rows)]
    at_left = [column in set(left) for column in columns]
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    lines = [list(range(len(columns)))]
    if terminal:
        lines = _fit(table, at_left, widths, _width(stream))
    for number, row in enumerate(table):
        cells = [_folded(cell, width) for cell, width in zip(row, widths, strict=True)]
        for line in lines:
            indent = _INDENT if line[0] else ""
            for parts in zip_longest(*(cells[column] for column in line), fillvalue=""):
                text = _GAP.join(
                    part.ljust(widths[column]) if at_left[column] else part.rjust(widths[column])
                    for column, part in zip(line, parts, strict=True)
                )
                text = (indent + text).rstrip()
                stream.write((click.style(text, bold=True) if terminal and number == 0 else text) + "\n")


_GAP, _INDENT = "  ", "    "
_SHORTEST_TEXT = 24  # minimum width of a wrapped column, in characters


def _fit(table: Sequence[Sequence[str]], at_left: Sequence[bool], widths: list[int], width: int) -> list[list[int]]:
    """Returns the columns of each line of a row, so that it fits into `width`, and reduces `widths` of columns to be
    wrapped."""

    def line_width(line: Sequence[int]) -> int:
        return sum(widths[column] for column in line) + len(_GAP) * (len(line) - 1) + len(_INDENT) * (line[0] > 0)

    def narrow(column: int, room: int) -> None:
        longest_word = max(len(word) for row in table for word in row[column].split() or [""])
        if room >= max(longest_word, _SHORTEST_TEXT):
            widths[column] = min(widths[column], room)

    def lines(most: int) -> list[list[int]]:
        found = [[0]]
        for column in range(1, len(widths)):
            if line_width([*found[-1], column]) <= most:
                found[-1].append(column)
            else:
                found.append([column])
        return found

    every = range(len(widths))
    widest = max(every, key=lambda column: (at_left[column], widths[column]))
    narrow(widest, width - line_width(every) + widths[widest])
    for column in every:
        narrow(column, width - len(_INDENT))
    needed = len(lines(width))
    evenly = next(most for most in range(1, width + 1) if len(lines(most)) == needed or most == width)
    return lines(evenly)


def _folded(cell: str, width: int) -> list[str]:
    if len(cell) <= width:
        return [cell]
    return textwrap.wrap(cell, width, break_long_words=False, break_on_hyphens=False)


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "-" if value is None else str(value)
