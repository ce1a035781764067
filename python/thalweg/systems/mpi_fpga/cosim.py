# SPDX-License-Identifier: Apache-2.0
"""Co-simulation of random programs on whole clusters, with RTL routers and collective units compared in every cycle.

A run creates communicators of random nodes, and executes concurrent collectives of all kinds with random sizes, types,
algorithms, roots and arrival times of ranks, besides messages between nodes. It is executed twice, by the simulator
alone and with RTL routers in lockstep: ports are compared in every cycle, and at the end the times of all completions,
the cycle from which the fabric is idle, and the ranks' memories.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from thalweg.errors import CheckFailed, FabricStopped, RtlDifference
from thalweg.launch import scratch
from thalweg.rtl.project import Project
from thalweg.rtl.waves import to_fst
from thalweg.spec import OPERATORS, SIZE, Datatype, Operator
from thalweg.systems.mpi_fpga import bounds
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.rtl_engine import in_rtl
from thalweg.systems.mpi_fpga.spec import Algorithm, Collective

if TYPE_CHECKING:
    from thalweg.systems.mpi_fpga._sim import Endpoint, Fabric

UNIT_CONTEXTS = 4
"""Rows of the communicator table if units are compared: one per communicator of a program, as each needs megabytes."""
REDUCTIONS = (
    Collective.REDUCE,
    Collective.ALLREDUCE,
    Collective.REDUCE_SCATTER,
    Collective.SCAN,
    Collective.EXSCAN,
)
COLLECTIVES = tuple(Collective[name.upper()] for name in bounds.OPERATIONS)
LONGEST_BLOCK, LONGEST_FAULTY_BLOCK = 2048, 65536
"""Bytes of a rank's block; on failing links enough to fill a replay's window, which then stalls the router."""
WAVE_CYCLES = 256
"""Before a difference."""


@dataclass
class Outcome:
    """Result of a run: handles, times, memories, and lost links."""

    cycles: int  #: until the fabric was idle
    operations: int
    completions: list[tuple[int, int, bool]]
    memories: list[np.ndarray]
    recoveries: list[tuple[str, bool, int, int, int]]  #: links that were given up or reset, with the times


@dataclass
class _Random:
    """A random program on one fabric. Draws depend only on the seed and on the fabric's behavior."""

    fabric: Fabric
    hosts: int
    seed: int
    longest: int
    operators: Mapping[Datatype, Collection[Operator]]
    handle: int = 0
    operations: int = 0
    awaited: set[int] = field(default_factory=set)
    completions: list[tuple[int, int, bool]] = field(default_factory=list)
    memories: list[np.ndarray] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.draw = np.random.default_rng(self.seed)

    def below(self, n: int) -> int:
        return int(self.draw.integers(n))

    def expect(self) -> int:
        self.handle += 1
        self.awaited.add(self.handle)
        return self.handle

    def advance(self, until: int) -> None:
        while self.fabric.now < until:
            self.next(until)

    def next(self, until: int) -> None:
        """Advances to the next completion, at most to `until`. Raises FabricStopped if a failed link cannot be bypassed."""
        if self.fabric.failure:
            raise FabricStopped(f"seed {self.seed}: {self.fabric.failure}")
        for completion in self.fabric.advance(until):
            self.completions.append((completion.handle, completion.at, completion.last))
            if completion.last:
                self.awaited.discard(completion.handle)

    def finish(self) -> None:
        """Advances until all operations have ended. Raises FabricStopped if one never does."""
        while self.awaited:
            if self.fabric.idle:
                raise FabricStopped(
                    f"seed {self.seed}: the simulation stopped with {len(self.awaited)} parts unfinished",
                    self.fabric.blocked,
                )
            self.next(self.fabric.now + 100_000)

    def communicator(self) -> tuple[int, list[int]] | None:
        size = 1 + self.below(self.hosts)
        members = [int(node) for node in self.draw.permutation(self.hosts)[:size]]
        if self.below(3) == 0:
            members = list(range(self.hosts))
        context = self.fabric.create_communicator(members, [self.expect() for _ in members], self.fabric.now)
        return None if context is None else (context, members)

    def collective(self, context: int, ranks: int) -> None:
        collective = COLLECTIVES[self.below(len(COLLECTIVES))]
        known = [a for a in Algorithm if self.fabric.algorithms(context, collective) >> a & 1]
        if not known:
            return
        algorithm = known[self.below(len(known))]
        kind, op = Datatype.BYTE, Operator.NONE
        if collective in REDUCTIONS:
            kind = list(self.operators)[self.below(len(self.operators))]
            op = list(self.operators[kind])[self.below(len(self.operators[kind]))]
        count = self.below(self.longest >> self.below(8)) // SIZE[kind]
        bytes_ = count * SIZE[kind]
        root, late = self.below(ranks), self.below(300)
        self.operations += 1
        for rank in range(ranks):
            send = np.frombuffer(self.draw.bytes(bytes_ * ranks), np.uint8)
            receive = np.zeros(bytes_ * ranks, np.uint8)
            self.memories.append(receive)
            self.fabric.submit(
                handle=self.expect(),
                context=context,
                rank=rank,
                collective=collective,
                algorithm=algorithm,
                op=op,
                type=kind,
                root=root,
                count=0 if collective is Collective.BARRIER else count,
                send=send,
                receive=receive,
                at=self.fabric.now + self.below(1 + late),
            )

    def message(self) -> None:
        source = self.below(self.hosts)
        self.fabric.send(
            handle=self.expect(),
            source=source,
            destination=(source + 1 + self.below(self.hosts - 1)) % self.hosts,
            bytes=self.below(LONGEST_BLOCK),
            at=self.fabric.now,
        )

    def run(self, cycles: int) -> Outcome:
        from thalweg import _core

        made: list[tuple[int, list[int]]] = []
        while self.fabric.now < cycles:
            if len(made) < 3 and (found := self.communicator()):
                made.append(found)
            self.finish()
            for _ in range(1 + self.below(6)):
                context, members = made[self.below(len(made))]
                self.collective(context, len(members))
                if self.hosts > 1 and self.below(3) == 0:
                    self.message()
                self.advance(self.fabric.now + self.below(400))
            self.finish()
            if self.below(4) == 0:
                self.fabric.free_communicator(made.pop(self.below(len(made)))[0])
        while not self.fabric.idle:
            self.next(_core.NEVER)
        recoveries = [(r.link, r.reset, r.silent_since, r.given_up, r.resumed) for r in self.fabric.recoveries]
        return Outcome(self.fabric.now, self.operations, self.completions, self.memories, recoveries)


