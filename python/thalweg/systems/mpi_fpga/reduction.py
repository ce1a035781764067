# SPDX-License-Identifier: Apache-2.0
"""Expected results of reductions in the network, bit by bit, evaluated with NumPy.

The order of operands is fixed by the algorithm and by ranks alone (docs/collectives.md):

tree        a rank joins its own operand with the partial results of its tree neighbours except the parent, edges
            ascending; edge k joins rank v, a multiple of 2^(k+1), and v + 2^k
exchange    ranks from the largest power of two on are first combined into those below; then, in stage k, every rank
            combines its partial result with that of rank xor 2^k

halving     (reduce_scatter of a power of two of ranks) ranks that differ in the highest bit combine, then those results of
            ranks that differ in the next one, down to the lowest
scan        rank r starts with its own operand (an exclusive scan with none) and combines it with the results of groups of
            lower ranks: for each 1 bit k of r, ascending, the 2^k ranks from r with the bits up to k cleared; a group has
            the combination of its two halves

A join of n operands folds the first ceil(n/2) from left to right, the others as well, and combines the two results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thalweg.spec import Datatype, Operator
from thalweg.systems.mpi_fpga.spec import Algorithm

if TYPE_CHECKING:
    from thalweg.systems.mpi_fpga._sim import Group

Array = NDArray[Any]
Combine = Callable[[Array, Array], Array]


def _pair(value: str, index: str) -> np.dtype[Any]:
    return np.dtype([("value", value), ("index", index)], align=True)


DTYPES: dict[Datatype, np.dtype[Any]] = {
    Datatype.BYTE: np.dtype("u1"),
    Datatype.INT8: np.dtype("i1"),
    Datatype.UINT8: np.dtype("u1"),
    Datatype.INT16: np.dtype("i2"),
    Datatype.UINT16: np.dtype("u2"),
    Datatype.INT32: np.dtype("i4"),
    Datatype.UINT32: np.dtype("u4"),
    Datatype.INT64: np.dtype("i8"),
    Datatype.UINT64: np.dtype("u8"),
    Datatype.FLOAT16: np.dtype("f2"),
    Datatype.FLOAT32: np.dtype("f4"),
    Datatype.FLOAT64: np.dtype("f8"),
    Datatype.COMPLEX64: np.dtype("c8"),
    Datatype.COMPLEX128: np.dtype("c16"),
    Datatype.PAIR_INT32_INT32: _pair("i4", "i4"),
    Datatype.PAIR_FLOAT32_INT32: _pair("f4", "i4"),
    Datatype.PAIR_FLOAT64_INT32: _pair("f8", "i4"),
    Datatype.PAIR_INT64_INT32: _pair("i8", "i4"),
    Datatype.PAIR_INT16_INT32: _pair("i2", "i4"),
    Datatype.PAIR_FLOAT32_FLOAT32: _pair("f4", "f4"),
    Datatype.PAIR_FLOAT64_FLOAT64: _pair("f8", "f8"),
}
"""NumPy type of each type, in C layout."""


def _is_nan(values: Array) -> Array:
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)


def _below(a: Array, b: Array) -> Array:
    """True if a < b, where -0 is below +0."""
    below: Array = a < b
    if a.dtype.kind == "f":
        below |= (a == b) & np.signbit(a) & ~np.signbit(b)
    return below


def _canonical(values: Array) -> Array:
    """Replaces every NaN by the positive quiet NaN without payload."""
    if values.dtype.kind == "c":
        parts = values.view(np.dtype(f"f{values.dtype.itemsize // 2}"))
        return _canonical(parts).view(values.dtype)
    if values.dtype.kind != "f":
        return values
    return np.where(np.isnan(values), np.array(np.nan, values.dtype), values)


def _extreme(a: Array, b: Array, want_least: bool) -> Array:
    take_b = _is_nan(b) | ((_below(b, a) if want_least else _below(a, b)) & ~_is_nan(a))
    return _canonical(np.where(take_b, b, a))


def _located(a: Array, b: Array, want_least: bool) -> Array:
    x, y = a["value"], b["value"]
    nan_x, nan_y = _is_nan(x), _is_nan(y)
    same = (nan_x & nan_y) | (x == y)
    better = (y < x) if want_least else (y > x)
    sign = _below(y, x) if want_least else _below(x, y)
    tie = (b["index"] < a["index"]) | ((b["index"] == a["index"]) & sign & ~nan_x)
    take_b = (nan_y & ~nan_x) | (better & ~nan_x) | (same & tie)
    result = np.zeros(a.shape, a.dtype)  # padding of a pair is zero
    for name in ("value", "index"):
        result[name] = np.where(take_b, b[name], a[name])
    return result


def combiner(operator: Operator, datatype: Datatype) -> Combine:
    """Returns the operator on two arrays of `DTYPES[datatype]`; it is commutative."""
    dtype = DTYPES[datatype]
    table: dict[Operator, Combine] = {
        Operator.SUM: np.add,
        Operator.PROD: np.multiply,
        Operator.MIN: lambda a, b: _extreme(a, b, want_least=True),
        Operator.MAX: lambda a, b: _extreme(a, b, want_least=False),
        Operator.BAND: np.bitwise_and,
        Operator.BOR: np.bitwise_or,
        Operator.BXOR: np.bitwise_xor,
        Operator.LAND: lambda a, b: np.logical_and(a, b).astype(dtype),
        Operator.LOR: lambda a, b: np.logical_or(a, b).astype(dtype),
        Operator.LXOR: lambda a, b: np.logical_xor(a, b).astype(dtype),
        Operator.MINLOC: lambda a, b: _located(a, b, want_least=True),
        Operator.MAXLOC: lambda a, b: _located(a, b, want_least=False),
    }
    apply = table[operator]

    def combine(a: Array, b: Array) -> Array:
        with np.errstate(all="ignore"):
            result = apply(a, b)
        return _canonical(result) if operator in (Operator.SUM, Operator.PROD) else result

    return combine


def _fold(combine: Combine, operands: Sequence[Array]) -> Array:
    result = operands[0]
    for operand in operands[1:]:
        result = combine(result, operand)
    return result


def _join(combine: Combine, operands: Sequence[Array]) -> Array:
    half = (len(operands) + 1) // 2
    halves = [_fold(combine, part) for part in (operands[:half], operands[half:]) if len(part)]
    return _fold(combine, halves)


@dataclass(frozen=True)
class Order:
    """Order of a communicator's reductions.

    `neighbours` has the neighbors of each vertex of the tree, by ascending edge; vertex i < ranks is rank i, other
    vertices have no rank. `groups` has each rank's groups by stage of an exchange by dimensions; empty for recursive
    doubling.
    """

    neighbours: Sequence[Sequence[int]]
    top: int = 0
    groups: Sequence[Sequence[Sequence[int]]] = ()

    @classmethod
    def by_rank(cls, ranks: int) -> Order:
        """Returns the binomial tree and recursive doubling over rank numbers."""

        def neighbours(rank: int) -> Iterator[int]:
            for edge in range(ranks.bit_length()):
                if rank & (1 << edge):
                    yield rank - (1 << edge)
                    return
                if rank + (1 << edge) < ranks:
                    yield rank + (1 << edge)

        return cls([list(neighbours(rank)) for rank in range(ranks)])

    @classmethod
    def of(cls, group: Group) -> Order:
        """Returns the order of a simulated communicator."""
        top = next(vertex for vertex, edges in enumerate(group.tree) if not any(leads_up for _, leads_up in edges))
        return cls(
            [[peer for peer, _ in edges] for edges in group.tree], top, group.exchange if group.by_dimensions else ()
        )

    @classmethod
    def rooted(cls, group: Group, root: int | None) -> Order:
        """Returns the order of one of a communicator's several trees for a root, or for an allreduce (None)."""
        return cls.of(group) if root is None else cls(group.tree_of(root), root)

    def tree(self, combine: Combine, operands: Array, vertex: int, parent: int = -1) -> Array:
        """Reduces the subtree of a vertex, without the side of its parent, to the vertex."""
        own = [operands[vertex]] if vertex < len(operands) else []
        others = [self.tree(combine, operands, peer, vertex) for peer in self.neighbours[vertex] if peer != parent]
        return _join(combine, own + others)

    def exchange(self, combine: Combine, operands: Array) -> Array:
        """Returns the result, at every rank, of an exchange."""
        if not self.groups:
            return _doubling(combine, operands)
        partial = list(operands)
        for stage in range(len(self.groups[0])):
            partial = [_join(combine, [partial[rank] for rank in groups[stage]]) for groups in self.groups]
        result: Array = partial[0]
        return result


