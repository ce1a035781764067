# SPDX-License-Identifier: Apache-2.0
"""Accesses of random programs to a hub's own addresses: context registers, descriptors in the working RAM, and starts of
chains."""

from __future__ import annotations

import random

import numpy as np

from thalweg.systems.peach2 import _sim
from thalweg.systems.peach2.cluster import pair_of
from thalweg.systems.peach2.hubs import Hubs, Node, Reduction
from thalweg.systems.peach2.running import Operation
from thalweg.systems.peach2.spec import DmaDescriptor

# as in sim/peach2/bus.hpp and control.hpp
_CALCULATOR, _RAM, _START, _ABORT, _CONTEXTS = 1 << 29, 3 << 28, 64, 66, 80
_LINE = 32


def calculator(hubs: Hubs, node: Node, context: int) -> int:
    return _sim.hub_address(node.number, _CALCULATOR + (1 << 28) // hubs.cluster.node.contexts * context)


def set_up(node: Node, how: Reduction, beats: int, chain: int | None = None, by: Node | None = None) -> Operation:
    """Sets up a context for reductions of `beats` beats, each of whose results starts `chain`, if given.

    `by` is the node that writes the register; nodes other than the hub's own need permission.
    """
    op, kind = pair_of(f"{how.op} {how.type}")
    record = (how.record_bytes // 16).bit_length() - 1
    lower = beats | op << 32 | kind << 40 | record << 48 | how.tree << 56
    at = _sim.register_address(node.number, _CONTEXTS + how.context)
    return (by or node).store(at, np.array([lower, 0 if chain is None else chain | 1 << 63], np.uint64))


def line_at(node: Node, line: int) -> int:
    """Returns the address of a line in the quarter of the working RAM reserved for programs."""
    quarter = (16 << node.hubs.cluster.node.ram_bits) // 4
    return _sim.hub_address(node.number, _RAM + quarter + _LINE * line)


def start(node: Node, chain: int) -> Operation:
    return node.store(_sim.register_address(node.number, _START), np.array([chain], np.uint64))


def give_up(by: Node, hub: Node, channels: int, waiting: int) -> Operation:
    """Aborts the running chains, and the waiting chains, of some channels; both are bit masks."""
    return by.store(_sim.register_address(hub.number, _ABORT), np.array([channels | waiting << 8], np.uint64))


def window_at(node: Node, index: int) -> int:
    """The address of a window's register."""
    return _sim.register_address(node.number, index)


def write_chain(node: Node, line: int, copy: tuple[int, int, int]) -> Operation:
    """Writes a chain of one descriptor for a copy (to, source, bytes)."""
    to, source, count = copy
    return node.store(line_at(node, line), DmaDescriptor(source, to, 0, count, True).pack())


def write_wrong_chain(draw: random.Random, node: Node, line: int, copy: tuple[int, int, int]) -> Operation:
    """Writes a chain of a valid descriptor and an invalid one."""
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
            DmaDescriptor(_sim.memory_address(other, 1, 0), to, 0, count, True),  # reads are local
            DmaDescriptor(
                source, _sim.hub_address(other, _RAM + (1 << 27) - 64), 0, 4, True
            ),  # an address without memory
        )
    )
    return node.store(first, DmaDescriptor(source, to, second, count, False).pack() + wrong.pack())


def write_round_chain(node: Node, line: int, copy: tuple[int, int, int]) -> Operation:
    """Writes a chain that repeats one copy without end."""
    to, source, count = copy
    return node.store(line_at(node, line), DmaDescriptor(source, to, line_at(node, line), count, False).pack())
