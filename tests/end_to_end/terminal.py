"""A terminal of a given width, for what commands show on one."""

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
    """The exit code of a command, and all that it wrote on a terminal, with what it erased again and control sequences."""
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
    """Of what was shown, the lines that stayed there."""
    return [_CONTROL.sub("", line).rpartition("\r")[2] for line in text.replace("\r\n", "\n").split("\n")]
