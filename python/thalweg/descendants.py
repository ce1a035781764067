"""The processes that this one has started, and those that these have started."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

_EVERY_S = 0.05


def descendants(root: int) -> list[int]:
    """The processes below a process, each after the one that started it."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                # The command's name, in parentheses, may hold anything.
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


@contextmanager
def ended_with_us() -> Iterator[None]:
    """Where SIGINT and SIGTERM kill them all, and those that threads still start, before they end the command. A pool of
    threads that wait for tools would otherwise wait on: Yosys hears no signal before a pass is over."""
    over = threading.Event()

    def keep_killing() -> None:
        while not over.wait(_EVERY_S):
            _kill()

    def end(number: int, _: FrameType | None) -> None:
        _kill()
        threading.Thread(target=keep_killing, daemon=True).start()
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        over.set()
        for number, handler in before.items():
            signal.signal(number, handler)


def _kill() -> None:
    for process in descendants(os.getpid()):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
