# SPDX-License-Identifier: Apache-2.0
"""Sockets of ACCL's driver over ZeroMQ, as in its emulator: clients connect to their rank's port, kernels to those of
streams."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thalweg import extras
from thalweg.errors import InputError
from thalweg.systems.accl import wire
from thalweg.systems.accl.pace import Clock, Pace
from thalweg.systems.accl.rank import Rank

if TYPE_CHECKING:
    import zmq

_LAST_WORDS_S = 0.2  # to send the last answers
_AT_ONCE = 100  # maximum messages of one socket before the next is polled


@dataclass(eq=False)
class Client:
    """A connection to a rank's port."""

    rank: int
    descriptor: int  #: file descriptor that the socket's monitor reports
    last: float = 0.0  #: wall time of the last answer
    poll: wire.Poll | None = None  #: poll that is not answered yet
    polled: bool = False  #: its last request was a poll of a call in progress
    envelope: tuple[bytes, ...] = ()
    deadline: float = 0.0  #: wall time at which its poll is answered


def load_zmq() -> Any:
    """Imports ZeroMQ. Raises InputError if it is not installed."""
    try:
        import zmq
        import zmq.utils.monitor
    except ImportError as error:
        raise extras.missing("serving ACCL's driver needs pyzmq", "accl") from error
    return zmq


