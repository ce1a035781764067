# SPDX-License-Identifier: Apache-2.0
"""Gather, scatter and allgather as stages of transfers between nodes' memories: by ring, by tree, and by re-wiring (section 5 of the paper).

A stage's transfers go at once; the next stage begins when all have ended. Blocks are the nodes' own data, by the nodes' numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

Port = tuple[int, int]
"""An external port and a virtual port of it."""


@dataclass(frozen=True)
class Move:
    """Blocks from a node's memory to another's."""

    source: int
    source_port: Port
    destination: int
    destination_port: Port
    blocks: tuple[int, ...]
    passes: tuple[
        tuple[int, Port, Port], ...
    ] = ()  #: nodes whose crossbars pass it on, with ports that it comes in at and leaves by


@dataclass(frozen=True)
class Stage:
    moves: tuple[Move, ...]


@dataclass(frozen=True)
class Schedule:
    """The stages of a gather to a root, of a scatter from it, or of an allgather, whose root is the first node."""

    root: int
    stages: tuple[Stage, ...]
    rewired: bool = False  #: each stage opens the circuits of its own moves
    everywhere: bool = False  #: every node gets all blocks, over all its external ports at once
    steps: bool = False  #: only the rows that it needs are written before the first stage
    others: frozenset[tuple[int, Port, int, Port]] = (
        frozenset()
    )  #: circuits that are opened before the first stage, too

    @property
    def circuits(self) -> Sequence[frozenset[tuple[int, Port, int, Port]]]:
        """The circuits that are opened before each stage. Unless it is rewired, all are opened before the first stage."""
        of_stages = [
            frozenset((move.source, move.source_port, move.destination, move.destination_port) for move in stage.moves)
            for stage in self.stages
        ]
        if self.rewired:
            return of_stages
        return [self.others.union(*of_stages), *[frozenset()] * (len(of_stages) - 1)]

    @property
    def nodes(self) -> set[int]:
        """The nodes that take part: sources, destinations, nodes that forward packets, and ends of other circuits."""
        moves = [move for stage in self.stages for move in stage.moves]
        ends = {node for source, _, destination, _ in self.others for node in (source, destination)}
        passed = {node for move in moves for node, _, _ in move.passes}
        return ends | passed | {node for move in moves for node in (move.source, move.destination)}

    def sends_again(self, stage: int) -> bool:
        """Whether a port is joined with another one for a stage that has sent in the stage before."""
        if not self.rewired:
            return False
        sent = {(move.source, move.source_port) for move in self.stages[stage - 1].moves}
        ends = {
            end
            for source, source_port, destination, destination_port in self.circuits[stage]
            for end in ((source, source_port), (destination, destination_port))
        }
        return bool(sent & ends)


@dataclass
class _Holding:
    """What nodes hold that has not moved on."""

    blocks: dict[int, list[int]] = field(default_factory=dict)

    def take(self, node: int, most: int | None = None) -> tuple[int, ...]:
        held = self.blocks.get(node, [])
        taken, self.blocks[node] = held[:most], held[len(held[:most]) :]
        return tuple(taken)


def tree(nodes: Sequence[int], root: int, ports: int, virtual_ports: int) -> Schedule:
    """To `root` from branches at all its virtual ports (Figures 10 and 12). Each is a chain along which every node passes a block on in every
    stage. The first virtual ports' branches come first, one at each external port; what the others have gathered meanwhile at their first node
    follows in a stage for each further virtual port."""
    others = [node for node in nodes if node != root]
    count = min(ports * virtual_ports, len(others))
    sizes = [len(others) // count + (k < len(others) % count) for k in range(count)]
    branches, first = [], 0
    for size in sizes:
        branches.append(others[first : first + size])
        first += size
    holding = _Holding({node: [node] for node in others})
    stages: list[Stage] = []

    def up(branch: Sequence[int], port: int, heads: bool) -> list[Move]:
        """A stage's moves in a branch: each node's next block to the one above, the first node's to the root where its turn has come."""
        moves = [
            (node, above, holding.take(node, 1))
            for above, node in zip([root, *branch], branch, strict=False)
            if above != root or heads
        ]
        made = []
        for node, above, blocks in moves:
            if blocks:
                down = 0 if above == root else virtual_ports - 1
                made.append(Move(node, (port, 0), above, (port, down), blocks))
        return made

    def passed(moves: Sequence[Move]) -> None:
        for move in moves:
            if move.destination != root:
                holding.blocks[move.destination] += move.blocks

    while any(holding.blocks[node] for branch in branches[:ports] for node in branch):
        moves = [
            move for index, branch in enumerate(branches) for move in up(branch, index % ports, heads=index < ports)
        ]
        passed(moves)
        stages.append(Stage(tuple(moves)))
    for turn in range(1, -(-count // ports)):
        moves = []
        for index, branch in enumerate(branches[turn * ports : (turn + 1) * ports]):
            head = branch[0]
            moves.append(Move(head, (index, 0), root, (index, turn), holding.take(head)))
        stages.append(Stage(tuple(moves)))
    return Schedule(root, tuple(stages))


def ring(
    nodes: Sequence[int],
    root: int,
    ports: int,
    virtual_ports: int,
    step: Callable[[int, int, int], Move] | None = None,
) -> Schedule:
    """To `root` from both sides of a ring (Figures 10 and 11), a block a stage; with one external port from one side. `step`: the move from a node
    to the one above on a side, where links are given."""
    at = list(nodes).index(root)
    others = [*nodes[at + 1 :], *nodes[:at]]
    half = -(-len(others) // min(2, ports))
    sides = [others[:half], others[half:][::-1]]
    holding = _Holding({node: [node] for node in others})
    stages = []
    while any(holding.blocks.values()):
        moves = []
        for port, chain in enumerate(sides):
            for above, node in zip([root, *chain], chain, strict=False):
                if blocks := holding.take(node, 1):
                    down = 0 if above == root else virtual_ports - 1
                    move = step(node, above, port) if step else Move(node, (port, 0), above, (port, down), blocks)
                    moves.append(replace(move, blocks=blocks))
        for move in moves:
            if move.destination != root:
                holding.blocks[move.destination] += move.blocks
        stages.append(Stage(tuple(moves)))
    return Schedule(root, tuple(stages))


def relink(nodes: Sequence[int], root: int, ports: int, virtual_ports: int) -> Schedule:
    """Straight to `root`, as many nodes a stage as it has external ports; each stage has circuits of its own (Equation 5)."""
    others = [node for node in nodes if node != root]
    stages = [
        Stage(
            tuple(
                Move(node, (port, 0), root, (port, 0), (node,))
                for port, node in enumerate(others[first : first + ports])
            )
        )
        for first in range(0, len(others), ports)
    ]
    return Schedule(root, tuple(stages), rewired=True)


def allgather_ring(
    nodes: Sequence[int],
    ports: int,
    step: Callable[[int, int, int], Move] | None = None,
) -> Schedule:
    """Around a ring both ways, one way with one external port: each node passes the block on that has come last, its own first. A line carries one
    stream each way. `step`: the move from a node to its neighbour on a side (0: the next one), where links are given."""
    count = len(nodes)
    sides = [-(-(count - 1) // 2), (count - 1) // 2] if ports > 1 else [count - 1]

    def move(at: int, side: int, block: int) -> Move:
        node, other = nodes[at], nodes[(at + (-1 if side else 1)) % count]
        made = step(node, other, side) if step else Move(node, (side, 0), other, (side, 1), ())
        return replace(made, blocks=(nodes[block % count],))

    stages = [
        Stage(
            tuple(
                move(at, side, at + number if side else at - number)
                for side, most in enumerate(sides)
                if number < most
                for at in range(count)
            )
        )
        for number in range(max(sides))
    ]
    return Schedule(nodes[0], tuple(stages), everywhere=True)


GATHERS = {"tree": tree, "ring": ring, "relink": relink}


def scatter(gather: Schedule) -> Schedule:
    """The same the other way round: each node gets its own block (section 6.6.1)."""
    stages = tuple(
        Stage(
            tuple(
                Move(
                    move.destination,
                    move.destination_port,
                    move.source,
                    move.source_port,
                    move.blocks,
                    tuple((node, leaves_by, comes) for node, comes, leaves_by in reversed(move.passes)),
                )
                for move in stage.moves
            )
        )
        for stage in reversed(gather.stages)
    )
    return Schedule(gather.root, stages, gather.rewired)
