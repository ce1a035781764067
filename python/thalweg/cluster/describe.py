# SPDX-License-Identifier: Apache-2.0
"""Export of a cluster as the text that C++ programs load (`sim/cluster/description_file.hpp`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from thalweg.cluster.kinds import Assembled


def describe(cluster: Assembled) -> str:
    """Returns the text, a line for each clock, node, link and value."""
    return "".join(f"{line}\n" for line in _lines(cluster.assembly))


def _lines(assembly: Mapping[str, Any]) -> Iterator[str]:
    yield f"ticks_per_second {assembly['ticks_per_second']}"
    for clock in assembly["clocks"]:
        yield f"clock {_quoted(clock['name'])} {clock['period']} {clock['phase']}"
    for what in ("node", "link"):
        for part in assembly[f"{what}s"]:
            yield " ".join([what, _quoted(part["kind"]), _quoted(part["of"]), *map(str, part.get("ends", []))])
            for name, value in part["values"].items():
                yield f"  {_quoted(name)} {_typed(value)}"


def _typed(value: object) -> str:
    match value:
        case bool():
            return f"bool {value:d}"
        case int():
            return f"int {value}"
        case float():
            return f"real {value!r}"
        case str():
            return f"text {_quoted(value)}"
        case list() if value and all(isinstance(each, str) for each in value):
            return " ".join(["texts", *map(_quoted, value)])
        case list():
            return " ".join(["ints", *map(str, value)])
    raise TypeError(f"{value!r} cannot be a value of a node or link")


def _quoted(text: str) -> str:
    """Returns the text as std::quoted reads it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
