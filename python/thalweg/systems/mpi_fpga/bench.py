# SPDX-License-Identifier: Apache-2.0
"""Measures one operation on the simulator: a collective, or messages between two ranks.

Sizes are those of one rank's block if ranks have different blocks, of the whole buffer otherwise.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from thalweg.bench.operation import Measured, Progress, share, silent
from thalweg.errors import FabricStopped, InputError
from thalweg.launch import placement
from thalweg.spec import OPERATORS, SIZE, Datatype, Operator
from thalweg.systems.mpi_fpga import bounds, choice, reduction
from thalweg.systems.mpi_fpga.bench_data import REDUCTIONS, buffers, check_memory, memory, operands, right, room
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.faults import recovery_rows
from thalweg.systems.mpi_fpga.spec import Algorithm, Collective

if TYPE_CHECKING:
    from thalweg.systems.mpi_fpga._sim import Fabric, FabricConfig, Group, Recovery, SharedFabric

    AnyFabric: TypeAlias = Fabric | SharedFabric

COLLECTIVES = {name: Collective[name.upper()] for name in bounds.OPERATIONS}
SEED = 1  # default seed of random data


@dataclass(frozen=True)
class CollectivePlan:
    """One collective at all sizes. Raises InputError for inconsistent arguments."""

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
            raise InputError(f"root is {self.root}; ranks are 0 to {self.ranks - 1}")
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
        """Node of each rank."""
        return placement.nodes_of(self.placement, self.cluster, self.ranks)

    @cached_property
    def algorithms(self) -> list[Algorithm]:
        """Algorithms to be tried."""
        known = choice.algorithms(self.cluster.fabric_config(), self.nodes)
        collective = COLLECTIVES[self.operation]
        if not known[collective]:
            raise InputError(
                f"{self.operation} of {self.ranks} ranks on {self.cluster.name} is not supported in the network"
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
        """Sizes that are whole elements; a barrier has no size."""
        if self.operation == "barrier":
            return [0]
        return [size for size in self.sizes if size % self.dtype.itemsize == 0]

    @property
    def partial_sizes(self) -> list[int]:
        """Sizes that are no whole elements, which are not measured."""
        return [] if self.operation == "barrier" else sorted(set(self.sizes) - set(self.measured_sizes))


def network_of(config: FabricConfig, cluster: Cluster) -> bounds.Network | None:
    """Returns the input of the cluster's bounds; None if none are proved for its shape."""
    return bounds.Network.of(config) if cluster.topology.shape in bounds.SHAPES else None


def measured(
    cluster: Cluster,
    ranks: int,
    size: int,
    times: Sequence[float],
    limits: Sequence[float | None],
    verified: bool | None,
    **more: object,
) -> Measured:
    """Returns a measurement from times and bounds in us, kernel to kernel and host to host; `verified` is None if nothing
    was executed."""
    (kernel, host), (kernel_bound, host_bound) = times, limits
    own = {
        "engine": cluster.engine,
        "ranks": ranks,
        "time_kernel_us": kernel,
        "bound_kernel_us": kernel_bound,
        "share_kernel": share(kernel, kernel_bound),
    }
    return Measured(size, host, host_bound, verified, own | more)


def collective_limits(network: bounds.Network | None, plan: CollectivePlan, size: int, us: float) -> list[float | None]:
    """Returns the bounds of a collective in us, kernel to kernel and host to host."""
    if network is None:
        return [None, None]
    return [
        us * bounds.collective_ticks(network, plan.nodes, plan.operation, size, plan.root, at_host)
        for at_host in (False, True)
    ]


@dataclass
class Timed:
    """Time of one operation in ticks, each rank's results, and flits on the busiest link."""

    ticks: int
    results: list[np.ndarray]
    busiest: int
    groups: list[Group]
    recoveries: list[Recovery] = field(default_factory=list)


_CHECKPOINTS = 50


