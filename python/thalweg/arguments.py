# SPDX-License-Identifier: Apache-2.0
"""Arguments of the Python interface: NumPy's values as Python's own, values as error messages have them, and types of options."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Any, Union, get_args, get_origin

import numpy as np


def shown(value: object) -> str:
    """A value as an error message has it, on one line of at most 40 characters."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # an object's own code, which may do anything
        text = f"a {type(value).__name__}"
    return text if len(text) <= 40 else text[:37] + "..."


def limit(number: int) -> str:
    """A limit as an error message has it: from 2^31 on, a power of two as such, and one less than it as `2^64 - 1`."""
    for power, text in ((number, ""), (number + 1, " - 1")):
        if number + 1 >= 1 << 31 and power & (power - 1) == 0:
            return f"2^{power.bit_length() - 1}{text}"
    return f"{number}"


def plain(value: Any) -> Any:
    """A value with Python's numbers and lists in place of NumPy's numbers and arrays, in lists, tuples and mappings, too."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if type(value) in (list, tuple):
        return type(value)(map(plain, value))
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    return value


def fits(value: object, wanted: Any) -> bool:
    """True if a value has a type: a class, a union, a sequence or a mapping of such. A whole number is a float, too; True and False are
    bools alone, and a text is no sequence."""
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
