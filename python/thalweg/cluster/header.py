# SPDX-License-Identifier: Apache-2.0
"""Export of a cluster as a C++ header with a function that returns its description (`sim/cluster/assembly.hpp`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import PurePath
from typing import Any

from thalweg.cluster.kinds import Assembled

PER_LINE = 6  #: links per line


def function_name(cluster: str) -> str:
    """Returns the C++ identifier of a cluster: `vcsn_d5005`."""
    name = "".join(c if c.isascii() and c.isalnum() else "_" for c in PurePath(cluster).stem)
    return name if name[:1].isalpha() else f"cluster_{name}"


def header(cluster: Assembled) -> str:
    """Returns the text of the header."""
    assembly = cluster.assembly
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        f"// Written by `thalweg cluster header {cluster.name}`.",
        "#pragma once",
        "",
        "#include <array>",
        "#include <cstdint>",
        "#include <string>",
        "#include <vector>",
        "",
        '#include "cluster/assembly.hpp"',
        "",
        "// clang-format off",
        "namespace clusters {",
        "",
        f"inline thalweg::Description {function_name(cluster.name)}() {{",
        "  using Table = thalweg::Values::Table;",
        "  thalweg::Description made;",
        f"  made.ticks_per_second = {assembly['ticks_per_second']};",
        "  made.clocks = {",
        *(
            f"      {{{_literal(clock['name'])}, {{.period = {clock['period']}, .phase = {clock['phase']}}}}},"
            for clock in assembly["clocks"]
        ),
        "  };",
        "  const auto nodes = [&](unsigned count, const std::string& kind, const std::string& name, const Table& values) {",
        "    for (unsigned k = 0; k < count; ++k)",
        '      made.nodes.push_back({kind, {"node " + std::to_string(made.nodes.size()) + " (" + name + ")", values}});',
        "  };",
        "  const auto links = [&](const std::string& kind, const std::string& name, const Table& values,",
        "                         const std::vector<std::array<unsigned, 4>>& all) {",
        "    for (const auto& [a, port_a, b, port_b] : all)",
        '      made.links.push_back({kind, {"link " + std::to_string(made.links.size()) + " (" + name + ")", values},',
        "                            a, port_a, b, port_b});",
        "  };",
    ]
    for (name, kind, values), of in _alike(assembly["nodes"], cluster.node_names):
        lines.append(f"  nodes({len(of)}, {_literal(kind)}, {_literal(name)}, {_table(values)});")
    for (name, kind, values), of in _alike(assembly["links"], cluster.link_names):
        ends = [f"{{{', '.join(map(str, link['ends']))}}}" for link in of]
        rows = [", ".join(ends[first : first + PER_LINE]) for first in range(0, len(ends), PER_LINE)]
        all_of = ",\n         ".join(rows)
        lines.append(f"  links({_literal(kind)}, {_literal(name)}, {_table(values)},\n        {{{all_of}}});")
    return "\n".join([*lines, "  return made;", "}", "", "}  // namespace clusters", "// clang-format on", ""])


_Part = tuple[str, str, Mapping[str, Any]]


def _alike(parts: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[tuple[_Part, list[Mapping[str, Any]]]]:
    """Groups consecutive parts of equal name, kind and values."""
    both = zip(names, parts, strict=True)
    runs = [list(run) for _, run in groupby(both, key=lambda each: (each[0], each[1]["kind"], each[1]["values"]))]
    return [((run[0][0], run[0][1]["kind"], run[0][1]["values"]), [part for _, part in run]) for run in runs]


def _table(values: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{{{_literal(name)}, {_value(value)}}}" for name, value in values.items()) + "}"


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return f"std::int64_t{{{value}}}"
        case float():
            return repr(value)
        case str():
            return f"std::string({_literal(value)})"
        case list() if value and all(isinstance(each, str) for each in value):
            return f"std::vector<std::string>{{{', '.join(map(_literal, value))}}}"
        case list():
            return f"std::vector<std::int64_t>{{{', '.join(map(str, value))}}}"
    raise TypeError(f"{value!r} cannot be a value of a node or link")


def _literal(text: str) -> str:
    """Returns a C++ string literal; characters other than printable ASCII become octal escapes."""
    plain = (chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}" for byte in text.encode())
    return f'"{"".join(plain)}"'
