# SPDX-License-Identifier: Apache-2.0
"""TOML with line numbers: tomllib reads the values, and a scan of the text finds the line of every key and array element."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from thalweg.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KeyPath = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_KEY = re.compile(r"[A-Za-z0-9_-]+|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'")
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}|' r"'''(?:[^']|'{1,2}(?!'))*'{3,5}|" r'"(?:[^"\\\n]|\\.)*"|' r"'[^'\n]*'",
    re.DOTALL,
)
_PLAIN = re.compile(r"[^,\]}#\r\n]+")
_FLAT = re.compile(r"\[[^\[\]{}\"'#\n]*\]")  # an array of scalars on one line


def read(file: Path) -> tuple[dict[str, Any], dict[KeyPath, int]]:
    """Returns the values of a TOML file, and the line of each key path.

    An element of an array has its index in the path; elements of an array of scalars on one line have no lines of their
    own. Raises InputError, with the line, if the file cannot be read or is not TOML.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file) from error
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"byte 0x{data[error.start]:02x} is not UTF-8; a cluster file is TOML text", file, line
        ) from error
    try:
        values = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        what, line = _syntax_error(str(error), text)
        raise InputError(f"is not TOML: {what}", file, line) from error
    return values, _Scanner(text).scan()


def _syntax_error(message: str, text: str) -> tuple[str, int]:
    found = re.search(r" \(at line (\d+), column (\d+)\)$", message)
    if found:
        return message[: found.start()] + f" in column {found[2]}", int(found[1])
    return re.sub(r" \(at end of document\)$", " at the end of the file", message), text.rstrip("\n").count("\n") + 1


class _Scanner:
    """Finds the lines of keys, in text that tomllib has accepted."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._counted = 0, 1  # an offset in the text, and its line number
        self._lines: dict[KeyPath, int] = {}
        self._tables: dict[KeyPath, int] = {}  # number of elements so far in each array of tables

    def scan(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        while self._skip(_BLANK) < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)
        return self._lines

    def _skip(self, pattern: re.Pattern[str]) -> int:
        found = pattern.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return self._at

    def _line(self) -> int:
        at, line = self._counted
        self._counted = self._at, line + self._text.count("\n", at, self._at)
        return self._counted[1]

    def _names(self) -> list[str]:
        names = []
        while True:
            start = self._skip(_SPACE)
            name = self._text[start : self._skip(_KEY)]
            names.append(tomllib.loads(f"key = {name}")["key"] if name[0] in "\"'" else name)
            self._skip(_SPACE)
            if self._text[self._at] != ".":
                return names
            self._at += 1

    def _header(self) -> KeyPath:
        line = self._line()
        is_array = self._text.startswith("[[", self._at)
        self._at += 2 if is_array else 1
        names = self._names()
        self._at += 2 if is_array else 1
        path = self._resolve(names)
        for length in range(1, len(path) + 1):
            self._lines.setdefault(path[:length], line)
        if is_array:
            index = self._tables.get(path, -1) + 1
            self._tables[path] = index
            path = (*path, index)
            self._lines[path] = line
        return path

    def _resolve(self, names: list[str]) -> KeyPath:
        path: KeyPath = ()
        for index, name in enumerate(names):
            path = (*path, name)
            if path in self._tables and index < len(names) - 1:
                path = (*path, self._tables[path])
        return path

    def _pair(self, table: KeyPath) -> None:
        line = self._line()
        path = table
        for name in self._names():
            path = (*path, name)
            self._lines.setdefault(path, line)
        self._at += 1  # the equals sign
        self._skip(_SPACE)
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        match self._text[self._at]:
            case "[" if _FLAT.match(self._text, self._at):
                self._skip(_FLAT)
            case "[":
                self._at += 1
                index = 0
                while self._text[self._skip(_BLANK)] != "]":
                    self._lines[(*path, index)] = self._line()
                    self._value((*path, index))
                    index += 1
                    self._comma()
                self._at += 1
            case "{":
                self._at += 1
                while self._text[self._skip(_BLANK)] != "}":
                    self._pair(path)
                    self._comma()
                self._at += 1
            case '"' | "'":
                self._skip(_STRING)
            case _:
                self._skip(_PLAIN)

    def _comma(self) -> None:
        if self._text[self._skip(_BLANK)] == ",":
            self._at += 1
