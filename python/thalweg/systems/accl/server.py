# SPDX-License-Identifier: Apache-2.0
"""Serves ACCL's driver over ZeroMQ as ACCL's emulator does: clients connect a socket to their rank's port, kernels to those of streams."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thalweg.errors import InputError
from thalweg.systems.accl import wire
from thalweg.systems.accl.engine import Engine
from thalweg.systems.accl.pace import Clock, Pace
from thalweg.systems.accl.rank import Rank
from thalweg.systems.accl.report import Report

if TYPE_CHECKING:
    import zmq

_WATCH_S = 0.05  # between looks at whether to stop
_LAST_WORDS_S = 0.2  # for the last answers
_AT_ONCE = 100  # messages of a socket before the others have their turn


@dataclass(frozen=True)
class Settings:
    """Of a server; times in seconds of wall time."""

    port: int = 5500
    loopback: bool = False  #: what leaves a kernel stream comes back into the engine
    grace: float = 0.002  #: a client that has been silent for longer is not expected to send
    hold: float = 0.05  #: so long a poll waits for the end of a call
    patience: float = 1.0  #: at least so much silence before a time-out
    limits: wire.Limits = wire.Limits()


@dataclass(eq=False)
class Client:
    """A connection to a rank's port."""

    rank: int
    descriptor: int  #: of the connection, as its monitor names it
    last: float = 0.0  #: wall time of the last answer
    poll: wire.Poll | None = None  #: it waits for the end of a call
    polled: bool = False  #: its last request was a poll, whose call had not ended
    envelope: tuple[bytes, ...] = ()
    deadline: float = 0.0  #: of the answer to its poll


def load_zmq() -> Any:
    """The module of ZeroMQ. Raises InputError if it is not installed."""
    try:
        import zmq
        import zmq.utils.monitor
    except ImportError as error:
        raise InputError("serving ACCL's driver needs pyzmq: pip install 'thalweg[accl]'") from error
    return zmq


