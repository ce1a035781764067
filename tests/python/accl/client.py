# SPDX-License-Identifier: Apache-2.0
"""A client of the server that sends the messages of ACCL's driver."""

from __future__ import annotations

import json
import time
from types import TracebackType
from typing import Any

import zmq

CONFIG, COPY, SEND, RECV, NOP = 0, 1, 3, 4, 255
TAG_ANY = 0xFFFFFFFF
FLOAT = 0x248  #: address to which `begin` writes the arithmetic configuration of floats, with 2 ranks and 16 buffers
_REPLY_MS = 10_000


class WireError(Exception):
    """A status for which the driver raises an exception."""


class Client:
    """One connection of a rank."""

    def __init__(self, port: int, rank: int = 0, kind: int = zmq.REQ) -> None:
        self._context = zmq.Context()
        self.socket = self._context.socket(kind)
        self.socket.setsockopt(zmq.RCVTIMEO, _REPLY_MS)
        self.socket.connect(f"tcp://127.0.0.1:{port + rank}")

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._context.destroy(linger=0)

    def send(self, message: bytes | dict[str, Any]) -> None:
        self.socket.send(message if isinstance(message, bytes) else json.dumps(message).encode())

    def exchange(self, message: bytes | dict[str, Any]) -> dict[str, Any]:
        self.send(message)
        answer: dict[str, Any] = json.loads(self.socket.recv())
        return answer

    def checked(self, **message: Any) -> Any:
        """Returns the answer. Raises WireError."""
        answer = self.exchange(message)
        if answer["status"]:
            raise WireError(answer)
        return answer.get("rdata")

    def read(self, address: int) -> int:
        value: int = self.checked(type=0, addr=address)
        return value

    def write(self, address: int, value: int) -> None:
        self.checked(type=1, addr=address, wdata=value)

    def load(self, address: int, size: int, host: bool = False) -> bytes:
        return bytes(self.checked(type=2, addr=address, len=size, host=host))

    def store(self, address: int, data: bytes, host: bool = False) -> None:
        self.checked(type=3, addr=address, wdata=list(data) or None, host=host)

    def allocate(self, address: int, size: int, host: bool = False) -> None:
        self.checked(type=4, addr=address, len=size, host=host)

    def start(self, scenario: int, ctrl_id: int = 0, **words: int) -> None:
        names = ("count", "comm", "root_src_dst", "function", "arithcfg", "compression_flags", "stream_flags")
        message = {"type": 5, "ctrl_id": ctrl_id, "scenario": scenario, "tag": TAG_ANY}
        message |= dict.fromkeys((*names, "addr_0", "addr_1", "addr_2"), 0)
        answer = self.exchange(message | words)
        if answer["status"] < 0:
            raise WireError(answer)

    def poll(self, ctrl_id: int = 0) -> bool:
        answer = self.exchange({"type": 6, "ctrl_id": ctrl_id})
        if answer["status"] < 0:
            raise WireError(answer)
        return bool(answer["status"] == 0)

    def wait(self, ctrl_id: int = 0) -> int:
        """The return code of the call, which the driver reads after its end."""
        deadline = time.monotonic() + _REPLY_MS / 1000
        while not self.poll(ctrl_id):
            assert time.monotonic() < deadline, "the call does not end"
        code = self.read(0x1FFC)
        self.read(0x1FF0)
        return code

    def call(self, scenario: int, ctrl_id: int = 0, **words: int) -> int:
        self.start(scenario, ctrl_id, **words)
        return self.wait(ctrl_id)

    def begin(self, rank: int, ranks: int, port: int, buffers: int = 16, size: int = 3072) -> None:
        """Sends the driver's messages at the start of a program."""
        self.read(0x1FF8)
        assert self.call(CONFIG) == 0
        assert self.read(0x1FF4) == 0
        for number in range(buffers):
            address = number * 4096
            self.allocate(address, size)
            self.store(address, bytes(size))
            for word, value in enumerate((0, address & 0xFFFFFFFF, address >> 32, 0, 0, 0, 0)):
                self.write(8 + 28 * number + 4 * word, value)
        self.write(4, size)
        self.write(0, buffers)
        for number in range(3):
            address = (buffers + number) * 4096
            self.allocate(address, size)
            self.store(address, bytes(size))
            self.write(0x1FD8 + 8 * number, address)
            self.write(0x1FDC + 8 * number, 0)
        at = 8 + 28 * buffers
        words = [ranks, rank]
        for member in range(ranks):
            words += [0x7F000001, port + member, 0, 0, member, size]
        words += [2, 2, 0, 0, 0, 2, 0, 4, 9, 4, 2, 0, 0, 1, 2, 1, 4, 9]
        for bytes_, functions in ((4, (0, 5)), (8, (1, 6)), (4, (2, 7)), (8, (3, 8))):
            words += [bytes_, bytes_, 0, 0, 0, len(functions), 0, *functions]
        for number, value in enumerate(words):
            self.write(at + 4 * number, value)
        for address, value in ((0x1FC4, 2), (0x1FC8, 32768), (0x1FCC, 3), (0x1FD0, 4), (0x1FD4, 768), (0x1FF4, 1)):
            self.write(address, value)
        for function, value in ((2, 1_000_000), (3, size), (4, 32768), (1, 0)):
            assert self.call(CONFIG, function=function, count=value) == 0
