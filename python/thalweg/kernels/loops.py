# SPDX-License-Identifier: Apache-2.0
"""Finds the loops of a preprocessed source and inserts code that makes their iterations take cycles
(runtime/smi/device/loops.h).

Loops are `for`, `while`, `do`, and labels that a `goto` jumps back to, found in libclang's syntax tree. A loop that
libclang does not parse, or that can be entered elsewhere than at its head, is refused.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from thalweg.errors import InputError
from thalweg.kernels import pragmas
from thalweg.kernels.pragmas import LoopSettings, Operand
from thalweg.kernels.source import Source, Token

#: expands the macros in expressions
Expand = Callable[[Sequence[Operand]], Mapping[Operand, str]]

_CANDIDATE = re.compile(r"\b(for|while|do|goto)\b")
_CONSTANT = "a loop's unroll factor and interval must be constants from 1 to 2147483647"
_CLOSES, _STATEMENT_AFTER, _STATEMENT_BEFORE = range(3)  # order of insertions at the same offset


def unexpanded(operands: Sequence[Operand]) -> dict[Operand, str]:
    """Returns an expansion of no operands, for a text without macros."""
    return {operand: operand.text for operand in operands}


@dataclass(frozen=True)
class Inserted:
    text: str
    loops: tuple[tuple[str, int], ...]  #: file and line of each loop whose iterations take cycles
    consumed: frozenset[int]  #: offsets of the words that apply to loops


@dataclass(frozen=True)
class _Statement:
    """A loop, goto, label or case, and the statements around it, outermost first."""

    kind: str
    at: int
    end: int
    around: tuple[Any, ...]
    to: int = -1  #: offset of a goto's label
    tail: int = -1  #: end of a do loop's body

    def loops(self) -> list[int]:
        return [each.at for each in self.around if each.kind in _LOOPS]


@dataclass(frozen=True)
class _Enclosing:
    kind: str
    at: int
    end: int
    children: tuple[tuple[int, int], ...] = ()  #: starts and ends of the statements in a compound statement


_LOOPS = {"FOR_STMT": "for", "WHILE_STMT": "while", "DO_STMT": "do", "CXX_FOR_RANGE_STMT": "for"}
_NESTS = frozenset(("NAMESPACE", "LINKAGE_SPEC", "CLASS_DECL", "STRUCT_DECL", "CLASS_TEMPLATE", "UNEXPOSED_DECL"))


@dataclass
class _Function:
    """The statements of a declaration that contains loops."""

    tokens: list[Token]
    loops: dict[int, _Statement] = field(default_factory=dict)
    gotos: dict[int, _Statement] = field(default_factory=dict)
    labels: dict[int, _Statement] = field(default_factory=dict)
    cases: list[_Statement] = field(default_factory=list)
    indirect: list[int] = field(default_factory=list)


class Dialect(Protocol):
    """Pragmas inside loop bodies or for other constructs, and files whose loops take no time."""

    def counts(self, at: int) -> bool:
        """True if the loop at an offset takes time."""

    def has(self, words: Sequence[str]) -> bool:
        """True if a pragma belongs to the dialect."""

    def settings(self, at: int, end: int) -> LoopSettings:
        """Returns the settings of the dialect's pragmas for a loop. Raises InputError."""

    def edits(self) -> Sequence[tuple[int, int, str]]:
        """Returns other insertions: offset, order among insertions at the same offset, and text."""


def insert(source: Source, expand: Expand, dialect: Dialect | None = None) -> Inserted:
    """Inserts the code for all loops. Raises InputError, with the line, for an unsupported loop or pragma."""
    return _Inserter(source, expand, dialect).inserted()