class Drivers:
    """The clients of all ranks. Raises InputError if a port is in use. Times are of the wall clock.

    Rank r of N receives requests at port `port + r`, on a router socket. To a client it behaves like a REP socket, but
    other clients are answered while one waits. `port + 2N + r` publishes the output of the rank's kernel streams;
    kernels publish to `port + 3N + r`.
    """

    def __init__(
        self,
        ranks: Sequence[Rank],
        pace: Pace,
        clock: Clock,
        limits: wire.Limits,
        *,
        port: int,
        loopback: bool,
        hold: float,
    ) -> None:
        self._zmq = load_zmq()
        self._ranks, self._pace, self._clock, self._limits = ranks, pace, clock, limits
        self._port, self._loopback, self._hold = port, loopback, hold
        self.clients: dict[tuple[int, bytes], Client] = {}
        self._connected: list[set[int]] = [set() for _ in ranks]  # file descriptors of connections
        self._topics: list[set[bytes]] = [set() for _ in ranks]
        self.kernels_last = 0.0  #: wall time of the last message from or to an external kernel
        self._context: zmq.Context[zmq.Socket[bytes]] = self._zmq.Context()
        self._requests: list[zmq.Socket[bytes]] = []
        self._monitors: list[zmq.Socket[bytes]] = []
        self._from_engine: list[zmq.Socket[bytes]] = []
        self._to_engine: list[zmq.Socket[bytes]] = []
        try:
            for rank in range(len(ranks)):
                self._open(rank)
        except BaseException:
            self.close()
            raise
        self._poller = self._zmq.Poller()
        for socket in (*self._requests, *self._monitors, *self._from_engine, *self._to_engine):
            self._poller.register(socket, self._zmq.POLLIN)

    def close(self) -> None:
        for socket in self._requests:
            socket.disable_monitor()
        for socket in (*self._from_engine, *self._to_engine):  # otherwise closing would wait for connections
            socket.close(linger=0)
        self._context.destroy(linger=int(1000 * _LAST_WORDS_S))

    def watch(self, descriptor: int) -> None:
        """Makes `poll` also return when this file descriptor is readable."""
        self._poller.register(descriptor, self._zmq.POLLIN)

    def poll(self, seconds: float) -> None:
        self._poller.poll(1000 * seconds)

    def dismiss(self) -> None:
        """Answers waiting clients such that the driver raises an error."""
        for client in self.clients.values():
            if client.poll:
                self._answer(client, wire.failed())

    @property
    def with_kernels(self) -> bool:
        """True if external kernels may send at any time."""
        return bool(self.kernels_last) or any(self._topics)

    @property
    def waiting(self) -> set[int]:
        """Ranks with a client whose last request was a poll."""
        return {client.rank for client in self.clients.values() if client.polled}

    @property
    def busy(self) -> set[int]:
        """Ranks with a client whose last request was not a poll."""
        return {client.rank for client in self.clients.values() if not client.polled}

    @property
    def last(self) -> float:
        """Wall time of the last answer to a client that does not wait, or of the last message of a kernel."""
        last = max((client.last for client in self.clients.values() if not client.poll), default=0.0)
        return max(last, self.kernels_last)

    @property
    def deadline(self) -> float:
        """Wall time at which the first poll is answered; infinite if none waits."""
        return min((client.deadline for client in self.clients.values() if client.poll), default=math.inf)

    def receive(self) -> None:
        """Answers received messages. New connections are recorded first, as each was made before its messages."""
        arrived = [(rank, frames) for rank, socket in enumerate(self._requests) for frames in self._waiting(socket)]
        for rank, monitor in enumerate(self._monitors):
            for frames in self._waiting(monitor):
                self._note(rank, frames)
        for rank, frames in arrived:
            self._serve_one(rank, frames)
        for rank, socket in enumerate(self._from_engine):
            for frames in self._waiting(socket):
                change = frames[0].bytes
                (self._topics[rank].add if change[:1] == b"\1" else self._topics[rank].discard)(change[1:])
        for rank, socket in enumerate(self._to_engine):
            for frames in self._waiting(socket):
                self._give(rank, [frame.bytes for frame in frames])

    def answer_polls(self) -> None:
        wall = self._clock()
        for client in self.clients.values():
            if client.poll and self._ranks[client.rank].calls.take(client.poll.port):
                client.polled = False
                self._answer(client, wire.ok())
            elif client.poll and client.deadline <= wall:
                self._answer(client, wire.not_yet())

    def publish(self, rank: int, stream: int, content: bytes) -> None:
        parts = wire.stream_parts(stream, content)
        subscribed = any(parts[0].startswith(topic) for topic in self._topics[rank])
        if subscribed:
            self._from_engine[rank].send_multipart(parts)
            self.kernels_last = self._clock()
        if self._loopback:
            self._give(rank, parts)
        elif not subscribed:
            self._ranks[rank].report.unheard[stream] += 1

    def _give(self, rank: int, parts: list[bytes]) -> None:
        if self._ranks[rank].give(parts):
            self._pace.disturb()
            self.kernels_last = self._clock()

    def _open(self, rank: int) -> None:
        zmq, first, ranks = self._zmq, self._port, len(self._ranks)
        requests = self._socket(zmq.ROUTER)
        self._requests.append(requests)
        self._monitors.append(requests.get_monitor_socket(zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED))
        requests.setsockopt(zmq.MAXMSGSIZE, self._limits.text)
        self._bind(requests, first + rank)
        self._from_engine.append(self._socket(zmq.XPUB))
        self._bind(self._from_engine[-1], first + 2 * ranks + rank)
        self._to_engine.append(self._socket(zmq.SUB))
        self._to_engine[-1].setsockopt(zmq.MAXMSGSIZE, self._limits.text)
        self._to_engine[-1].setsockopt(zmq.SUBSCRIBE, b"")
        self._to_engine[-1].connect(f"tcp://127.0.0.1:{first + 3 * ranks + rank}")

    def _socket(self, kind: int) -> zmq.Socket[bytes]:
        socket: zmq.Socket[bytes] = self._context.socket(kind)
        socket.setsockopt(self._zmq.SNDHWM, 0)  # loses nothing
        socket.setsockopt(self._zmq.RCVHWM, 0)
        return socket

    def _bind(self, socket: zmq.Socket[bytes], port: int) -> None:
        try:
            socket.bind(f"tcp://127.0.0.1:{port}")
        except self._zmq.ZMQError as error:
            if error.errno == self._zmq.EADDRINUSE:
                raise InputError(f"port {port} is in use; choose another with --port") from error
            raise InputError(f"port {port}: {os.strerror(error.errno or 0)}") from error

    def _waiting(self, socket: zmq.Socket[bytes]) -> Iterator[list[zmq.Frame]]:
        for _ in range(_AT_ONCE):
            try:
                yield socket.recv_multipart(self._zmq.NOBLOCK, copy=False)
            except self._zmq.Again:
                return

    def _note(self, rank: int, frames: list[zmq.Frame]) -> None:
        """Records a new or closed connection. A previous client with the same descriptor has disconnected."""
        event = self._zmq.utils.monitor.parse_monitor_message([frame.bytes for frame in frames])
        descriptor = event["value"]
        if event["event"] == self._zmq.EVENT_ACCEPTED:
            self._connected[rank].add(descriptor)
        else:
            self._connected[rank].discard(descriptor)
        for key, client in list(self.clients.items()):
            if client.rank == rank and client.descriptor == descriptor:
                self._leave(key, client)

    def _leave(self, key: tuple[int, bytes], client: Client) -> None:
        del self.clients[key]
        rank = self._ranks[client.rank]
        if left := rank.calls.leave(client):
            rank.report.died.append(left)

    def _serve_one(self, rank: int, frames: list[zmq.Frame]) -> None:
        """Answers one message: identity of the client, its envelope up to an empty part, which the answer repeats, and the
        request."""
        identity, *parts = [frame.bytes for frame in frames]
        length = parts.index(b"") + 1 if b"" in parts else 0
        key = (rank, identity)
        client = self.clients.get(key)
        if client is None:
            try:
                descriptor = frames[-1].get(self._zmq.SRCFD)
            except self._zmq.ZMQError:  # from a disconnected client of an old ZeroMQ
                self._ranks[rank].report.refused.add("a message from an unknown connection")
                return
            self._ranks[rank].report.clients += 1
            client = self.clients[key] = Client(rank, descriptor)
        if client.poll:  # a second request before the answer, which a REQ socket does not send
            self._answer(client, wire.not_yet())
        client.envelope = (identity, *parts[:length])
        request = self._ranks[rank].decode(parts[length:])
        answer = request if isinstance(request, bytes) else self._ranks[rank].execute(client, request)
        if answer is not None:
            self._answer(client, answer)
        elif isinstance(request, wire.Poll):
            client.poll, client.deadline = request, self._clock() + self._hold
        client.polled = answer is None
        if not isinstance(request, wire.Poll):
            self._pace.disturb()
        if client.descriptor not in self._connected[rank]:
            self._leave(key, client)

    def _answer(self, client: Client, answer: bytes) -> None:
        client.poll, client.last = None, self._clock()
        with contextlib.suppress(self._zmq.ZMQError):  # the connection is closed
            self._requests[client.rank].send_multipart([*client.envelope, answer], self._zmq.NOBLOCK)
