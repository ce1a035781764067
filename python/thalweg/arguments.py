# SPDX-License-Identifier: Apache-2.0
"""Arguments of the Python interface: conversion from NumPy, type checks, and values in error messages."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Any, Union, get_args, get_origin

import numpy as np


def shown(value: object) -> str:
    """Returns `repr(value)` for error messages, on one line of at most 40 characters."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # repr() of a user's class may raise anything
        text = f"a {type(value).__name__}"
    return text if len(text) <= 40 else text[:37] + "..."


def limit(number: int) -> str:
    """Returns a limit for error messages: powers of two from 2^31 on as `2^n`, one less as `2^n - 1`, others in decimal."""
    for power, text in ((number, ""), (number + 1, " - 1")):
        if number + 1 >= 1 << 31 and power & (power - 1) == 0:
            return f"2^{power.bit_length() - 1}{text}"
    return f"{number}"


def plain(value: Any) -> Any:
    """Returns `value` with NumPy numbers and arrays replaced by Python numbers and lists, also inside lists, tuples and
    mappings."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if type(value) in (list, tuple):
        return type(value)(map(plain, value))
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    return value


def fits(value: object, wanted: Any) -> bool:
    """True if `value` has type `wanted`: a class, a union, or a sequence or mapping of types.

    An int is accepted as a float; a bool only as a bool; a str is not a sequence.
    """
    kind, of = get_origin(wanted) or wanted, get_args(wanted)
    if kind in (Union, types.UnionType):
        return any(fits(value, each) for each in of)
    if wanted is None:
        return value is None
    if isinstance(value, bool):
        return kind is bool
    if kind is float:
        return isinstance(value, float | int)
    if not isinstance(value, kind) or (kind is Sequence and isinstance(value, str | bytes)):
        return False
    if isinstance(value, Mapping):
        return all(fits(pair[at], each) for pair in value.items() for at, each in enumerate(of))
    return not of or all(fits(each, of[0]) for each in value)