def progress_ticks(start: int, expected: float | None, progress: Progress) -> Iterator[int]:
    """Yields ticks at which to report the progress of an operation of about `expected` ticks; none if that is unknown."""
    for checkpoint in range(1, _CHECKPOINTS + 1) if expected else ():
        yield start + checkpoint * math.ceil((expected or 0) / _CHECKPOINTS)
        progress(checkpoint / _CHECKPOINTS)


def unfinished_error(fabric: AnyFabric, unfinished: int) -> FabricStopped:
    """Returns the error for a fabric that stopped before all parts of an operation completed, with who waits for whom."""
    why = fabric.failure or f"the simulation stopped with {unfinished} parts of the operation unfinished"
    return FabricStopped(why, fabric.blocked)


class TooSlow(Exception):
    """An operation takes longer than the time that is of interest."""


def finish(fabric: AnyFabric, awaited: set[int], checkpoints: Iterable[int] = (), latest: int | None = None) -> int:
    """Runs until all handles in `awaited` have completed; returns the time of the last in ticks.

    Raises FabricStopped, and TooSlow if one has not completed by tick `latest`.
    """
    from thalweg import _core

    last = 0
    end = _core.NEVER if latest is None else latest + 1
    stops = iter(checkpoints)
    until = min(end, next(stops, _core.NEVER))
    while awaited:
        completed = fabric.advance(until)
        if not completed and until == end != _core.NEVER:
            raise TooSlow
        if not completed and until != _core.NEVER:
            until = min(end, next(stops, _core.NEVER))
        elif not completed:
            raise unfinished_error(fabric, len(awaited))
        for completion in completed:
            if completion.last:
                awaited.remove(completion.handle)
                last = max(last, completion.at)
    return last


def communicator(fabric: AnyFabric, plan: CollectivePlan, handles: Sequence[int]) -> int:
    """Creates a communicator of the plan's ranks, with loaded rows. Raises FabricStopped."""
    from thalweg import _core

    context = fabric.create_communicator(plan.nodes, list(handles), fabric.now)
    if context is None:
        raise FabricStopped("the communicator tables have no row for the ranks")
    finish(fabric, set(handles))
    fabric.advance(_core.NEVER)  # lets the rows of switches be loaded, which no rank is notified of
    return context


