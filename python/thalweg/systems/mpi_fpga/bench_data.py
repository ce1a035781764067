# SPDX-License-Identifier: Apache-2.0
"""Data of measured collectives, and verification of their results."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from thalweg.errors import InputError
from thalweg.systems.mpi_fpga import bounds, reduction
from thalweg.systems.mpi_fpga.spec import Algorithm

if TYPE_CHECKING:
    from thalweg.systems.mpi_fpga._sim import Group
    from thalweg.systems.mpi_fpga.bench import CollectivePlan, Timed

REDUCTIONS = ("reduce", "allreduce", "reduce_scatter", "scan", "exscan")
ROOTED = ("broadcast", "reduce", "gather", "scatter")

_NONE, _ONE, _EACH = range(3)
"""Contents of a rank's buffer: nothing, a block, or a block per rank; for (the root, other ranks):"""
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
    """Returns each rank's operand: random bits if bits are moved or integers reduced, else random numbers."""
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
    """Returns the reduction of operands, shape (ranks, elements), in the order of the algorithm."""
    root = plan.root if plan.operation == "reduce" else None
    if len(groups) == 1:
        order = reduction.Order.of(groups[0])
        return reduction.evaluate(algorithm, plan.operator, plan.datatype, operands, root, order)
    scatters = plan.operation == "reduce_scatter"
    blocks = np.split(operands, plan.ranks, axis=1) if scatters else [operands]
    bytes_ = bounds.FLIT_BYTES * plan.cluster.fabric_config().collective.packet_flits
    wide = plan.dtype.itemsize == 16  # one element in the first flit, two in the others
    per_packet = (bytes_ - (16 if wide else 8)) // plan.dtype.itemsize
    parts = []
    for rank, block in enumerate(blocks):
        for piece, group in zip(reduction.pieces(block.shape[1], per_packet, len(groups)), groups, strict=False):
            order = reduction.Order.rooted(group, rank if scatters else root)
            parts.append(
                reduction.evaluate(Algorithm.TREE, plan.operator, plan.datatype, block[:, piece], order.top, order)
            )
    return reduction.joined(parts)


def right(plan: CollectivePlan, algorithm: Algorithm, inputs: Sequence[np.ndarray], run: Timed) -> bool:
    """True if every rank has the correct result, bit by bit."""
    if plan.operation == "alltoall":
        sent = np.stack(inputs).reshape(plan.ranks, plan.ranks, -1)
        return np.array_equal(np.stack(run.results).reshape(sent.shape), sent.swapaxes(0, 1))
    if plan.operation in ("scan", "exscan"):
        prefixes = reduction.scan(plan.operator, plan.datatype, reduction.stacked(inputs), plan.operation == "scan")
        return all(
            np.array_equal(result.view("u1"), np.ascontiguousarray(prefix).view("u1"))
            for result, prefix in zip(run.results, prefixes, strict=True)
            if prefix.size
        )
    if plan.operation in REDUCTIONS:
        expected = _reduced(plan, algorithm, reduction.stacked(inputs), run.groups)
    elif plan.operation in ("broadcast", "scatter"):
        expected = inputs[plan.root]
    else:
        expected = np.concatenate(inputs)
    expected_bytes = np.ascontiguousarray(expected).view("u1")
    if plan.operation in ("scatter", "reduce_scatter"):
        return np.array_equal(reduction.joined(run.results).view("u1"), expected_bytes)
    return all(np.array_equal(result.view("u1"), expected_bytes) for result in run.results if result.size)


def room(plan: CollectivePlan, size: int) -> list[np.ndarray]:
    """Returns receive buffers for each rank."""
    elements = size // plan.dtype.itemsize
    return [np.zeros(_blocks(_GETS, plan, rank) * elements, plan.dtype) for rank in range(plan.ranks)]


def buffers(plan: CollectivePlan, size: int) -> int:
    """Returns the bytes of buffers in one run."""
    return size * sum(_blocks(_GIVES, plan, rank) + 2 * _blocks(_GETS, plan, rank) for rank in range(plan.ranks))


def memory() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def check_memory(plan: CollectivePlan, size: int) -> None:
    if buffers(plan, size) > memory() * 0.8:
        raise InputError(
            f"{plan.operation} of {size} bytes on {plan.ranks} ranks needs {buffers(plan, size) / 2**30:.0f} GiB of buffers; "
            f"this machine has {memory() / 2**30:.0f}"
        )
