# SPDX-License-Identifier: Apache-2.0
"""A terminal of a given width, for the output of commands."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
from collections.abc import Sequence
from pathlib import Path

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def shown(command: Sequence[str | Path], columns: int, folder: Path | None = None) -> tuple[int, str]:
    """The exit code of a command, and its complete output on a terminal, including erased text and control sequences."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        [str(word) for word in command],
        stdin=its,
        stdout=its,
        stderr=its,
        cwd=folder,
        env={**environment, "TERM": "xterm-256color"},
        start_new_session=True,
    )
    os.close(its)
    parts: list[bytes] = []

    def read() -> None:
        while True:
            try:
                data = os.read(ours, 1 << 16)
            except OSError:  # all have closed it
                return
            if not data:
                return
            parts.append(data)

    reader = threading.Thread(target=read)
    reader.start()
    code = process.wait(timeout=300)
    reader.join(30)
    os.close(ours)
    return code, b"".join(parts).decode()


def lines(text: str) -> list[str]:
    """The lines of an output that remain on the terminal."""
    return [_CONTROL.sub("", line).rpartition("\r")[2] for line in text.replace("\r\n", "\n").split("\n")]


class Screen:
    """The contents of a terminal after some output: the part of a terminal that commands use."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows = [""] * rows
        self.history: list[str] = []  #: lines scrolled off at the top
        self._columns = columns
        self._row = self._column = 0
        self._saved = 0, 0
        self._bottom = rows

    def show(self, text: str) -> list[str]:
        """All lines, those scrolled off first."""
        for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[78D]|[\r\n]|[^\x1b\r\n]+", text):
            self._take(part)
        return [line.rstrip() for line in [*self.history, *self.rows]]

    def _down(self) -> None:
        if self._row == self._bottom - 1:
            self.history.append(self.rows.pop(0))
            self.rows.insert(self._bottom - 1, "")
        else:
            self._row += 1

    def _take(self, part: str) -> None:
        numbers = [int(word) for word in re.findall(r"[0-9]+", part)]
        match part[-1] if part[0] == "\x1b" else part:
            case "\r":
                self._column = 0
            case "\n" | "D":
                self._down()
            case "A":
                self._row -= 1
            case "7":
                self._saved = self._row, self._column
            case "8":
                self._row, self._column = self._saved
            case "r":
                self._bottom = numbers[1] if numbers else len(self.rows)
                self._row = self._column = 0
            case "H":
                self._row, self._column = numbers[0] - 1, numbers[1] - 1
            case "K":
                self.rows[self._row] = "" if numbers == [2] else self.rows[self._row][: self._column]
            case "m" | "h" | "l":
                pass
            case _:
                assert part[0] != "\x1b", part
                line = self.rows[self._row].ljust(self._column)
                self.rows[self._row] = line[: self._column] + part + line[self._column + len(part) :]
                self._column += len(part)
