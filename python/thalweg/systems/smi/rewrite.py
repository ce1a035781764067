# SPDX-License-Identifier: Apache-2.0
"""What the simulator has to know of a preprocessed source of kernels, and what goes into it: what makes turns of loops take cycles
(loops.py), and calls of the kernels with packed arguments. Lines stay as they are.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from thalweg.errors import InputError
from thalweg.systems.smi import loops
from thalweg.systems.smi.loops import as_it_is

_TOKEN = re.compile(
    r"""(?P<line>^[ \t]*\#[^\n]*)
      | (?P<space>\s+)
      | (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")
      | (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?P<word>[A-Za-z_]\w*)
      | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
      | (?P<other>.)""",
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_MARKER = re.compile(r'#\s*(?:line\s+)?(\d+)\s+"((?:\\.|[^"\\])*)"')
_PRAGMA = re.compile(r"\s*#\s*pragma\b")

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
_MEMORY = frozenset({"__global", "global", "__constant", "constant"})


@dataclass(frozen=True)
class Argument:
    """Of a kernel."""

    name: str
    type: str  #: without qualifiers: `float4`, `SMI_Comm`; of a pointer, that which it points to
    pointer: bool = False


@dataclass(frozen=True)
class KernelText:
    name: str
    arguments: tuple[Argument, ...]
    file: str
    line: int
    endless: bool  #: its body has a loop without an end
    autorun: bool  #: starts by itself, as kernels with that attribute do


@dataclass(frozen=True)
class Rewritten:
    text: str
    kernels: tuple[KernelText, ...]
    loops: tuple[tuple[str, int], ...]  #: file and line of each loop whose turns take cycles


@dataclass
class _Token:
    kind: str
    text: str
    file: str = ""
    line: int = 0
    at: int = 0


@dataclass
class _Text:
    tokens: list[_Token]
    where: list[int] = field(default_factory=list)  #: of tokens that are neither space nor lines

    def __post_init__(self) -> None:
        self.where = [i for i, token in enumerate(self.tokens) if token.kind not in ("space", "line")]

    def __getitem__(self, at: int) -> _Token:
        return self.tokens[self.where[at]] if at < len(self.where) else _Token("end", "")

    def __len__(self) -> int:
        return len(self.where)

    def directives(self) -> loops.Directives:
        """By place: of a pragma its words, of others none."""
        found: dict[int, list[str]] = {}
        for token in self.tokens:
            if token.kind == "line":
                pragma = _PRAGMA.match(token.text)
                words = _TOKEN.finditer(token.text[pragma.end() :]) if pragma else ()
                found[token.at] = [match.group() for match in words if match["space"] is None]
        return found

    def where_is(self, at: int) -> tuple[str, int]:
        """File and line of a place in the text."""
        token = self.tokens[bisect_right(self.tokens, at, key=lambda token: token.at) - 1]
        return token.file, token.line + token.text.count("\n", 0, at - token.at)

    def close(self, at: int) -> int:
        """The bracket that closes the one at a place."""
        closes = {"(": ")", "[": "]", "{": "}"}
        inside: list[str] = []
        for i in range(at, len(self)):
            text = self[i].text
            if text in closes:
                inside.append(closes[text])
            elif text in (")", "]", "}"):
                if text != inside.pop():
                    break
                if not inside:
                    return i
        raise InputError(f"{self[at].file}:{self[at].line}: a bracket is not closed")


def _tokens(text: str) -> Iterator[_Token]:
    file, line = "", 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "other"
        token = _Token("text" if kind in ("raw", "mark") else kind, match.group(), file, line, match.start())
        if kind == "line" and (marker := _MARKER.match(token.text.strip())):
            file, line = marker.group(2), int(marker.group(1)) - 1
        line += token.text.count("\n")
        yield token


def rewrite(text: str, language: str = "c", expand: loops.Expand = as_it_is) -> Rewritten:
    """Of a preprocessed source, with line markers; `expand` replaces macros in expressions of pragmas. Raises InputError where a
    bracket or a loop is not understood."""
    source = _Text(list(_tokens(text)))
    kernels = _kernels(source, language == "c++")
    channels = _channels(source)
    changed = "".join(token.text for token in source.tokens)
    inserted = loops.insert(changed, language, source.directives(), source.where_is, expand)
    tail = channels
    for kernel, parameters in kernels:
        tail += _caller(kernel, parameters)
    if language == "c++":
        tail = ['extern "C" {', *tail, "}"]
    return Rewritten(
        text='#include "loops.h"\n' + inserted.text + '\n# 1 "(calls of the kernels)"\n' + "\n".join(tail) + "\n",
        kernels=tuple(kernel for kernel, _ in kernels),
        loops=inserted.loops,
    )


def _kernels(source: _Text, cplusplus: bool) -> list[tuple[KernelText, list[list[_Token]]]]:
    words = {"__kernel"} if cplusplus else {"__kernel", "kernel"}
    found: list[tuple[KernelText, list[list[_Token]]]] = []
    at = depth = 0
    while at < len(source):
        token = source[at]
        depth += (token.text == "{") - (token.text == "}")
        if depth or token.text not in words:
            at += 1
            continue
        attributes = []
        name = at + 1
        while not (source[name].kind == "word" and source[name + 1].text == "("):
            name += 1
            if name >= len(source):
                return found
        while source[name].text == "__attribute__":
            end = source.close(name + 1)
            attributes += [source[i].text for i in range(name, end)]
            name = end + 1
            while not (source[name].kind == "word" and source[name + 1].text == "("):
                name += 1
        end = source.close(name + 1)
        parameters = _split([source[i] for i in range(name + 2, end)])
        body = end + 1
        while source[body].text == "__attribute__":
            body = source.close(body + 1) + 1
        if source[body].text == "{":
            last = source.close(body)
            kernel = KernelText(
                name=source[name].text,
                arguments=tuple(_argument(parameter) for parameter in parameters),
                file=token.file,
                line=source[name].line,
                endless=_endless(source, body, last),
                autorun="autorun" in attributes,
            )
            found.append((kernel, parameters))
            body = last
        at = body + 1
    return found


def _split(tokens: Sequence[_Token]) -> list[list[_Token]]:
    """At commas outside of brackets."""
    parts: list[list[_Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text in "([{") - (token.text in ")]}")
        if token.text == "," and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    if parts == [[]] or [token.text for token in parts[0]] == ["void"]:
        return []
    return parts


def _name(parameter: Sequence[_Token]) -> int:
    """Where a declaration's name is: its last word outside of brackets and attributes."""
    depth, found = 0, -1
    for i, token in enumerate(parameter):
        if token.text == "__attribute__":
            break
        depth += (token.text in "([") - (token.text in ")]")
        if token.kind == "word" and not depth:
            found = i
    return found


def _argument(parameter: Sequence[_Token]) -> Argument:
    name = _name(parameter)
    texts = [token.text for token in parameter]
    pointer = "*" in texts or "[" in texts[name:]
    words = [text for text in texts[:name] if text not in _QUALIFIERS and text != "*" and text != "struct"]
    return Argument(name=texts[name], type=" ".join(words), pointer=pointer)


def _caller(kernel: KernelText, parameters: Sequence[Sequence[_Token]]) -> list[str]:
    lines, passed = [], []
    for i, parameter in enumerate(parameters):
        name = _name(parameter)
        kind = f"smi__{kernel.name}_{i}"
        texts = [token.text for token in parameter]
        end = next((j for j in range(name, len(texts)) if texts[j] in ("[", "__attribute__")), len(texts))
        star = "*" if "[" in texts[name:] else ""
        lines.append(f"typedef {' '.join(texts[:name])} {star}{kind}{' '.join(texts[name + 1 : end])};")
        passed.append(f"*({kind}*)arguments[{i}]")
    lines.append(f'# {kernel.line} "{kernel.file}"')  # what is inlined may have no other line
    lines.append(f"void smi__call_{kernel.name}(void** arguments) {{ {kernel.name}({', '.join(passed)}); }}")
    return lines


def _endless(source: _Text, body: int, last: int) -> bool:
    depth = 0
    for i in range(body, last):
        text = source[i].text
        depth += (text == "{") - (text == "}")
        if depth != 1:
            continue
        inside = [source[i + j].text for j in range(1, 5)]
        if text == "while" and inside[0] == "(" and inside[1] in ("1", "true") and inside[2] == ")":
            return True
        if text == "for" and inside == ["(", ";", ";", ")"]:
            return True
    return False


def _channels(source: _Text) -> list[str]:
    """Takes the word `channel` out of what the program declares, and says what there is: a function that tells the runtime."""
    calls: list[str] = []
    at = depth = 0
    while at < len(source):
        token = source[at]
        depth += (token.text == "{") - (token.text == "}")
        if depth or token.text != "channel" or source[at + 1].kind != "word":
            at += 1
            continue
        token.text = " " * len(token.text)
        end = at
        while source[end].text != ";" and end < len(source):
            end += 1
        kind: str | None = None
        for part in _split([source[i] for i in range(at + 1, end)]):
            name = _name(part)
            texts = [item.text for item in part]
            kind = kind or " ".join(texts[:name])
            deep = "-1"
            if "depth" in texts:
                first = texts.index("depth") + 1
                level, last = 0, first
                for last in range(first, len(texts)):
                    level += (texts[last] == "(") - (texts[last] == ")")
                    if not level:
                        break
                deep = " ".join(texts[first : last + 1])
            calls.append(
                f"smi__channel(to, (void*)&{texts[name]}, sizeof({texts[name]}), sizeof({kind}), {deep}, "
                f'"{texts[name]}");'
            )
        at = end
    return ["void smi__channels(void* to) {", *calls, "}"]
