"""What every command prints and writes in the same way: JSON files that are never half written, and aligned tables."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from thalweg import scratch
from thalweg.errors import InputError


class OutputFile(click.ParamType[Path]):
    """A file that a command will write: refused before the work starts where it cannot be written. `-` is stdout."""

    name = "file"

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
        return path


json_option = click.option(
    "--json", "json_file", type=OutputFile(), metavar="FILE", help="Also write the result as JSON."
)
"""Decorator: adds `--json FILE` as the argument `json_file: Path | None`; hand it to `write_json`."""


def write_text(path: Path, text: str) -> None:
    """Writes `text` to `path`, whole or not at all; `-` is stdout."""
    if str(path) == "-":
        sys.stdout.write(text)
        return
    if path.exists() and not path.is_file():  # a pipe or a device
        path.write_text(text)
        return
    try:
        with scratch.in_place_of(path) as new:
            new.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path) from error


def write_json(path: Path | None, data: Any) -> None:
    """Writes `data` as JSON where `--json` was given (`path` is not None)."""
    if path is not None:
        write_text(path, json.dumps(data, indent=2) + "\n")


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[..., None]]:
    """Shows how far some work is, on a terminal only: call it with the part that is done, and `what` where that changes."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda done, what=what: bar.update(task, completed=done, description=what)


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], left: Iterable[str] = (), file: IO[str] | None = None
) -> None:
    """Prints an aligned table; numbers to the right, the columns named in `left` to the left.

    Colour and line drawing appear on a terminal only, and a line is never cut where the output is not a terminal.
    """
    stream = file or sys.stdout
    terminal = stream.isatty()
    console = Console(file=stream, highlight=False, width=None if terminal else 10_000)
    table = Table(box=None, pad_edge=False, header_style="bold")
    left = set(left)
    for column in columns:
        table.add_column(column, justify="left" if column in left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    with console.capture() as capture:
        console.print(table)
    stream.write("\n".join(line.rstrip() for line in capture.get().split("\n")))


def _cell(value: object) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else "-" if value is None else str(value)
    return text.replace("[", "\\[")
