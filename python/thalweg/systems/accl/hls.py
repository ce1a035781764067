# SPDX-License-Identifier: Apache-2.0
"""HLS kernels: rewrites their sources to run in simulated time, and extracts their arguments.

Cycles follow from the source's pragmas (docs/accl-kernels.md).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from thalweg.kernels import loops
from thalweg.kernels.loops import unexpanded
from thalweg.kernels.pragmas import LoopSettings, Operand
from thalweg.kernels.source import Source
from thalweg.systems.accl.ranges import Range, elements_of, range_of

#: Pragmas on the implementation, which do not affect cycles here.
_WITHOUT_INFLUENCE = frozenset(
    (
        "aggregate",
        "alias",
        "allocation",
        "array_map",
        "array_partition",
        "array_reshape",
        "bind_op",
        "bind_storage",
        "cache",
        "data_pack",
        "dependence",
        "disaggregate",
        "expression_balance",
        "function_instantiate",
        "inline",
        "loop_merge",
        "loop_tripcount",
        "occurrence",
        "performance",
        "protocol",
        "reset",
        "resource",
        "stable",
        "top",
    )
)
_LOOPS = ("FOR_STMT", "WHILE_STMT", "DO_STMT", "CXX_FOR_RANGE_STMT")
_CONSTANTS = ("ENUM_CONSTANT_DECL", "TEMPLATE_NON_TYPE_PARAMETER")
_FUNCTIONS = ("FUNCTION_DECL", "CXX_METHOD", "FUNCTION_TEMPLATE", "CONSTRUCTOR", "LAMBDA_EXPR")
_NESTS = ("NAMESPACE", "LINKAGE_SPEC", "UNEXPOSED_DECL", "CLASS_DECL", "STRUCT_DECL", "CLASS_TEMPLATE")
_MARKER = re.compile(r'^# \d+ "[^"\n]*"((?: \d)*)$', re.MULTILINE)
_STREAM = re.compile(r"\b(?:hls::stream|hlslib::Stream)<")


@dataclass(frozen=True)
class Argument:
    """An argument of a kernel: `kind` is number, memory or stream; `port` is the AXI port of a memory."""

    name: str
    type: str
    kind: str
    port: str = ""
    constant: bool = False  #: memory that the kernel only reads
    range: Range | None = None  #: range of a number
    elements: str = ""  #: element type of memory; empty for any


@dataclass(frozen=True)
class Kernel:
    name: str
    arguments: tuple[Argument, ...]
    file: str
    line: int
    restarts: bool = False  #: restarts at its end


@dataclass(frozen=True)
class Loop:
    """A loop, and the cycles of its iterations."""

    file: str
    line: int
    takes: str


@dataclass(frozen=True)
class Rewritten:
    text: str
    kernels: tuple[Kernel, ...]
    loops: tuple[Loop, ...]


@dataclass
class _Region:
    """A loop or a function, its body, and the pragmas in it that are not in an inner loop."""

    at: int
    end: int
    cursor: Any
    body: Any
    around: _Region | None
    pragmas: list[tuple[int, str, dict[str, str]]] = field(default_factory=list)

    @property
    def is_loop(self) -> bool:
        return self.cursor.kind.name in _LOOPS

    def named(self, name: str) -> dict[str, str] | None:
        """Returns the parameters of the region's pragma of that name."""
        return next((words for _, called, words in self.pragmas if called == name), None)

    @property
    def pipelined(self) -> bool:
        pipeline = self.named("pipeline")
        return pipeline is not None and "off" not in pipeline

    @property
    def is_bare(self) -> bool:
        """True if no pragma says how the iterations are executed."""
        return not {name for _, name, _ in self.pragmas} & {"pipeline", "unroll", "latency", "dataflow"}


def rewrite(text: str, expand: loops.Expand = unexpanded) -> Rewritten:
    """Rewrites a preprocessed source whose line markers mark system headers.

    Raises InputError, with the line, on an unsupported loop or pragma.
    """
    source = Source(text, "c++")
    pragmas = _Pragmas(source, expand)
    inserted = loops.insert(source, expand, pragmas)
    kernels = list(_kernels(source, pragmas))
    tail = ['extern "C" {']
    for kernel in kernels:
        tail.append(f'# {kernel.line} "{kernel.file}"')
        tail.append(
            f"void hls__call_{kernel.name}(const hls__argument* from) {{ thalweg_hls::invoke(&{kernel.name}, from); }}"
        )
    tail.append("}")
    return Rewritten(
        text='#include "loops.h"\n' + inserted.text + '\n# 1 "(calls of the kernels)"\n' + "\n".join(tail) + "\n",
        kernels=tuple(kernels),
        loops=tuple(pragmas.timed()),
    )


