# SPDX-License-Identifier: Apache-2.0
"""Measures jobs that share one fabric: each job's collective on an unshared fabric, with its share alone, and together.

Times are kernel to kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from thalweg.bench.operation import Measured, Progress, silent
from thalweg.errors import FabricStopped, InputError
from thalweg.systems.mpi_fpga import bench, bench_data
from thalweg.systems.mpi_fpga.bench import CollectivePlan
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.sharing import Share
from thalweg.systems.mpi_fpga.spec import Algorithm

if TYPE_CHECKING:
    from thalweg.systems.mpi_fpga._sim import LinkUse
    from thalweg.systems.mpi_fpga.bench import AnyFabric

UNSHARED = "none"
"""Jobs on one fabric without shares: first come, first served."""


def share_of(text: str) -> Share | None:
    """Parses a share; None means unshared. Raises InputError."""
    return None if text == UNSHARED else Share.parse(text)


PLACEMENTS = ("interleaved", "blocks")


def place(hosts: int, jobs: int, placement: str) -> list[list[int]]:
    """Returns the nodes of each job, equally many: interleaved, so that trees cross, or in blocks."""
    ranks = hosts // jobs
    if placement == "interleaved":
        return [list(range(job, ranks * jobs, jobs)) for job in range(jobs)]
    return [list(range(job * ranks, (job + 1) * ranks)) for job in range(jobs)]


@dataclass(frozen=True)
class JobsPlan:
    """A collective per job, on equal parts of the cluster's hosts. Raises InputError for inconsistent arguments."""

    cluster: Cluster
    operations: Sequence[str]
    sizes: Sequence[int]
    share: Share | None
    placement: str = "interleaved"
    algorithm: str = "tree"
    seed: int = 1

    def __post_init__(self) -> None:
        jobs, hosts = len(self.operations), self.cluster.topology.hosts
        if self.share and len(self.share.weights) != jobs:
            raise InputError(f"{self.share} has {len(self.share.weights)} weights; there are {jobs} jobs")
        if hosts < 2 * jobs:
            raise InputError(
                f"{jobs} jobs of at least two ranks do not fit on the {hosts} hosts of {self.cluster.name}"
            )

    @property
    def nodes(self) -> list[list[int]]:
        return place(self.cluster.topology.hosts, len(self.operations), self.placement)

    @property
    def frame(self) -> int:
        """Period of the time slots in cycles; all runs start at the beginning of one."""
        return self.share.parts * self.cluster.values.sharing.slot_cycles if self.share else 1

    def job(self, job: int) -> CollectivePlan:
        nodes = self.nodes[job]
        named = CollectivePlan(
            *(self.cluster, self.operations[job], len(nodes), self.sizes),
            seed=self.seed + job,
            placement=",".join(map(str, nodes)),
        )
        wanted = Algorithm[self.algorithm.upper()]
        return replace(named, algorithm=(wanted if wanted in named.algorithms else named.algorithms[0]).name.lower())


_JOB = 1 << 20  # handles per job


def _handle(job: int, rank: int) -> int:
    return job * _JOB + rank


@dataclass
class _Job:
    """Results of a job: ticks of its first operation, its data, and the flits on its busiest link until then."""

    ticks: int
    results: list[np.ndarray]
    busiest: int
    right: bool


Part = tuple[int, int, int, int]
"""Job, rank, and start and end in ticks of its part of an operation."""


