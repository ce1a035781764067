# SPDX-License-Identifier: Apache-2.0
"""What every command prints and writes in the same way: JSON files that are never half written, and aligned tables."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from thalweg.commands import completion
from thalweg.files import write_text

if TYPE_CHECKING:
    from thalweg.cluster import Cluster


class OutputFile(click.ParamType[Path]):
    """A file that a command will write: refused before the work starts where it cannot be written. `-` is stdout."""

    name = "file"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return completion.files(ctx, param, incomplete)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(value)
        if value == "-":
            return path
        if path.is_dir():
            self.fail(f"{value!r} is a directory; give a file in it", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"{value!r} cannot be written: there is no directory {str(path.parent)!r}", param, ctx)
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            self.fail(f"{value!r} cannot be written: permission denied", param, ctx)
        if ctx and param and (path.is_file() or not path.exists()):  # no pipe and no device
            if other := _files(ctx, "read").get(path.resolve()):
                self.fail(f"{value!r} is the file of {other}, and would be overwritten", param, ctx)
            if (other := _files(ctx, "written").setdefault(path.resolve(), param.opts[0])) != param.opts[0]:
                self.fail(f"{value!r} is the file of {other}, too; each writes one of its own", param, ctx)
        return path


class InputFile(click.ParamType[Path]):
    """A file that a command reads, which none of its outputs may be. `exists`: refused where it is none; otherwise whoever reads it says so."""

    name = "file"

    def __init__(self, exists: bool = False) -> None:
        self._file = click.Path(exists=exists, dir_okay=not exists)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return completion.files(ctx, param, incomplete)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(os.fsdecode(self._file.convert(value, param, ctx)))
        if ctx and param and path.is_file():
            if other := _files(ctx, "written").get(path.resolve()):
                self.fail(f"{str(path)!r} is the file of {other}, too, and would be overwritten", param, ctx)
            _files(ctx, "read")[path.resolve()] = param.opts[0]
        return path


def _files(ctx: click.Context, which: str) -> dict[Path, str]:
    """The files that options of a command name, and the options."""
    files: dict[Path, str] = ctx.meta.setdefault(f"{__name__}.{which}", {})
    return files


json_option = click.option(
    "--json", "json_file", type=OutputFile(), metavar="FILE", help="Also write the result as JSON."
)
"""Decorator: adds `--json FILE` as the argument `json_file: Path | None`; hand it to `write_json`."""


def write_json(path: Path | None, data: Any, *clusters: Cluster, seeds: Mapping[str, int] | None = None) -> None:
    """Writes `data` as JSON where `--json` was given (`path` is not None), and under `thalweg` what it came from: the version, the
    command line, the seeds of what is random, and the clusters. A list is under `rows`."""
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
    """That of the installed package; None where it runs from its sources."""
    import importlib.metadata  # takes longer than most commands

    try:
        return importlib.metadata.version("thalweg")
    except importlib.metadata.PackageNotFoundError:
        return None


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[..., None]]:
    """Shows how far some work is, on a terminal only: call it with the part that is done, and `what` where that changes."""
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
    from rich.console import Console  # takes an eighth of a command's start to load

    return Console(file=terminal).width


def print_line(text: str, file: IO[str] | None = None) -> None:
    """Prints a line, which a terminal shows without breaking a word."""
    stream = file or sys.stdout
    folded = _folded(text, _width(stream)) if stream.isatty() else [text]
    stream.write("".join(f"{line}\n" for line in folded))


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], left: Iterable[str] = (), file: IO[str] | None = None
) -> None:
    """Prints an aligned table; numbers to the right, the columns named in `left` to the left.

    On a terminal that is too narrow for a row, its widest text goes on below itself, word by word, or the row on lines that are
    indented: no number and no name is cut. Elsewhere a row is a line.
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
_SHORTEST_TEXT = 24  # characters below which text is hard to read


def _fit(table: Sequence[Sequence[str]], at_left: Sequence[bool], widths: list[int], width: int) -> list[list[int]]:
    """The columns of each line of a row, so that it fits into `width`; narrows those of `widths` that are to be folded."""

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