class _UserLines:
    """Which parts of a text are the user's files, by its line markers."""

    def __init__(self, text: str) -> None:
        marks = list(_MARKER.finditer(text))
        self._at = [mark.start() for mark in marks]
        self._users = ["3" not in mark[1].split() for mark in marks]
        self._of_users = [at for at, users in zip(self._at, self._users, strict=True) if users]

    def has(self, at: int) -> bool:
        index = bisect_right(self._at, at) - 1
        return index < 0 or self._users[index]

    def are_in(self, first: int, last: int) -> bool:
        """True if some of these offsets are in the user's files."""
        index = bisect_right(self._of_users, first)
        return self.has(first) or (index < len(self._of_users) and self._of_users[index] < last)


class _Pragmas:
    """The `HLS` pragmas of a source; implements loops.Dialect."""

    def __init__(self, source: Source, expand: loops.Expand) -> None:
        self.source = source
        self.users = _UserLines(source.text)
        self.regions: list[_Region] = []
        for cursor in self._in_files(source.declarations()):
            self._collect(cursor, None)
        self._by_offset = {region.at: region for region in self.regions if region.is_loop}
        self._inside: dict[int, _Region] = {}
        for number, at in enumerate(source.places):
            if self.has(source.directives[at]) and self.users.has(at):
                self._place(at, number)
        self._inside = {region.at: inner for region in self.regions if (inner := self._flattened(region))}
        self._expanded = self._expand(expand)

    # Interface loops.Dialect.

    def counts(self, at: int) -> bool:
        return self.users.has(at)

    def has(self, words: Sequence[str]) -> bool:
        return list(words[:1]) == ["HLS"]

    def settings(self, at: int, end: int) -> LoopSettings:
        region = self._by_offset.get(at)
        if region is None:
            return LoopSettings()
        if self._unrolls_around(region):
            return LoopSettings(unroll=Operand(""), by={"unroll": "a pipeline around it"})
        if region.around and region.around.at in self._inside:
            return LoopSettings(unroll=Operand(""), by={"unroll": "the loop around it"})
        inner = region
        while inner.at in self._inside:
            inner = self._inside[inner.at]
        if inner is not region:
            settings = self._of(inner)
            settings.turns = inner.at
            return settings
        return self._of(region)

    def _of(self, region: _Region) -> LoopSettings:
        """Settings of a loop by its own pragmas."""
        settings = LoopSettings()
        unroll, pipeline, latency = (region.named(name) for name in ("unroll", "pipeline", "latency"))
        if unroll is not None and "off" not in unroll:
            settings.add(
                LoopSettings(unroll=self._operand(unroll.get("factor", "")), by={"unroll": "#pragma HLS UNROLL"})
            )
            if not unroll.get("factor"):
                return settings
        depth = (latency or {}).get("min", (latency or {}).get("max", "0"))
        if pipeline is not None and region.pipelined:
            operands = (self._operand(pipeline.get("ii", "1")), self._operand(depth))
            settings.add(LoopSettings(pipeline=operands, by={"interval": "#pragma HLS PIPELINE"}))
        elif latency:
            settings.add(LoopSettings(interval=self._operand(depth), by={"interval": "#pragma HLS LATENCY"}))
        return settings

    def edits(self) -> Sequence[tuple[int, int, str]]:
        found: list[tuple[int, int, str]] = []
        for region in self.regions:
            for at, name, words in region.pragmas:
                if name == "stream" and words.get("depth"):
                    found.append((at, 0, f"thalweg_hls::set_depth({words['variable']}, {self._text(words['depth'])});"))
            if region.named("dataflow") is not None:
                found += self._processes(region)
        return found

    def timed(self) -> Iterator[Loop]:
        for region in self.regions:
            if not region.is_loop:
                continue
            where = self.source.where(region.at)
            if region.at in self._inside:
                inner = self.source.where(self._inside[region.at].at)[1]
                yield Loop(*where, f"flattened with the loop in line {inner}")
            else:
                inside = region.around and region.around.at in self._inside
                settings = self._of(region) if inside else self.settings(region.at, region.end)
                yield Loop(*where, self._takes(settings))

    def _takes(self, settings: LoopSettings) -> str:
        if settings.unroll is not None and not settings.unroll.text:
            return "0 cycles per iteration, unrolled"
        unrolled = f", unrolled by {self._text(settings.unroll.text)}" if settings.unroll else ""
        if settings.pipeline:
            interval, latency = (self._text(each.text) for each in settings.pipeline)
            cycles = "1 cycle" if interval == "1" else f"{interval} cycles"
            depth = f" with latency {latency}" if latency != "0" else ""
            return f"{cycles} per iteration, pipelined{depth}{unrolled}"
        cycles = f"{self._text(settings.interval.text)} cycles" if settings.interval else "1 cycle"
        return f"{cycles} per iteration{unrolled}"

    # Finding regions.

    def _in_files(self, declarations: Iterator[Any]) -> Iterator[Any]:
        for child in declarations:
            extent = child.extent
            if not self.users.are_in(extent.start.offset, extent.end.offset):
                continue
            if child.kind.name in _NESTS:
                yield from self._in_files(child.get_children())
            else:
                yield child

    def _collect(self, cursor: Any, around: _Region | None) -> None:
        kind = cursor.kind.name
        if kind in _LOOPS or kind in _FUNCTIONS:
            children = list(cursor.get_children())
            body = next((child for child in reversed(children) if child.kind.name == "COMPOUND_STMT"), None)
            if kind in _LOOPS and body is None:
                body = children[0] if kind == "DO_STMT" else children[-1]
            if body is not None:
                extent = cursor.extent
                around = _Region(extent.start.offset, extent.end.offset, cursor, body, around)
                self.regions.append(around)
        for child in cursor.get_children():
            self._collect(child, around)

    def _place(self, at: int, number: int) -> None:
        """Finds the region of a pragma: the innermost one whose body it is in."""
        words = [word.lower() if k < 1 else word for k, word in enumerate(self.source.directives[at][1:])]
        name = words[0] if words else ""
        if name in _WITHOUT_INFLUENCE:
            return
        if name not in ("pipeline", "unroll", "latency", "dataflow", "stream", "interface", "loop_flatten"):
            raise self.source.refuse(at, f"#pragma HLS {name} is not supported; leave it out")
        inside = [each for each in self.regions if each.body.extent.start.offset < at < each.body.extent.end.offset]
        if not inside:
            if name in ("stream", "interface"):
                return
            raise self.source.refuse(at, f"#pragma HLS {name} must be in a loop or function")
        parameters = _parameters(words[1:])
        parameters["#"] = str(number)
        region = max(inside, key=lambda each: each.at)
        if name != "interface" and name != "stream" and region.named(name) is not None:
            raise self.source.refuse(at, f"a second #pragma HLS {name} in a loop or function")
        region.pragmas.append((at, name, parameters))

    def _unrolls_around(self, region: _Region) -> bool:
        """True if a loop is unrolled because it is in a pipeline."""
        outer = region.around
        while outer is not None:
            if outer.pipelined:
                return True
            outer = outer.around if outer.is_loop else None
        return False

    def _flattened(self, region: _Region) -> _Region | None:
        """Returns the inner loop with which a loop is flattened into one pipeline, if any.

        It is the only statement of the loop's body, has a constant number of iterations, and is a pipeline or itself
        flattened.
        """
        children = list(region.body.get_children()) if region.is_loop and region.is_bare else []
        while len(children) == 1 and children[0].kind.name == "LABEL_STMT":
            children = list(children[0].get_children())
        inner = self._by_offset.get(children[0].extent.start.offset) if len(children) == 1 else None
        if inner is None or not _is_counted(inner.cursor) or "off" in (inner.named("loop_flatten") or {}):
            return None
        return inner if inner.pipelined or self._flattened(inner) else None

    # Operands.

    def _expand(self, expand: loops.Expand) -> Mapping[Operand, str]:
        operands = [
            Operand(value, int(words["#"]))
            for region in self.regions
            for _, _, words in region.pragmas
            for key, value in words.items()
            if key in ("depth", "factor", "ii", "min", "max") and value
        ]
        self._operands = {operand.text: operand for operand in operands}
        return expand(operands) if operands else {}

    def _operand(self, text: str) -> Operand:
        return self._operands.get(text, Operand(text))

    def _text(self, text: str) -> str:
        return self._expanded.get(self._operand(text), text)

    # Dataflow.

    def _processes(self, region: _Region) -> Iterator[tuple[int, int, str]]:
        """Each call that is a statement of a dataflow region is a process. The region ends when all of them have ended."""
        names = []
        for child in region.body.get_children():
            call = child
            while call.kind.name in ("UNEXPOSED_EXPR", "EXPR_WITH_CLEANUPS") and list(call.get_children()):
                call = next(iter(call.get_children()))
            if call.kind.name != "CALL_EXPR":
                continue
            first, last = child.extent.start.offset, child.extent.end.offset
            name = f"hls__process_{first}"
            called = call.spelling or self.source.text[first : self.source.text.index("(", first)].strip()
            yield first, 2, f'thalweg_hls::Process {name}("{called}", [&] {{ '
            yield self.source.text.index(";", last) + 1, 0, " });"
            names.append((name, first))
        close = region.body.extent.end.offset - 1
        joins = []
        for name, first in names:
            file, line = self.source.where(first)
            joins.append(f' {name}.join("{file}", {line});')
        yield close, 0, "".join(joins) + " "