def _doubling(combine: Combine, operands: Array) -> Array:
    lower = 1 << (len(operands).bit_length() - 1)
    partial = [
        combine(operands[r], operands[r + lower]) if r + lower < len(operands) else operands[r] for r in range(lower)
    ]
    distance = 1
    while distance < lower:
        partial = [combine(partial[r], partial[r ^ distance]) for r in range(lower)]
        distance *= 2
    return partial[0]


# NumPy's own functions leave the padding of pairs undefined.


def joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Returns the concatenation of arrays of one type, with the padding within their elements."""
    whole: np.ndarray = np.concatenate([np.ascontiguousarray(array).view("u1") for array in arrays]).view(
        arrays[0].dtype
    )
    return whole


def stacked(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Returns arrays of one length and type as rows, with the padding within their elements."""
    return joined(arrays).reshape(len(arrays), -1)


def _halving(combine: Combine, operands: Array) -> Array:
    half = len(operands) // 2
    if half == 0:
        return operands[0]  # type: ignore[no-any-return]
    return _halving(combine, stacked([combine(operands[r], operands[r + half]) for r in range(half)]))


def evaluate(
    algorithm: Algorithm,
    operator: Operator,
    datatype: Datatype,
    operands: Array,
    root: int | None = None,
    order: Order | None = None,
) -> Array:
    """Returns the result of a reduction of `operands`, shape (ranks, count), to rank `root`; without `root`, of an
    allreduce.

    The default order is by rank.
    """
    combine = combiner(operator, datatype)
    order = order or Order.by_rank(len(operands))
    if algorithm == Algorithm.EXCHANGE:
        return order.exchange(combine, operands)
    if algorithm == Algorithm.HALVING:
        return _halving(combine, operands)
    return order.tree(combine, operands, order.top if root is None else root)


def pieces(elements: int, per_packet: int, trees: int) -> list[slice]:
    """Returns the part of a block for each of several trees: whole packets, evenly distributed; at most as many trees as
    packets."""
    packets = -(-elements // per_packet)
    trees = min(trees, max(packets, 1))
    ends = [min(elements, packets * tree // trees * per_packet) for tree in range(trees + 1)]
    return [slice(*ends[tree : tree + 2]) for tree in range(trees)]


def scan(operator: Operator, datatype: Datatype, operands: Array, inclusive: bool) -> list[Array]:
    """Returns the result of a scan of `operands`, shape (ranks, count), at each rank; an exclusive scan has none at rank
    0."""
    combine = combiner(operator, datatype)

    def group(first: int, size: int) -> Array:
        if size == 1:
            return operands[first]  # type: ignore[no-any-return]
        return combine(group(first, size // 2), group(first + size // 2, size // 2))

    results = []
    for rank in range(len(operands)):
        parts = [operands[rank]] if inclusive else []
        below = rank
        for k in range(rank.bit_length()):
            if rank >> k & 1:
                below -= 1 << k
                parts.append(group(below, 1 << k))
        results.append(_fold(combine, parts) if parts else operands[rank, :0])
    return results
