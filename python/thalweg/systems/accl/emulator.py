# SPDX-License-Identifier: Apache-2.0
"""The executable `thalweg-accl-emulator`, which ACCL's test programs start instead of ACCL's emulator if
ACCL_EMULATOR_PATH is its path.

Such a program starts one instance per rank. The instance of rank 0 serves all ranks. Other ranks may still need it when
rank 0 has finished, so it ends once it has received a signal and all other instances have exited. Each of them listens
on a port, by which rank 0's instance detects whether it is running.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable
from typing import NoReturn

from thalweg.errors import InputError
from thalweg.systems.accl.engine import Engine
from thalweg.systems.accl.report import Report
from thalweg.systems.accl.server import Server, Settings

HOST = "127.0.0.1"
_LOOK_S = 0.05


def main() -> NoReturn:
    """Runs `thalweg accl emulator` with this process's arguments."""
    sys.argv[1:1] = ["accl", "emulator"]
    from thalweg.__main__ import main as thalweg

    thalweg()


def asked_to_end(signalled: Callable[[], bool]) -> Callable[[], bool]:
    """Returns a function that is true once a signal has arrived or the parent process has ended."""
    parent = os.getppid()
    return lambda: signalled() or os.getppid() != parent


def serve(engine: Engine, settings: Settings, ended: Callable[[], bool]) -> Report:
    """Serves all ranks until `ended` and until no instance of another rank is running."""
    server = Server(engine, settings)
    ports = [settings.port + engine.ranks + rank for rank in range(1, engine.ranks)]
    try:
        return server.serve(lambda: ended() and not any(map(_listens, ports)))
    finally:
        server.close()


def wait(rank: int, ranks: int, port: int, ended: Callable[[], bool]) -> None:
    """Runs the instance of a rank other than 0. Raises InputError if its port is in use."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port + ranks + rank))
        except OSError as error:
            raise InputError(f"port {port + ranks + rank}: {error.strerror}") from error
        listener.listen()
        while not ended():
            time.sleep(_LOOK_S)


def _listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex((HOST, port)) == 0
