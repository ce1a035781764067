# SPDX-License-Identifier: Apache-2.0
"""Does `thalweg-accl-emulator` serve programs that start it themselves, once per rank, and end when they end it, in any
order?"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("zmq", reason="pyzmq is not installed")

sys.path.insert(0, str(Path(__file__).parent))
from client import NOP, Client
from ports import free_ports
from processes import wait_for_end

START = (sys.executable, "-c", "from thalweg.systems.accl.emulator import main; main()")
TIMEOUT_S = 60


def words(rank: int, port: int, comms: str = "udp") -> list[str]:
    return [*START, "-s", "2", "-r", str(rank), "-p", str(port), "-b", "--comms", comms]


@contextmanager
def instances(port: int) -> Iterator[list[subprocess.Popen[str]]]:
    pipe = subprocess.PIPE
    started = [subprocess.Popen(words(rank, port), stdout=pipe, stderr=pipe, text=True) for rank in range(2)]
    try:
        yield started
    finally:
        for instance in started:
            instance.kill()
            instance.communicate()


def test_rank_0_serves_until_the_others_have_ended() -> None:
    port = free_ports(8)
    with instances(port) as (first, second), Client(port, 0) as client, Client(port, 1) as other:
        assert client.call(NOP) == other.call(NOP) == 0
        with socket.socket() as one:
            while one.connect_ex(("127.0.0.1", port + 3)):  # until the second instance has started
                assert second.poll() is None
        first.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            first.wait(0.3)
        assert other.call(NOP) == 0
        second.send_signal(signal.SIGINT)
        assert second.communicate(timeout=TIMEOUT_S) == ("", "")
        said, complaint = first.communicate(timeout=TIMEOUT_S)
    assert (first.returncode, second.returncode, complaint) == (0, 0, "")
    assert [line.split(maxsplit=6)[6] for line in said.splitlines()[1:]] == ["1 nop", "2 nop"]


def test_it_ends_with_the_process_that_started_it() -> None:
    port = free_ports(8)
    starter = "import subprocess, sys, time; print(subprocess.Popen(sys.argv[1:]).pid, flush=True); sys.stdin.read()"
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", starter, *words(0, port)], stdin=pipe, stdout=pipe, text=True
    ) as parent:
        assert parent.stdout
        emulator = int(parent.stdout.readline())
        with Client(port, 0) as client:
            assert client.call(NOP) == 0
        parent.kill()
    wait_for_end([emulator])


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (words(0, 5500, "cyt_tcp"), "--comms cyt_tcp is not supported; must be udp, tcp, cyt_rdma"),
        (words(2, 5500), "--localrank 2: must be below the number of ranks, 2"),
        (words(0, 65530), "2 ranks need 8 ports from 65530 on, but the last port is 65535"),
    ],
)
def test_bad_input(command: list[str], says: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"thalweg: {says}\n")