def _is_counted(loop: Any) -> bool:
    """True if the number of a `for` loop's iterations is constant."""
    children = list(loop.get_children())
    if loop.kind.name != "FOR_STMT" or [each.kind.name for each in children[:2]] != ["DECL_STMT", "BINARY_OPERATOR"]:
        return False
    own = [each.get_usr() for each in children[0].get_children()]
    return len(children) == 4 and all(_is_constant(each, own) for each in children[:2])


def _is_constant(cursor: Any, own: Sequence[str]) -> bool:
    """True if an expression has only constants and the variables `own`."""
    named = cursor.referenced if cursor.kind.name == "DECL_REF_EXPR" else None
    if cursor.kind.name == "CALL_EXPR" or (cursor.kind.name == "DECL_REF_EXPR" and named is None):
        return False
    if named is not None and named.get_usr() not in own and named.kind.name not in _CONSTANTS:
        if named.kind.name != "VAR_DECL" or not named.type.is_const_qualified():
            return False
        if not all(_is_constant(each, own) for each in named.get_children()):
            return False
    return all(_is_constant(each, own) for each in cursor.get_children())


def _parameters(words: Sequence[str]) -> dict[str, str]:
    """Parameters of a pragma, `name = value` or names alone; names are in lower case."""
    found: dict[str, str] = {}
    at = 0
    while at < len(words):
        name = words[at].lower()
        at += 1
        value = ""
        if at < len(words) and words[at] == "=":
            at += 1
            depth, parts = 0, list[str]()
            while at < len(words):
                if (
                    depth == 0
                    and parts
                    and (at + 1 < len(words) and words[at + 1] == "=" or not _goes_on(parts, words[at]))
                ):
                    break
                depth += (words[at] in "([{") - (words[at] in ")]}")
                parts.append(words[at])
                at += 1
            value = " ".join(parts)
        found[name] = value
    return found