def _run(
    fabric: AnyFabric, plan: JobsPlan, size: int, jobs: Sequence[int], parts_done: list[Part] | None = None
) -> dict[int, _Job]:
    """Runs some of the jobs concurrently from an idle fabric; each repeats its operation until all have completed theirs
    once.

    `parts_done` gets the parts of all completed operations, from tick 0 on.
    """
    from thalweg import _core
    from thalweg.systems.mpi_fpga import _sim

    parts = {}
    for job in jobs:
        own = plan.job(job)
        inputs = bench_data.operands(own, size)
        context = bench.communicator(fabric, own, [_handle(job, rank) for rank in range(own.ranks)])
        parts[job] = (own, inputs, context, fabric.parts(context, own.algorithms[0]))
    start = -(-fabric.now // plan.frame) * plan.frame
    fabric.advance(start)
    done: dict[int, _Job] = {}
    results: dict[int, list[np.ndarray]] = {}
    missing: dict[int, int] = {}
    begun: dict[int, int] = {}

    def submit(job: int, at: int) -> None:
        own, inputs, context, _ = parts[job]
        results[job] = bench_data.room(own, size)
        missing[job] = own.ranks
        begun[job] = at
        handles = [_handle(job, rank) for rank in range(own.ranks)]
        sent, received = bench.bytes_of(inputs), bench.bytes_of(results[job])
        bench.submit(fabric, own, own.algorithms[0], context, size, sent, received, handles, at)

    def use(job: int) -> int:
        links: list[LinkUse] = fabric.job_link_use(job) if isinstance(fabric, _sim.SharedFabric) else fabric.link_use()
        return max((link.flits for link in links), default=0)

    before = {job: use(job) for job in jobs}
    for job in jobs:
        submit(job, start)
    while len(done) < len(jobs):
        completed = fabric.advance(_core.NEVER)
        if not completed:
            raise FabricStopped(fabric.failure or "the simulation stopped with operations unfinished")
        for completion in completed:
            job, rank = divmod(completion.handle, _JOB)
            if parts_done is not None:
                parts_done.append((job, rank, begun[job] - start, completion.at - start))
            missing[job] -= 1
            if missing[job]:
                continue
            own, inputs, _, groups = parts[job]
            if job not in done:
                run = bench.Timed(completion.at - start, results[job], use(job) - before[job], groups)
                right = bench_data.right(own, own.algorithms[0], inputs, run)
                done[job] = _Job(run.ticks, run.results, run.busiest, right)
            if len(done) < len(jobs):
                submit(job, fabric.now)
    return done


def _fabric(plan: JobsPlan) -> AnyFabric:
    """Creates a fabric shared by the plan's jobs. Raises InputError if it cannot be shared so."""
    from thalweg.systems.mpi_fpga import _sim

    config, kernel = plan.cluster.fabric_config(), _sim.Endpoint.kernel
    if plan.share is None:
        return _sim.Fabric(config, kernel)
    try:
        return _sim.SharedFabric(config, plan.share.on(plan.cluster, plan.nodes), kernel)
    except ValueError as error:
        raise InputError(f"{plan.cluster.name}, {plan.share}: {error}") from None


def run_together(plan: JobsPlan, size: int) -> tuple[list[Part], list[LinkUse]]:
    """Returns the parts of all jobs, from the start of the first operations, and the links' use."""
    fabric, parts = _fabric(plan), list[Part]()
    _run(fabric, plan, size, range(len(plan.operations)), parts)
    return parts, fabric.link_use()


def measure_jobs(plan: JobsPlan, progress: Progress = silent) -> Iterator[Measured]:
    """Measures each job at each size. Raises FabricStopped if an operation never ends, InputError if the fabric cannot be
    shared so.

    `verified` means that its result is correct, equal bit by bit in all runs, and, with a share, that other jobs cost
    it no cycle.
    """
    from thalweg.systems.mpi_fpga import _sim

    config = plan.cluster.fabric_config()
    us = 1e6 / config.ticks_per_second
    network = bench.network_of(config, plan.cluster)
    kernel = _sim.Endpoint.kernel
    jobs = range(len(plan.operations))
    work = [size + 64 for size in plan.job(0).measured_sizes]
    for index, size in enumerate(plan.job(0).measured_sizes):
        together = _run(_fabric(plan), plan, size, jobs)
        for job in jobs:
            progress((sum(work[:index]) + work[index] * (job + 1) / (len(jobs) + 1)) / sum(work))
            whole = _run(_sim.Fabric(config, kernel), plan, size, [job])[job]
            alone = _run(_fabric(plan), plan, size, [job])[job] if plan.share else whole
            shared = together[job]
            equal = all(
                np.array_equal(a.view("u1"), b.view("u1")) and np.array_equal(a.view("u1"), c.view("u1"))
                for a, b, c in zip(whole.results, alone.results, shared.results, strict=True)
            )
            undisturbed = plan.share is None or shared.ticks == alone.ticks
            own = {
                "collective": plan.operations[job],
                "engine": "sim",
                "sharing": str(plan.share or UNSHARED),
                "job": job,
                "part": plan.share.weights[job] / plan.share.parts if plan.share else None,
                "ranks": len(plan.nodes[job]),
                "algorithm": plan.job(job).algorithm,
                "time_whole_us": whole.ticks * us,
                "time_alone_us": alone.ticks * us,
                "rate": whole.ticks / shared.ticks,
                "link": shared.busiest / shared.ticks / float(plan.cluster.link_rate) if plan.share else None,
            }
            right = equal and undisturbed and all(run.right for run in (whole, alone, shared))
            bound, _ = bench.collective_limits(network, plan.job(job), size, us)
            yield Measured(size, shared.ticks * us, bound, right, own)
