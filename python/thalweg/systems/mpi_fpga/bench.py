"""Measures one operation on the simulator: collectives, and messages between two ranks.

Each measurement is a row, a dictionary that `thalweg bench --json` writes as it stands; times are in microseconds, sizes in
bytes: one rank's block where the ranks have different ones, the whole buffer otherwise.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from thalweg.errors import FabricStopped, InputError
from thalweg.launch import placement
from thalweg.spec import OPERATORS, SIZE, Datatype, Operator
from thalweg.systems.mpi_fpga import bounds, choice, reduction
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.faults import recovery_rows
from thalweg.systems.mpi_fpga.spec import Algorithm, Collective

if TYPE_CHECKING:
    from thalweg._sim import CompletionKind, Fabric, FabricConfig, Group, Recovery, SharedFabric

    AnyFabric: TypeAlias = Fabric | SharedFabric

Row = dict[str, Any]

COLLECTIVES = {name: Collective[name.upper()] for name in bounds.OPERATIONS}
REDUCTIONS = ("reduce", "allreduce", "reduce_scatter", "scan", "exscan")
ROOTED = ("broadcast", "reduce", "gather", "scatter")
SEED = 1  # of random data, where nothing else is said
WINDOW = 64
"""Messages under way in `bandwidth`, as in OSU's osu_bw."""

_SIZE = re.compile(r"([0-9]{1,15})([KMG]?)", re.IGNORECASE)
_UNIT = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_sizes(text: str) -> list[int]:
    """`4:1M`, doubling from the first to the last, or a list such as `4,64,1K`. Raises InputError."""

    def one(word: str) -> int:
        found = _SIZE.fullmatch(word.strip())
        if not found:
            raise InputError(f"{word!r} is no size; sizes look like 4:1M (doubling) or 4,64,1K")
        return int(found[1]) * _UNIT[found[2].upper()]

    if ":" not in text:
        sizes = [one(word) for word in text.split(",")]
    else:
        first, last = map(one, text.split(":", 1))
        if not 0 < first <= last:
            raise InputError(f"{text!r} holds no size; the first of the two has to be the smaller one, and not 0")
        sizes = [first]
        while sizes[-1] * 2 <= last:
            sizes.append(sizes[-1] * 2)
    if max(sizes) > 1 << 32:
        raise InputError(f"{text!r} goes beyond 4G")
    return sizes


@dataclass(frozen=True)
class CollectivePlan:
    """One collective at all sizes. Raises InputError where the parts don't go together."""

    cluster: Cluster
    operation: str
    ranks: int
    sizes: Sequence[int]
    algorithm: str = "auto"
    operator: Operator = Operator.SUM
    datatype: Datatype = Datatype.FLOAT64
    root: int = 0
    seed: int = SEED
    placement: str = placement.BLOCK

    def __post_init__(self) -> None:
        placement.nodes_of(self.placement, self.cluster, self.ranks)
        if not 0 <= self.root < self.ranks:
            raise InputError(f"there is no rank {self.root} to be root: ranks are 0 to {self.ranks - 1}")
        if self.operation not in REDUCTIONS:
            return
        if self.operator not in OPERATORS[self.datatype]:
            known = ", ".join(sorted(op.name.lower() for op in OPERATORS[self.datatype]))
            raise InputError(f"{self.datatype.name.lower()} has no {self.operator.name.lower()}; it has {known}")
        element = SIZE[self.datatype]
        if not any(size % element == 0 for size in self.sizes):
            raise InputError(f"no size is a multiple of the {element} bytes of {self.datatype.name.lower()}")

    @cached_property
    def nodes(self) -> list[int]:
        """That of each rank."""
        return placement.nodes_of(self.placement, self.cluster, self.ranks)

    @cached_property
    def algorithms(self) -> list[Algorithm]:
        """Those that are tried."""
        known = choice.algorithms(self.cluster.fabric_config(), self.nodes)
        collective = COLLECTIVES[self.operation]
        if not known[collective]:
            raise InputError(
                f"{self.operation} of {self.ranks} ranks on {self.cluster.name} is not computed in the network"
            )
        if self.algorithm == "auto":
            return known[collective]
        wanted = choice.algorithm_named(self.algorithm)
        choice.check({collective: wanted}, known, f"{self.ranks} ranks on {self.cluster.name}")
        return [wanted]

    @property
    def dtype(self) -> np.dtype[Any]:
        return reduction.DTYPES[self.datatype] if self.operation in REDUCTIONS else np.dtype("u1")

    @property
    def measured_sizes(self) -> list[int]:
        """Those that are whole elements; a barrier has no size."""
        if self.operation == "barrier":
            return [0]
        return [size for size in self.sizes if size % self.dtype.itemsize == 0]


