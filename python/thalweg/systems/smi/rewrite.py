# SPDX-License-Identifier: Apache-2.0
"""Rewriting of preprocessed kernel sources.

Inserts code that makes loop iterations take cycles (loops.py), and functions that call kernels with packed arguments.
Line numbers are preserved. Also describes the kernels for the simulator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg.kernels import frontend, loops
from thalweg.kernels.loops import unexpanded
from thalweg.kernels.source import Source
from thalweg.systems.smi import attributes

_QUALIFIERS = frozenset(
    [
        "__global",
        "global",
        "__constant",
        "constant",
        "__local",
        "local",
        "__private",
        "private",
        "const",
        "volatile",
        "restrict",
        "__restrict",
        "__restrict__",
        "__read_only",
        "__write_only",
        "signed",
    ]
)


@dataclass(frozen=True)
class Argument:
    """An argument of a kernel."""

    name: str
    type: str  #: without qualifiers: `float4`, `SMI_Comm`; for a pointer, its target type
    pointer: bool = False


@dataclass(frozen=True)
class KernelText:
    name: str
    arguments: tuple[Argument, ...]
    file: str
    line: int
    endless: bool  #: whether its body has an infinite loop
    autorun: bool  #: starts by itself, due to the attribute autorun


@dataclass(frozen=True)
class Rewritten:
    text: str
    kernels: tuple[KernelText, ...]
    loops: tuple[tuple[str, int], ...]  #: file and line of each loop whose iterations take cycles


def rewrite(text: str, language: str = "c", expand: loops.Expand = unexpanded) -> Rewritten:
    """Rewrites a preprocessed source with line markers.

    `expand` expands macros in pragmas. Raises InputError for an unsupported loop or attribute.
    """
    source = Source(text, language)
    inserted = loops.insert(source, expand)
    kernels = [
        cursor for cursor in _functions(source.declarations()) if frontend.is_marked(cursor, frontend.KERNEL_MARK)
    ]
    described = [_kernel(source, cursor) for cursor in kernels]
    tail = _channels(source)
    for cursor, kernel in zip(kernels, described, strict=True):
        tail += _caller(source, kernel, cursor)
    if language == "c++":
        tail = ['extern "C" {', *tail, "}"]
    tail += attributes.check(source, inserted.consumed, kernels)
    attributes.no_vector_is_printed(source)
    return Rewritten(
        text='#include "loops.h"\n#include "channels.h"\n'
        + inserted.text
        + '\n# 1 "(calls of the kernels)"\n'
        + "\n".join(tail)
        + "\n",
        kernels=tuple(described),
        loops=inserted.loops,
    )


def _functions(declarations: Iterable[Any]) -> Iterator[Any]:
    """The definitions of functions, including those within `extern "C"` and namespaces."""
    for cursor in declarations:
        if cursor.kind.name == "FUNCTION_DECL":
            if cursor.is_definition():
                yield cursor
        elif cursor.kind.name in ("LINKAGE_SPEC", "UNEXPOSED_DECL", "NAMESPACE"):
            yield from _functions(cursor.get_children())


def _kernel(source: Source, cursor: Any) -> KernelText:
    body = next(child for child in cursor.get_children() if child.kind.name == "COMPOUND_STMT")
    file, line = source.where(cursor.location.offset)
    kernel = KernelText(
        name=cursor.spelling,
        arguments=tuple(_arguments(source, cursor)),
        file=file,
        line=line,
        endless=any(_endless(source, each) for each in body.get_children()),
        autorun=attributes.AUTORUN in [each.name for each in attributes.of_kernel(source, cursor)],
    )
    if kernel.autorun and kernel.arguments:
        raise source.refuse(
            cursor.location.offset, f"autorun kernel {kernel.name} has arguments, which no host can set; remove them"
        )
    if kernel.autorun and not kernel.endless:
        what = "ends, and hardware would restart it after an unknown number of cycles: put while (1) around its body"
        raise source.refuse(cursor.location.offset, f"autorun kernel {kernel.name} {what}")
    return kernel


def _arguments(source: Source, kernel: Any) -> Iterator[Argument]:
    before = kernel.location.offset
    for cursor in kernel.get_arguments():
        words = [token.text for token in source.tokens(before, cursor.location.offset)]
        if "__local" in words or (source.language == "cl" and "local" in words):
            what = f"argument {cursor.spelling} of kernel {kernel.spelling} is local memory: declare an array in the kernel"
            raise source.refuse(cursor.location.offset, what)
        yield _argument(cursor)
        before = cursor.extent.end.offset


def _argument(cursor: Any) -> Argument:
    of, pointer = cursor.type, False
    while of.kind.name in ("POINTER", "INCOMPLETEARRAY", "CONSTANTARRAY", "VARIABLEARRAY"):
        of, pointer = of.element_type if "ARRAY" in of.kind.name else of.get_pointee(), True
    words = [word for word in of.spelling.split() if word not in _QUALIFIERS and word != "struct"]
    return Argument(name=cursor.spelling, type=" ".join(words), pointer=pointer)


def _caller(source: Source, kernel: KernelText, cursor: Any) -> list[str]:
    lines, passed = [], []
    for i, parameter in enumerate(cursor.get_arguments()):
        kind = f"smi__{kernel.name}_{i}"
        first, last, name = parameter.extent.start.offset, parameter.extent.end.offset, parameter.location.offset
        before, after = source.text[first:name], source.text[name + len(parameter.spelling) : last].strip()
        star = "*" if after.startswith("[") else ""
        lines.append(f"typedef {' '.join(before.split())} {star}{kind}{'' if star else after};")
        passed.append(f"*({kind}*)arguments[{i}]")
    lines.append(f'# {kernel.line} "{kernel.file}"')  # inlined code must have no other line
    lines.append(f"void smi__call_{kernel.name}(void** arguments) {{ {kernel.name}({', '.join(passed)}); }}")
    return lines


def _endless(source: Source, cursor: Any) -> bool:
    """True if a kernel's body has an infinite loop as a statement or within an `if`."""
    children = list(cursor.get_children())
    if cursor.kind.name == "IF_STMT":
        return any(_endless(source, child) for child in children)
    if cursor.kind.name == "WHILE_STMT":
        always = frontend.is_true(children[0])
    elif cursor.kind.name == "DO_STMT":
        always = frontend.is_true(children[-1])
    elif cursor.kind.name == "FOR_STMT":
        always = _without_condition(source, cursor, children)
    else:
        return False
    return always and not _is_left(cursor)