def _goes_on(parts: Sequence[str], word: str) -> bool:
    """True if a word continues an expression: next to an operator, but not after another name."""
    is_name = re.compile(r"[\w.]")
    return not (is_name.match(parts[-1][-1:]) and is_name.match(word[:1])) and not (
        parts[-1] in ")]" and is_name.match(word[:1])
    )


# Kernels.


def _kernels(source: Source, pragmas: _Pragmas) -> Iterator[Kernel]:
    """Functions that a host can start: those in the user's files without templates or overloads."""
    found: dict[str, list[_Region]] = {}
    for region in pragmas.regions:
        cursor = region.cursor
        if cursor.kind.name == "FUNCTION_DECL" and cursor.storage_class.name != "STATIC":
            found.setdefault(cursor.spelling, []).append(region)
    for name, regions in found.items():
        cursor = regions[0].cursor
        if len(regions) > 1 or name == "main" or cursor.semantic_parent.kind.name == "NAMESPACE":
            continue
        ports: dict[str, str] = {}
        restarts = False
        for _, what, words in regions[0].pragmas:
            if what == "interface":
                restarts |= "ap_ctrl_none" in words or words.get("mode") == "ap_ctrl_none"
                ports[words.get("port", "")] = words.get("bundle", "") or "gmem"
        arguments = [_argument(each, ports) for each in cursor.get_arguments()]
        if all(arguments):
            file, line = source.where(cursor.location.offset)
            yield Kernel(name, tuple(each for each in arguments if each), file, line, restarts)


def _argument(cursor: Any, ports: Mapping[str, str]) -> Argument | None:
    """Returns an argument; None for a type of which a host has no value."""
    of, canonical = cursor.type, cursor.type.get_canonical()
    name, spelling = cursor.spelling, cursor.type.spelling
    if canonical.kind.name == "LVALUEREFERENCE":
        if _STREAM.search(canonical.get_pointee().spelling):
            return Argument(name, spelling, "stream")
        of, canonical = of.get_pointee(), canonical.get_pointee()
    if canonical.kind.name in ("POINTER", "INCOMPLETEARRAY", "CONSTANTARRAY"):
        inner = canonical.get_pointee() if canonical.kind.name == "POINTER" else canonical.element_type
        if _STREAM.search(inner.spelling):
            return None
        port = ports.get(name, "gmem")
        return Argument(name, spelling, "memory", port, inner.is_const_qualified(), elements=elements_of(inner))
    numbers = range_of(canonical)
    return Argument(name, spelling, "number", range=numbers) if numbers else None