def network_of(config: FabricConfig, cluster: Cluster) -> bounds.Network | None:
    """What the bounds of a cluster depend on; None where none are proved for its shape."""
    return bounds.Network.of(config) if cluster.topology.shape in bounds.SHAPES else None


def row_of(
    operation: str,
    cluster: Cluster,
    ranks: int,
    size: int,
    times: Sequence[float],
    limits: Sequence[float | None],
    verified: bool | None,
    **more: object,
) -> Row:
    """`times` and their bounds in us, kernel to kernel and host to host; `verified` is None where nothing was executed."""
    row: Row = {
        "operation": operation,
        "engine": cluster.engine,
        "cluster": cluster.name,
        "ranks": ranks,
        "bytes": size,
    }
    for end, time, bound in zip(("kernel", "host"), times, limits, strict=True):
        row[f"time_{end}_us"] = time
        row[f"bound_{end}_us"] = bound
        row[f"share_{end}"] = None if bound is None or not time else bound / time
    return {**row, "verified": verified, **more}


def collective_limits(network: bounds.Network | None, plan: CollectivePlan, size: int, us: float) -> list[float | None]:
    """The bounds of a collective, kernel to kernel and host to host, in us."""
    if network is None:
        return [None, None]
    return [
        us * bounds.collective_ticks(network, plan.nodes, plan.operation, size, plan.root, at_host)
        for at_host in (False, True)
    ]


Progress = Callable[[float], None]
"""Called with the fraction of the work that is done."""


def silent(_: float) -> None:
    pass


@dataclass
class Timed:
    """What one operation took in ticks, what each rank has in its memory then, and the flits on the busiest link."""

    ticks: int
    results: list[np.ndarray]
    busiest: int
    groups: list[Group]
    recoveries: list[Recovery] = field(default_factory=list)


_LOOKS = 50


def _looks(start: int, expected: float | None, progress: Progress) -> Iterator[int]:
    """Ticks at which to say how far an operation is that takes about as many ticks as `expected`; none where that is unknown."""
    for look in range(1, _LOOKS + 1) if expected else ():
        yield start + look * math.ceil((expected or 0) / _LOOKS)
        progress(look / _LOOKS)


def _finish(fabric: AnyFabric, awaited: set[int], kind: CompletionKind, looks: Iterable[int] = ()) -> int:
    """Runs until the completions of `kind` came for the handles in `awaited`: the time of the last. Raises FabricStopped."""
    from thalweg import _sim

    last = 0
    stops = iter(looks)
    until = next(stops, _sim.NEVER)
    while awaited:
        completed = fabric.advance(until)
        if not completed and until != _sim.NEVER:
            until = next(stops, _sim.NEVER)
        elif not completed:
            raise FabricStopped(
                fabric.failure or f"the fabric came to rest with {len(awaited)} parts of the operation unfinished"
            )
        for completion in completed:
            if completion.kind == kind:
                awaited.remove(completion.handle)
                last = max(last, completion.at)
    return last


