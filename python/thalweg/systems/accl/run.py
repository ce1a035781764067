# SPDX-License-Identifier: Apache-2.0
"""Runs a program that uses ACCL's driver or Thalweg's library: the server in this process, and the program's ranks, from
start to end."""

from __future__ import annotations

import mmap
import os
import random
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.commands.output import print_line
from thalweg.errors import CheckFailed, InputError
from thalweg.launch import ending, scratch
from thalweg.launch.mpi import WRITING_TO, Launcher, find_program, launcher_of, without_banner
from thalweg.launch.processes import Output, Processes
from thalweg.systems.accl.engine import Engine
from thalweg.systems.accl.hosts import RANKS, SOCKET
from thalweg.systems.accl.report import Report
from thalweg.systems.accl.server import Server, Settings

if TYPE_CHECKING:
    from thalweg.systems.accl.attached_kernels import AttachedKernels

PORT = "{port}"  #: placeholder for the port in the program's arguments
STUCK = 124
MAX_PORT = 65535
_FIRST_PORTS = range(16_000, 32_000)  # below Linux's range for outgoing connections
_GRACE_S = 2.0  # for the other ranks to end after one has failed; none if it was ended by a signal

_LATE_S = 10.0  # after which a warning names a rank that computes while all others wait

_RECORDED = """folder=$0 ranks=$1 rank=${THALWEG_ACCL_RANK:-${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-0}}}
shift
"$@"
status=$?
echo $status >"$folder/.$rank" && mv "$folder/.$rank" "$folder/$rank"
while set -- "$folder"/[0-9]*; [ $status = 0 ] && [ $# -lt "$ranks" ]; do sleep 0.1; done
exit $status
"""
"""Runs one rank, and writes its exit status to a file named after the rank.

A rank that the launcher ends writes none, as its shell ends, too. After success the shell waits for the other ranks, because
launchers of MPI end them when a rank has ended without MPI_Finalize, as ranks of ACCL's stress test do."""

_SIDE_BY_SIDE = """ranks=$0 rank=0
while [ $rank -lt "$ranks" ]; do
  THALWEG_ACCL_RANK=$rank "$@" &
  rank=$((rank + 1))
done
wait
"""
"""Starts the ranks of a program without MPI."""


@dataclass
class Outcome:
    """Outcome of a run."""

    exit_code: int
    """The program's own status; 1 if it succeeded but a call failed; 124 after a deadlock; 128 + n after signal n."""
    report: Report
    complaint: list[str] = field(default_factory=list)
    """Reason if it ended early."""


class Ranks:
    """The exit statuses that the ranks have left in a folder."""

    def __init__(self, folder: Path, ranks: int) -> None:
        self._folder, self._ranks = folder, ranks
        self._statuses: dict[int, int] = {}  # in the order of the ends

    def check_progress(self) -> None:
        new = [path for path in self._folder.glob("[0-9]*") if int(path.name) not in self._statuses]
        for path in sorted(new, key=lambda path: path.stat().st_mtime_ns):
            self._statuses[int(path.name)] = int(path.read_text())

    @property
    def ended(self) -> set[int]:
        return set(self._statuses)

    @property
    def alive(self) -> set[int]:
        return set(range(self._ranks)) - self.ended

    @property
    def failed(self) -> tuple[int, int] | None:
        """The first rank that failed, and its status."""
        return next(((rank, status) for rank, status in self._statuses.items() if status), None)


def free_ports(count: int) -> int:
    """Returns the first of `count` consecutive free ports. Raises InputError."""
    draw = random.SystemRandom()
    for _ in range(100):
        first = draw.randrange(_FIRST_PORTS.start, max(_FIRST_PORTS.stop - count, _FIRST_PORTS.start + 1))
        with ExitStack() as opened:
            try:
                for port in range(first, first + count):
                    opened.enter_context(socket.socket()).bind(("127.0.0.1", port))
            except OSError:
                continue
            return first
    raise InputError(f"no {count} consecutive free ports found; choose them with --port")


def run_program(
    command: Sequence[str],
    engine: Engine,
    settings: Settings,
    mpi: Launcher | None,
    notice: ending.Notice,
    kernels: AttachedKernels | None = None,
) -> Outcome:
    """Serves the engine to `command`, one process per rank, until it has ended.

    `mpi` starts several ranks; None selects the MPI that the program is linked with. A program of Thalweg's library
    that is not linked with MPI needs none. Raises InputError.
    """
    program = find_program(command[0])
    words = [program, *(word.replace(PORT, str(settings.port)) for word in command[1:])]
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(dir=scratch.folder())))
        (folder / "ended").mkdir()
        alone = mpi is None and uses_library(program) and launcher_of(program) is None
        server = Server(engine, replace(settings, hosts=folder / "hosts", exact=alone), kernels=kernels)
        opened.callback(server.close)
        ranks = Ranks(folder / "ended", engine.ranks)
        output = Output(folder)
        start, environment = _start(command[0], program, engine.ranks, mpi, output, alone=alone)
        recorded = ["sh", "-c", _RECORDED, str(folder / "ended"), str(0 if alone else engine.ranks)]
        mark = {"THALWEG_RUN": str(folder), SOCKET: str(folder / "hosts"), RANKS: str(engine.ranks)}
        processes = Processes(
            [*start, *recorded, *words], {**scratch.users_environment(), **environment, **mark}, str(folder), output
        )
        opened.callback(processes.end)
        watch = _Watch(server, processes, ranks, notice)
        try:
            report = server.serve(watch.over)
        except CheckFailed as error:
            return Outcome(1, server.finish(), [str(error)])
        ranks.check_progress()
        return _outcome(watch, report, processes, ranks)


