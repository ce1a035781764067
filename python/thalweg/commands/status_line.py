# SPDX-License-Identifier: Apache-2.0
"""A status line at the bottom of the terminal, below the output of another program.

The rows above it become the scrolling region and the cursor stays where the program left it, so that its output is
unaffected.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_AFTER_S, _EVERY_S = 1.0, 0.25
_MIN_ROWS = 4
_SAVE, _RESTORE = "\x1b7", "\x1b8"
_DOWN, _UP = "\x1bD", "\x1b[A"  # index and reverse index: scroll if the cursor is in the last row
_WHOLE_SCREEN, _CLEAR_ROW, _PLAIN = "\x1b[r", "\x1b[2K", "\x1b[m"


_shown: tuple[int, int] | None = None  # file descriptor and number of rows of the terminal that shows the line


@contextmanager
def status_line(text: Callable[[], str]) -> Iterator[Callable[[], None]]:
    """Yields a function, to be called often, that shows `text()` a few times per second, from the first second on, if
    stderr is a terminal."""
    if not sys.stderr.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        yield lambda: None
        return
    terminal = sys.stderr.fileno()
    due = time.monotonic() + _AFTER_S
    spinner = itertools.cycle("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

    def show() -> None:
        global _shown
        nonlocal due
        columns, rows = os.get_terminal_size(terminal)
        if time.monotonic() < due or rows < _MIN_ROWS:
            return
        due = time.monotonic() + _EVERY_S
        begin = "" if _shown == (terminal, rows) else f"{_DOWN}{_UP}{_SAVE}\x1b[1;{rows - 1}r{_RESTORE}"
        _shown = terminal, rows
        line = f"{next(spinner)} {text()}"[: columns - 1]
        _write(terminal, f"{begin}{_SAVE}\x1b[{rows};1H{_PLAIN}{_CLEAR_ROW}{line}{_RESTORE}")

    try:
        yield show
    finally:
        clear()


def clear() -> None:
    """Restores the terminal's last row. May be called from another thread, before it ends the process."""
    global _shown
    if _shown:
        terminal, rows = _shown
        _shown = None
        _write(terminal, f"{_SAVE}{_WHOLE_SCREEN}\x1b[{rows};1H{_CLEAR_ROW}{_RESTORE}")


def _write(terminal: int, sequence: str) -> None:
    """Writes `sequence` in one call, so that other output cannot interleave."""
    os.write(terminal, sequence.encode())