def communicator(fabric: AnyFabric, plan: CollectivePlan, handles: Sequence[int]) -> int:
    """A communicator of the plan's ranks, its rows loaded. Raises FabricStopped."""
    from thalweg import _sim

    context = fabric.create_communicator(plan.nodes, list(handles), fabric.now)
    if context is None:
        raise FabricStopped("the communicator tables have no row for the ranks")
    _finish(fabric, set(handles), _sim.CompletionKind.table)
    fabric.advance(_sim.NEVER)  # the rows of switches, which no rank hears of
    return context


def room(plan: CollectivePlan, size: int) -> list[np.ndarray]:
    """For what each rank receives."""
    elements = size // plan.dtype.itemsize
    return [np.zeros(_blocks(_GETS, plan, rank) * elements, plan.dtype) for rank in range(plan.ranks)]


def submit(
    fabric: AnyFabric,
    plan: CollectivePlan,
    algorithm: Algorithm,
    context: int,
    size: int,
    given: Sequence[np.ndarray],
    results: Sequence[np.ndarray],
    handles: Sequence[int],
    at: int,
) -> None:
    """Hands the parts of all ranks of one operation to the fabric."""
    for rank, handle in enumerate(handles):
        fabric.submit(
            handle=handle,
            context=context,
            rank=rank,
            collective=COLLECTIVES[plan.operation],
            algorithm=algorithm,
            op=plan.operator if plan.operation in REDUCTIONS else Operator.NONE,
            type=plan.datatype if plan.operation in REDUCTIONS else Datatype.BYTE,
            root=plan.root,
            count=size // plan.dtype.itemsize,
            send=given[rank].view("u1"),
            receive=results[rank].view("u1"),
            at=at,
        )


def _run_collective(
    config: FabricConfig,
    host: bool,
    plan: CollectivePlan,
    algorithm: Algorithm,
    given: Sequence[np.ndarray],
    size: int,
    expected: float | None = None,
    progress: Progress = silent,
) -> Timed:
    """One operation on a fabric of its own; `progress` hears how far it is where it is `expected` to take so many ticks."""
    from thalweg import _sim

    fabric = _sim.Fabric(config, _sim.Endpoint.host if host else _sim.Endpoint.kernel)
    members = list(range(plan.ranks))
    context = communicator(fabric, plan, members)
    start = fabric.now
    results = room(plan, size)
    submit(fabric, plan, algorithm, context, size, given, results, members, start)
    looks = _looks(start, expected, progress)
    ticks = _finish(fabric, set(members), _sim.CompletionKind.collective, looks) - start
    busiest = max((link.flits for link in fabric.link_use()), default=0)
    return Timed(ticks, results, busiest, fabric.parts(context, algorithm), fabric.recoveries)


_NONE, _ONE, _EACH = range(3)
"""What a rank has in a buffer: nothing, a block, or one for each rank. Of (the root, the others):"""
_GIVES = {
    "barrier": (_NONE, _NONE),
    "broadcast": (_ONE, _NONE),
    "reduce": (_ONE, _ONE),
    "allreduce": (_ONE, _ONE),
    "gather": (_ONE, _ONE),
    "allgather": (_ONE, _ONE),
    "scatter": (_EACH, _NONE),
    "reduce_scatter": (_EACH, _EACH),
    "alltoall": (_EACH, _EACH),
    "scan": (_ONE, _ONE),
    "exscan": (_ONE, _ONE),
}
_GETS = {
    "barrier": (_NONE, _NONE),
    "broadcast": (_NONE, _ONE),
    "reduce": (_ONE, _NONE),
    "allreduce": (_ONE, _ONE),
    "gather": (_EACH, _NONE),
    "allgather": (_EACH, _EACH),
    "scatter": (_ONE, _ONE),
    "reduce_scatter": (_ONE, _ONE),
    "alltoall": (_EACH, _EACH),
    "scan": (_ONE, _ONE),
    "exscan": (_ONE, _ONE),
}


def _blocks(table: dict[str, tuple[int, int]], plan: CollectivePlan, rank: int) -> int:
    return (0, 1, plan.ranks)[table[plan.operation][rank != plan.root]]


