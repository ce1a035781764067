# SPDX-License-Identifier: Apache-2.0
"""Expected results of the reduction calculator: NumPy arithmetic in the calculator's order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.spec import OPERATORS, Datatype, Operator

Array = NDArray[Any]

_PAIRS = {
    Datatype.PAIR_INT32_INT32: np.dtype([("value", "<i4"), ("index", "<i4")]),
    Datatype.PAIR_FLOAT32_INT32: np.dtype([("value", "<f4"), ("index", "<i4")]),
    Datatype.PAIR_FLOAT32_FLOAT32: np.dtype([("value", "<f4"), ("index", "<f4")]),
    Datatype.PAIR_FLOAT64_FLOAT64: np.dtype([("value", "<f8"), ("index", "<f8")]),
}
_TYPES: dict[Datatype, np.dtype[Any]] = {
    Datatype.BYTE: np.dtype(np.uint8),
    **{kind: np.dtype(kind.name.lower()) for kind in list(Datatype)[Datatype.INT8 : Datatype.COMPLEX128 + 1]},
    **_PAIRS,
}

PAIRS = [f"{op.name.lower()} {kind.name.lower()}" for kind in _TYPES for op in sorted(OPERATORS[kind])]
"""All pairs of operator and type, except MPI's pair types with padding."""

EXACT = [
    pair
    for pair in PAIRS
    if pair == "sum float32"
    or (pair.split()[0] in ("sum", "band", "bor", "bxor", "min", "max") and "int" in pair and "_" not in pair)
]
"""Pairs whose result is independent of the order for small integers."""


def type_of(name: str) -> np.dtype[Any]:
    return _TYPES[Datatype[name.upper()]]


def _truth(of: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda a, b: of(a, b).astype(a.dtype)


def _by_value(less: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    def better(a: Array, b: Array) -> Array:
        first = less(a["value"], b["value"]) | ((a["value"] == b["value"]) & (a["index"] <= b["index"]))
        return np.where(first, a, b)

    return better


_OPERATORS: dict[Operator, Callable[[Array, Array], Array]] = {
    Operator.SUM: np.add,
    Operator.PROD: np.multiply,
    Operator.MIN: np.minimum,
    Operator.MAX: np.maximum,
    Operator.BAND: np.bitwise_and,
    Operator.BOR: np.bitwise_or,
    Operator.BXOR: np.bitwise_xor,
    Operator.LAND: _truth(np.logical_and),
    Operator.LOR: _truth(np.logical_or),
    Operator.LXOR: _truth(np.logical_xor),
    Operator.MINLOC: _by_value(np.less),
    Operator.MAXLOC: _by_value(np.greater),
}


def reduced(data: bytes, op: str, kind: str, record: int, sums: int, tree: bool = False) -> bytes:
    """Returns the reduction of `data`.

    Beats of 16 bytes are accumulated in turn into `sums` partial sums, which are then folded, upper half into lower
    half, until one record of `record` bytes is left, or with `tree` one element in 16 bytes.
    """
    combine, element = _OPERATORS[Operator[op.upper()]], type_of(kind)
    values = np.frombuffer(data, element)
    beat = 16 // element.itemsize
    places = sums * beat
    parts = [values[first : first + places] for first in range(0, values.size, places)]
    total = parts[0].copy()
    with np.errstate(all="ignore"):
        for part in parts[1:]:
            total[: part.size] = combine(total[: part.size], part)
        half = places // 2
        while half >= (1 if tree else record // element.itemsize):
            high = total[half : 2 * half]
            total = total[:half].copy()
            total[: high.size] = combine(total[: high.size], high)
            half //= 2
    return total.tobytes().ljust(16, b"\0")


def random_values(numbers: np.random.Generator, kind: str, count: int) -> bytes:
    """Returns random elements: small, so that products stay finite, and without floating-point zeros, whose sign may
    differ."""
    element = type_of(kind)
    if element.names:
        made = np.zeros(count, element)
        for name in element.names:
            made[name] = numbers.integers(1, 9, count)
        return made.tobytes()
    if element.kind in "iu":
        bits = numbers.integers(0, 256, count * element.itemsize, np.uint8)
        bits[numbers.random(bits.size) < 0.3] = 0
        return bits.tobytes()
    signs = numbers.choice([-1.0, 1.0], count)
    values = signs * numbers.uniform(0.5, 1.5, count)
    if element.kind == "c":
        values = values + 1j * numbers.uniform(0.5, 1.5, count)
    return values.astype(element).tobytes()


def whole_values(numbers: np.random.Generator, kind: str, count: int) -> bytes:
    """Returns small random integers of a type."""
    return numbers.integers(0, 100, count).astype(type_of(kind)).tobytes()
