# SPDX-License-Identifier: Apache-2.0
"""Random programs of ACCL's operations, whose results are compared with NumPy's.

They have several communicators, concurrent calls of hosts and kernels, messages with and without tags, to the same rank
and through kernels' streams, chains of calls, and all types, memories and compressions.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any

import numpy as np

from thalweg.errors import CheckFailed
from thalweg.systems.accl.cluster import Cluster
from thalweg.systems.accl.launch import run
from thalweg.systems.accl.library import Rank
from thalweg.systems.accl.program_steps import (
    BUFFERS,
    FUNCTIONS,
    OPERATIONS,
    TYPES,
    Array,
    Barrier,
    Collective,
    Local,
    Long,
    Messages,
    Part,
    Put,
    RankState,
    Relay,
    Step,
    Wait,
)
from thalweg.systems.accl.running import Result

SLOW_HOST_GB = 2.0  #: rate of host memory, below the link's, for messages larger than all receive buffers

_MAX_SEGMENTS = 100  #: segments that may wait at a rank between barriers; there is a buffer for each, so none is lost
_MAX_CALLS = 40  #: calls of a rank between barriers; an engine executes more concurrently


class Draw:
    """A random program for some ranks."""

    def __init__(
        self,
        seed: str,
        ranks: int,
        steps: int,
        buffer_bytes: int,
        most_segments: int = _MAX_SEGMENTS,
        most_calls: int = _MAX_CALLS,
        alone: bool = False,
        apart: bool = False,
        buffers: int = 0,
    ) -> None:
        """Draws the steps.

        `most_segments` is the maximum number of segments that wait at a rank, `most_calls` that of a rank's concurrent
        calls. With `alone`, each rank has at most one call in progress; with `apart`, at most one put is in a kernel's
        stream. With `buffers`, the number of receive buffers, some messages are larger than all of them; they come from
        host memory that is slower than the link.
        """
        self._random, self._ranks, self._buffer_bytes = random.Random(seed), ranks, buffer_bytes
        self._most_segments = most_segments
        self.alone, self._apart, self._buffers = alone, apart, buffers if ranks > 1 else 0
        draw = self._random
        #: Two communicators have all ranks; the second is for messages with any tag.
        self.groups = [list(range(ranks))] * 2 + [draw.sample(range(ranks), draw.randint(1, ranks)) for _ in range(3)]
        if self._buffers:
            self.groups.append(draw.sample(range(ranks), 2))
        # Each rank has one caller per communicator, as only the calls of one caller, or to one kernel's stream, are ordered.
        self._by_kernel = [[self._half() for _ in range(ranks)] for _ in self.groups]
        self._streams = [self._half() for _ in range(ranks)]
        self.steps: list[Step] = []
        calls = segments = 0
        for number in range(steps):
            step = self._step(1000 * number)
            more, bytes_ = step.load()
            full = calls + more > most_calls or segments + self._segments(more, bytes_) > most_segments
            if full or isinstance(step, Long):
                self.steps.append(Barrier(0, self._by_kernel[0], together=True))
                calls = segments = 0
            calls, segments = calls + more, segments + self._segments(more, bytes_)
            self.steps.append(step)
            if draw.random() < 0.3 and not alone:
                some = {rank for rank in range(ranks) if self._half()}
                self.steps.append(Wait(some, draw.choice([None, None, 0.5, 20])))

    def _half(self) -> bool:
        return self._random.random() < 0.5

    def _segments(self, calls: int, bytes_: int) -> int:
        return calls * self._ranks + math.ceil(bytes_ / self._buffer_bytes)

    def _two(self) -> tuple[bool, bool]:
        return self._random.random() < 0.2, self._random.random() < 0.2

    def _count(self) -> int:
        most = self._random.choice([3, 40, 40, 300])
        return self._random.randint(1, most)

    def _type(self) -> tuple[str, bool]:
        dtype = self._random.choice(TYPES)
        return dtype, dtype == "float32" and self._half()

    def _part(self, tag: int | None, ends: tuple[int, int]) -> Part:
        callers = [self._half(), self._half()]
        streams = [tag is not None and self._random.random() < 0.25 for _ in ends]
        for k, end in enumerate(ends):
            if tag is None:
                callers[k] = self._by_kernel[1][end]
            elif streams[k]:
                callers[k] = self._streams[end]
        by_kernel, through = (callers[0], callers[1]), (streams[0], streams[1])
        return Part(tag, self._count(), *self._type(), self._two(), by_kernel, through)

    def _step(self, key: int) -> Step:
        draw = self._random
        kind = draw.choices(
            ["collective", "messages", "any", "put", "relay", "local", "barrier", "long"],
            [8, 5, 2, 2, 0 if self.alone else 2, 2, 1, 1 if self._buffers else 0],
        )[0]
        if kind == "collective":
            return self._collective(key, draw.choice([0, 2, 3, 4]))
        if kind == "barrier":
            group = draw.choice([0, 2, 3, 4])
            return Barrier(group, self._by_kernel[group], together=False)
        if kind == "local":
            function = draw.choice([None, *FUNCTIONS])
            streams = {rank for rank in range(self._ranks) if draw.random() < 0.2}
            callers = [self._streams[rank] if rank in streams else self._half() for rank in range(self._ranks)]
            return Local(key, self._count(), draw.choice(TYPES), function, self._two(), callers, streams)
        if kind == "long":
            return self._long(key)
        source, via, destination = (draw.randrange(self._ranks) for _ in range(3))
        ends = (source, destination)
        if kind == "relay":
            chain, first, then = self._half(), self._half(), self._half()
            both = (first, then if chain else first)
            return Relay(key, source, via, destination, draw.randint(1, 300), chain, both)
        if kind == "put":
            stream = draw.randrange(247)
            return Put(key, source, destination, self._part(0, ends), stream // 8 * 8 + 3 if self._apart else stream)
        number = draw.randint(1, 3)
        parts = [self._part(None if kind == "any" else key + k, ends) for k in range(number)]
        order = list(range(number)) if kind == "any" else draw.sample(range(number), number)
        if any(any(part.streams) for part in parts):
            order.sort()  # calls that use a kernel's stream are sequential at both ends
        return Messages(key, int(kind == "any"), source, destination, parts, order)

    def _long(self, key: int) -> Long:
        draw, group = self._random, len(self.groups) - 1
        pair, root, (dtype, narrow) = self.groups[group], draw.randrange(2), self._type()
        most = self._buffers * self._buffer_bytes // np.dtype("float16" if narrow else dtype).itemsize
        count, function = draw.randint(most + 1, 2 * most), draw.choice([None, *FUNCTIONS])
        by_kernel = self._by_kernel[group]
        return Long(key, group, pair[1 - root], pair[root], root, count, dtype, narrow, function, by_kernel)

    def _collective(self, key: int, group: int) -> Collective:
        draw, members = self._random, self.groups[group]
        operation, count = draw.choice(OPERATIONS), draw.choice([0, *[self._count() for _ in range(9)]])
        if len(members) * count > 600:
            count = 600 // len(members)
        if operation == "bcast" and draw.random() < 0.5:
            count = draw.randint(1, self._most_segments * self._buffer_bytes // 32)
        can = {rank for rank in members if count > 0 and self._by_kernel[group][rank] == self._streams[rank]}
        streams = [{rank for rank in can if draw.random() < 0.2} for _ in range(2)]
        root = draw.randrange(len(members))
        if operation == "bcast":
            streams[1].discard(members[root])
        return Collective(
            key,
            group,
            members,
            operation,
            count,
            root,
            draw.choice([*FUNCTIONS]),
            *self._type(),
            self._two(),
            self._by_kernel[group],
            streams[0] if operation in ("reduce", "gather") else set(),
            streams[1] if operation in ("bcast", "reduce", "scatter", "reduce_scatter") else set(),
        )

    def program(self, rank: Rank) -> tuple[dict[Any, Array], list[tuple[int, bytes]]]:
        """Runs the program on a rank; returns its results, and the packets at its kernel."""
        on = RankState(rank, [rank.create_communicator(group) for group in self.groups], self.alone)
        for step in self.steps:
            step.begin(on)
        on.wait(on.open)
        rank.barrier()
        rank.pause(100)  # until all puts have arrived
        return on.results, [(stream, data.tobytes()) for stream, data, _ in rank.pull()]

    def verify(self, result: Result) -> None:
        """Raises CheckFailed if a result is wrong."""
        if result.lost:
            raise CheckFailed(f"lost: {result.lost}")
        for rank, (found, packets) in enumerate(result.values):
            expected: list[tuple[int, bytes]] = []
            for step in self.steps:
                for key, right in step.right(rank).items():
                    if not np.array_equal(found[key][: right.size], right, equal_nan=right.dtype.kind == "f"):
                        raise CheckFailed(f"rank {rank}, {step}: {found[key][: right.size]} is not {right}")
                expected += [(stream, _words(data)) for stream, data in step.packets(rank)]
            more, missing = Counter(packets) - Counter(expected), Counter(expected) - Counter(packets)
            if more or missing:
                raise CheckFailed(f"rank {rank}: its kernel has received {_named(more)}, expected {_named(missing)}")


def check(seed: str, ranks: int, transport: str, steps: int, in_switch: str | None = None) -> None:
    """Runs a program and checks all results; `in_switch` as in run(). Raises CheckFailed."""
    draw = random.Random(f"{seed} options")
    cluster = Cluster.load(f"accl-u280-{transport}")
    slow = draw.random() < 0.5
    if slow:
        cluster = cluster.replace(node={cluster.node_names[cluster.boards[0]]: {"host_gb": SLOW_HOST_GB}})
    buffer_bytes = draw.choice([512, 1024, 2048] if transport == "udp" else [128, 256, 1024])
    made = Draw(seed, ranks, steps, buffer_bytes, buffers=BUFFERS if slow else 0)
    most_eager = draw.choice([0, 4 * buffer_bytes])
    flat = draw.choice([0, 64, 1024, 32_768])
    options: dict[str, Any] = {
        "buffers": BUFFERS,
        "buffer_bytes": buffer_bytes,
        "most_eager_bytes": most_eager,
        "flat_bytes": flat,
    }
    made.verify(run(made.program, ranks, cluster, in_switch=in_switch, time_out_us=0, **options))


def _named(packets: Counter[tuple[int, bytes]]) -> str:
    return (
        "; ".join(f"{count} times {data.hex()} on stream {stream}" for (stream, data), count in packets.items())
        or "nothing"
    )


def _words(data: Array) -> bytes:
    text = data.tobytes()
    return text + bytes(-len(text) % 64)
