# SPDX-License-Identifier: Apache-2.0
"""A minimal engine, which moves bytes at once: copy, send and recv, from and to memory and kernel streams."""

from __future__ import annotations

import contextlib
import heapq
import itertools
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from thalweg.systems.accl.engine import End

LATENCY = 1000  # ticks of a nanosecond
RECEIVE_TIME_OUT = 1 << 11
NOT_IMPLEMENTED = 1 << 14
RETURN_CODE = 0x1FFC
EXCHANGE_BYTES = 0x2000
STREAM_IN, STREAM_OUT = 1, 2


@dataclass(eq=False)
class Call:
    handle: int
    rank: int
    port: int
    code: int | None = None


@dataclass(eq=False)
class Waiting:
    """A call that waits for data from a rank, or from a kernel if `source` is None."""

    call: Call
    source: int | None
    target: Callable[[bytes], None]
    deadline: int


@dataclass
class FakeEngine:
    ranks: int = 2
    ticks_per_second: int = 1_000_000_000
    unreliable: frozenset[int] = frozenset()
    now: int = 0
    time_out_ticks: int = 4_000_000
    refuse: str = ""  #: all calls, with this line
    fail_at: int | None = None  #: tick at which `advance` raises an error
    advances: int = 0
    _events: list[tuple[int, int, Callable[[], None]]] = field(default_factory=list)
    _order: itertools.count[int] = field(default_factory=itertools.count)
    _waiting: list[Waiting] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.exchange = [bytearray(EXCHANGE_BYTES) for _ in range(self.ranks)]
        self.memory: dict[tuple[int, bool], bytearray] = defaultdict(bytearray)
        self.calls: list[tuple[int, int, list[int]]] = []
        self._ended: dict[int, dict[int, End]] = defaultdict(dict)
        self._line: dict[tuple[int, int], deque[Call]] = defaultdict(deque)
        self._sent: dict[tuple[int, int], deque[bytes]] = defaultdict(deque)
        self._given: dict[int, deque[bytes]] = defaultdict(deque)
        self._taken: dict[int, list[tuple[int, bytes]]] = defaultdict(list)

    def read(self, rank: int, address: int) -> int | None:
        if address % 4 or address >= EXCHANGE_BYTES:
            return None
        return int.from_bytes(self.exchange[rank][address : address + 4], "little")

    def write(self, rank: int, address: int, value: int) -> bool:
        if address % 4 or address >= EXCHANGE_BYTES:
            return False
        self.exchange[rank][address : address + 4] = value.to_bytes(4, "little")
        return True

    def allocate(self, rank: int, host: bool, address: int, size: int) -> None:
        if address + size > 1 << 24:
            raise ValueError(f"rank {rank} has no {size} bytes at {address:#x}")
        memory = self.memory[rank, host]
        memory.extend(bytes(max(address + size - len(memory), 0)))

    def load(self, rank: int, host: bool, address: int, size: int) -> bytes | None:
        memory = self.memory[rank, host]
        return bytes(memory[address : address + size]) if address + size <= len(memory) else None

    def store(self, rank: int, host: bool, address: int, data: bytes) -> None:
        self.allocate(rank, host, address, len(data))
        self.memory[rank, host][address : address + len(data)] = data

    def call(self, rank: int, port: int, words: list[int]) -> int:
        assert len(words) == 15 and all(0 <= word < 1 << 32 for word in words)
        if self.refuse:
            raise ValueError(self.refuse)
        self.calls.append((rank, port, words))
        call = Call(len(self.calls), rank, port)
        self._line[rank, port].append(call)
        scenario, count, _, peer, _, tag, configuration, _, flags = words[:9]
        addresses = [low | high << 32 for low, high in zip(words[9::2], words[10::2], strict=True)]
        size = count * (self.read(rank, configuration) or 0)

        def later(what: Callable[[], None]) -> None:
            heapq.heappush(self._events, (self.now + LATENCY, next(self._order), what))

        def stored(data: bytes) -> None:
            if flags & STREAM_OUT:
                self._taken[rank].append((tag & 0xFF, data))
            else:
                with contextlib.suppress(ValueError):
                    self.store(rank, bool(flags >> 10 & 1), addresses[2], data[:size])

        def sent(data: bytes) -> None:
            if flags & STREAM_OUT:  # stream_put
                later(lambda: self._taken[peer].append((tag, data)))
            else:
                self._sent[rank, peer].append(data)
                self._match()

        target = sent if scenario == 3 else stored
        if scenario in (1, 3) and not flags & STREAM_IN:
            source = self.load(rank, bool(flags >> 8 & 1), addresses[0], size) or bytes(size)

            def moved() -> None:
                target(source)
                self._end(call, 0)

            later(moved)
        elif scenario in (1, 3, 4):
            waits_for = peer if scenario == 4 else None
            self._waiting.append(Waiting(call, waits_for, target, self.now + self.time_out_ticks))
            later(self._match)
        else:
            later(lambda: self._end(call, 0 if scenario in (0, 255) else NOT_IMPLEMENTED))
        return call.handle

    def ends(self, rank: int) -> dict[int, End]:
        return self._ended.pop(rank, {})

    def advance(self, until: int | None) -> bool:
        self.advances += 1
        before = sum(map(len, self._ended.values()))
        while (tick := self._next()) is not None and (until is None or tick < until):
            if self.fail_at is not None and tick >= self.fail_at:
                raise RuntimeError("the engine is broken")
            self.now = max(self.now, tick)
            if self._events and self._events[0][0] == tick:
                heapq.heappop(self._events)[2]()
            else:
                for one in [one for one in self._waiting if one.deadline == tick]:
                    self._waiting.remove(one)
                    self._end(one.call, RECEIVE_TIME_OUT)
            if sum(map(len, self._ended.values())) > before:
                return True
        return False

    def expire(self) -> bool:
        time_out = self.time_out()
        return time_out is not None and self.advance(time_out + 1)

    def pass_to(self, tick: int) -> bool:
        ended = self.advance(tick)
        self.now = self.now if ended else max(self.now, tick)
        return ended

    def quiet(self) -> bool:
        return not self._events

    def time_out(self) -> int | None:
        return min((one.deadline for one in self._waiting), default=None)

    def blocked(self) -> list[str]:
        return [f"rank {one.call.rank} waits for rank {one.source}" for one in self._waiting]

    def lost(self) -> list[str]:
        return []

    def failed(self) -> list[str]:
        return []

    def give(self, rank: int, data: bytes) -> None:
        assert data and len(data) % 64 == 0
        self._given[rank].append(data)
        heapq.heappush(self._events, (self.now + LATENCY, next(self._order), self._match))

    def take(self, rank: int) -> list[tuple[int, bytes]]:
        return self._taken.pop(rank, [])

    def close(self) -> None:
        pass

    def _next(self) -> int | None:
        ticks = [self._events[0][0]] if self._events else []
        deadline = self.time_out()
        return min(ticks + ([] if deadline is None else [deadline]), default=None)

    def _match(self) -> None:
        for one in list(self._waiting):
            queue = self._given[one.call.rank] if one.source is None else self._sent[one.source, one.call.rank]
            if queue:
                self._waiting.remove(one)
                one.target(queue.popleft())
                self._end(one.call, 0)

    def _end(self, call: Call, code: int) -> None:
        """Ends the calls of a port in order."""
        call.code = code
        line = self._line[call.rank, call.port]
        while line and (first := line[0].code) is not None:
            why = "as the fake engine says" if first else ""
            self._ended[call.rank][line.popleft().handle] = End(first, why, self.now)
            self.write(call.rank, RETURN_CODE, first)
