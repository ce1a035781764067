# SPDX-License-Identifier: Apache-2.0
"""Is the simulated fabric, through its Python interface, correct and never faster than its bounds?"""

from __future__ import annotations

import numpy as np
import pytest
from thalweg import _core
from thalweg.spec import Datatype, Operator
from thalweg.systems.mpi_fpga import _sim, bounds
from thalweg.systems.mpi_fpga.bench import COLLECTIVES
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.spec import Algorithm, Collective


class Ranks:
    """A communicator of all or some of a cluster's nodes."""

    def __init__(self, cluster: str, endpoint: str = "host", members: list[int] | None = None) -> None:
        self.config = Cluster.load(cluster).fabric_config()
        self.fabric = _sim.Fabric(self.config, _sim.Endpoint[endpoint])
        self.members = members or list(range(self.config.nodes))
        handles = list(range(len(self.members)))
        context = self.fabric.create_communicator(self.members, handles, 0)
        assert context is not None
        self.context = context
        assert self.wait() > 0

    def wait(self) -> int:
        """The time of the last completion, after one for each rank."""
        left, last = len(self.members), 0
        while left:
            completed = self.fabric.advance(_core.NEVER)
            assert completed, self.fabric.blocked
            assert all(c.last for c in completed)
            left -= len(completed)
            last = max(c.at for c in completed)
        return last

    def run(self, name: str, algorithm: Algorithm, given: np.ndarray, root: int = 0) -> tuple[int, list[np.ndarray]]:
        """Ticks that a collective of given[rank] takes, and the data that the ranks receive."""
        ranks = len(self.members)
        start = self.fabric.now
        blocks = {
            "barrier": lambda _: 0,
            "broadcast": lambda rank: int(rank != root),
            "reduce": lambda rank: int(rank == root),
            "allreduce": lambda _: 1,
            "gather": lambda rank: ranks * (rank == root),
            "allgather": lambda _: ranks,
            "scatter": lambda _: 1,
            "reduce_scatter": lambda _: 1,
            "alltoall": lambda _: ranks,
            "scan": lambda _: 1,
            "exscan": lambda rank: int(rank > 0),
        }[name]
        count = given.shape[-1]
        received = [np.zeros(blocks(rank) * count, given.dtype) for rank in range(ranks)]
        for rank in range(ranks):
            self.fabric.submit(
                handle=rank,
                context=self.context,
                rank=rank,
                collective=Collective[name.upper()],
                algorithm=algorithm,
                op=Operator.SUM if "reduce" in name or "scan" in name else Operator.NONE,
                type=Datatype.INT64,
                root=root,
                count=count,
                send=given if name == "scatter" else given[rank],
                receive=received[rank],
            )
        return self.wait() - start, received


def operands(name: str, ranks: int, count: int) -> np.ndarray:
    """The ranks' inputs: (ranks, count); for reduce_scatter and alltoall (ranks, ranks, count)."""
    shape = (ranks, ranks, count) if name in ("reduce_scatter", "alltoall") else (ranks, count)
    return np.random.default_rng(count).integers(-(2**60), 2**60, shape)


def expected(name: str, given: np.ndarray, rank: int, root: int = 0) -> np.ndarray:
    match name:
        case "broadcast":
            return given[root]
        case "scatter":
            return given[rank]
        case "reduce" | "allreduce":
            return given.sum(0)
        case "reduce_scatter":
            return given[:, rank].sum(0)
        case "alltoall":
            return given[:, rank].reshape(-1)
        case "scan" | "exscan":
            return given[: rank + (name == "scan")].sum(0)
    return given.reshape(-1)