def operands(plan: CollectivePlan, size: int) -> list[np.ndarray]:
    """What each rank gives. Random bits where bits are moved or integers reduced, else random numbers."""
    random = np.random.default_rng([plan.seed, size])
    dtype = plan.dtype

    def block(bytes_: int) -> np.ndarray:
        if dtype.kind in "fc":
            real = dtype.type(0).real.dtype
            numbers: np.ndarray = random.standard_normal(bytes_ // real.itemsize, np.float32).astype(real).view(dtype)
            return numbers
        if dtype.names:
            pairs = np.zeros(bytes_ // dtype.itemsize, dtype)
            for name in dtype.names:
                pairs[name] = random.integers(-100, 100, pairs.shape)
            return pairs
        return np.frombuffer(random.bytes(bytes_), dtype)

    return [block(_blocks(_GIVES, plan, rank) * size) for rank in range(plan.ranks)]


def _reduced(plan: CollectivePlan, algorithm: Algorithm, operands: np.ndarray, groups: Sequence[Group]) -> np.ndarray:
    """The reduction of operands, shape (ranks, elements), in the order that the algorithm takes."""
    root = plan.root if plan.operation == "reduce" else None
    if len(groups) == 1:
        order = reduction.Order.of(groups[0])
        return reduction.evaluate(algorithm, plan.operator, plan.datatype, operands, root, order)
    scatters = plan.operation == "reduce_scatter"
    blocks = np.split(operands, plan.ranks, axis=1) if scatters else [operands]
    bytes_ = bounds.FLIT_BYTES * plan.cluster.fabric_config().collective.packet_flits
    wide = plan.dtype.itemsize == 16  # one element in the first flit, two in each of the others
    per_packet = (bytes_ - (16 if wide else 8)) // plan.dtype.itemsize
    parts = []
    for rank, block in enumerate(blocks):
        for piece, group in zip(reduction.pieces(block.shape[1], per_packet, len(groups)), groups, strict=False):
            order = reduction.Order.rooted(group, rank if scatters else root)
            parts.append(
                reduction.evaluate(Algorithm.TREE, plan.operator, plan.datatype, block[:, piece], order.top, order)
            )
    return np.concatenate(parts)


def right(plan: CollectivePlan, algorithm: Algorithm, given: Sequence[np.ndarray], run: Timed) -> bool:
    """Whether every rank has, to the bit, what the operation means."""
    if plan.operation == "alltoall":
        sent = np.stack(given).reshape(plan.ranks, plan.ranks, -1)
        return np.array_equal(np.stack(run.results).reshape(sent.shape), sent.swapaxes(0, 1))
    if plan.operation in ("scan", "exscan"):
        prefixes = reduction.scan(plan.operator, plan.datatype, np.stack(given), plan.operation == "scan")
        return all(
            np.array_equal(result.view("u1"), np.ascontiguousarray(prefix).view("u1"))
            for result, prefix in zip(run.results, prefixes, strict=True)
            if prefix.size
        )
    if plan.operation in REDUCTIONS:
        operands = np.stack([part.view("u1") for part in given]).view(plan.dtype)
        expected = _reduced(plan, algorithm, operands, run.groups)
    elif plan.operation in ("broadcast", "scatter"):
        expected = given[plan.root]
    else:
        expected = np.concatenate(given)
    wanted = np.ascontiguousarray(expected).view("u1")
    if plan.operation in ("scatter", "reduce_scatter"):
        return np.array_equal(np.concatenate(run.results).view("u1"), wanted)
    return all(np.array_equal(result.view("u1"), wanted) for result in run.results if result.size)


def measure_collective(plan: CollectivePlan, progress: Progress = silent) -> Iterator[Row]:
    """A row for each size, from an idle network, all ranks starting at once. `auto` is the algorithm that is fastest there.

    Raises FabricStopped where an operation never ends.
    """
    config = plan.cluster.fabric_config()
    network = network_of(config, plan.cluster)
    us = 1e6 / config.ticks_per_second
    algorithms = plan.algorithms
    before: dict[Algorithm, float] = {}
    kind = {}
    if plan.operation in REDUCTIONS:
        kind = {"operator": plan.operator.name.lower(), "type": plan.datatype.name.lower()}
    work = [plan.ranks * (size + 64) for size in plan.measured_sizes]
    last: dict[tuple[Algorithm, bool], float] = {}  # ticks a byte, of the size before

    def run_one(index: int, algorithm: Algorithm, host: bool, part: int, parts: int) -> Timed:
        """One of so many runs of a size, `part` of which are over."""
        limit = collective_limits(network, plan, size, 1.0)[host]
        expected = last.get((algorithm, host), 0) * work[index] or limit
        before = sum(work[:index])

        def advanced(done: float) -> None:
            progress((before + work[index] * (part + done) / parts) / sum(work))

        run = _run_collective(config, host, plan, algorithm, given, size, expected, advanced)
        last[algorithm, host] = run.ticks / work[index]
        advanced(1.0)
        return run

    for index, size in enumerate(plan.measured_sizes):
        _check_memory(plan, size)
        given = operands(plan, size)
        ticks: dict[Algorithm, float] = {}
        kernel: Timed | None = None  # no others are kept: long ones' results fill the memory
        for part, algorithm in enumerate(algorithms):
            run = run_one(index, algorithm, False, part, len(algorithms) + 1)
            ticks[algorithm] = run.ticks
            if kernel is None or run.ticks < kernel.ticks:
                best, kernel = algorithm, run
        verified = kernel is not None and right(plan, best, given, kernel)
        recovered = kernel.recoveries if kernel else []
        kernel = None
        host = run_one(index, best, True, len(algorithms), len(algorithms) + 1)
        verified = verified and right(plan, best, given, host)
        times = [ticks[best] * us, host.ticks * us]
        algorithms, before = choice.promising(ticks, size, before), ticks
        limits = collective_limits(network, plan, size, us)
        name = best.name.lower()
        row = row_of(plan.operation, plan.cluster, plan.ranks, size, times, limits, verified, algorithm=name, **kind)
        yield _with_recoveries(row, [recovered, host.recoveries], us)


@dataclass(frozen=True)
class HostTime:
    """One collective of one size, host to host, by the algorithm that is fastest there."""

    us: float
    bound_us: float | None
    algorithm: Algorithm
    busiest_bytes: int
    """What passed the busiest link, one way."""
    busy: float
    """The part of the time in which that link carried a flit."""
    verified: bool


def host_bound_us(plan: CollectivePlan, size: int) -> float | None:
    """The bound of a collective host to host, where one is proved."""
    config = plan.cluster.fabric_config()
    return collective_limits(network_of(config, plan.cluster), plan, size, 1e6 / config.ticks_per_second)[1]


def host_times(plan: CollectivePlan, size: int, algorithms: Sequence[Algorithm]) -> dict[Algorithm, float]:
    """What each of the given algorithms takes host to host, in us. Raises FabricStopped where an operation never ends."""
    _check_memory(plan, size)
    config = plan.cluster.fabric_config()
    us = 1e6 / config.ticks_per_second
    given = operands(plan, size)
    return {a: us * _run_collective(config, True, plan, a, given, size).ticks for a in algorithms}


def host_time(plan: CollectivePlan, size: int, algorithms: Sequence[Algorithm]) -> HostTime:
    """Measures the given ones of the plan's algorithms. Raises FabricStopped where an operation never ends."""
    _check_memory(plan, size)
    config = plan.cluster.fabric_config()
    us = 1e6 / config.ticks_per_second
    given = operands(plan, size)
    runs = {algorithm: _run_collective(config, True, plan, algorithm, given, size) for algorithm in algorithms}
    best = min(runs, key=lambda algorithm: runs[algorithm].ticks)
    run = runs[best]
    return HostTime(
        run.ticks * us,
        host_bound_us(plan, size),
        best,
        run.busiest * bounds.FLIT_BYTES,
        run.busiest / run.ticks,
        right(plan, best, given, run),
    )


def _check_memory(plan: CollectivePlan, size: int) -> None:
    blocks = sum(_blocks(_GIVES, plan, rank) + 2 * _blocks(_GETS, plan, rank) for rank in range(plan.ranks))
    free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if blocks * size > free * 0.8:
        raise InputError(
            f"{plan.operation} of {size} bytes on {plan.ranks} ranks takes {blocks * size / 2**30:.0f} GiB of buffers; "
            f"this machine has {free / 2**30:.0f}"
        )


def peer_at(cluster: Cluster, hops: int) -> int:
    """The first node that is `hops` links from node 0. Raises InputError."""
    distances = cluster.topology.distances[0]
    found = np.flatnonzero(distances == hops)
    if hops < 1 or not found.size:
        raise InputError(
            f"no node is {hops} hops from node 0 in {cluster.name}; the farthest is {int(distances.max())}"
        )
    return int(found[0])


def measure_messages(
    cluster: Cluster, operation: str, sizes: Sequence[int], hops: int, progress: Progress = silent
) -> Iterator[Row]:
    """A row for each size of messages from node 0 to one that is `hops` links away.

    `latency`: one message. `bandwidth`: `WINDOW` of them, given to the fabric at once; times are of all.
    """
    from thalweg import _sim

    config = cluster.fabric_config()
    network = network_of(config, cluster)
    us = 1e6 / config.ticks_per_second
    messages = WINDOW if operation == "bandwidth" else 1
    peer = peer_at(cluster, hops)
    for index, size in enumerate(sizes):
        times: list[float] = []
        limits: list[float | None] = []
        recoveries: list[list[Recovery]] = []
        verified = True
        for host in (False, True):
            fabric = _sim.Fabric(config, _sim.Endpoint.host if host else _sim.Endpoint.kernel)
            for handle in range(messages):
                fabric.send(handle=handle, source=0, destination=peer, bytes=size, at=0)
            limit = bounds.message_ticks(network, 0, peer, size * messages, host) if network else None

            def advanced(done: float, before: float = index + host / 2) -> None:
                progress((before + done / 2) / len(sizes))

            looks = _looks(0, limit, advanced)
            times.append(_finish(fabric, set(range(messages)), _sim.CompletionKind.arrived, looks) * us)
            fabric.advance(_sim.NEVER)  # credits that are on their way back
            limits.append(limit * us if limit is not None else None)
            recoveries.append(fabric.recoveries)
            # No payload is simulated: right is that as many flits as carry the bytes took the shortest way, if it was not cut.
            flits, detour = divmod(fabric.flit_hops, hops)
            detour = 0 if fabric.recoveries else detour
            verified = verified and fabric.idle and not detour and flits * bounds.FLIT_BYTES >= size * messages
        progress((index + 1) / len(sizes))
        row = message_row(operation, cluster, size, times, limits, verified, hops=hops)
        yield _with_recoveries(row, recoveries, us)


def _with_recoveries(row: Row, recoveries: Sequence[Sequence[Recovery]], us: float) -> Row:
    """The row, and the links that were given up in it, kernel to kernel and host to host."""
    for end, of_end in zip(("kernel", "host"), recoveries, strict=True):
        if of_end:
            row[f"recoveries_{end}"] = recovery_rows(of_end, us)
    return row


def message_row(
    operation: str,
    cluster: Cluster,
    size: int,
    times: Sequence[float],
    limits: Sequence[float | None],
    verified: bool | None,
    **more: object,
) -> Row:
    """A row of `latency` or `bandwidth`; the latter says what rate its times make."""
    row = row_of(operation, cluster, 2, size, times, limits, verified, **more)
    if operation == "bandwidth":
        for end, time in zip(("kernel", "host"), times, strict=True):
            row[f"bandwidth_{end}_gbps"] = size * WINDOW * 8 / time / 1e3
    return row
