# SPDX-License-Identifier: Apache-2.0
"""Counts floating-point operations per element and step in the kernels' source: additions, subtractions, multiplications,
divisions, roots and comparisons.

Of the alternatives of a conditional, the one with more operations counts. Operations that find the time step are
excluded.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

KERNELS = Path(__file__).with_name("kernels.cpp")
EDGES = 3
_MATHS = (
    "namespace std { float sqrt(float), fabs(float), fmax(float, float), fmin(float, float); }\n"  # replaces headers
)


@cache
def of_element() -> Counter[str]:
    """Returns the operations of an element by operator. Raises ModuleNotFoundError without libclang."""
    from clang.cindex import CursorKind, Index

    text = _MATHS + re.sub(r"#include[^\n]*", "", KERNELS.read_text())
    unit = Index.create().parse("kernels.cpp", ["-std=c++20"], [("kernels.cpp", text)])
    found = {
        each.spelling: _of(each)
        for each in unit.cursor.get_children()
        if each.kind == CursorKind.FUNCTION_DECL and each.is_definition()
    }
    edges = Counter({operator: EDGES * number for operator, number in found["flow"].items()})
    return edges + found["element"]


def flop() -> int:
    """Operations per element and step."""
    return sum(of_element().values())


def _of(cursor: Any) -> Counter[str]:
    from clang.cindex import CursorKind, TypeKind

    parts = list(cursor.get_children())
    if cursor.kind == CursorKind.CONDITIONAL_OPERATOR:
        condition, *values = map(_of, parts)
        return condition + max(values, key=lambda each: sum(each.values()))
    found = sum(map(_of, parts), Counter[str]())
    if cursor.kind == CursorKind.BINARY_OPERATOR:
        operator = _operator(cursor, parts[0])
        floats = all(part.type.get_canonical().kind == TypeKind.FLOAT for part in parts)
        if floats and operator in ("+", "-", "*", "/", "<", ">"):
            found[operator] += 1
    if cursor.kind == CursorKind.CALL_EXPR and cursor.spelling == "sqrt":
        found["sqrt"] += 1
    return found


def _operator(cursor: Any, left: Any) -> str:
    """Returns the first token after the left operand."""
    end = left.extent.end.offset
    return next(token.spelling for token in cursor.get_tokens() if token.extent.start.offset >= end)
