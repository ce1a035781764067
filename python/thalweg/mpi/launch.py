"""Runs an unchanged MPI program on a simulated cluster, from the launch of its ranks to the report."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from thalweg._sim import Choice, Ending, FabricConfig, MpiServer
from thalweg.choice import From
from thalweg.errors import FabricStopped, InputError
from thalweg.mpi.library import Interposer, MpiLibrary
from thalweg.mpi.processes import Processes

_LOOK_S = 0.02
_GOODBYE_S = 2.0  # for the server to see that the ranks have gone, once the launcher has


@dataclass(frozen=True)
class RunResult:
    """How a run went."""

    exit_code: int
    """The program's own status, or 124 where the fabric could not go on."""
    complaint: list[str]
    """Why it ended early, and who waits for whom; empty where it did not."""
    books: dict[str, Any]
    """What the server counted, as `MpiServer.run` returns it."""


def find_program(name: str) -> str:
    """The path of the program that a command line names. Raises InputError where there is none that can be run."""
    found = shutil.which(name)
    if found is None:
        path = Path(name)
        if path.is_dir():
            raise InputError(f"{name} is a folder, not a program")
        if path.exists():
            raise InputError(f"{name} is not executable")
        raise InputError(f"there is no program {name}")
    return found


def run_program(
    command: Sequence[str],
    nodes: Sequence[int],
    config: FabricConfig,
    library: MpiLibrary,
    interposer: Interposer,
    compute_scale: float,
    patience_s: float,
    operators: Mapping[str, int],
    skew: str | None = None,
    choice: Sequence[From] = (),
) -> RunResult:
    """Runs `command` with rank i on nodes[i]; returns when no process of it is left. `operators`: those of the user in `config`, and
    the bytes of their elements. `skew`: distribution, us and seed of the ranks' delays. `choice`: the algorithms that are wanted. Raises InputError where it is no MPI program."""
    program, ranks = find_program(command[0]), len(nodes)
    with tempfile.TemporaryDirectory(prefix="thalweg-") as folder:
        address = f"{folder}/socket"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        listener.bind(address)
        listener.listen(ranks)
        server = MpiServer(
            config, nodes, listener.detach(), interposer.functions, compute_scale, patience_s, Choice(choice)
        )
        variables = {"THALWEG_SOCKET": address}
        if operators:
            variables["THALWEG_OPERATORS"] = " ".join(f"{name} {size}" for name, size in operators.items())
        if skew is not None:
            variables["THALWEG_SKEW"] = skew
        launch = library.launch(ranks, interposer.path, variables)
        environment = {**os.environ, **library.environment, **variables}
        previous = {number: signal.signal(number, _interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
        processes = Processes([*launch, program, *command[1:]], environment, address)
        try:
            books = _serve(server, processes.launcher)
            status = processes.launcher.wait() if books["ending"] in _LEAVES_ALONE else None
        finally:
            processes.end()
            for number, handler in previous.items():
                signal.signal(number, handler)
    return _result(books, status, ranks, program)


_LEAVES_ALONE = (Ending.finished, Ending.aborted)  # the ranks, which end by themselves


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _serve(server: MpiServer, launcher: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Serves until the program is over, or the server says that it will not go on."""
    outcome: list[dict[str, Any] | Exception] = []

    def serve() -> None:
        try:
            outcome.append(server.run())
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=serve, name="server")
    thread.start()
    try:
        while thread.is_alive() and launcher.poll() is None:
            thread.join(_LOOK_S)
        thread.join(_GOODBYE_S)
    finally:
        server.stop()
        thread.join()
    if isinstance(outcome[0], Exception):
        raise FabricStopped(f"the simulator failed: {outcome[0]}") from outcome[0]
    return outcome[0]


def _result(books: dict[str, Any], status: int | None, ranks: int, program: str) -> RunResult:
    ending, joined = books["ending"], books["joined"]
    complaint: list[str] = []
    if ending == Ending.refused:
        raise InputError(books["what"])
    if ending == Ending.stopped and joined == 0:
        raise InputError(
            f"{program} ended without MPI_Init: it is no MPI program, or linked statically or with another MPI"
        )
    if ending == Ending.stopped:
        complaint = [f"the program ended, but only {joined} of {ranks} ranks called MPI_Init and MPI_Finalize"]
    elif ending != Ending.finished:
        complaint = [books["what"], *books["waiting"]]
    code = 124 if status is None else status if status >= 0 else 128 - status
    return RunResult(code, complaint, books)
