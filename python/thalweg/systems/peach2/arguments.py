# SPDX-License-Identifier: Apache-2.0
"""Conversion of program arguments for the simulator, which checks their ranges. All functions raise InputError."""

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
"""NumPy's type codes of numbers."""


def whole(what: str, value: object) -> int:
    """Returns an integer from 0 to 2^64 - 1."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except Exception:  # int() of a user's class may raise anything
        raise InputError(f"{what} is {shown(value)}; it must be an integer") from None
    if not 0 <= number <= MOST:
        raise InputError(f"{what} is {shown(number)}; it must be 0 to {limit(MOST)}")
    return number


def real(what: str, value: object) -> float:
    try:
        if isinstance(value, str | bytes | bool):
            raise TypeError
        return float(value)  # type: ignore[arg-type]
    except Exception:  # float() of a user's class may raise anything
        raise InputError(f"{what} is {shown(value)}; it must be a number") from None


def truth(what: str, value: object) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{what} is {shown(value)}; it must be True or False")
    return bool(value)


def bytes_of(what: str, values: ArrayLike) -> bytes:
    """Returns the bytes of a bytes object, a number or an array of numbers."""
    if isinstance(values, bytes | bytearray | memoryview):
        return bytes(values)
    try:
        array = np.ascontiguousarray(values)
    except Exception:  # a user's class may raise anything
        raise InputError(f"{what} are {shown(values)}; give bytes or an array of numbers") from None
    if array.dtype.kind not in _KINDS:
        raise InputError(f"{what} are {shown(values)}, of type {array.dtype}; give bytes or an array of numbers")
    return array.tobytes()


def type_of(what: str, dtype: DTypeLike) -> np.dtype[Any]:
    """Returns a numeric NumPy type."""
    try:
        found = np.dtype(dtype)
    except Exception:  # a user's class may raise anything
        raise InputError(f"{what} is {shown(dtype)}; must be a numeric type, such as 'float32'") from None
    if found.kind not in _KINDS:
        raise InputError(f"{what} is {shown(dtype)}; must be a numeric type, such as 'float32'")
    return found


def listed(what: str, values: object) -> list[Any]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InputError(f"{what} are {shown(values)}; give a list")
    return list(values)


def rows(what: str, values: object, fields: tuple[str, ...]) -> list[Any]:
    """Returns a list of tuples of integers, one per entry of `fields`."""
    made = []
    for row in listed(what, values):
        numbers = tuple(listed(f"{what}: ({', '.join(fields)})", row))
        if len(numbers) != len(fields):
            raise InputError(f"{what}: {shown(numbers)}; give tuples ({', '.join(fields)})")
        made.append(tuple(whole(f"{what}: {name}", number) for name, number in zip(fields, numbers, strict=True)))
    return made
