# SPDX-License-Identifier: Apache-2.0
"""Host programs that use Thalweg's C++ library of ACCL's operations (runtime/accl/include/accl.hpp). Each rank connects to
a Unix socket.

A client sends a request and waits for its answer. A request has a header (kind, argument, address, size, length of
data) and data; an answer has status, return code, value, length of data, and data. `accl/connection.hpp` defines the
same headers. Clients wait for the end of a call by a request, so the server knows which ranks run.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

from thalweg.errors import InputError
from thalweg.systems.accl import wire
from thalweg.systems.accl.calls import Call
from thalweg.systems.accl.engine import Engine
from thalweg.systems.accl.names import return_bits
from thalweg.systems.accl.pace import Clock
from thalweg.systems.accl.rank import Rank

SOCKET, RANKS = "THALWEG_ACCL_SOCKET", "THALWEG_ACCL_RANKS"  #: environment variables of a rank, with THALWEG_ACCL_RANK

_VERSION = 1
_REQUEST = struct.Struct("<IIQQQ")
_ANSWER = struct.Struct("<IIQQ")
_ARGUMENT = struct.Struct("<IHHQQ")  # argument of a kernel: kind, in host memory, element type, value or address, bytes
_TYPES = ("", "int8", "float16", "float32", "float64", "int32", "int64")  # in the order of dataType in accl.hpp
_LONGEST_NS = 10**16  # longest limited wait, 115 days, whose ticks fit in 63 bits; longer ones have no limit
_CALL_BYTES = 15 * 4
_READ_BYTES = 1 << 20


class _Kind(IntEnum):
    HELLO = 0
    READ = 1
    WRITE = 2
    LOAD = 3
    STORE = 4
    ALLOCATE = 5
    CALL = 6
    WAIT = 7
    START = 8


class _Argument(IntEnum):
    SIGNED = 0
    REAL = 1
    MEMORY = 2
    UNSIGNED = 3


class _Status(IntEnum):
    DONE = 0
    REFUSED = 1  # the data are the reason
    NOT_YET = 2


@dataclass(frozen=True)
class KernelArgument:
    """An argument that a program gives to a kernel: a number, or bytes in a memory of its rank."""

    value: int | float
    size: int | None = None  #: bytes of a memory, whose address is the value
    host: bool = False
    elements: str = ""  #: element type of a memory, if known


StartKernel = Callable[[int, str, Sequence[KernelArgument]], int]
"""Starts a kernel on a rank and returns its handle. Raises ValueError or InputError."""


@dataclass
class _Wait:
    number: int
    call: Call
    until: int | None  # tick of the limit


@dataclass(eq=False)
class _Host:
    """A connection of a host program."""

    connection: socket.socket
    rank: int = -1  # unknown before the first request
    received: bytearray = field(default_factory=bytearray)
    unsent: bytearray = field(default_factory=bytearray)  # answers that its socket has not accepted yet
    calls: dict[int, Call] = field(default_factory=dict)
    last_call: int = 0
    wait: _Wait | None = None
    last: float = 0.0  # wall time of the last answer


class Hosts:
    """The host programs of all ranks.

    With `exact`, this run has started them and has no other clients; virtual time stops while one of them runs.
    """

    def __init__(
        self,
        engine: Engine,
        ranks: Sequence[Rank],
        path: Path,
        limits: wire.Limits,
        clock: Clock,
        *,
        exact: bool,
        start_kernel: StartKernel | None = None,
    ) -> None:
        self._engine, self._ranks, self._limits, self._clock = engine, ranks, limits, clock
        self._start_kernel = start_kernel
        self.exact = exact
        self._awaited = set(range(len(ranks))) if exact else set()  # ranks that are neither connected nor have ended
        self._hosts: list[_Host] = []
        self._selector = selectors.EpollSelector()
        self._changed = clock()  # wall time of the start, or of the last disconnection
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(len(ranks))
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)

    def fileno(self) -> int:
        """File descriptor that is readable when there is something to receive."""
        return self._selector.fileno()

    def poll(self, seconds: float) -> None:
        """Waits until there is something to receive, or for at most this time."""
        self._selector.select(seconds)

    def close(self) -> None:
        for host in list(self._hosts):
            host.connection.close()
        self._listener.close()
        self._selector.close()

    def ended(self, ranks: Collection[int]) -> None:
        """The processes of these ranks have ended. Their requests are served; a process that one has forked may keep the
        connection open."""
        for host in [host for host in self._hosts if host.rank in ranks]:
            while host in self._hosts and self._read(host):
                pass
            self._leave(host)
        self._awaited -= set(ranks)

    @property
    def busy(self) -> set[int]:
        """Ranks that run; -1 for one that has not sent its rank."""
        return self._awaited | {host.rank for host in self._hosts if not host.wait}

    @property
    def ranks(self) -> set[int]:
        """Ranks that are connected."""
        return {host.rank for host in self._hosts}

    @property
    def waiting(self) -> bool:
        return any(host.wait for host in self._hosts)

    @property
    def last(self) -> float:
        """Wall time of the last answer to a rank that runs, or of the last disconnection; the start time if there was
        none."""
        return max((host.last for host in self._hosts if not host.wait), default=self._changed)

    @property
    def limit(self) -> int | None:
        """Tick at which the first client stops waiting."""
        return min((host.wait.until for host in self._hosts if host.wait and host.wait.until is not None), default=None)

    def receive(self) -> bool:
        """Answers received requests; False if there were none."""
        ready = self._selector.select(0)
        for key, events in ready:
            if key.fileobj is self._listener:
                self._accept()
            elif events & selectors.EVENT_WRITE:
                self._send(key.data)
                self._serve(key.data)
            else:
                self._read(key.data)
        return bool(ready)

    def answer_waits(self) -> None:
        """Answers clients whose calls have ended or whose time limit has passed."""
        for host in list(self._hosts):
            if host.wait:
                self._look(host, host.wait)
                self._serve(host)

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError):
            connection, _ = self._listener.accept()
            connection.setblocking(False)  # a program that does not read its answers delays no other
            host = _Host(connection, last=self._clock())
            self._hosts.append(host)
            self._selector.register(connection, selectors.EVENT_READ, host)

    def _read(self, host: _Host) -> bool:
        """Serves what a host has sent; False if there was nothing."""
        try:
            received = host.connection.recv(_READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            received = b""
        if not received:
            self._leave(host)
            return False
        host.received += received
        self._serve(host)
        return True

    def _messages(self, host: _Host) -> Iterator[tuple[tuple[int, ...], bytes]]:
        """Requests that have arrived, up to one that waits, or whose answer the socket does not take."""
        while len(host.received) >= _REQUEST.size and not host.wait and not host.unsent:
            header = _REQUEST.unpack_from(host.received)
            end = _REQUEST.size + header[-1]
            if header[-1] > self._limits.message:
                self._refuse(host, f"a request with {header[-1]} bytes; must be at most {self._limits.message}")
                self._leave(host)
                return
            if len(host.received) < end:
                return
            data = bytes(memoryview(host.received)[_REQUEST.size : end])
            del host.received[:end]
            yield header[:-1], data

    def _leave(self, host: _Host) -> None:
        if host not in self._hosts:
            return
        self._hosts.remove(host)
        self._selector.unregister(host.connection)
        host.connection.close()
        if host.rank < 0:
            return
        rank = self._ranks[host.rank]
        if left := rank.calls.leave(host):
            rank.report.died.append(left)
        self._changed = self._clock()
        if self.exact and host.rank not in self.ranks:
            self._awaited.add(host.rank)  # its process may connect again, until it ends

    def _serve(self, host: _Host) -> None:
        for header, data in self._messages(host):
            try:
                self._perform(host, header, data)
            except (ValueError, InputError) as error:
                self._refuse(host, str(error))

    def _perform(self, host: _Host, header: tuple[int, ...], data: bytes) -> None:
        kind, argument, address, size = header
        if host.rank < 0 or kind == _Kind.HELLO:
            self._hello(host, kind, argument, address)
        elif kind == _Kind.CALL:
            self._call(host, argument, data)
        elif kind == _Kind.WAIT:
            self._wait(host, address, size)
        elif kind == _Kind.START:
            self._start(host, data)
        else:
            found = self._access(self._ranks[host.rank], kind, bool(argument), address, size, data)
            if isinstance(found, bytes):
                self._answer(host, data=found)
            else:
                self._answer(host, value=found or 0)

    def _hello(self, host: _Host, kind: int, version: int, rank: int) -> None:
        if host.rank >= 0:
            raise ValueError(f"a second connection request from rank {host.rank} on one connection")
        if kind != _Kind.HELLO or version != _VERSION:
            raise ValueError(
                "the program was compiled with the header accl.hpp of another version of Thalweg; compile it again"
            )
        if rank >= len(self._ranks):
            raise ValueError(f"rank {rank} does not exist; must be below {len(self._ranks)}")
        host.rank = rank
        self._awaited.discard(rank)
        self._ranks[rank].report.clients += 1
        self._answer(host, value=len(self._ranks))

    def _access(self, rank: Rank, kind: int, host: bool, address: int, size: int, data: bytes) -> int | bytes | None:
        """Accesses the exchange memory, of which several words may be written at once, or a memory. Raises ValueError."""
        end = address + max(size, len(data))
        if kind in (_Kind.LOAD, _Kind.STORE, _Kind.ALLOCATE) and end > self._limits.memory:
            raise ValueError(f"memory up to {end:#x} exceeds the limit of {self._limits.memory} bytes per rank")
        if kind == _Kind.READ:
            return rank.perform(wire.ReadWord(address))
        if kind == _Kind.WRITE:
            if len(data) % 4:
                raise ValueError(f"{len(data)} bytes; must be a multiple of 4")
            for number, (word,) in enumerate(struct.iter_unpack("<I", data)):
                rank.perform(wire.WriteWord(address + 4 * number, word))
            return None
        if kind == _Kind.LOAD:
            if size > self._limits.message:
                raise ValueError(f"{size} bytes exceed the limit of {self._limits.message} bytes per answer")
            return rank.perform(wire.Load(host, address, size))
        if kind == _Kind.STORE:
            return rank.perform(wire.Store(host, address, data))
        if kind == _Kind.ALLOCATE:
            return rank.perform(wire.Allocate(host, address, size))
        raise ValueError(f"unknown kind of request: {kind}")

    def _call(self, host: _Host, port: int, data: bytes) -> None:
        """Serves a call: its words, and the numbers of the calls that it waits for."""
        if port >= wire.PORTS or len(data) < _CALL_BYTES or (len(data) - _CALL_BYTES) % 8:
            raise ValueError(f"invalid call of {len(data)} bytes at port {port}")
        words = list(struct.unpack_from("<15I", data))
        after = [self._known(host, number) for (number,) in struct.iter_unpack("<Q", data[_CALL_BYTES:])]
        self._begun(host, self._ranks[host.rank].calls.begin(host, port, words, after))

    def _start(self, host: _Host, data: bytes) -> None:
        """Starts a kernel: its name, and arguments."""
        name, _, rest = data.partition(b"\0")
        if self._start_kernel is None:
            raise ValueError("this run has no kernels; add them with thalweg accl run --kernels")
        if len(rest) % _ARGUMENT.size:
            raise ValueError(f"invalid kernel arguments of {len(rest)} bytes")
        arguments = []
        for kind, in_host, type_, value, size in _ARGUMENT.iter_unpack(rest):
            if kind in (_Argument.SIGNED, _Argument.UNSIGNED):
                negative = kind == _Argument.SIGNED and value >> 63
                arguments.append(KernelArgument(value - (1 << 64 if negative else 0)))
            elif kind == _Argument.REAL:
                arguments.append(KernelArgument(struct.unpack("<d", struct.pack("<Q", value))[0]))
            else:
                elements = _TYPES[type_] if type_ < len(_TYPES) else ""
                arguments.append(KernelArgument(value, size, bool(in_host), elements))
        text = name.decode(errors="replace")
        handle = self._start_kernel(host.rank, text, arguments)
        self._begun(host, self._ranks[host.rank].calls.add(host, f"kernel {text}", handle))

    def _begun(self, host: _Host, call: Call) -> None:
        host.last_call += 1
        host.calls[host.last_call] = call
        self._answer(host, value=host.last_call)

    def _known(self, host: _Host, number: int) -> Call:
        if number not in host.calls:
            raise ValueError(f"call {number} does not exist")
        return host.calls[number]

    def _wait(self, host: _Host, number: int, limit_ns: int) -> None:
        until = None
        if limit_ns < _LONGEST_NS:
            until = self._engine.now + -(-limit_ns * self._engine.ticks_per_second // 10**9)
        host.wait = _Wait(number, self._known(host, number), until)
        self._look(host, host.wait)

    def _look(self, host: _Host, wait: _Wait) -> None:
        end = wait.call.end
        if end is None:
            if wait.until is not None and wait.until <= self._engine.now:
                self._answer(host, _Status.NOT_YET)
            return
        del host.calls[wait.number]
        if wait.call.refused:
            self._answer(host, _Status.REFUSED, data=end.why.encode())
            return
        why = f"{', '.join(return_bits(end.code))} ({end.code:#x}): {end.why}" if end.code else ""
        duration_ns = (end.at - wait.call.begun) * 10**9 // self._engine.ticks_per_second
        self._answer(host, code=end.code, value=duration_ns, data=why.encode())

    def _refuse(self, host: _Host, line: str) -> None:
        if host.rank >= 0:
            self._ranks[host.rank].report.refused.add(line)
        self._answer(host, _Status.REFUSED, data=line.encode())

    def _answer(
        self, host: _Host, status: _Status = _Status.DONE, *, code: int = 0, value: int = 0, data: bytes = b""
    ) -> None:
        host.wait, host.last = None, self._clock()
        host.unsent += _ANSWER.pack(status, code, value, len(data)) + data
        self._send(host)

    def _send(self, host: _Host) -> None:
        """Sends as much as the socket takes. With a rest, no further request of this host is served."""
        try:
            while host.unsent:
                del host.unsent[: host.connection.send(host.unsent)]
        except BlockingIOError:
            pass
        except OSError:  # the program has disconnected
            host.unsent.clear()
        events = selectors.EVENT_WRITE if host.unsent else selectors.EVENT_READ
        if self._selector.get_key(host.connection).events != events:
            self._selector.modify(host.connection, events, host)
