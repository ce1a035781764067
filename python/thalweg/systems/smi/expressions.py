# SPDX-License-Identifier: Apache-2.0
"""Expressions in a host description: numbers, arrays and a few functions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from thalweg.errors import InputError

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {ast.USub: operator.neg, ast.UAdd: operator.pos}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "arange": np.arange,
    "float32": np.float32,
    "float64": np.float64,
    "full": np.full,
    "int32": np.int32,
    "max": np.maximum,
    "min": np.minimum,
    "ones": np.ones,
    "reshape": np.reshape,
    "sqrt": np.sqrt,
    "sum": np.sum,
    "where": np.where,
    "zeros": np.zeros,
}


def evaluate(text: str, names: Mapping[str, Any]) -> Any:
    """Returns the value of an expression. Raises InputError if it is invalid or uses an unknown name."""
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise InputError(f"{text!r} is not an expression: {error.msg}") from None
    try:
        with np.errstate(all="ignore"):  # unused branches, as in where(i > 0, 1 / i, 0)
            return _value(tree.body, names, text)
    except (ArithmeticError, TypeError, ValueError, IndexError) as error:
        raise InputError(f"{text!r}: {error}") from None


def _value(node: ast.expr, names: Mapping[str, Any], text: str) -> Any:
    def of(part: ast.expr) -> Any:
        return _value(part, names, text)

    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name):
            if name in names:
                return names[name]
            raise InputError(f"{text!r}: unknown name {name}; known are {', '.join(sorted(names))}")
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](of(left), of(right))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](of(operand))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
            return _COMPARE[type(op)](of(left), of(right))
        case ast.IfExp(test=test, body=body, orelse=other):
            return of(body) if of(test) else of(other)
        case ast.Tuple(elts=parts):
            return tuple(of(part) for part in parts)
        case ast.Subscript(value=value, slice=ast.Slice(lower=lower, upper=upper, step=step)):
            ends = [None if end is None else of(end) for end in (lower, upper, step)]
            return of(value)[slice(*ends)]
        case ast.Subscript(value=value, slice=index):
            return of(value)[of(index)]
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name](*(of(argument) for argument in arguments))
        case ast.Call(func=ast.Name(id=name)):
            raise InputError(f"{text!r}: unknown function {name}; known are {', '.join(FUNCTIONS)}")
    raise InputError(f"{text!r}: {ast.unparse(node)!r} is not supported in expressions")