def bytes_of(buffers: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Returns the memory of arrays, also of types that Python's buffers do not have, such as bfloat16."""
    return [buffer.view("u1") for buffer in buffers]


def submit(
    fabric: AnyFabric,
    plan: CollectivePlan,
    algorithm: Algorithm,
    context: int,
    size: int,
    inputs: Sequence[np.ndarray],
    results: Sequence[np.ndarray],
    handles: Sequence[int],
    at: int,
) -> None:
    """Submits the parts of all ranks of one operation to the fabric; `inputs` and `results` have their buffers' bytes."""
    reduces = plan.operation in REDUCTIONS
    fabric.submit_all(
        handles=list(handles),
        context=context,
        collective=COLLECTIVES[plan.operation],
        algorithm=algorithm,
        op=plan.operator if reduces else Operator.NONE,
        type=plan.datatype if reduces else Datatype.BYTE,
        root=plan.root,
        count=size // plan.dtype.itemsize,
        send=list(inputs),
        receive=list(results),
        at=at,
    )


def _run_collective(
    config: FabricConfig,
    host: bool,
    plan: CollectivePlan,
    algorithm: Algorithm,
    inputs: Sequence[np.ndarray],
    size: int,
    expected: float | None = None,
    progress: Progress = silent,
    longest: int | None = None,
) -> Timed:
    """Runs one operation on a new fabric; `progress` is called if `expected`, its time in ticks, is known. Raises TooSlow
    if it takes more than `longest` ticks."""
    from thalweg.systems.mpi_fpga import _sim

    fabric = _sim.Fabric(config, _sim.Endpoint.host if host else _sim.Endpoint.kernel)
    members = list(range(plan.ranks))
    context = communicator(fabric, plan, members)
    start = fabric.now
    results = room(plan, size)
    submit(fabric, plan, algorithm, context, size, bytes_of(inputs), bytes_of(results), members, start)
    checkpoints = progress_ticks(start, expected, progress)
    latest = None if longest is None else start + longest
    ticks = finish(fabric, set(members), checkpoints, latest) - start
    busiest = max((link.flits for link in fabric.link_use()), default=0)
    return Timed(ticks, results, busiest, fabric.parts(context, algorithm), fabric.recoveries)


_FIRST = [Algorithm.TREES, Algorithm.HALVING, Algorithm.TREE, Algorithm.EXCHANGE, Algorithm.RING]
"""Order of the runs. The last ones can be many times slower than the fastest, and are stopped once they are slower."""


def measure_collective(plan: CollectivePlan, progress: Progress = silent, workers: int = 1) -> Iterator[Measured]:
    """Measures each size, from an idle network, all ranks starting at once. `auto` is the fastest algorithm at that size.

    Up to `workers` simulations run in parallel, or one with several threads; results do not depend on their number.
    Raises FabricStopped if an operation never ends.
    """
    config = plan.cluster.fabric_config()
    if config.threads > 1:
        workers = 1
    network = network_of(config, plan.cluster)
    us = 1e6 / config.ticks_per_second
    algorithms = plan.algorithms
    before: dict[Algorithm, float] = {}
    kind = {}
    if plan.operation in REDUCTIONS:
        kind = {"operator": plan.operator.name.lower(), "type": plan.datatype.name.lower()}
    work = [plan.ranks * (size + 64) for size in plan.measured_sizes]
    done = [0.0] * len(work)  # completed fraction of each size's runs
    last: dict[tuple[Algorithm, bool], float] = {}  # ticks per byte, from a smaller size

    def run_one(
        index: int,
        parts: int,
        inputs: Sequence[np.ndarray],
        algorithm: Algorithm,
        host: bool,
        longest: int | None = None,
    ) -> Timed | None:
        """Runs one of `parts` runs of a size; None if it takes more than `longest` ticks."""
        size = plan.measured_sizes[index]
        limit = collective_limits(network, plan, size, 1.0)[host]
        expected = last.get((algorithm, host), 0) * work[index] or limit
        so_far = 0.0

        def advanced(share: float) -> None:
            nonlocal so_far
            done[index] += (share - so_far) / parts
            so_far = share
            progress(sum(map(math.prod, zip(done, work, strict=True))) / sum(work))

        try:
            run = _run_collective(config, host, plan, algorithm, inputs, size, expected, advanced, longest)
        except TooSlow:
            return None
        finally:
            advanced(1.0)
        last[algorithm, host] = run.ticks / work[index]
        return run

    def row(
        size: int,
        best: Algorithm,
        inputs: Sequence[np.ndarray],
        kernel: tuple[int, bool, list[Recovery]],
        through_host: Future[Timed | None],
    ) -> Measured:
        ticks, verified, recovered = kernel
        host = through_host.result()
        assert host is not None
        verified = verified and right(plan, best, inputs, host)
        made = measured(
            plan.cluster,
            plan.ranks,
            size,
            [ticks * us, host.ticks * us],
            collective_limits(network, plan, size, us),
            verified,
            algorithm=best.name.lower(),
            **kind,
        )
        return with_recoveries(made, [recovered, host.recoveries], us)

    with ThreadPoolExecutor(workers) as pool:
        rows: deque[Callable[[], Measured]] = deque()  # whose host-to-host runs are in progress
        for index, size in enumerate(plan.measured_sizes):
            check_memory(plan, size)
            inputs = operands(plan, size)
            alone = workers == 1 or buffers(plan, size) * workers > memory() / 2
            while rows and alone:
                yield rows.popleft()()
            runs = partial(run_one, index, len(algorithms) + 1, inputs)
            certain = pool.submit(runs, algorithms[0], True) if len(algorithms) == 1 and not alone else None
            ticks: dict[Algorithm, float] = {}
            best = algorithms[0]
            kernel: Timed | None = None  # only the fastest is kept: long results fill the memory
            waiting = deque(sorted(algorithms, key=_FIRST.index))
            under_way: deque[tuple[Algorithm, Future[Timed | None]]] = deque()
            while waiting or under_way:
                while waiting and len(under_way) < (1 if alone else workers):
                    # the times of slower algorithms are of no interest after the last size
                    longest = kernel.ticks if kernel and index + 1 == len(work) else None
                    under_way.append((waiting[0], pool.submit(runs, waiting.popleft(), False, longest)))
                algorithm, future = under_way.popleft()
                run = future.result()
                if run is None:
                    continue
                ticks[algorithm] = run.ticks
                if kernel is None or (run.ticks, algorithm) < (kernel.ticks, best):
                    best, kernel = algorithm, run
                del run, future
            assert kernel is not None
            found = (kernel.ticks, right(plan, best, inputs, kernel), kernel.recoveries)
            kernel = None
            through_host = certain or pool.submit(runs, best, True)
            rows.append(partial(row, size, best, inputs, found, through_host))
            algorithms, before = choice.promising(ticks, size, before), ticks
            while len(rows) > 1 or (rows and alone):
                yield rows.popleft()()
        while rows:
            yield rows.popleft()()


@dataclass(frozen=True)
class HostTime:
    """One collective of one size, host to host, by the fastest algorithm."""

    us: float
    bound_us: float | None
    algorithm: Algorithm
    busiest_bytes: int
    """Bytes over the busiest link, in one direction."""
    busy: float
    """Fraction of the time in which that link carried a flit."""
    verified: bool


def host_bound_us(plan: CollectivePlan, size: int) -> float | None:
    """Returns the host-to-host bound of a collective, or None."""
    config = plan.cluster.fabric_config()
    return collective_limits(network_of(config, plan.cluster), plan, size, 1e6 / config.ticks_per_second)[1]


def host_times(plan: CollectivePlan, size: int, algorithms: Sequence[Algorithm]) -> dict[Algorithm, float]:
    """Returns the host-to-host time of each algorithm in us. Raises FabricStopped if an operation never ends."""
    check_memory(plan, size)
    config = plan.cluster.fabric_config()
    us = 1e6 / config.ticks_per_second
    inputs = operands(plan, size)
    return {a: us * _run_collective(config, True, plan, a, inputs, size).ticks for a in algorithms}


def host_time(plan: CollectivePlan, size: int, algorithms: Sequence[Algorithm]) -> HostTime:
    """Measures some of the plan's algorithms. Raises FabricStopped if an operation never ends."""
    check_memory(plan, size)
    config = plan.cluster.fabric_config()
    us = 1e6 / config.ticks_per_second
    inputs = operands(plan, size)
    runs = {algorithm: _run_collective(config, True, plan, algorithm, inputs, size) for algorithm in algorithms}
    best = min(runs, key=lambda algorithm: runs[algorithm].ticks)
    run = runs[best]
    return HostTime(
        run.ticks * us,
        host_bound_us(plan, size),
        best,
        run.busiest * bounds.FLIT_BYTES,
        run.busiest / run.ticks,
        right(plan, best, inputs, run),
    )


def with_recoveries(one: Measured, recoveries: Sequence[Sequence[Recovery]], us: float) -> Measured:
    """Returns the measurement with the links that were given up, kernel to kernel and host to host."""
    for name, of_end in zip(("recoveries_kernel", "recoveries"), recoveries, strict=True):
        if of_end:
            one.own[name] = recovery_rows(of_end, us)
    return one