@pytest.mark.parametrize("endpoint", ["host", "kernel"])
@pytest.mark.parametrize("cluster", ["mpi-fpga-torus-2x2x2", "ring:5", "torus:4x3"])
@pytest.mark.parametrize("name", COLLECTIVES)
def test_right_and_not_faster_than_the_bound(name: str, cluster: str, endpoint: str) -> None:
    world = Ranks(cluster, endpoint)
    network = bounds.Network.of(world.config)
    for algorithm in (Algorithm.TREE, Algorithm.EXCHANGE, Algorithm.HALVING):
        for count in (1, 1000):
            given = operands(name, len(world.members), count)
            ticks, received = world.run(name, algorithm, given)
            for rank, block in enumerate(received):
                assert not block.size or np.array_equal(block, expected(name, given, rank))
            size = 0 if name == "barrier" else 8 * count
            assert ticks >= bounds.collective_ticks(network, world.members, name, size, 0, endpoint == "host")


def test_a_sub_communicator_in_any_order() -> None:
    world = Ranks("mpi-fpga-torus-4x4x2", members=[31, 2, 17, 4, 8, 9, 25])
    for name in COLLECTIVES:
        given = operands(name, 7, 300)
        for root in (0, 4):
            _, received = world.run(name, Algorithm.TREE, given, root)
            for rank, block in enumerate(received):
                assert not block.size or np.array_equal(block, expected(name, given, rank, root))
    assert world.fabric.mismatch is None


def test_blocks_of_a_vector_form_lie_where_they_are_said_to() -> None:
    world = Ranks("ring:3")
    given = [np.arange(9, dtype=np.int64), np.arange(20, 25), np.arange(0)]
    received = [np.full(8, -1) for _ in range(3)]
    counts = [1, 5, 0]
    for rank in range(3):
        world.fabric.submit(
            handle=rank,
            context=world.context,
            rank=rank,
            collective=Collective.ALLGATHER,
            type=Datatype.INT64,
            count=counts[rank],
            send=given[rank],
            receive=received[rank],
            vector=True,
            receive_blocks=[(7, 1), (1, 5), (0, 0)],
        )
    world.wait()
    for block in received:
        assert block.tolist() == [-1, 20, 21, 22, 23, 24, -1, 0]


def test_bad_requests_are_refused_and_differing_ones_told() -> None:
    world = Ranks("ring:3")
    with pytest.raises(ValueError, match="no communicator 5"):
        world.fabric.submit(handle=1, context=5, rank=0, collective=Collective.BARRIER)
    with pytest.raises(ValueError, match="a receive buffer of 4 bytes for 8"):
        world.fabric.submit(
            handle=1,
            context=world.context,
            rank=0,
            collective=Collective.ALLREDUCE,
            op=Operator.SUM,
            type=Datatype.INT64,
            count=1,
            send=np.zeros(1),
            receive=np.zeros(1, np.float32),
        )
    with pytest.raises(ValueError, match="two ranks of one communicator on node 1"):
        world.fabric.create_communicator([0, 1, 1], [0, 0, 0], world.fabric.now)
    world.fabric.submit(handle=1, context=world.context, rank=0, collective=Collective.BARRIER)
    world.fabric.submit(handle=2, context=world.context, rank=2, collective=Collective.GATHER)
    assert world.fabric.mismatch == (
        f"rank 2, operation 0 of communicator {world.context}: collective gather, others have barrier (rank 0)"
    )
    assert not world.fabric.advance(_core.NEVER)
    assert world.fabric.idle
    assert {(w.who, w.what, w.on) for w in world.fabric.blocked} >= {
        (
            f"rank 0 of communicator {world.context}",
            "to begin barrier, operation 0",
            f"rank 1 of communicator {world.context}",
        )
    }


@pytest.mark.parametrize("cluster", ["torus:4x4x2", "mpi-fpga-torus-4x4x2", "fattree:32"])
def test_communicators_of_some_nodes_leave_rows_for_those_of_all(cluster: str) -> None:
    fabric = _sim.Fabric(Cluster.load(cluster).fabric_config(), _sim.Endpoint.host)
    everywhere = list(range(32))
    made = [fabric.create_communicator(everywhere, everywhere, 0)]
    for first in range(0, 32, 2):
        made.append(fabric.create_communicator([first, first + 1], [100 + first, 101 + first], 0))
    for again in (200, 300, 400):
        made.append(fabric.create_communicator(everywhere, [again + rank for rank in everywhere], 0))
    assert None not in made
