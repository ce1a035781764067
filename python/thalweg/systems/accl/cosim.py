# SPDX-License-Identifier: Apache-2.0
"""Co-simulation of random programs of ACCL's operations on four boards.

Each program runs on the simulator alone, and then with Verilated RTL that executes the calls, or only the moves into
which the simulator's sequencer divides them. Both runs must give NumPy's results, the same return codes, the same
ranges of memory accesses and the same frames. If each rank has at most one call in progress, accesses and frames must
also have the same order at each port, and the RTL's time must be within stated bounds.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from thalweg.errors import CheckFailed, InputError
from thalweg.systems.accl import rtl_engine
from thalweg.systems.accl._sim import Network
from thalweg.systems.accl.cluster import Cluster
from thalweg.systems.accl.drawn_programs import SLOW_HOST_GB, Draw
from thalweg.systems.accl.launch import run_on
from thalweg.systems.accl.names import SCENARIOS
from thalweg.systems.accl.running import Options, Run

RANKS = 4
ALIKE = 50
"""Consecutive seeds whose boards have the same parameters, so that their RTL is built once."""
_STEPS = 30
#: Half of the receive buffers, which hold segments that no call has matched yet.
_MAX_SEGMENTS = rtl_engine.BUFFERS // 2


#: Share by which the RTL may be faster: it reports a call's end when its last frame is passed to the MAC, the simulator when the frame is on the link.
_FASTER = 0.02
#: Cycles by which the RTL may be slower per frame: tw_matcher has four look-ups, each in its number of rows plus 19 cycles, and the mover takes some 60.
_SLOWER_CYCLES = 4 * (max(rtl_engine.BUFFERS, rtl_engine.SLOTS) + 19) + 60
#: Per call: its order among the calls in progress and the blocks of its operand and result (tw_call_order), and its report (tw_call_report).
_CALL_CYCLES = 15 + 3 * rtl_engine.CALLS + 2 * 14 + 12
#: Before the first call: all words of the exchange memory are cleared, the host writes some 600 of them, and six communicators are loaded.
_SET_UP_CYCLES = 2048 + 3 * 600 + 6 * (34 * RANKS + 48)


class Outcome(NamedTuple):
    calls: int
    frames: int
    slower: float | None  #: RTL's time over the simulator's, if each rank had one call in progress at a time


@dataclass(frozen=True)
class Recorded:
    """Transactions of a board: memory accesses, with contiguous ones merged into ranges, and the frames that it sent."""

    ranges: dict[
        str, list[tuple[bool, int, int]]
    ]  #: by port (x, y, z), in order of their first accesses: in host memory, address, bytes
    frames: list[bytes]


def _recorded(network: Network, rank: int) -> Recorded:
    def word(address: int) -> int:
        return network.read(rank, address) or 0

    count, size = word(0), word(4)
    first = [word(12 + 28 * k) | word(16 + 28 * k) << 32 for k in range(count)]
    held = {address + offset for address in first for offset in range(0, size, 512)}
    found = Recorded({"x": [], "y": [], "z": []}, [])
    ends: dict[tuple[str, bool, int], int] = {}  # index of the range that ends at an address of a port
    for port, host, at, length, frame in network.recorded(rank):
        if port == "s":
            found.frames.append(frame)
        elif host or at // 512 * 512 not in held:
            ranges = found.ranges[port]
            which = ends.pop((port, host, at), None)
            if which is None:
                which = len(ranges)
                ranges.append((host, at, 0))
            ranges[which] = (host, ranges[which][1], ranges[which][2] + length)
            ends[port, host, at + length] = which
    return found


def random_sort(draw: random.Random, cluster: Cluster) -> Cluster:
    """Returns the cluster with random parameters of its RTL.

    The sequencer is no slower than that of the RTL, as a slow one would hide the times of the moves.
    """
    name = cluster.node_names[cluster.boards[0]]
    packet_bytes = draw.choice((512, 1024, 4096, 8192))
    none = dict.fromkeys(SCENARIOS.values(), [0, 0])
    values = {"packet_bytes": packet_bytes, "host_gb": SLOW_HOST_GB, "processor": none, "calls": rtl_engine.CALLS}
    return cluster.replace(node={name: values})


def compare(cluster: Cluster, seed: int, *, moves: bool = False) -> Outcome:
    """Compares one program; with `moves`, the simulator has the sequencer.

    Raises CheckFailed, with the seed, if results, transactions or times differ, and InputError if no RTL exists for the
    boards' parameters.
    """
    try:
        return _compare(cluster, seed, moves)
    except CheckFailed as error:
        raise CheckFailed(f"seed {seed}: {error}") from error


def _compare(cluster: Cluster, seed: int, moves: bool) -> Outcome:
    rtl_engine.parameters(cluster, cluster.board(0))
    if not all(cluster.board(rank).arithmetic and cluster.board(rank).compression for rank in range(RANKS)):
        raise InputError(f"{cluster.name}: the random programs need boards with arithmetic and compression")
    cluster = random_sort(random.Random(seed // ALIKE), cluster)
    draw = random.Random(seed)
    alone = draw.random() < 0.5
    buffer_bytes = draw.choice([512, 1024, 2048, 4096])
    made = Draw(
        str(seed),
        RANKS,
        _STEPS,
        buffer_bytes,
        most_segments=_MAX_SEGMENTS,
        most_calls=rtl_engine.CALLS,
        alone=alone,
        apart=True,
        buffers=rtl_engine.BUFFERS,
    )
    options = Options(
        buffers=rtl_engine.BUFFERS, buffer_bytes=buffer_bytes, time_out_us=0, flat_bytes=draw.choice([0, 64, 4096])
    )
    results, recorded = [], []
    for hardware in ((), range(RANKS)):
        network = cluster.network(hardware=hardware, calls=not moves)
        for rank in range(RANKS):
            network.record(rank)
        try:
            result = run_on(Run(network, range(RANKS), RANKS, options), made.program)
        except RuntimeError as error:
            raise CheckFailed(f"an assertion of the RTL fails: {error}") from error
        made.verify(result)
        results.append(result)
        recorded.append([_recorded(network, rank) for rank in range(RANKS)])
    for rank, (one, other) in enumerate(zip(*recorded, strict=True)):
        _same(rank, one, other, alone)
    frames = sum(len(one.frames) for one in recorded[1])
    if not alone:
        return Outcome(len(made.steps), frames, None)
    min_us, rtl_us = results[0].time_us * (1 - _FASTER), results[1].time_us
    slower = frames * _SLOWER_CYCLES + (0 if moves else _SET_UP_CYCLES + RANKS * len(made.steps) * _CALL_CYCLES)
    max_us = results[0].time_us + slower / cluster.clocks[cluster.board(0).engine_clock].frequency_mhz
    if not min_us <= rtl_us <= max_us:
        raise CheckFailed(f"the RTL takes {rtl_us:.1f} us; must be between {min_us:.1f} and {max_us:.1f}")
    return Outcome(len(made.steps), frames, rtl_us / results[0].time_us)


def _same(rank: int, one: Recorded, other: Recorded, ordered: bool) -> None:
    """Raises CheckFailed."""
    for port, ranges in one.ranges.items():
        where = f"rank {rank}, port {port}"
        if ordered:
            _same_order(where, ranges, other.ranges[port])
        elif differing := _changes(ranges).items() ^ _changes(other.ranges[port]).items():
            (host, at), _ = min(differing)
            memory = "the host's memory" if host else "memory"
            raise CheckFailed(f"{where}: the numbers of accesses differ from address {at} of {memory} on")
    if ordered:
        _same_order(f"rank {rank}, frames", one.frames, other.frames)
    else:
        missing, more = Counter(one.frames) - Counter(other.frames), Counter(other.frames) - Counter(one.frames)
        if missing or more:
            raise CheckFailed(
                f"rank {rank}, frames: only the RTL has {dict(more)}; only the simulator has {dict(missing)}"
            )


def _same_order(where: str, one: Sequence[object], other: Sequence[object]) -> None:
    for k, (a, b) in enumerate(zip_longest(one, other)):
        if a != b:
            raise CheckFailed(f"{where}: transaction {k} is {b} in the RTL, but {a} in the simulator")


def _changes(ranges: Sequence[tuple[bool, int, int]]) -> dict[tuple[bool, int], int]:
    """Returns the changes of the number of accesses, by address.

    They do not depend on how the accesses of several calls were merged.
    """
    changes: Counter[tuple[bool, int]] = Counter()
    for host, at, length in ranges:
        changes[host, at] += 1
        changes[host, at + length] -= 1
    return {place: change for place, change in changes.items() if change}
