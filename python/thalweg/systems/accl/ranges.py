# SPDX-License-Identifier: Apache-2.0
"""Ranges of numbers that the types of kernel arguments can represent."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

_MAX_GIVEN = 2**63 - 1  # limit of values for types of more than 64 bits
_ARBITRARY = re.compile(r"(?:const )?ap_(?P<unsigned>u?)(?P<what>int|fixed)<(?P<bits>\d+)(?:, (?P<whole_bits>-?\d+))?")
_SIGNED = ("CHAR_S", "SCHAR", "WCHAR", "SHORT", "INT", "LONG", "LONGLONG", "INT128")
_UNSIGNED = ("BOOL", "CHAR_U", "UCHAR", "CHAR16", "CHAR32", "USHORT", "UINT", "ULONG", "ULONGLONG", "UINT128")
_FLOATING = {
    "FLOAT": float(np.finfo(np.float32).max),
    "DOUBLE": float(np.finfo(np.float64).max),
    "LONGDOUBLE": float(np.finfo(np.float64).max),
}


@dataclass(frozen=True)
class Range:
    least: int | float
    most: int | float
    whole: bool = True  #: integers only
    floating: bool = False  #: includes infinities and NaN
    holds_more: bool = False  #: the type's range exceeds what a host can pass

    def wrong(self, value: Any) -> str | None:
        """Says what a value must be; None if the type can represent it, with fractions rounded as the type does."""
        if isinstance(value, (bool, np.bool_, int, np.integer)):
            number: int | float = int(value)
        elif isinstance(value, (float, np.floating)):
            number = float(value)
            if not math.isfinite(number):
                return None if self.floating else self._wanted
            if self.whole and number == int(number):
                number = int(number)
        else:
            return "must be a number"
        right = self.least <= number <= self.most and (isinstance(number, int) or not self.whole)
        return None if right else self._wanted

    @property
    def _wanted(self) -> str:
        of = "; the type has a wider range, but a host passes 63 bits and a sign" if self.holds_more else ""
        return f"must be {'an integer from ' if self.whole else ''}{self.least} to {self.most}{of}"


def elements_of(canonical: Any) -> str:
    """Returns NumPy's name of the element type behind a pointer to a C number, signed; empty for other types and for
    bytes."""
    kind = canonical.kind.name
    if kind in ("FLOAT", "DOUBLE"):
        return f"float{8 * canonical.get_size()}"
    if kind not in _SIGNED and kind not in _UNSIGNED:
        return ""
    return f"int{8 * canonical.get_size()}" if canonical.get_size() > 1 else ""


def range_of(canonical: Any) -> Range | None:
    """Returns the range of a canonical type of clang; None if it is not a number."""
    kind = canonical.kind.name
    if kind == "ENUM":
        return range_of(canonical.get_declaration().enum_type.get_canonical())
    if kind in _FLOATING:
        return Range(-_FLOATING[kind], _FLOATING[kind], whole=False, floating=True)
    if kind in _SIGNED or kind in _UNSIGNED:
        return _integers(1 if kind == "BOOL" else 8 * canonical.get_size(), kind in _SIGNED)
    if not (found := _ARBITRARY.match(canonical.spelling)):
        return None
    bits, signed = int(found["bits"]), not found["unsigned"]
    if found["what"] == "int":
        return _integers(bits, signed)
    whole_bits = int(found["whole_bits"] or bits)
    if whole_bits >= 63:
        return Range(-_MAX_GIVEN - 1 if signed else 0, _MAX_GIVEN, whole=False, holds_more=True)
    most = 2.0 ** (whole_bits - signed) - 2.0 ** (whole_bits - bits)
    return Range(-(2.0 ** (whole_bits - 1)) if signed else 0.0, most, whole=False)


def _integers(bits: int, signed: bool) -> Range:
    if bits > 64:
        return Range(-_MAX_GIVEN - 1 if signed else 0, _MAX_GIVEN, holds_more=True)
    return Range(-(2 ** (bits - 1)) if signed else 0, 2 ** (bits - signed) - 1)
