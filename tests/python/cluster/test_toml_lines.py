# SPDX-License-Identifier: Apache-2.0
"""Is every key assigned its correct line? The reference is a TOML writer that records the lines it writes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thalweg.cluster import toml_lines

NAMES = ["a", "b", "c-d", "e_f", "7", "g h", "i.j", "k]", 'l"m', "n#o", ""]
SCALARS = [("1", 1), ("-2.5", -2.5), ("true", True), ('"x # ] \\" ["', 'x # ] " ['), ("'''y\n[z]\n'''", "y\n[z]\n"),
           ('"""\nu = 1\n"" ] """', 'u = 1\n"" ] '), ("'w = \"'", 'w = "'), ("''", "")]  # fmt: skip


class Writer:
    """Writes random TOML, and records values and lines."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.text = ""
        self.lines: dict[tuple[str | int, ...], int] = {}

    def line(self) -> int:
        return self.text.count("\n") + 1

    def blank(self, newline: bool = True) -> None:
        self.text += self.dice.choice(["", " ", "\t", *(["\n", " # c = [ '\n", "\r\n"] if newline else [])])

    def name(self, name: str) -> str:
        if name and all(character.isalnum() or character in "-_" for character in name) and self.dice.random() < 0.7:
            return name
        return "'" + name + "'" if self.dice.random() < 0.5 else '"' + name.replace('"', '\\"') + '"'

    def value(self, path: tuple[str | int, ...], depth: int) -> Any:
        kind = self.dice.random()
        if depth == 0 or kind < 0.6:
            text, value = self.dice.choice(SCALARS)
            self.text += text
            return value
        if kind < 0.8:
            self.text += "["
            values = []
            for index in range(self.dice.randrange(4)):
                self.blank()
                self.lines[(*path, index)] = self.line()
                values.append(self.value((*path, index), depth - 1))
                self.blank()
                self.text += ","
            self.blank()
            self.text += "]"
            return values
        self.text += "{"
        table: dict[str, Any] = {}
        for index, name in enumerate(self.names(self.dice.randrange(3))):
            self.text += ", " if index else " "
            self.pair(path, name, table, depth - 1)
        self.text += " }"
        return table

    def names(self, count: int) -> list[str]:
        return self.dice.sample(NAMES, count)

    def pair(self, table: tuple[str | int, ...], name: str, into: dict[str, Any], depth: int) -> None:
        path = (*table, name)
        self.lines[path] = self.line()
        self.text += self.name(name)
        if self.dice.random() < 0.2:
            inner = self.dice.choice(NAMES)
            self.text += " . " + self.name(inner)
            path = (*path, inner)
            self.lines[path] = self.line()
            into[name] = {}
            into, name = into[name], inner
        self.blank(newline=False)
        self.text += "="
        self.blank(newline=False)
        into[name] = self.value(path, depth)

    def document(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        free = self.names(len(NAMES))
        for _ in range(self.dice.randrange(4)):
            self.blank()
            self.pair((), free.pop(), values, 3)
            self.text += self.dice.choice(["\n", " # x\n", "\r\n"])
        for _ in range(self.dice.randrange(4)):
            if not free:
                break
            name = free.pop()
            is_array = self.dice.random() < 0.4
            for index in range(self.dice.randint(1, 3) if is_array else 1):
                self.lines.setdefault((name,), self.line())
                table: tuple[str | int, ...] = (name, index) if is_array else (name,)
                self.lines[table] = self.line()
                self.text += ("[[ " if is_array else "[") + self.name(name) + (" ]]\n" if is_array else "]\n")
                into: dict[str, Any] = {}
                for inner in self.names(self.dice.randrange(3)):
                    self.pair(table, inner, into, 2)
                    self.text += "\n"
                if is_array:
                    values.setdefault(name, []).append(into)
                else:
                    values[name] = into
        return values


@given(st.integers(0, 2**48))
@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_lines_are_where_they_were_written(tmp_path: Path, seed: int) -> None:
    writer = Writer(seed)
    expected = writer.document()
    file = tmp_path / "random.toml"
    file.write_bytes(writer.text.encode())
    values, lines = toml_lines.read(file)
    assert values == expected
    assert lines.keys() <= writer.lines.keys()
    for path, line in writer.lines.items():
        nearest = next(path[:length] for length in range(len(path), 0, -1) if path[:length] in lines)
        assert lines[nearest] == line and all(isinstance(key, int) for key in path[len(nearest) :])