class Difference(RtlDifference):
    """The first difference of a random program."""

    def __init__(self, found: RtlDifference, seed: int) -> None:
        super().__init__(f"seed {seed}: {found}", found.block, found.node, found.cycle)
        self.seed = seed
        self.of_unit = found.block == "collective_unit"


def _endpoint(seed: int) -> Endpoint:
    from thalweg.systems.mpi_fpga import _sim

    return _sim.Endpoint.kernel if seed % 2 else _sim.Endpoint.host


def with_few_rows(cluster: Cluster) -> Cluster:
    """Returns the cluster with only as many rows of the communicator table as random programs need."""
    contexts = min(cluster.values.collective.contexts, UNIT_CONTEXTS)
    collective = cluster.values.collective.model_copy(update={"contexts": contexts})
    return replace(cluster, values=cluster.values.model_copy(update={"collective": collective}))


def execute(
    cluster: Cluster, seed: int, cycles: int, operators: Mapping[Datatype, Collection[Operator]] = OPERATORS
) -> Outcome:
    """Executes a random program of at least `cycles` cycles. Raises FabricStopped, or Difference if routers or units
    differ."""
    from thalweg.systems.mpi_fpga import _sim

    fabric = _sim.Fabric(cluster.fabric_config(), _endpoint(seed))
    longest = LONGEST_FAULTY_BLOCK if cluster.has_faults else LONGEST_BLOCK
    try:
        return _Random(fabric, cluster.topology.hosts, seed, longest, operators).run(cycles)
    except RtlDifference as found:
        raise Difference(found, seed) from None


def compare(
    cluster: Cluster,
    hardware: Cluster,
    seed: int,
    runs: int,
    cycles: int,
    operators: Mapping[Datatype, Collection[Operator]] = OPERATORS,
) -> Iterator[Outcome]:
    """Yields the outcomes of seeds from `seed` on; `hardware` is the cluster with RTL routers, and units.

    Raises Difference for a difference in these, and CheckFailed, which names the seed, for other differences.
    """
    for run in range(seed, seed + runs):
        expected, got = (execute(each, run, cycles, operators) for each in (cluster, hardware))
        if expected.completions != got.completions:
            pairs = enumerate(itertools.zip_longest(expected.completions, got.completions))
            index, (sim, rtl) = next((i, pair) for i, pair in pairs if pair[0] != pair[1])
            raise CheckFailed(f"seed {run}: completion {index} is {sim} in the simulator, {rtl} with RTL routers")
        if expected.cycles != got.cycles:
            raise CheckFailed(
                f"seed {run}: the fabric is idle from cycle {expected.cycles} on, with RTL routers from {got.cycles}"
            )
        if expected.recoveries != got.recoveries:
            raise CheckFailed(f"seed {run}: links were given up at other times with RTL routers")
        if not all(np.array_equal(a, b) for a, b in zip(expected.memories, got.memories, strict=True)):
            raise CheckFailed(f"seed {run}: the ranks have other results with RTL routers")
        yield got


def record(
    cluster: Cluster,
    found: Difference,
    cycles: int,
    folder: Path,
    project: Project | None = None,
    operators: Mapping[Datatype, Collection[Operator]] = OPERATORS,
) -> Path:
    """Repeats the program, and writes waves of the router or unit that differs, from WAVE_CYCLES before the difference."""
    from thalweg import _core

    vcd = scratch.folder() / f"{Path(cluster.name).name}-seed-{found.seed}-node-{found.node}.vcd"
    recording = _core.Recording(found.node, max(0, found.cycle - WAVE_CYCLES), str(vcd))
    hardware = in_rtl(cluster, True, project, recording, found.of_unit, operators if found.of_unit else None)
    try:
        execute(hardware, found.seed, cycles, operators)
    except Difference as again:
        assert (again.node, again.cycle) == (found.node, found.cycle)
        return Path(shutil.copy(to_fst(vcd), folder))
    raise AssertionError("the difference did not occur again")
