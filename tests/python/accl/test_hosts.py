# SPDX-License-Identifier: Apache-2.0
"""Does the socket for host programs answer each message once, and refuse invalid ones?"""

from __future__ import annotations

import random
import socket
import struct
import sys
from pathlib import Path

from thalweg.systems.accl import hosts, wire
from thalweg.systems.accl.rank import Rank

sys.path.insert(0, str(Path(__file__).parent))
from fake_engine import FakeEngine


class Connected:
    """A client of one rank, and the server's side of it."""

    def __init__(self, folder: Path) -> None:
        self.engine = FakeEngine()
        self.ranks = [Rank(self.engine, rank, wire.Limits()) for rank in range(2)]
        limits = wire.Limits(memory=1 << 20, message=1 << 16)
        self.hosts = hosts.Hosts(self.engine, self.ranks, folder / "s", limits, lambda: 0.0, exact=True)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(folder / "s"))
        self.socket.settimeout(0.05)

    def exchange(
        self, kind: int, argument: int = 0, address: int = 0, size: int = 0, data: bytes = b""
    ) -> tuple[int, ...]:
        return self.raw(struct.pack("<IIQQQ", kind, argument, address, size, len(data)) + data)

    def raw(self, message: bytes) -> tuple[int, ...]:
        """Returns status, code and value, and discards the data. Empty if the connection is closed or there is no
        answer."""
        try:
            self.socket.sendall(message)
            self.work()
            header = self.socket.recv(24)
            if len(header) < 24:
                return ()
            *answer, length = struct.unpack("<IIQQ", header)
            while length:
                length -= len(self.socket.recv(length))
            return tuple(answer)
        except (OSError, TimeoutError):
            return ()

    def another(self) -> socket.socket:
        """Another client of rank 0."""
        made = socket.socket(socket.AF_UNIX)
        made.connect(str(Path(self.socket.getpeername())))
        made.sendall(struct.pack("<IIQQQ", 0, 1, 0, 0, 0))
        self.work()
        assert len(made.recv(24)) == 24
        return made

    def work(self) -> None:
        while self.hosts.receive():
            pass

    def close(self) -> None:
        self.socket.close()
        self.hosts.close()


def test_messages_that_are_none(tmp_path: Path, seed: int) -> None:
    """Each is refused in one line, or the connection ends; another client is still served."""
    draw = random.Random(seed)
    connected = Connected(tmp_path)
    assert connected.exchange(1, address=0) == (1, 0, 0), "before it has said its rank"
    assert connected.exchange(0, argument=99) == (1, 0, 0), "another version"
    assert connected.exchange(0, argument=1, address=2) == (1, 0, 0), "another rank"
    assert connected.exchange(0, argument=1, address=1) == (0, 0, 2)
    answered = 0
    for _ in range(3000):
        kind, number = draw.randrange(11), draw.choice([0, 1, 4, 60, 0x1FFC, 1 << 20, 1 << 40, 2**64 - 1])
        data = draw.randbytes(draw.choice([0, 0, 4, 60, 68, 61, 100]))
        argument = draw.choice([0, 1, 2, 7])
        if kind == 0:
            argument = 1 + draw.randrange(2)
        if kind == 7 and number:  # it would wait for a call that has not ended
            number = 1 << 40
        answer = connected.exchange(kind, argument, number, draw.choice([0, 4, 1 << 15, 2**64 - 1]), data)
        assert answer and answer[0] in (0, 1), (kind, argument, number, data)
        answered += 1
    assert answered == 3000
    refused = [line for rank in connected.ranks for line in rank.report.refused]
    assert refused and all(line.isprintable() and len(line) < 300 for line in refused)
    assert connected.exchange(4, size=0, address=0x100, data=b"hello") == (0, 0, 0)
    assert connected.exchange(3, address=0x100, size=5) == (0, 0, 0)
    assert connected.raw(struct.pack("<IIQQQ", 4, 0, 0, 0, 1 << 40)) == (1, 0, 0), (
        "it is too long, and ends the connection"
    )
    assert connected.exchange(1) == ()
    connected.close()


def test_a_client_that_does_not_read_its_answers(tmp_path: Path) -> None:
    """Another client is served meanwhile, and the server accepts no more of its requests; then it gets all answers."""
    connected = Connected(tmp_path)
    assert connected.exchange(0, argument=1, address=1) == (0, 0, 2)
    other, size, count = connected.another(), 1 << 16, 100
    content = bytes(range(256)) * (size // 256)
    other.sendall(struct.pack("<IIQQQ", 4, 0, 0, 0, size) + content + struct.pack("<IIQQQ", 3, 0, 0, size, 0) * count)
    connected.work()
    assert connected.exchange(1, address=0) == (0, 0, 0)
    found = bytearray()
    while len(found) < 24 + count * (24 + size):
        found += other.recv(1 << 20)
        connected.work()
    for k in range(count):
        begin = 24 + k * (24 + size)
        assert struct.unpack_from("<IIQQ", found, begin) == (0, 0, 0, size)
        assert found[begin + 24 : begin + 24 + size] == content
    other.close()
    connected.close()


def test_a_connection_belongs_to_one_rank(tmp_path: Path) -> None:
    connected = Connected(tmp_path)
    assert connected.exchange(0, argument=1, address=1) == (0, 0, 2)
    assert connected.exchange(0, argument=1, address=0) == (1, 0, 0)
    assert connected.hosts.ranks == {1}
    assert connected.hosts.busy == {0, 1}
    connected.close()


def test_a_rank_runs_until_its_process_has_ended(tmp_path: Path) -> None:
    """Also between two connections; when it has ended, its connection is closed even if another process has a copy."""
    connected = Connected(tmp_path)
    assert connected.exchange(0, argument=1, address=1) == (0, 0, 2)
    first = connected.another()
    first.close()
    connected.work()
    assert connected.hosts.busy == {0, 1}, "rank 0 may come again"
    second = connected.another()
    copy = second.dup()
    second.sendall(struct.pack("<IIQQQ", 4, 0, 0x40, 0, 5) + b"hello")
    second.close()
    connected.hosts.ended({0})
    assert (connected.hosts.busy, connected.hosts.ranks) == ({1}, {1})
    assert connected.engine.load(0, False, 0x40, 5) == b"hello"
    copy.close()
    connected.close()
