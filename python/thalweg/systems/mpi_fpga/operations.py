# SPDX-License-Identifier: Apache-2.0
"""Operations of MPI-FPGA for `thalweg bench` and `thalweg.measure`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from thalweg.bench.operation import (
    Measured,
    Operation,
    Plan,
    Progress,
    Row,
    Sizes,
    WrongRows,
    at_least,
    check,
    one_of,
    parse_sizes,
    peer_at,
)
from thalweg.errors import InputError
from thalweg.launch import placement as placements
from thalweg.spec import Datatype, Operator
from thalweg.systems.mpi_fpga import (
    bench,
    bench_data,
    bench_faults,
    bench_jobs,
    bench_messages,
    bench_model,
    bench_traffic,
    bounds,
    choice,
    plots,
    timelines,
)
from thalweg.systems.mpi_fpga.bench import SEED
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.rtl_engine import ENGINES, with_engine
from thalweg.systems.mpi_fpga.spec import Algorithm

MODEL = "model"
"""The engine of closed forms, which executes nothing."""

ALGORITHMS = ("auto", *(algorithm.name.lower() for algorithm in Algorithm))
OPERATORS = tuple(op.name.lower() for op in Operator if op != Operator.NONE)
TYPES = tuple(datatype.name.lower() for datatype in Datatype)
PATTERNS = ("uniform", "transpose", "hotspot")
PACKETS = (1, 2, 4, 8, 16)
SWEEP = "sweep"
SHARES = (bench_jobs.UNSHARED, "sub-channels:2:2", "sub-channels:1:3", "time-slots:1:1", "time-slots:1:3")
RATES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)

_CLOSED = ": closed forms (LogGP), nothing executed"
_NOT_EXECUTED = "--engine model executes nothing"


def _engine(cluster: Cluster, engine: str) -> Cluster:
    return with_engine(cluster, one_of("engine", engine, (*ENGINES, MODEL)))


def collective(
    operation: str,
    cluster: Cluster,
    *,
    engine: str = "sim",
    ranks: int | None = None,
    placement: placements.Placement = placements.BLOCK,
    algorithm: str = "auto",
    sizes: Sizes = "4:1M",
    seed: int = SEED,
    root: int = 0,
    op: str = "sum",
    type: str | None = None,
    reproducible: bool = False,
    threads: int | None = None,
) -> Plan:
    """Plans a collective.

    `ranks` defaults to all hosts; `type` to float64 if all sizes are multiples of 8 bytes, else float32. Raises
    InputError.
    """
    where = placements.checked(placement)
    one_of("algorithm", algorithm, ALGORITHMS)
    if reproducible:
        if algorithm not in ("auto", "tree"):
            raise InputError(f"--reproducible needs the order of the tree; {algorithm} has a different one")
        cluster = cluster.by_rank()
        algorithm = "auto" if operation in ("scan", "exscan") else "tree"
    cluster = _engine(cluster.with_threads(threads), engine)
    requested = parse_sizes(sizes)
    if type is None:  # OSU's default, so that a size of 4 bytes is a whole element
        type = "float64" if all(size % 8 == 0 for size in requested) else "float32"
    plan = bench.CollectivePlan(
        cluster,
        operation,
        cluster.topology.hosts if ranks is None else at_least("ranks", ranks, 1),
        requested,
        algorithm,
        Operator[one_of("operator", op, OPERATORS).upper()],
        Datatype[one_of("type", type, TYPES).upper()],
        root,
        at_least("seed", seed, 0),
        where,
    )

    def measure(progress: Progress, workers: int) -> Iterator[Measured]:
        if engine == MODEL:
            return bench_model.collective_rows(plan)
        return bench.measure_collective(plan, progress, 1 if cluster.routers else workers)

    if engine == MODEL and algorithm != "auto":
        raise InputError("--engine model has one closed form per collective; leave --algorithm out")
    about = f"{operation} of {plan.ranks} ranks on {cluster.name}"
    if operation in bench_data.REDUCTIONS:
        about += f": {op} of {type}"
    about += f", root {root}" if operation in bench_data.ROOTED else ""
    about += ", reproducible" if reproducible else ""
    if plan.partial_sizes:
        about += f", without {', '.join(map(str, plan.partial_sizes))} B, no whole {type}"
    return Plan(
        cluster,
        operation,
        about + _CLOSED * (engine == MODEL),
        "the last rank's part ends at its host (kernel: at its node's port)",
        measure,
        {"data": seed, **placements.seeds(where)},
        record=_NOT_EXECUTED if engine == MODEL else partial(timelines.of_collective, plan),
        draw=plots.both_ends,
    )


def message(
    operation: str,
    cluster: Cluster,
    *,
    engine: str = "sim",
    sizes: Sizes = "4:1M",
    hops: int = 1,
    threads: int | None = None,
) -> Plan:
    requested = parse_sizes(sizes)
    cluster = _engine(cluster.with_threads(threads), engine)
    messages = f" of {bench_messages.WINDOW} messages" * (operation == "bandwidth")
    about = f"{operation}{messages} from node 0 to node {peer_at(cluster, hops)}, {hops} hop{'s' * (hops > 1)}"

    def measure(progress: Progress, _: int) -> Iterator[Measured]:
        if engine == MODEL:
            return bench_model.message_rows(cluster, operation, requested, hops)
        return bench_messages.measure_messages(cluster, operation, requested, hops, progress)

    return Plan(
        cluster,
        operation,
        f"{about}, on {cluster.name}{_CLOSED * (engine == MODEL)}",
        "the last byte arrives at the other host (kernel: at its node's port)",
        measure,
        record=_NOT_EXECUTED if engine == MODEL else partial(timelines.of_messages, cluster, operation, hops),
        draw=plots.both_ends,
    )


def traffic(
    cluster: Cluster,
    *,
    pattern: str = "uniform",
    packet: int = 8,
    load: float | str = 0.2,
    cycles: int = 100_000,
    warmup: int = 10_000,
    seed: int = 1,
) -> Plan:
    """Plans random traffic.

    `load` is in flits offered per node and cycle; "sweep" goes from 0.05 to saturation, defined as three times the
    latency at 0.05. Raises InputError.
    """
    if load != SWEEP:
        check_load(load)
    if packet not in PACKETS:
        raise InputError(f"packet is {packet!r}; the number of flits must be one of {', '.join(map(str, PACKETS))}")
    plan = bench_traffic.TrafficPlan(
        cluster,
        one_of("pattern", pattern, PATTERNS),
        packet,
        at_least("cycles", cycles, 1),
        at_least("warmup", warmup, 0),
        at_least("seed", seed, 0),
    )

    def measure(progress: Progress, _: int) -> list[Measured]:
        if isinstance(load, str):
            return sorted(bench_traffic.sweep_traffic(plan, progress), key=lambda one: float(one.own["load"]))
        return [bench_traffic.measure_traffic(plan, load, progress)]

    return Plan(
        cluster,
        "traffic",
        f"{pattern} traffic of {packet}-flit packets on {cluster.name}, {cycles} cycles",
        "a packet's last flit arrives, on average (latency: the same in cycles)",
        measure,
        {"traffic": seed},
        record="packets are counted, not recorded",
        draw=plots.latency_over_load,
    )


def check_load(load: float | str) -> None:
    """Raises InputError if a load is invalid."""
    if isinstance(load, str) or not 0 < load <= 1:
        raise InputError(
            f"{str(load)!r} is not a load; give a number above 0, at most 1 flit per node and cycle, or 'sweep'"
        )


def jobs(
    cluster: Cluster,
    *,
    operations: Sequence[str] = ("allreduce", "allreduce"),
    share: str | Sequence[str] = SHARES,
    placement: str = "interleaved",
    algorithm: str = "tree",
    sizes: Sizes = "8,1M",
    seed: int = 1,
) -> Plan:
    """Plans jobs that share a fabric.

    `operations` is the collective of each job; `share` the weights of the jobs in a sharing mode, or several of these.
    Raises InputError.
    """
    for name in operations:
        if name not in bounds.OPERATIONS:
            raise InputError(f"unknown collective {name!r}; known are {', '.join(bounds.OPERATIONS)}")
    one_of("placement of jobs", placement, bench_jobs.PLACEMENTS)
    choice.algorithm_named(algorithm)
    requested = parse_sizes(sizes)
    plans = [
        bench_jobs.JobsPlan(
            *(cluster, operations, requested, bench_jobs.share_of(text), placement, algorithm),
            at_least("seed", seed, 0),
        )
        for text in ([share] if isinstance(share, str) else share)
    ]

    def measure(progress: Progress, _: int) -> Iterator[Measured]:
        for index, plan in enumerate(plans):

            def advanced(done: float, before: int = index) -> None:
                progress((before + done) / len(plans))

            yield from bench_jobs.measure_jobs(plan, advanced)

    title = f"{len(operations)} jobs on {cluster.name}, nodes {placement}, kernel to kernel"
    return Plan(
        cluster,
        "jobs",
        title,
        "the job's last rank has its result, with all jobs running",
        measure,
        {"data": seed},
        _check_jobs,
        record=lambda _: timelines.of_jobs(title, plans),
        draw=plots.rate_by_share,
    )


def _check_jobs(rows: Sequence[Row]) -> None:
    if wrong := [row for row in rows if not row["verified"]]:
        where = ", ".join(f"job {row['job']}, {row['bytes']} bytes, {row['sharing']}" for row in wrong)
        raise WrongRows(f"different from the job alone: {where}", rows)
    check(rows)


def faults(
    cluster: Cluster, *, rates: float | Sequence[float] = RATES, cycles: int = 20_000_000, seed: int = 1
) -> Plan:
    """Plans a link with bit errors; `rates` are bit error rates. Raises InputError."""
    requested = [rates] if isinstance(rates, float | int) else list(rates)
    check_rates(requested)
    at_least("cycles", cycles, 10_000)
    at_least("seed", seed, 0)

    a = bench_faults.round_trip(cluster.link_latency)

    def measure(progress: Progress, _: int) -> Iterable[Measured]:
        return bench_faults.measure_faults(cluster, requested, cycles, seed, progress)

    return Plan(
        cluster,
        "faults",
        f"a link of {cluster.link_latency} cycles as in {cluster.name}, a = {a}, {cycles} cycles",
        "the last of these cycles",
        measure,
        {"faults": seed},
        _check_faults,
        record="flits are counted, not recorded",
        draw=plots.goodput_over_errors,
    )


def check_rates(rates: Sequence[float]) -> None:
    """Raises InputError if a bit error rate is out of range."""
    if not rates or not all(0 <= rate < 0.01 for rate in rates):
        given = ",".join(map(str, rates))
        raise InputError(f"{given!r} is not a list of bit error rates below 0.01, such as 1e-4,1e-6")


WITHIN = 0.01
"""Maximum relative deviation of the goodput from the closed form."""


def _check_faults(rows: Sequence[Row]) -> None:
    for row in rows:
        where = f"at a bit error rate of {row['bit_error_rate']:g}"
        if not row["verified"]:
            raise WrongRows(f"a flit was lost or altered {where}", rows)
        if abs(row["difference"]) > WITHIN:
            raise WrongRows(f"the goodput {where} is {100 * row['difference']:+.2f} % from its closed form", rows)


def _collective(name: str) -> Operation:
    without = ["sizes", "seed"] * (name == "barrier")
    without += ["root"] * (name not in bench_data.ROOTED)
    without += ["op", "type", "reproducible"] * (name not in bench_data.REDUCTIONS)
    return Operation(partial(collective, name), without)


MESSAGES = ("latency", "bandwidth")

OPERATIONS = {
    **{name: _collective(name) for name in bench.COLLECTIVES},
    **{name: Operation(partial(message, name)) for name in MESSAGES},
    "jobs": Operation(jobs),
    "faults": Operation(faults),
    "traffic": Operation(traffic),
}
