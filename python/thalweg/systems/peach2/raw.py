# SPDX-License-Identifier: Apache-2.0
"""What random programs do at a hub's own addresses: a context's register, descriptors in the working RAM, starts."""

from __future__ import annotations

import random

import numpy as np

from thalweg import _sim
from thalweg.systems.peach2.cluster import pair_of
from thalweg.systems.peach2.hubs import Hubs, Node, Operation, Reduction
from thalweg.systems.peach2.spec import DmaDescriptor

# As in sim/peach2/bus.hpp and control.hpp.
_CALCULATOR, _RAM, _START, _ABORT, _CONTEXTS = 1 << 29, 3 << 28, 64, 66, 80
_LINE = 32


def calculator(hubs: Hubs, node: Node, context: int) -> int:
    return _sim.peach2_hub_address(node.number, _CALCULATOR + (1 << 28) // hubs.cluster.node.contexts * context)


def set_up(node: Node, how: Reduction, beats: int, chain: int | None = None, by: Node | None = None) -> Operation:
    """The context takes reductions of so many beats; each result starts a chain where there is one. Another node that does it needs the
    host's leave."""
    op, kind = pair_of(f"{how.op} {how.type}")
    record = (how.record_bytes // 16).bit_length() - 1
    lower = beats | op << 32 | kind << 40 | record << 48 | how.tree << 56
    at = _sim.peach2_register_address(node.number, _CONTEXTS + how.context)
    return (by or node).store(at, np.array([lower, 0 if chain is None else chain | 1 << 63], np.uint64))


def line_at(node: Node, line: int) -> int:
    """The address of a line of the working RAM's quarter that a program has."""
    quarter = (16 << node.hubs.cluster.node.ram_bits) // 4
    return _sim.peach2_hub_address(node.number, _RAM + quarter + _LINE * line)


def start(node: Node, chain: int) -> Operation:
    return node.store(_sim.peach2_register_address(node.number, _START), np.array([chain], np.uint64))


def give_up(by: Node, hub: Node, channels: int, waiting: int) -> Operation:
    """The chains of some channels, a bit each, and those that wait for some."""
    return by.store(_sim.peach2_register_address(hub.number, _ABORT), np.array([channels | waiting << 8], np.uint64))


def window_at(node: Node, index: int) -> int:
    """The address of a window's register."""
    return _sim.peach2_register_address(node.number, index)


def write_chain(node: Node, line: int, copy: tuple[int, int, int]) -> Operation:
    """A descriptor: (to, source, bytes)."""
    to, source, count = copy
    return node.store(line_at(node, line), DmaDescriptor(source, to, 0, count, True).pack())


def write_wrong_chain(draw: random.Random, node: Node, line: int, copy: tuple[int, int, int]) -> Operation:
    """A copy, and behind it what is no descriptor."""
    to, source, count = copy
    first, second = line_at(node, line), line_at(node, line + 1)
    other = (node.number + 1) % len(node.hubs.nodes)
    wrong = draw.choice(
        (
            DmaDescriptor(source, to, 0, 0, True),
            DmaDescriptor(source, to, 0, count + 2, True),
            DmaDescriptor(source + 1, to, 0, count, True),
            DmaDescriptor(source, to + 2, 0, count, True),
            DmaDescriptor(1 << 39, to, 0, count, True),
            DmaDescriptor(source, 1 << 45, 0, count, True),
            DmaDescriptor(source, to, second + 4, count, False),
            DmaDescriptor(source, to, 1 << 40, count, False),
            DmaDescriptor(_sim.peach2_memory_address(other, 1, 0), to, 0, count, True),  # reads go to no other node
            DmaDescriptor(
                source, _sim.peach2_hub_address(other, _RAM + (1 << 27) - 64), 0, 4, True
            ),  # nothing is there
        )
    )
    return node.store(first, DmaDescriptor(source, to, second, count, False).pack() + wrong.pack())


def write_round_chain(node: Node, line: int, copy: tuple[int, int, int]) -> Operation:
    """The same copy again and again."""
    to, source, count = copy
    return node.store(line_at(node, line), DmaDescriptor(source, to, line_at(node, line), count, False).pack())
