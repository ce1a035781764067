# SPDX-License-Identifier: Apache-2.0
"""Atomic writing of result files."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO, TextIO

from thalweg.errors import InputError
from thalweg.launch import scratch

_stdout: ContextVar[TextIO | None] = ContextVar("stdout", default=None)


@contextmanager
def stdout_for_files() -> Iterator[None]:
    """Within the context, only the output file `-` is written to stdout; what is printed goes to stderr."""
    before = _stdout.set(_stdout.get() or sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _stdout.reset(before)


def write_text(path: Path, text: str) -> None:
    """Writes `text` to `path` atomically; `-` is stdout. Raises InputError."""
    with writing(path) as file:
        file.write(text.encode())


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """Opens a file whose contents replace `path` atomically at the end of the context; `-` is stdout. Raises InputError."""
    if str(path) == "-":
        stdout = _stdout.get() or sys.stdout
        stdout.flush()
        yield stdout.buffer
        stdout.buffer.flush()
        return
    try:
        if path.exists() and not path.is_file():  # a pipe or a device
            with path.open("wb") as file:
                yield file
            return
        with scratch.in_place_of(path) as new, new.open("wb") as file:
            yield file
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path) from error
