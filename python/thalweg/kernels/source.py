# SPDX-License-Identifier: Apache-2.0
"""A preprocessed kernel source, parsed by libclang: syntax tree, tokens, pragmas, and FPGA compilers' attributes unknown
to clang."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from thalweg.errors import InputError
from thalweg.kernels import frontend, pragmas

#: by the offset of each directive's line: the words after `pragma`; empty for other directives
Directives = Mapping[int, Sequence[str]]

_SUFFIXES = {"cl": ".cl", "c": ".c", "c++": ".cpp"}
_DIRECTIVE = re.compile(r"^[ \t]*#[^\n]*", re.MULTILINE)
_PRAGMA = re.compile(r"[ \t]*#[ \t]*pragma\b")
_UNKNOWN_CHANNEL = re.compile(r"unknown type name 'channel'$|must use '\w+' tag to refer to type 'channel'$")
_UNKNOWN_ATTRIBUTE = re.compile(r"unknown attribute '([\w:]+)' ignored")


@dataclass(frozen=True)
class Token:
    at: int
    text: str
    keyword: bool

    @property
    def end(self) -> int:
        return self.at + len(self.text)


@dataclass(frozen=True)
class Attribute:
    """An attribute unknown to clang, or one of a kernel. `words` are the tokens in its brackets."""

    name: str
    at: int
    words: tuple[str, ...]


class Source:
    """A source; `text` is the output of a preprocessor, with line markers."""

    def __init__(self, text: str, language: str) -> None:
        self.text, self.language = text, language
        self.directives: Directives = self._directives()
        self.lines = sorted((at, self.line_end(at)) for at in self.directives)
        self.places = sorted(at for at, words in self.directives.items() if words)
        self.channels: tuple[int, ...] = ()  #: offsets of the word `channel` at the start of declarations
        self.unit = self._parsed()
        self.channels = self._unknown_channels()
        if self.channels:
            self.unit = self._parsed()

    def line_end(self, at: int) -> int:
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end

    def where(self, at: int) -> tuple[str, int]:
        """Returns file and line of an offset, by line markers."""
        return frontend.presumed(self._location(at))

    def refuse(self, at: int, what: str) -> InputError:
        file, line = self.where(at)
        return InputError(f"{file}:{line}: {what}")

    def tokens(self, first: int, last: int) -> list[Token]:
        """Returns the tokens that start from `first` to `last`, without comments and directives; `first` must be the start
        of a token."""
        kinds = frontend.cindex().TokenKind
        between = frontend.cindex().SourceRange.from_locations(self._location(first), self._location(last))
        found: list[Token] = []
        for token in self.unit.get_tokens(extent=between):
            at, kind = token.extent.start.offset, token.kind
            if at >= last:
                break
            if kind != kinds.COMMENT and not self._in_directive(at):
                found.append(Token(at, token.spelling, kind == kinds.KEYWORD))
        return found

    @cached_property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attributes that clang ignores as unknown."""
        found = []
        for message in self.unit.diagnostics:
            if match := _UNKNOWN_ATTRIBUTE.match(message.spelling):
                found.append(self.attribute(message.location.offset, match[1]))
        return tuple(sorted(found, key=lambda each: each.at))

    @cached_property
    def ends(self) -> list[int]:
        """Offsets of the ends of declarations, without trailing attributes."""
        return sorted(child.extent.end.offset for child in self.declarations())

    def attribute(self, at: int, name: str) -> Attribute:
        words: list[str] = []
        depth = 0
        for token in self.tokens(at, min(len(self.text), self.text.find(";", at) % (len(self.text) + 1))):
            depth += (token.text == "(") - (token.text == ")")
            if depth < 0 or (not depth and token.text in (",", "]")):
                break
            words.append(token.text)
        inside = words.index("(") + 1 if "(" in words else len(words)
        return Attribute(name, at, tuple(words[inside:-1]))

    def declarations(self) -> Iterator[Any]:
        """Yields the declarations of the text itself, without those of libclang's headers."""
        for child in self.unit.cursor.get_children():
            if child.location.file is not None and child.location.file.name == self._name:
                yield child

    @property
    def _name(self) -> str:
        return f"/smi{_SUFFIXES[self.language]}"

    def _parsed(self) -> Any:
        """The translation unit of the text, with loop pragmas blanked and `channel` replaced by an attribute of equal
        length."""
        text = list(re.sub(r"[^\x00-\x7f]", "_", self.text))  # libclang counts bytes
        for at, words in self.directives.items():
            if words and pragmas.is_of_loops(words):
                end = self.line_end(at)
                text[at:end] = " " * (end - at)
        for at in self.channels:
            text[at : at + len(frontend.CHANNEL)] = frontend.CHANNEL
        return frontend.parse(self._name, "".join(text), self.language)

    def _unknown_channels(self) -> tuple[int, ...]:
        return tuple(each.location.offset for each in self.unit.diagnostics if _UNKNOWN_CHANNEL.match(each.spelling))

    def _location(self, at: int) -> Any:
        unit = self.unit
        return frontend.cindex().SourceLocation.from_offset(unit, unit.get_file(self._name), at)

    def _in_directive(self, at: int) -> bool:
        line = bisect_right(self.lines, (at, len(self.text))) - 1
        return line >= 0 and at < self.lines[line][1]

    def _directives(self) -> dict[int, list[str]]:
        """The words of each directive by offset; empty for directives other than pragmas. Raw strings contain no
        directives."""
        matches = list(_DIRECTIVE.finditer(self.text))
        strings = frontend.raw_strings(self.text) if self.language == "c++" and 'R"' in self.text else []
        matches = [each for each in matches if not any(first < each.start() < last for first, last in strings)]
        of_pragmas = [match for match in matches if _PRAGMA.match(match.group())]
        words = frontend.words([match.group() for match in of_pragmas])
        found: dict[int, list[str]] = {match.start(): [] for match in matches}
        found |= {match.start(): of[2:] for match, of in zip(of_pragmas, words, strict=True)}
        return found
