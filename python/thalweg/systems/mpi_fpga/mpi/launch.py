# SPDX-License-Identifier: Apache-2.0
"""Runs unmodified MPI programs on a simulated cluster, from the launch of their ranks to the report."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg.commands.status_line import status_line
from thalweg.errors import FabricStopped, InputError
from thalweg.launch import scratch
from thalweg.launch.mpi import find_program, without_banner
from thalweg.launch.processes import Output, Processes
from thalweg.systems.mpi_fpga._sim import Choice, Ending, FabricConfig, Server, Sharing
from thalweg.systems.mpi_fpga.choice import From
from thalweg.systems.mpi_fpga.mpi.library import Interposer, MpiLibrary

_LONGEST_ADDRESS = 107  # maximum length of a Unix socket's address in bytes
_LOOK_S = 0.02
_GOODBYE_S = 2.0  # time for the server to detect that the ranks have gone after the launcher


@dataclass(frozen=True)
class RunResult:
    """Result of a run."""

    exit_code: int
    """Exit status of the program; 124 if the simulation stopped."""
    complaint: list[str]
    """Why it ended early, and who waits for whom; empty if it did not."""
    books: dict[str, Any]
    """The server's counts, as returned by `Server.run`."""


@dataclass(frozen=True)
class Program:
    """A program of a run: command line, node of each rank, and start of each line of its output."""

    command: Sequence[str]
    nodes: Sequence[int]
    prefix: str = ""


def run_programs(
    programs: Sequence[Program],
    config: FabricConfig,
    library: MpiLibrary,
    interposer: Interposer,
    compute_scale: float,
    patience_s: float,
    operators: Mapping[str, int],
    skew: str | None,
    choice: Sequence[From],
    sharing: Sharing | None,
    record: bool = False,
) -> RunResult:
    """Runs programs concurrently on one cluster, each with its own MPI_COMM_WORLD; returns when all their processes have
    ended.

    `operators` are user-defined ones in `config`, with element sizes in bytes. `skew` is distribution, us and seed of
    the ranks' delays. `choice` selects algorithms. `sharing` is each program's share of the fabric. Raises InputError
    for a program without MPI.
    """
    paths = [find_program(program.command[0]) for program in programs]
    nodes = [node for program in programs for node in program.nodes]
    firsts = [sum(len(program.nodes) for program in programs[:job]) for job in range(len(programs))]
    with tempfile.TemporaryDirectory(dir=scratch.folder()) as folder, _address(folder) as address:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        listener.bind(address)
        listener.listen(len(nodes))
        server = Server(
            *(config, nodes, listener.detach(), interposer.functions, compute_scale, patience_s, Choice(choice)),
            firsts if len(programs) > 1 else [],
            sharing,
            record,
        )
        variables = {"THALWEG_SOCKET": address, "THALWEG_SHARED_MEMORY": scratch.folder().name}
        if operators:
            variables["THALWEG_OPERATORS"] = " ".join(f"{name} {size}" for name, size in operators.items())
        if skew is not None:
            variables["THALWEG_SKEW"] = skew
        started: list[Processes] = []
        try:
            for path, program, first in zip(paths, programs, firsts, strict=True):
                own = variables | ({"THALWEG_JOB": f"{first} {len(nodes)}"} if len(programs) > 1 else {})
                place = Path(folder, str(first))
                place.mkdir()
                output = Output(place)
                launch = library.launch(len(program.nodes), interposer.path, own, output)
                share_memory = len(set(program.nodes)) < len(program.nodes)
                environment = {**scratch.users_environment(), **library.settings(share_memory), **own}
                command = [*launch, path, *program.command[1:]]
                started.append(Processes(command, environment, address, output, program.prefix))
            launchers = [processes.launcher for processes in started]
            with status_line(lambda: _progress(server, config)) as show:
                books = _serve(server, launchers, [*firsts, len(nodes)], show)
            status = _status(books, launchers, firsts, patience_s)
        finally:
            for processes in started:
                processes.end(list(filter(None, server.processes())))
            scratch.remove_shared_memory()
        for text in (processes.said() for processes in started):
            if (
                books["ending"] != Ending.finished
            ):  # the report says how the run ended; the banner would list processes killed by us
                text = without_banner(text)
            if text and (status is not None or books["ending"] == Ending.stopped):
                print(text, file=sys.stderr)
    return _result(books, status, len(nodes), " and ".join(paths))


@contextmanager
def _address(folder: str) -> Iterator[str]:
    """Yields the address of a socket in a folder, through a descriptor of the folder if the path is too long."""
    descriptor = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    path = f"{folder}/socket"
    try:
        yield path if len(os.fsencode(path)) <= _LONGEST_ADDRESS else f"/proc/{os.getpid()}/fd/{descriptor}/socket"
    finally:
        os.close(descriptor)


def _status(
    books: dict[str, Any], launchers: Sequence[subprocess.Popen[bytes]], firsts: Sequence[int], patience_s: float
) -> int | None:
    """Returns the exit status: the first that is not 0, or the aborted program's. None if programs did not end by
    themselves."""
    if books["ending"] == Ending.aborted:  # the other programs are not informed
        # if only some ranks are aborted, the launcher waits for the others; if all are, it may report another rank's
        # status
        with suppress(subprocess.TimeoutExpired):
            launchers[bisect_right(firsts, books["aborter"]) - 1].wait(_GOODBYE_S)
        return int(books["abort_code"]) & 0xFF
    if books["ending"] != Ending.finished:
        return None
    try:
        return next(filter(None, [launcher.wait(patience_s or None) for launcher in launchers]), 0)
    except subprocess.TimeoutExpired:
        books["ending"], books["waiting"] = Ending.timeout, []
        books["what"] = f"all ranks have ended, but processes that they started have not, for {patience_s:g} s"
        return None


def _progress(server: Server, config: FabricConfig) -> str:
    ticks, calls = server.progress()
    return f"{ticks * 1e6 / config.ticks_per_second:,.3f} us of virtual time, {calls:,} MPI calls"


def _serve(
    server: Server, launchers: Sequence[subprocess.Popen[bytes]], ranks: Sequence[int], show: Callable[[], None]
) -> dict[str, Any]:
    """Serves, with progress, until the programs have ended, or the server stops. Ranks ranks[i] to ranks[i+1] belong to
    launcher i."""
    outcome: list[dict[str, Any] | Exception] = []

    def serve() -> None:
        try:
            outcome.append(server.run())
        except Exception as error:
            outcome.append(error)

    def left_out(job: int) -> bool:
        """True if a program has ended before all of its ranks connected."""
        connected = server.processes()[ranks[job] : ranks[job + 1]]
        return launchers[job].poll() is not None and not all(connected)

    def over() -> bool:
        return all(launcher.poll() is not None for launcher in launchers) or any(map(left_out, range(len(launchers))))

    thread = threading.Thread(target=serve, name="server")
    thread.start()
    try:
        while thread.is_alive() and not over():
            thread.join(_LOOK_S)
            show()
        thread.join(_GOODBYE_S)
    finally:
        server.stop()
        thread.join()
    if isinstance(outcome[0], InputError):
        raise outcome[0]
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
            f"{program} ended without MPI_Init or MPI_Session_init: it does not use MPI, or is linked statically or with another MPI"
        )
    if ending == Ending.stopped:
        complaint = [f"the program ended, but only {joined} of {ranks} ranks called MPI_Init and MPI_Finalize"]
    elif ending != Ending.finished:
        complaint = [books["what"], *books["waiting"]]
    code = 124 if status is None else status if status >= 0 else 128 - status
    return RunResult(code, complaint, books)
