# SPDX-License-Identifier: Apache-2.0
"""Runs code that may crash in a separate process."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

from thalweg.errors import FabricStopped, ThalwegError

_PR_SET_PDEATHSIG = 1

Result = TypeVar("Result")


def run_apart(work: Callable[[], Result], fault: Callable[[], ThalwegError | None]) -> Result:
    """Returns or raises what `work` returns or raises in a forked process.

    If the process dies otherwise, raises the error returned by `fault`, called in this process, or FabricStopped.
    """
    _flush()
    reads, writes = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(reads)
        _work(work, writes, parent)
    os.close(writes)
    try:
        with os.fdopen(reads, "rb") as pipe:
            outcome = pipe.read()
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        _, status = os.waitpid(child, 0)
    if outcome:
        right, value = pickle.loads(outcome)
        if right:
            result: Result = value
            return result
        raise value
    if error := fault():
        raise error
    code = os.waitstatus_to_exitcode(status)
    how = f"exit code {code}" if code >= 0 else f"signal {-code}, {signal.strsignal(-code)}"
    raise FabricStopped(f"the process of the kernels ended by {how}")


def _work(work: Callable[[], Result], pipe: int, parent: int) -> None:
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        if threading.current_thread() is threading.main_thread():
            for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(each, signal.SIG_DFL)
        try:
            outcome: tuple[bool, object] = (True, work())
        except BaseException as error:
            outcome = (False, error)
        _flush()
        with os.fdopen(pipe, "wb") as file:
            pickle.dump(outcome, file)
    finally:
        os._exit(0)


def _flush() -> None:
    """Flushes the buffers of Python and of the C library."""
    sys.stdout.flush()
    sys.stderr.flush()
    ctypes.CDLL(None).fflush(None)
