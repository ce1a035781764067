# SPDX-License-Identifier: Apache-2.0
"""Does the socket for host programs answer each message once, and refuse what is wrong?"""

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
        """Status, code, value; the data are read over. Empty where the connection has gone or nothing is answered."""
        try:
            self.socket.sendall(message)
            while self.hosts.receive():
                pass
            header = self.socket.recv(24)
            if len(header) < 24:
                return ()
            *answer, length = struct.unpack("<IIQQ", header)
            while length:
                length -= len(self.socket.recv(length))
            return tuple(answer)
        except (OSError, TimeoutError):
            return ()

    def close(self) -> None:
        self.socket.close()
        self.hosts.close()


def test_messages_that_are_none(tmp_path: Path, seed: int) -> None:
    """Each is refused in one line, or the connection ends; another client is served as ever."""
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
        if kind == 7 and number:  # of a call that has not ended it would wait
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
