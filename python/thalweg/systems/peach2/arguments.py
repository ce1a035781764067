# SPDX-License-Identifier: Apache-2.0
"""Arguments of a program as the simulator takes them. All raise InputError; whether a value is in its range, the simulator says."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from thalweg.arguments import limit, shown
from thalweg.errors import InputError

MOST = (1 << 64) - 1
_KINDS = "biufc"
"""NumPy's letters of numbers, whose bytes are their value."""


def whole(what: str, value: object) -> int:
    """A whole number, not negative, of at most 64 bits."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except Exception:  # an object's own code
        raise InputError(f"{what} is {shown(value)}; it is a whole number") from None
    if not 0 <= number <= MOST:
        raise InputError(f"{what} is {shown(number)}; it is from 0 to {limit(MOST)}")
    return number


def real(what: str, value: object) -> float:
    try:
        if isinstance(value, str | bytes | bool):
            raise TypeError
        return float(value)  # type: ignore[arg-type]
    except Exception:  # an object's own code
        raise InputError(f"{what} is {shown(value)}; it is a number") from None


def truth(what: str, value: object) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{what} is {shown(value)}; it is True or False")
    return bool(value)


def bytes_of(what: str, values: ArrayLike) -> bytes:
    """Of bytes as they are, and of numbers, alone or in an array."""
    if isinstance(values, bytes | bytearray | memoryview):
        return bytes(values)
    try:
        array = np.ascontiguousarray(values)
    except Exception:  # an object's own code
        raise InputError(f"{what} are {shown(values)}; they are bytes, or numbers in an array") from None
    if array.dtype.kind not in _KINDS:
        raise InputError(f"{what} are {shown(values)}, of type {array.dtype}; they are bytes, or numbers in an array")
    return array.tobytes()


def type_of(what: str, dtype: DTypeLike) -> np.dtype[Any]:
    """A NumPy type of numbers."""
    try:
        found = np.dtype(dtype)
    except Exception:  # an object's own code
        raise InputError(f"{what} is {shown(dtype)}; it is a type of numbers, such as 'float32'") from None
    if found.kind not in _KINDS:
        raise InputError(f"{what} is {shown(dtype)}; it is a type of numbers, such as 'float32'")
    return found


def listed(what: str, values: object) -> list[Any]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InputError(f"{what} are {shown(values)}; they are a list")
    return list(values)


def rows(what: str, values: object, fields: tuple[str, ...]) -> list[Any]:
    """A list of tuples of whole numbers, `fields` of them."""
    made = []
    for row in listed(what, values):
        numbers = tuple(listed(f"{what}: ({', '.join(fields)})", row))
        if len(numbers) != len(fields):
            raise InputError(f"{what}: {shown(numbers)}; each is ({', '.join(fields)})")
        made.append(tuple(whole(f"{what}: {name}", number) for name, number in zip(fields, numbers, strict=True)))
    return made
