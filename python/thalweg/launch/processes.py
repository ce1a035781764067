# SPDX-License-Identifier: Apache-2.0
"""The processes of a run. They are killed when this process dies, and at the end of the run."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from thalweg.launch.descendants import adopting, descendants

_PR_SET_PDEATHSIG = 1
_GRACE_S = 5.0
_RULE = rb"-{74}\n"
_AMONG_RANKS = re.compile(
    _RULE + rb"(?:prterun|mpirun|mpiexec) (?:noticed|detected|has exited).*?\n" + _RULE, re.DOTALL
)
"""Open MPI's message about a bad termination, written in one piece to the ranks' stderr."""


class Output:
    """FIFOs for the output of the ranks, separate from the launcher's own messages."""

    def __init__(self, folder: Path) -> None:
        self.streams = {1: folder / "out", 2: folder / "err"}
        self.own = folder / "own"
        for fifo in self.streams.values():
            os.mkfifo(fifo)


class Processes:
    """A launcher and its descendants. `mark` is a text unique to their environment."""

    def __init__(
        self, command: Sequence[str], environment: dict[str, str], mark: str, output: Output, prefix: str = ""
    ) -> None:
        """Starts `command`, which writes its ranks' output to `output`.

        It is killed when this process dies, and does not receive the terminal's signals. With a `prefix` it has no
        input, and each line of output starts with the prefix.
        """
        libc = ctypes.CDLL(None)
        self._mark = mark.encode()
        self._output = output
        with contextlib.ExitStack() as until_started, output.own.open("wb") as own:
            until_started.enter_context(adopting())
            self.launcher = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL if prefix else None,
                stdout=own,
                stderr=own,
                start_new_session=True,
                preexec_fn=lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL),
            )
            self._adopting = until_started.pop_all()
        self._readers = [
            threading.Thread(target=self._pass_on, args=(fifo, to, prefix.encode() if to == 1 else b""), name="output")
            for to, fifo in output.streams.items()
        ]
        for reader in self._readers:
            reader.start()

    def said(self) -> str:
        """Returns the launcher's own messages."""
        return self._output.own.read_text(errors="replace").strip()

    def _pass_on(self, fifo: Path, to: int, prefix: bytes) -> None:
        with fifo.open("rb") as source, contextlib.suppress(OSError):
            take: Callable[[], bytes] = source.readline if prefix else lambda: source.read1()
            while piece := take():
                piece = prefix + _AMONG_RANKS.sub(b"", piece)
                while piece:
                    piece = piece[os.write(to, piece) :]
            return
        self.launcher.send_signal(signal.SIGPIPE)  # the output has no reader any more

    def end(self, ranks: Sequence[int] = ()) -> None:
        """Kills all remaining processes and waits for them; those of `ranks` may have ended before."""
        deadline = time.monotonic() + _GRACE_S
        known = set(ranks)
        while (alive := self._alive()) and time.monotonic() < deadline:
            known.update(alive)
            for process in alive:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.01)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.launcher.wait(_GRACE_S)
        self._reap(known)
        self._adopting.close()
        for fifo in self._output.streams.values():
            with contextlib.suppress(OSError):
                os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))  # releases a reader that waits for a writer
        for reader in self._readers:
            reader.join(_GRACE_S)

    def _alive(self) -> list[int]:
        running = [] if self.launcher.poll() is not None else [self.launcher.pid, *descendants(self.launcher.pid)]
        return sorted({*running, *filter(self._is_marked, descendants(os.getpid()))})

    def _is_marked(self, process: int) -> bool:
        try:
            return self._mark in Path(f"/proc/{process}/environ").read_bytes()
        except OSError:
            return False

    def _reap(self, processes: Iterable[int]) -> None:
        """Reaps processes that were adopted because their parents ended first."""
        for process in set(processes) - {self.launcher.pid}:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process, os.WNOHANG)
