# SPDX-License-Identifier: Apache-2.0
"""Floating-point operations of an element and a step, counted in the source of the kernels: additions, subtractions, multiplications, divisions, roots and
comparisons. Of two values of which one is chosen, those of the one with more. What finds the time step is not among them."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

KERNELS = Path(__file__).with_name("kernels.cpp")
EDGES = 3
_MATHS = (
    "namespace std { float sqrt(float), fabs(float), fmax(float, float), fmin(float, float); }\n"  # in place of headers
)


@cache
def of_element() -> Counter[str]:
    """By operator. Raises ModuleNotFoundError without libclang."""
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
    """Of an element in a step."""
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
    """The first token behind the left operand."""
    end = left.extent.end.offset
    return next(token.spelling for token in cursor.get_tokens() if token.extent.start.offset >= end)
