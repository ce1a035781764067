# SPDX-License-Identifier: Apache-2.0
"""Signal handling: SIGINT, SIGTERM and SIGHUP end the command at once, with all processes that it started.

A command that reports results when interrupted handles the first signal itself (`noticed`). The stack is not unwound,
so neither the simulator's loop nor a wait for a tool has to check for signals: the handler blocks the main thread and
wakes a thread that kills the processes, removes temporary files and exits.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

from thalweg.commands import status_line
from thalweg.launch import scratch
from thalweg.launch.descendants import adopting, descendants

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_KILLING_S = 0.7  # time limit
_AGAIN_S = 0.01
_SHOW_CURSOR = b"\r\x1b[K\x1b[?25h"  # progress bars hide the cursor

_always = contextlib.ExitStack()  # until this process ends
_held = threading.Lock()
_held.acquire()


def install() -> None:
    """Installs the signal handlers; to be called in the main thread.

    SIGHUP stays ignored under nohup. SIGINT is handled even if it is ignored, as in background commands of a script.
    """
    _always.enter_context(adopting())
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    threading.Thread(target=_listen, args=(read_end,), name="ending", daemon=True).start()
    for number in _SIGNALS:
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _block_main_thread)


class Notice:
    """The number of the first signal, or 0."""

    number = 0


_notice: Notice | None = None


@contextlib.contextmanager
def noticed() -> Iterator[Notice]:
    """While the context lasts, the first signal is only recorded, for the command to end itself; a second one ends it at
    once.

    Does nothing without `install`.
    """
    global _notice
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    owned = [number for number, handler in handlers.items() if handler is _block_main_thread]
    _notice = notice = Notice()
    for number in owned:
        signal.signal(number, lambda *_: None)
    try:
        yield notice
    finally:
        for number in owned:
            signal.signal(number, _block_main_thread)
        _notice = None


def leave(code: int) -> NoReturn:
    """Ends the process without finalizing the interpreter, which would not react to signals."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    scratch.remove()
    os._exit(code)


def _block_main_thread(number: int, _: FrameType | None) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    _held.acquire(timeout=2 * _KILLING_S)
    os._exit(128 + number)  # the thread does not exist or does not finish


def _listen(read_end: int) -> None:
    while (number := os.read(read_end, 1)[0]) not in _SIGNALS or _noted(number):
        pass
    try:
        _end()
    finally:
        os._exit(128 + number)


def _noted(number: int) -> bool:
    if _notice is None or _notice.number:
        return False
    _notice.number = number
    return True


def _end() -> None:
    this = threading.get_ident()

    def hold(event: str, _: object) -> None:
        # block the threads that wait for tools, so that they start no other tool and open no file
        if threading.get_ident() != this:
            _held.acquire()

    sys.addaudithook(hold)
    _kill_all()
    scratch.remove()
    status_line.clear()
    for stream in (1, 2):
        with contextlib.suppress(OSError):
            if os.isatty(stream):
                os.write(stream, _SHOW_CURSOR)


def _kill_all() -> None:
    """Kills all descendants, repeatedly until none is left, since one may start another meanwhile."""
    quiet, deadline = 0, time.monotonic() + _KILLING_S
    while quiet < 2 and time.monotonic() < deadline:
        alive = descendants(os.getpid())
        for process in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        quiet = 0 if alive else quiet + 1
        time.sleep(_AGAIN_S)
    with contextlib.suppress(ChildProcessError):  # until there is no child
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