class _Inserter:
    def __init__(self, source: Source, expand: Expand, dialect: Dialect | None) -> None:
        self.source, self.expand, self.dialect = source, expand, dialect
        self.text, self.language, self.directives, self.where = (
            source.text,
            source.language,
            source.directives,
            source.where,
        )
        self.places = source.places
        self.edits: list[tuple[int, int, str]] = list(dialect.edits()) if dialect else []
        self.blanks: list[tuple[int, int]] = [(at, at + len("channel")) for at in source.channels]
        self.consumed: set[int] = set()

    def inserted(self) -> Inserted:
        candidates = [match.start() for match in _CANDIDATE.finditer(self.text)]
        if self.dialect:
            candidates = [at for at in candidates if self.dialect.counts(at)]
        functions = self._functions(candidates) if candidates else []
        found: list[tuple[_Statement, LoopSettings]] = []
        heads: list[tuple[_Function, _Statement]] = []
        for function in functions:
            self._check_entries(function)
            found += [(loop, self._settings(function, loop)) for _, loop in sorted(function.loops.items())]
            heads += [(function, label) for label in self._heads(function)]
            self._no_attribute_is_left(function)
        self._no_pragma_is_left()
        values = self.expand(
            [
                operand
                for _, settings in found
                for operand in (settings.unroll, settings.interval, *(settings.pipeline or ()))
                if operand is not None and operand.text
            ]
        )
        counted: list[int] = []
        of = {loop.at: function for function in functions for loop in function.loops.values()}
        for loop, settings in found:
            with self._at(loop.at):
                whole = settings.whole
            if not whole:
                self._loop(loop, settings, values, len(counted), of[loop.at])
                counted.append(loop.at)
        for function, label in heads:
            self._goto_loop(function, label, len(counted))
            counted.append(label.at)
        return Inserted(self._edited(), tuple(self.where(at) for at in counted), frozenset(self.consumed))

    def _at(self, at: int) -> _Placed:
        return _Placed(*self.where(at))

    # Finding loops.

    def _functions(self, candidates: list[int]) -> list[_Function]:
        unit = self.source.unit
        functions: list[_Function] = []
        covered: list[tuple[int, int]] = []
        for cursor in self._declarations(self.source.declarations(), candidates):
            extent = cursor.extent
            covered.append((extent.start.offset, extent.end.offset))
            function = _Function(self._tokens(extent))
            self._collect(cursor, (), function)
            functions.append(function)
            self._check_keywords(function, unit)
        left = [at for at in candidates if not any(first <= at < last for first, last in covered)]
        if left:
            keywords = {token.at for token in self.source.tokens(0, len(self.text)) if token.keyword}
            for at in left:
                if at in keywords:
                    raise self._not_read(at, unit)
        return functions

    def _declarations(self, declarations: Iterable[Any], candidates: list[int]) -> Iterator[Any]:
        """Yields the declarations that contain a candidate."""
        for child in declarations:
            extent = child.extent
            first, last = extent.start.offset, extent.end.offset
            if bisect_left(candidates, first) == bisect_left(candidates, last):
                continue
            if child.kind.name in _NESTS:
                yield from self._declarations(child.get_children(), candidates)
            else:
                yield child

    def _tokens(self, extent: Any) -> list[Token]:
        return self.source.tokens(extent.start.offset, extent.end.offset)

    def _collect(self, cursor: Any, around: tuple[_Enclosing, ...], function: _Function) -> None:
        kind = cursor.kind.name
        extent = cursor.extent
        at, end = extent.start.offset, extent.end.offset
        children = list(cursor.get_children())
        if kind in _LOOPS:
            tail = children[0].extent.end.offset if kind == "DO_STMT" and children else -1
            function.loops.setdefault(at, _Statement(_LOOPS[kind], at, end, around, tail=tail))
        elif kind == "GOTO_STMT" and cursor.referenced is not None:
            function.gotos.setdefault(at, _Statement("goto", at, end, around, to=cursor.referenced.extent.start.offset))
        elif kind == "LABEL_STMT":
            function.labels.setdefault(at, _Statement("label", at, end, around))
        elif kind in ("CASE_STMT", "DEFAULT_STMT"):
            function.cases.append(_Statement("case", at, end, around))
        elif kind == "INDIRECT_GOTO_STMT":
            function.indirect.append(at)
        if cursor.kind.is_statement() or kind == "LAMBDA_EXPR":
            places = (
                tuple((child.extent.start.offset, child.extent.end.offset) for child in children)
                if kind == "COMPOUND_STMT"
                else ()
            )
            around = (*around, _Enclosing(kind, at, end, places))
        for child in children:
            self._collect(child, around, function)

    def _check_keywords(self, function: _Function, unit: Any) -> None:
        """Checks that each loop keyword belongs to a loop that was found."""
        tails = set()
        for loop in function.loops.values():
            if loop.kind == "do":
                tail = next((t for t in function.tokens if t.at >= loop.tail and t.text == "while"), None)
                tails.add(tail.at if tail else -1)
        known = {"for": function.loops, "do": function.loops, "while": function.loops, "goto": function.gotos}
        for token in function.tokens:
            if not token.keyword or token.text not in known:
                continue
            if token.at not in known[token.text] and token.at not in tails and token.at not in function.indirect:
                raise self._not_read(token.at, unit)

    def _not_read(self, at: int, unit: Any) -> InputError:
        """Returns the error for an unparsed loop; the compiler's own error, such as an undeclared name, if there is one."""
        errors = [each for each in unit.diagnostics if each.severity >= 3 and each.location.file is not None]
        if errors:
            first = errors[0].location
            file, line = self.where(first.offset)
            return InputError(f"{file}:{line}:{first.column}: error: {errors[0].spelling}")
        return self.source.refuse(at, "a loop that cannot be parsed")

    # Checking entries into loops.

    def _check_entries(self, function: _Function) -> None:
        """Checks that loops are entered only at their heads, where an iteration starts."""
        for at in function.indirect:
            raise self.source.refuse(at, "computed goto is not supported: its loops are unknown at compile time")
        for case in function.cases:
            for around in reversed(case.around):
                if around.kind == "SWITCH_STMT":
                    break
                if around.kind in _LOOPS:
                    raise self.source.refuse(case.at, "a case label is inside a loop but its switch is outside")
        for goto in function.gotos.values():
            label = function.labels.get(goto.to)
            if label is None or not set(label.loops()) <= set(goto.loops()):
                raise self.source.refuse(goto.at, "goto jumps into a loop")

    def _heads(self, function: _Function) -> list[_Statement]:
        """Returns the labels that a goto jumps back to."""
        heads = [
            function.labels[at] for at in sorted({goto.to for goto in function.gotos.values() if goto.to < goto.at})
        ]
        for head in heads:
            end = self._region(function, head)
            for goto in function.gotos.values():
                if not head.at <= goto.at < end and head.at < goto.to < end:
                    raise self.source.refuse(goto.at, "goto jumps into a goto loop")
            for case in function.cases:
                switch = next((each for each in reversed(case.around) if each.kind == "SWITCH_STMT"), None)
                if switch and switch.at < head.at < case.at < end:
                    raise self.source.refuse(case.at, "a case label is inside a goto loop but its switch is outside")
        return heads

    def _region(self, function: _Function, head: _Statement) -> int:
        """Returns the end of the last goto back to a head."""
        return max(goto.end for goto in function.gotos.values() if goto.to == head.at and goto.at > head.at)

    # Attributes and pragmas of a loop.

    def _settings(self, function: _Function, loop: _Statement) -> LoopSettings:
        tokens = function.tokens
        first = bisect_left(tokens, loop.at, key=lambda token: token.at)
        settings = LoopSettings()
        while (at := self._attribute(tokens, first)) < first:
            inner = tokens[at:first]
            with self._at(loop.at):
                words = [token.text for token in inner]
                settings.add(pragmas.of_attributes(words[3:-2] if words[0] != "[" else words[2:-2]))
            self.blanks.append((inner[0].at, inner[-1].end))
            self.consumed |= {token.at for token in inner}
            first = at
        begin = tokens[first - 1].end if first else 0
        for at in self.places[bisect_left(self.places, begin) : bisect_left(self.places, loop.at)]:
            pragma = self.directives[at]
            if self.dialect and self.dialect.has(pragma):
                continue
            with self._at(at):
                what = pragmas.of_pragma(pragma, self.places.index(at))
                if what is False:
                    raise InputError(f"#pragma {' '.join(pragma)} is before a loop but unknown; remove it")
                if isinstance(what, LoopSettings):
                    settings.add(what)
            self.consumed.add(at)
        if self.dialect:
            with self._at(loop.at):
                settings.add(self.dialect.settings(loop.at, loop.end))
        return settings

    def _attribute(self, tokens: Sequence[Token], end: int) -> int:
        """Returns the index of the first token of an attribute that ends before token `end`, or `end`."""
        opens = {")": "(", "]": "["}
        if end < 4 or tokens[end - 1].text not in opens or tokens[end - 2].text != tokens[end - 1].text:
            return end
        close, depth = tokens[end - 1].text, 0
        for first in range(end - 1, -1, -1):
            depth += (tokens[first].text == close) - (tokens[first].text == opens[close])
            if not depth:
                break
        if close == "]" and tokens[first + 1].text == "[":
            return first
        if close == ")" and first and tokens[first - 1].text in ("__attribute__", "__attribute"):
            return first - 1
        return end

    def _no_attribute_is_left(self, function: _Function) -> None:
        for token in function.tokens:
            if pragmas.precedes_loop(token.text) and token.at not in self.consumed:
                raise self.source.refuse(token.at, f"{token.text} is not followed by a loop")

    def _no_pragma_is_left(self) -> None:
        for number, at in enumerate(self.places):
            if at in self.consumed or (self.dialect and self.dialect.has(self.directives[at])):
                continue
            with self._at(at):
                what = pragmas.of_pragma(self.directives[at], number)
                if isinstance(what, LoopSettings) and what.by:
                    raise InputError(f"{next(iter(what.by.values()))} is not followed by a loop")

    # Inserting code.

    def _loop(
        self, loop: _Statement, settings: LoopSettings, values: Mapping[Operand, str], number: int, function: _Function
    ) -> None:
        one = "1"

        def constant(operand: Operand | None) -> str:
            return one if operand is None else self._constant(values[operand])

        if settings.pipeline:
            interval, depth = (f"({values[each]})" for each in settings.pipeline)
        else:
            interval, depth = constant(settings.interval), "KERNEL__NO_PIPELINE"
        self.edits.append(
            (loop.at, _STATEMENT_BEFORE, f"KERNEL__LOOP({number}, {interval}, {depth}, {constant(settings.unroll)}) ")
        )
        loop, tokens = function.loops.get(settings.turns, loop), function.tokens
        at = bisect_left(tokens, loop.at, key=lambda token: token.at)
        end = tokens[at].end
        if loop.kind != "do":
            depth_now = 0
            for token in tokens[at + 1 :]:
                depth_now += (token.text == "(") - (token.text == ")")
                end = token.end
                if not depth_now:
                    break
        self.edits.append((end, _STATEMENT_AFTER, f" if (KERNEL__ITERATE({number}), 0) ; else "))

    def _constant(self, text: str) -> str:
        word = "static_assert" if self.language == "c++" else "_Static_assert"
        check = f"({text}) >= 1 && ({text}) <= 2147483647 && ({text}) == (int)({text})"
        return f'({{ {word}({check}, "{_CONSTANT}"); ({text}); }})'

    def _goto_loop(self, function: _Function, head: _Statement, number: int) -> None:
        tokens = function.tokens
        outside = [around for around in head.around if around.kind != "LABEL_STMT"]
        compound = outside[-1] if outside else None
        if (
            compound is None
            or compound.kind != "COMPOUND_STMT"
            or (len(outside) > 1 and outside[-2].kind == "SWITCH_STMT")
        ):
            raise self.source.refuse(head.at, "goto jumps back to a label that is not directly in a block")
        end = self._region(function, head)
        for goto in function.gotos.values():
            if goto.to == head.at and compound not in goto.around:
                raise self.source.refuse(goto.at, "goto jumps into a block, to the head of a loop")
        self.edits.append((compound.at + 1, _STATEMENT_AFTER, f" KERNEL__GUARD({number}, 1, KERNEL__NO_PIPELINE, 1);"))
        colon = next(token for token in tokens if token.at > head.at and token.text == ":")
        self.edits.append((colon.end, _STATEMENT_AFTER, f" KERNEL__ITERATE({number});"))
        last = next(child_end for _, child_end in compound.children if child_end >= end)
        self.edits.append(
            (self._statement_end(tokens, last), _STATEMENT_AFTER, f" KERNEL__LEAVE({number});"),
        )
        for goto in function.gotos.values():
            if head.at <= goto.at < end and not head.at <= goto.to < end:
                self.edits.append((goto.at, _STATEMENT_BEFORE, f"{{ KERNEL__LEAVE({number}); "))
                self.edits.append((self._statement_end(tokens, goto.end), _CLOSES, " }"))

    def _statement_end(self, tokens: Sequence[Token], end: int) -> int:
        """Returns the end of a statement including its semicolon, which is not in its extent."""
        after = bisect_left(tokens, end, key=lambda token: token.at)
        return tokens[after].end if after < len(tokens) and tokens[after].text == ";" else end

    def _edited(self) -> str:
        text = list(self.text)
        for at in self.places:
            if pragmas.is_of_loops(self.directives[at]):
                self.blanks.append((at, self.source.line_end(at)))
        for first, last in self.blanks:
            text[first:last] = [char if char == "\n" else " " for char in text[first:last]]
        plain = "".join(text)
        parts, last = [], 0
        for at, _, more in sorted(self.edits, key=lambda edit: edit[:2]):
            parts += [plain[last:at], more]
            last = at
        return "".join([*parts, plain[last:]])


class _Placed:
    """A context that adds file and line to an InputError."""

    def __init__(self, file: str, line: int) -> None:
        self.place = f"{file}:{line}"

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InputError):
            raise InputError(f"{self.place}: {error.what}") from None
