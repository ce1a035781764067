"""The processes of a run: started so that they end with us, and all ended when the run is over."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from thalweg.descendants import descendants

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_GRACE_S = 5.0


class Processes:
    """A launcher and everything below it. `mark` is a text that its environment holds and no other process's does."""

    def __init__(self, command: Sequence[str], environment: dict[str, str], mark: str, prefix: str = "") -> None:
        """Starts `command`; it is killed when this process dies, and what its children leave behind becomes our child. Where
        there is a `prefix`, it has no input, and its output is passed on line by line behind that."""
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
        self._mark = mark.encode()
        self.launcher = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL if prefix else None,
            stdout=subprocess.PIPE if prefix else None,
            preexec_fn=lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL),
        )
        self._reader = threading.Thread(target=self._pass_on, args=(prefix.encode(),), name="output")
        if prefix:
            self._reader.start()

    def _pass_on(self, prefix: bytes) -> None:
        assert self.launcher.stdout is not None
        for line in self.launcher.stdout:
            sys.stdout.buffer.write(prefix + line)
            sys.stdout.buffer.flush()

    def end(self) -> None:
        """Kills all that still run, and waits until they are gone."""
        deadline = time.monotonic() + _GRACE_S
        while (alive := self._alive()) and time.monotonic() < deadline:
            for process in alive:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            self._reap(alive)
            time.sleep(0.01)
        if self._reader.is_alive():
            self._reader.join(_GRACE_S)

    def _alive(self) -> list[int]:
        running = [] if self.launcher.poll() is not None else [self.launcher.pid, *descendants(self.launcher.pid)]
        return sorted({*running, *filter(self._is_marked, descendants(os.getpid()))})

    def _is_marked(self, process: int) -> bool:
        try:
            return self._mark in Path(f"/proc/{process}/environ").read_bytes()
        except OSError:
            return False

    def _reap(self, processes: Sequence[int]) -> None:
        """Takes the exit status of those that have become our children."""
        for process in processes:
            if process != self.launcher.pid:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(process, os.WNOHANG)