class Server:
    """The sockets of all ranks of an engine, on one thread. Raises InputError if a port cannot be had.

    Rank r of N has the port `port + r` for requests. A router answers them, which to a client is the same as a REP socket, but it answers
    another client while one waits. `port + 2N + r` publishes what leaves the rank's kernel streams; to `port + 3N + r` kernels publish.
    """

    def __init__(self, engine: Engine, settings: Settings, clock: Clock = time.monotonic) -> None:
        self._zmq = load_zmq()
        self._engine, self._settings, self.clock = engine, settings, clock
        self._ranks = [Rank(engine, rank, settings.limits) for rank in range(engine.ranks)]
        self._pace = Pace(engine, settings.patience, clock)
        self._clients: dict[tuple[int, bytes], Client] = {}
        self._connected: list[set[int]] = [set() for _ in self._ranks]  # descriptors
        self._topics: list[set[bytes]] = [set() for _ in self._ranks]
        self._kernels_last = 0.0  # wall time of the last message from or to a kernel
        self._context: zmq.Context[zmq.Socket[bytes]] = self._zmq.Context()
        self._requests: list[zmq.Socket[bytes]] = []
        self._monitors: list[zmq.Socket[bytes]] = []
        self._from_engine: list[zmq.Socket[bytes]] = []
        self._to_engine: list[zmq.Socket[bytes]] = []
        try:
            for rank in range(engine.ranks):
                self._open(rank)
        except BaseException:
            self.close()
            raise

    @property
    def report(self) -> Report:
        seconds = self._engine.now / self._engine.ticks_per_second
        return Report([rank.report for rank in self._ranks], virtual_s=seconds)

    def serve(self, stopped: Callable[[], bool]) -> Report:
        """Answers until `stopped`. Clients that wait then get an answer that makes the driver raise an error."""
        poller = self._zmq.Poller()
        for socket in (*self._requests, *self._monitors, *self._from_engine, *self._to_engine):
            poller.register(socket, self._zmq.POLLIN)
        try:
            while not stopped():
                poller.poll(1000 * self._pause())
                self._receive()
                if (moment := self._moment()) is not None and moment <= self.clock():
                    self._pace.move()
                    self._collect()
                self._answer_polls()
        finally:
            for client in self._clients.values():
                if client.poll:
                    self._answer(client, wire.failed())
        return self._finished()

    def stuck(self, ranks: Collection[int]) -> bool:
        """True if nothing will ever happen unless one of these ranks does something else than it has done for `patience`: each has clients, and
        all of them wait for calls, none of which has a time-out. Kernels outside the engine may do something at any time."""
        if self._kernels_last or any(self._topics) or not self._engine.quiet() or self._pace.due() is not None:
            return False
        since = self.clock() - self._settings.patience
        waiting = {client.rank for client in self._clients.values() if client.polled}
        busy = any(not client.polled and client.rank in ranks for client in self._clients.values())
        return bool(waiting) and waiting >= set(ranks) and not busy and self._pace.stands_since < since

    def close(self) -> None:
        for socket in self._requests:
            socket.disable_monitor()
        for socket in (*self._from_engine, *self._to_engine):  # which would wait for others to connect
            socket.close(linger=0)
        self._context.destroy(linger=int(1000 * _LAST_WORDS_S))

    def _open(self, rank: int) -> None:
        zmq, first, ranks = self._zmq, self._settings.port, self._engine.ranks
        requests = self._socket(zmq.ROUTER)
        self._requests.append(requests)
        self._monitors.append(requests.get_monitor_socket(zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED))
        requests.setsockopt(zmq.MAXMSGSIZE, self._settings.limits.text)
        self._bind(requests, first + rank)
        self._from_engine.append(self._socket(zmq.XPUB))
        self._bind(self._from_engine[-1], first + 2 * ranks + rank)
        self._to_engine.append(self._socket(zmq.SUB))
        self._to_engine[-1].setsockopt(zmq.MAXMSGSIZE, self._settings.limits.text)
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
                raise InputError(f"port {port} is in use; choose others with --port") from error
            raise InputError(f"port {port}: {os.strerror(error.errno or 0)}") from error

    def _pause(self) -> float:
        """Seconds until something is to be done without a message."""
        moments = [client.deadline for client in self._clients.values() if client.poll]
        if (moment := self._moment()) is not None:
            moments.append(moment)
        return min(max(min(moments, default=_WATCH_S + self.clock()) - self.clock(), 0.0), _WATCH_S)

    def _moment(self) -> float | None:
        """The wall time from which virtual time may move; None if it needs a message.

        It moves while a call has not ended or something is under way, and every client waits for a call's end or has been silent for the
        grace. So a client that has just been answered may send its next request before time moves, and one that computes holds nobody up."""
        if self._engine.quiet() and not any(rank.calls.run for rank in self._ranks):
            return None
        if (due := self._pace.due()) is None:
            return None
        busy = max((client.last for client in self._clients.values() if not client.poll), default=0.0)
        return max(due, max(busy, self._kernels_last) + self._settings.grace)

    def _receive(self) -> None:
        """Answers what has come. Connections are noted first: that of a message has been made before it came."""
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

    def _waiting(self, socket: zmq.Socket[bytes]) -> Iterator[list[zmq.Frame]]:
        for _ in range(_AT_ONCE):
            try:
                yield socket.recv_multipart(self._zmq.NOBLOCK, copy=False)
            except self._zmq.Again:
                return

    def _note(self, rank: int, frames: list[zmq.Frame]) -> None:
        """A connection has come or gone. Either way, whoever had its descriptor before has left."""
        event = self._zmq.utils.monitor.parse_monitor_message([frame.bytes for frame in frames])
        descriptor = event["value"]
        if event["event"] == self._zmq.EVENT_ACCEPTED:
            self._connected[rank].add(descriptor)
        else:
            self._connected[rank].discard(descriptor)
        for key, client in list(self._clients.items()):
            if client.rank == rank and client.descriptor == descriptor:
                self._leave(key, client)

    def _leave(self, key: tuple[int, bytes], client: Client) -> None:
        del self._clients[key]
        rank = self._ranks[client.rank]
        if left := rank.calls.leave(client):
            rank.report.died.append(", ".join(left))

    def _serve_one(self, rank: int, frames: list[zmq.Frame]) -> None:
        """Of one message: the client's identity, its envelope up to an empty part, which the answer repeats, and the request."""
        identity, *parts = [frame.bytes for frame in frames]
        length = parts.index(b"") + 1 if b"" in parts else 0
        key = (rank, identity)
        client = self._clients.get(key)
        if client is None:
            self._ranks[rank].report.clients += 1
            client = self._clients[key] = Client(rank, frames[-1].get(self._zmq.SRCFD))
        if client.poll:  # sent while it waited, which a REQ socket does not
            self._answer(client, wire.not_yet())
        client.envelope = (identity, *parts[:length])
        request = self._ranks[rank].decode(parts[length:])
        answer = request if isinstance(request, bytes) else self._ranks[rank].execute(client, request)
        if answer is not None:
            self._answer(client, answer)
        elif isinstance(request, wire.Poll):
            client.poll, client.deadline = request, self.clock() + self._settings.hold
        client.polled = answer is None
        if not isinstance(request, wire.Poll):
            self._pace.disturb()
        if client.descriptor not in self._connected[rank]:
            self._leave(key, client)

    def _answer(self, client: Client, answer: bytes) -> None:
        client.poll, client.last = None, self.clock()
        with contextlib.suppress(self._zmq.ZMQError):  # of a connection that has gone
            self._requests[client.rank].send_multipart([*client.envelope, answer], self._zmq.NOBLOCK)

    def _collect(self) -> None:
        """Takes what the engine has brought forth: data for kernels, and ends of calls."""
        for number, rank in enumerate(self._ranks):
            for stream, content in self._engine.take(number):
                self._publish(number, stream, content)
            rank.calls.collect()

    def _answer_polls(self) -> None:
        wall = self.clock()
        for client in self._clients.values():
            if client.poll and self._ranks[client.rank].calls.take(client.poll.port):
                client.polled = False
                self._answer(client, wire.ok())
            elif client.poll and client.deadline <= wall:
                self._answer(client, wire.not_yet())

    def _publish(self, rank: int, stream: int, content: bytes) -> None:
        parts = wire.stream_parts(stream, content)
        heard = any(parts[0].startswith(topic) for topic in self._topics[rank])
        if heard:
            self._from_engine[rank].send_multipart(parts)
            self._kernels_last = self.clock()
        if self._settings.loopback:
            self._give(rank, parts)
        elif not heard:
            self._ranks[rank].report.unheard[stream] += 1

    def _give(self, rank: int, parts: list[bytes]) -> None:
        if self._ranks[rank].give(parts):
            self._pace.disturb()
            self._kernels_last = self.clock()

    def _finished(self) -> Report:
        for rank in self._ranks:
            rank.calls.finish()
        report = self.report
        report.lost = self._engine.lost()
        if any(rank.never_ended for rank in report.ranks):
            report.blocked = self._engine.blocked()
        return report