def uses_library(program: str) -> bool:
    """True if a program or script contains the name of the environment variable with the library's socket."""
    if not os.access(program, os.R_OK) or not Path(program).stat().st_size:
        return False
    with Path(program).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(SOCKET.encode()) >= 0


def _start(
    name: str, program: str, ranks: int, mpi: Launcher | None, output: Output, *, alone: bool
) -> tuple[list[str], dict[str, str]]:
    """Returns the start of the command line, and the environment."""
    if alone:
        return [*WRITING_TO, *map(str, output.streams.values()), "sh", "-c", _SIDE_BY_SIDE, str(ranks)], {}
    if ranks == 1:
        return [*WRITING_TO, *map(str, output.streams.values())], {}
    if (mpi := mpi or launcher_of(program)) is None:
        raise InputError(f"{name} is not linked with an MPI that could start {ranks} ranks; give --mpi")
    waiting = {"MPIR_CVAR_NOLOCAL": "1"} if mpi.family == "mpich" else {}  # so that waiting ranks do not spin
    return mpi.command(ranks, {}, output), {**waiting, **mpi.environment()}


class _Watch:
    """Decides when serving is over, and then ends the ranks, which would fail without a server."""

    def __init__(self, server: Server, processes: Processes, ranks: Ranks, notice: ending.Notice) -> None:
        self._server, self._processes, self._ranks, self._notice = server, processes, ranks, notice
        self._clock = server.clock
        self._failed_at: float | None = None
        self._said = False
        self.stuck = False
        self.left: set[int] = set()  #: ranks that were ended because one had failed
        self.status: int | None = None  #: the launcher's status, if it has ended by itself
        self.signal = 0

    def over(self) -> bool:
        if not self._over():
            return False
        self._processes.end()
        return True

    def _over(self) -> bool:
        self.signal = self._notice.number
        if self.signal:
            return True
        self.status = self._processes.launcher.poll()
        self._ranks.check_progress()
        self._server.ended(self._ranks.ended)
        if self.status is not None:
            return not self._server.works_on
        if self._ranks.failed:
            self._failed_at = self._failed_at or self._clock()
            self.left = self._ranks.alive
            return _number(self._ranks.failed[1]) > 0 or self._clock() > self._failed_at + _GRACE_S
        if not self._said and (late := self._server.held_up_by(_LATE_S)):
            self._said = True
            who = f"rank{'s' * (len(late) > 1)} {', '.join(map(str, sorted(late)))}"
            print_line(
                f"thalweg: all other ranks wait for {who}, which computes outside of the library; virtual time is stopped meanwhile",
                sys.stderr,
            )
        self.stuck = self._server.stuck(self._ranks.alive)
        return self.stuck


def _outcome(watch: _Watch, report: Report, processes: Processes, ranks: Ranks) -> Outcome:
    if watch.signal:
        return Outcome(128 + watch.signal, report)
    if watch.stuck:
        return Outcome(STUCK, report, ["deadlock: all ranks wait for calls that cannot end"])
    if failed := ranks.failed:
        rank, status = failed
        others = "; the others were ended" if watch.left else ""
        return Outcome(status, report, [f"rank {rank} {_how(status)}{others}"])
    output = without_banner(processes.said())
    if watch.status and ranks.alive:  # otherwise all have succeeded; launchers complain of ranks without MPI_Finalize
        status = watch.status if watch.status > 0 else 128 - watch.status
        return Outcome(status, report, [*output.splitlines(), f"the launcher of the ranks ended with status {status}"])
    return Outcome(0 if report.right else 1, report, output.splitlines())


def _number(status: int) -> int:
    """Returns the signal that ended a process whose shell had this status; 0 if it ended by itself."""
    return status - 128 if 128 < status <= 128 + signal.SIGRTMAX else 0


def _how(status: int) -> str:
    if not (number := _number(status)):
        return f"ended with status {status}"
    named = number in list(signal.Signals)
    return f"was ended by {signal.Signals(number).name if named else f'signal {number}'}"


def settings_for(command: Sequence[str], ranks: int, port: int | None, settings: Settings) -> Settings:
    """Returns the settings with a port: the one given, a free one if the arguments have a placeholder, or ACCL's default.
    Raises InputError."""
    if port is None:
        port = free_ports(4 * ranks) if any(PORT in word for word in command[1:]) else settings.port
    check_ports(ranks, port)
    return replace(settings, port=port)


def check_ports(ranks: int, port: int) -> None:
    """Raises InputError if there are too few port numbers from `port` on."""
    if port + 4 * ranks - 1 > MAX_PORT:
        raise InputError(f"{ranks} ranks need {4 * ranks} ports from {port} on, but the last port is {MAX_PORT}")
