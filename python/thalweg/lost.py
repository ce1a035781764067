# SPDX-License-Identifier: Apache-2.0
"""Grammar of counts of dropped frames and packets."""

from __future__ import annotations


def counted(count: int, what: str) -> str:
    """Returns a count with its noun, in the singular for 1.

    >>> counted(2, "frames that were too long at eth0")
    '2 frames that were too long at eth0'
    >>> counted(1, "frames that were too long at eth0")
    '1 frame that was too long at eth0'
    """
    if count != 1:
        return f"{count} {what}"
    noun, space, rest = what.partition(" ")
    for plural, singular in ("that are ", "that is "), ("that were ", "that was "):
        if rest.startswith(plural):
            rest = singular + rest.removeprefix(plural)
    return f"1 {noun.removesuffix('s')}{space}{rest}"
