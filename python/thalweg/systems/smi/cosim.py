# SPDX-License-Identifier: Apache-2.0
"""Co-simulation of random programs on whole clusters: the simulator alone, then with Verilated ranks in lockstep.

Compared are every port of every rank in every cycle, the end of each kernel, and memory.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from thalweg.cluster.topology import Topology, build
from thalweg.errors import CheckFailed
from thalweg.systems.smi import metadata
from thalweg.systems.smi.cluster import Cluster
from thalweg.systems.smi.run import Buffer, Run

SAME_HARDWARE = 25
"""Number of consecutive seeds with equal rank parameters, so that the hardware is built once."""
_KERNELS = Path(__file__).parent / "kernels" / "random.c"
_OPERATIONS = ("add", "max", "min")


def random_edges(draw: random.Random, ranks: int, links: int) -> list[tuple[int, int]]:
    """Returns a connected random graph with at most `links` links per rank."""
    degree = [0] * ranks
    edges = []

    def join(a: int, b: int) -> None:
        edges.append((a, b))
        degree[a] += 1
        degree[b] += 1

    for rank in range(1, ranks):
        join(rank, draw.choice([other for other in range(rank) if degree[other] < links]))
    for _ in range(draw.randrange(ranks)):
        a, b = draw.sample(range(ranks), 2)
        if degree[a] < links and degree[b] < links:
            join(a, b)
    return edges


def random_topology(draw: random.Random, links: int) -> Topology:
    """Returns a line, a ring, a torus or a random graph of at most 8 ranks with at most `links` links each."""
    most = 8 if links > 1 else 2
    shapes = ["edges", "edges"] + ["line", "ring"] * (links > 1) + ["torus"] * (links > 3)
    match draw.choice(shapes):
        case "torus":
            return build("torus", draw.choice([(2, 2), (2, 3), (2, 4)]))
        case "edges":
            ranks = draw.randint(2, most)
            return build("edges", [ranks], random_edges(draw, ranks, links))
        case shape:
            return build(shape, [draw.randint(2, most)])


def random_hardware(draw: random.Random, cluster: Cluster) -> tuple[Cluster, list[metadata.Operation]]:
    """Returns the cluster with random hardware parameters, and random endpoints."""
    changed = cluster.with_node(
        links=draw.choice((1, 2, 3, 4, 4)),
        packet_bytes=draw.choice((16, 32, 32, 32, 64)),
        reads=draw.choice((1, 2, 8, 16)),
        depth=draw.choice((2, 4, 16)),
        latency=draw.randint(1, 16),
        tile=draw.choice((1, 4, 32)),
        children=draw.choice((7, 15)),
        switching=draw.choice(("packet", "packet", "circuit")),
        circuit_packets=draw.choice((0, 1, 3, 15)),
    )
    ports = draw.sample(range(256), draw.randint(2, 5))
    operations = []
    for port in ports:
        kind = draw.choice(("push", "push", "broadcast", "scatter", "gather", "reduce"))
        common = {
            "port": port,
            "data_type": draw.choice(list(metadata.BYTES)),
            "buffer_size": draw.choice((None, 1, 20, 100)),
            "args": {"op_type": draw.choice(_OPERATIONS)},
        }
        for each in (kind, "pop") if kind == "push" else (kind,):
            operations.append(metadata.Operation.model_validate(common | {"type": each}))
    return changed, operations


class Outcome(NamedTuple):
    cycles: int
    elements: int
    ranks: int


@dataclass(frozen=True)
class Program:
    """A random program, defined by `seed`."""

    cluster: Cluster
    seed: int

    def run(self, engine: str) -> tuple[list[Any], Outcome]:
        """Returns the end of each kernel, and the outcome. Raises CheckFailed if an element is wrong or the hardware
        diverges."""
        hardware, operations = random_hardware(random.Random(self.seed // SAME_HARDWARE), self.cluster)
        draw = random.Random(self.seed)
        cluster = self._random_values(draw, hardware)
        ranks = draw.randint(2, cluster.topology.nodes)
        whole = metadata.Program("random", tuple(operations), cluster.node.reads, cluster.topology.nodes)
        run = Run(cluster, ranks, whole, engine=engine)
        wrong = []
        for operation in operations:
            if operation.type == "push":
                wrong += _messages(draw, run, operation, ranks, (0,) if cluster.node.circuits else (0, 1, 5, 1000))
            elif operation.type != "pop":
                wrong += _collectives(draw, run, operation, ranks)
        result = run.run()
        if bad := [buffer for buffer in wrong if buffer.array[0]]:
            raise CheckFailed(f"{bad[0].name} of rank {bad[0].rank}: {bad[0].array[0]} elements are wrong")
        return result.kernels, Outcome(result.cycles, result.elements, cluster.topology.nodes)

    def _random_values(self, draw: random.Random, cluster: Cluster) -> Cluster:
        topology = random_topology(draw, cluster.node.links)
        changed = cluster.with_node(
            link_buffer=draw.choice((2, 8, 512)),
            protocol=draw.choice(("eager", "degree")),
            arity=draw.choice((0, 0, 1, 2, 3)),
            any_order=draw.random() < 0.4,
        )
        name = next(iter(cluster.links))
        link = cluster.link.model_copy(
            update={"latency_ns": draw.choice((1, 40, 300)), "gbit_s": draw.choice((10, 40, 1000))}
        )
        return replace(changed.with_topology(topology), fpgas=None, links={name: link})


def _count(draw: random.Random) -> int:
    return draw.choice((0, 1, draw.randint(1, 20), draw.randint(1, 20), draw.randint(20, 300)))


def _script(run: Run, rank: int, steps: Sequence[Sequence[int]]) -> Buffer:
    return run.buffer(rank, np.array(steps or [[0]], np.int32))


def _wrong(run: Run, rank: int, operation: metadata.Operation) -> Buffer:
    return run.buffer(rank, np.full(1, -1, np.int32), name=f"port {operation.port}, {operation.type}")


def _messages(
    draw: random.Random, run: Run, operation: metadata.Operation, ranks: int, flushes: Sequence[int]
) -> list[Buffer]:
    """Each rank sends to one rank, possibly itself, as a port receives from one rank only. `flushes`: possible
    intervals of flushed elements."""
    to = draw.sample(range(ranks), ranks)
    wrong = []
    for rank, peer in enumerate(to):
        if draw.random() < 0.2:
            continue
        steps = [
            [_count(draw), peer, draw.choice((0, 1, 10, 1000)), draw.choice(flushes), draw.choice((0, 0, 3))]
            for _ in range(draw.randint(0, 4))
        ]
        kind = operation.data_type
        arguments: dict[str, Any] = {"port": operation.port, "steps": len(steps)}
        run.kernel(_KERNELS, f"sends_{kind}", rank, script=_script(run, rank, steps), **arguments)
        pause = draw.choice((0, 0, 8))
        taken = [[count, rank, degree, flush, pause] for count, _, degree, flush, _ in steps]
        wrong.append(_wrong(run, peer, operation))
        run.kernel(_KERNELS, f"takes_{kind}", peer, script=_script(run, peer, taken), wrong=wrong[-1], **arguments)
    return wrong


def _collectives(draw: random.Random, run: Run, operation: metadata.Operation, ranks: int) -> list[Buffer]:
    steps = []
    for _ in range(draw.randint(1, 4)):
        stride = draw.randint(1, 3)
        size = draw.randint(1, (ranks - 1) // stride + 1)
        first = draw.randint(0, ranks - 1 - stride * (size - 1))
        count = _count(draw) // (size if operation.type in ("scatter", "gather") else 1)
        steps.append([count, draw.randrange(size), first, stride, size])
    wrong = []
    for rank in range(ranks):
        wrong.append(_wrong(run, rank, operation))
        pause = draw.choice((0, 0, 5))
        arguments: dict[str, Any] = {"port": operation.port, "steps": len(steps), "wrong": wrong[-1]}
        arguments["op"] = _OPERATIONS.index(operation.args.op_type)
        script = _script(run, rank, [[*step, pause] for step in steps])
        run.kernel(_KERNELS, f"{operation.type}s_{operation.data_type}", rank, script=script, **arguments)
    return wrong


def compare(cluster: Cluster, seed: int) -> Outcome:
    """Runs the program of a seed. Raises CheckFailed if simulator and hardware diverge, or an element is wrong."""
    program = Program(cluster, seed)
    try:
        alone, outcome = program.run("sim")
        beside, _ = program.run("rtl")
    except CheckFailed as error:
        raise CheckFailed(f"seed {seed}: {error}") from None
    for sim, rtl in zip(alone, beside, strict=True):
        if sim != rtl:
            raise CheckFailed(f"seed {seed}: {sim} in the simulator, {rtl} with the hardware")
    return outcome