def _without_condition(source: Source, loop: Any, children: Sequence[Any]) -> bool:
    """True if the condition of a `for` is missing or always true."""
    depth, ends = 0, list[int]()
    for token in source.tokens(loop.extent.start.offset, children[-1].extent.start.offset):
        depth += (token.text in "([{") - (token.text in ")]}")
        if token.text == ";" and depth == 1:
            ends.append(token.at)
    if len(ends) != 2:
        return False
    inside = [child for child in children[:-1] if ends[0] < child.extent.start.offset < ends[1]]
    return frontend.is_true(inside[0]) if inside else not source.text[ends[0] + 1 : ends[1]].strip()


def _is_left(loop: Any) -> bool:
    """True if a return, break or goto leaves the loop."""
    first, last = loop.extent.start.offset, loop.extent.end.offset

    def leaves(cursor: Any, breaks: bool) -> bool:
        kind = cursor.kind.name
        if kind == "RETURN_STMT" or (kind == "BREAK_STMT" and breaks):
            return True
        if (
            kind == "GOTO_STMT"
            and cursor.referenced is not None
            and not first <= cursor.referenced.location.offset < last
        ):
            return True
        if kind == "LAMBDA_EXPR":
            return False
        breaks = breaks and kind not in ("FOR_STMT", "WHILE_STMT", "DO_STMT", "SWITCH_STMT", "CXX_FOR_RANGE_STMT")
        return any(leaves(child, breaks) for child in cursor.get_children())

    return any(leaves(child, True) for child in loop.get_children())


def _channels(source: Source) -> list[str]:
    """Returns the source of a function that registers the channels with the runtime."""
    calls: list[str] = []
    declared = [
        cursor
        for cursor in source.declarations()
        if cursor.kind.name == "VAR_DECL" and frontend.is_marked(cursor, frontend.CHANNEL_MARK)
    ]
    for cursor in declared:
        name = cursor.spelling
        depth = attributes.depth_of_channel(source, cursor, declared)
        deep = " ".join(depth.words) if depth else "-1"
        element = name
        of = cursor.type
        while of.kind.name == "CONSTANTARRAY":
            element, of = f"{element}[0]", of.element_type
        calls.append(f'smi__channel(smi__to, (void*)&{name}, sizeof({name}), sizeof({element}), ({deep}), "{name}");')
    return ["void smi__channels(void* smi__to) {", *calls, "}"]
