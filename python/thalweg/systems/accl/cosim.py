# SPDX-License-Identifier: Apache-2.0
"""Random programs of ACCL's operations on four boards, run by the simulator alone and then with Verilated hardware that executes their calls, or the
moves of which the simulator's sequencer makes them. Both runs must produce numpy's results, end their calls with the same return codes, access the same
memory ranges and send the same frames; if each rank has at most one call in flight, also in the same order at each port. The hardware's run time must lie
between stated bounds."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from thalweg.errors import CheckFailed
from thalweg.systems.accl import rtl_engine
from thalweg.systems.accl._sim import Network
from thalweg.systems.accl.cluster import Cluster
from thalweg.systems.accl.drawn_programs import SLOW_HOST_GB, Draw
from thalweg.systems.accl.launch import run_on
from thalweg.systems.accl.names import SCENARIOS
from thalweg.systems.accl.running import Options, Run

RANKS = 4
ALIKE = 50
"""Programs, one after the other by their seeds, whose boards are of one sort, so that their hardware is built once."""
_STEPS = 30
#: Of receive buffers half, as they hold what no call takes yet.
_MOST_SEGMENTS = rtl_engine.BUFFERS // 2


#: The hardware may be so much faster: it tells a call's end when its last frame has been handed to the MAC, the simulator when it is on the line.
_FASTER = 0.02
#: And so much slower for each frame of the program: tw_matcher is asked four times, each in as many cycles as it has rows and 19 more, and the mover takes some 60.
_SLOWER_CYCLES = 4 * (max(rtl_engine.BUFFERS, rtl_engine.SLOTS) + 19) + 60
#: For each call: its order among those under way and the blocks of its operand and result (tw_call_order), and its report (tw_call_report).
_CALL_CYCLES = 15 + 3 * rtl_engine.CALLS + 2 * 14 + 12
#: And before the first call: all words of the exchange memory are set to 0; the host writes some 600 of them, and six communicators are announced.
_SET_UP_CYCLES = 2048 + 3 * 600 + 6 * (34 * RANKS + 48)


class Outcome(NamedTuple):
    calls: int
    frames: int
    slower: float | None  #: the hardware's time over the simulator's, where a rank had one call under way at a time


@dataclass(frozen=True)
class Recorded:
    """What a board did at its ports: the memory accesses, with contiguous ones merged into ranges, and the frames that it sent."""

    ranges: dict[
        str, list[tuple[bool, int, int]]
    ]  #: by port (x, y, z), in the order of their first accesses: in host memory, address, bytes
    frames: list[bytes]


def _recorded(network: Network, rank: int) -> Recorded:
    def word(address: int) -> int:
        return network.read(rank, address) or 0

    count, size = word(0), word(4)
    first = [word(12 + 28 * k) | word(16 + 28 * k) << 32 for k in range(count)]
    held = {address + offset for address in first for offset in range(0, size, 512)}
    found = Recorded({"x": [], "y": [], "z": []}, [])
    ends: dict[tuple[str, bool, int], int] = {}  # the index of the range that ends at a port's address
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
    """What the hardware of all boards is made with: the cluster with another size of packets, and with a sequencer that takes no longer than one in
    hardware, as a slow one would hide times of the moves."""
    name = cluster.node_names[cluster.boards[0]]
    packet_bytes = draw.choice((512, 1024, 4096, 8192))
    none = dict.fromkeys(SCENARIOS.values(), [0, 0])
    values = {"packet_bytes": packet_bytes, "host_gb": SLOW_HOST_GB, "processor": none, "calls": rtl_engine.CALLS}
    return cluster.replace(node={name: values})


def compare(cluster: Cluster, seed: int, *, moves: bool = False) -> Outcome:
    """One program; `moves`: the simulator has the sequencer. Raises CheckFailed where results, transactions or times differ, and InputError where there is no hardware for the boards' values."""
    try:
        return _compare(cluster, seed, moves)
    except CheckFailed as error:
        raise CheckFailed(f"seed {seed}: {error}") from error


def _compare(cluster: Cluster, seed: int, moves: bool) -> Outcome:
    rtl_engine.parameters(cluster, cluster.board(0))
    cluster = random_sort(random.Random(seed // ALIKE), cluster)
    draw = random.Random(seed)
    alone = draw.random() < 0.5
    buffer_bytes = draw.choice([512, 1024, 2048, 4096])
    made = Draw(
        str(seed),
        RANKS,
        _STEPS,
        buffer_bytes,
        most_segments=_MOST_SEGMENTS,
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
            raise CheckFailed(f"an assertion of the hardware fails: {error}") from error
        made.verify(result)
        results.append(result)
        recorded.append([_recorded(network, rank) for rank in range(RANKS)])
    for rank, (one, other) in enumerate(zip(*recorded, strict=True)):
        _same(rank, one, other, alone)
    frames = sum(len(one.frames) for one in recorded[1])
    if not alone:
        return Outcome(len(made.steps), frames, None)
    least, took = results[0].time_us * (1 - _FASTER), results[1].time_us
    slower = frames * _SLOWER_CYCLES + (0 if moves else _SET_UP_CYCLES + RANKS * len(made.steps) * _CALL_CYCLES)
    most = results[0].time_us + slower / cluster.clocks[cluster.board(0).engine_clock].frequency_mhz
    if not least <= took <= most:
        raise CheckFailed(f"the hardware takes {took:.1f} us; its bounds are {least:.1f} and {most:.1f}")
    return Outcome(len(made.steps), frames, took / results[0].time_us)


def _same(rank: int, one: Recorded, other: Recorded, ordered: bool) -> None:
    """Raises CheckFailed."""
    for port, ranges in one.ranges.items():
        where = f"rank {rank}, port {port}"
        if ordered:
            _same_order(where, ranges, other.ranges[port])
        elif differing := _changes(ranges).items() ^ _changes(other.ranges[port]).items():
            (host, at), _ = min(differing)
            memory = "the host's memory" if host else "memory"
            raise CheckFailed(f"{where}: from address {at} of {memory} on the numbers of accesses differ")
    if ordered:
        _same_order(f"rank {rank}, frames", one.frames, other.frames)
    else:
        missing, more = Counter(one.frames) - Counter(other.frames), Counter(other.frames) - Counter(one.frames)
        if missing or more:
            raise CheckFailed(f"rank {rank}, frames: the hardware has {dict(more)}, and the simulator {dict(missing)}")


def _same_order(where: str, one: Sequence[object], other: Sequence[object]) -> None:
    for k, (a, b) in enumerate(zip_longest(one, other)):
        if a != b:
            raise CheckFailed(f"{where}: transaction {k} is {b} in the hardware, and {a} in the simulator")


def _changes(ranges: Sequence[tuple[bool, int, int]]) -> dict[tuple[bool, int], int]:
    """Returns by how much the number of accesses changes, at the addresses where it does. It does not depend on how the accesses of several calls
    were merged."""
    changes: Counter[tuple[bool, int]] = Counter()
    for host, at, length in ranges:
        changes[host, at] += 1
        changes[host, at + length] -= 1
    return {place: change for place, change in changes.items() if change}
