# SPDX-License-Identifier: Apache-2.0
"""What the simulator has to know of a preprocessed source of kernels, and what goes into it: a call at the begin of each turn of
a loop, which takes a cycle, and calls of the kernels with packed arguments.

Works on tokens: a loop's keyword and parentheses are found wherever they stand, and what is inserted keeps the lines as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from thalweg.errors import InputError

_TOKEN = re.compile(
    r"""(?P<line>^[ \t]*\#[^\n]*)
      | (?P<space>\s+)
      | (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?P<word>[A-Za-z_]\w*)
      | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
      | (?P<other>.)""",
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_MARKER = re.compile(r'#\s*(?:line\s+)?(\d+)\s+"((?:\\.|[^"\\])*)"')
_UNROLL = re.compile(r"#\s*pragma\s+(?:GCC\s+)?unroll\b\s*\(?\s*(\d*)")
_INTERVAL = re.compile(r"#\s*pragma\s+ii\s+(\w+)")
_PIPELINE = re.compile(r"#\s*pragma\s+smi\b(.*)")
_PIPELINE_PART = re.compile(r"\b(interval|depth)\s*\(([^()]*)\)")

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
    before: str = ""
    after: str = ""


@dataclass
class _Pending:
    """What pragmas say of the next loop."""

    unroll: int | None = None  #: 0: whole
    interval: str = "1"
    pipeline: tuple[str, str] | None = None


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
        token = _Token(kind, match.group(), file, line)
        if kind == "line" and (marker := _MARKER.match(token.text.strip())):
            file, line = marker.group(2), int(marker.group(1)) - 1
        line += token.text.count("\n")
        yield token


def rewrite(text: str, cplusplus: bool = False) -> Rewritten:
    """Of a preprocessed source, with line markers. Raises InputError where brackets don't match."""
    source = _Text(list(_tokens(text)))
    loops = _loops(source)
    kernels = _kernels(source, cplusplus)
    channels = _channels(source)
    changed = "".join(token.before + token.text + token.after for token in source.tokens)
    tail = [f"unsigned smi__sites(void) {{ return {len(loops)}; }}", *channels]
    for kernel in kernels:
        tail += _caller(kernel[0], kernel[1])
    if cplusplus:
        tail = ['extern "C" {', *tail, "}"]
    return Rewritten(
        text=_PROLOGUE_CPLUSPLUS * cplusplus
        + _PROLOGUE * (not cplusplus)
        + changed
        + '\n# 1 "(calls of the kernels)"\n'
        + "\n".join(tail)
        + "\n",
        kernels=tuple(kernel for kernel, _ in kernels),
        loops=tuple(loops),
    )


_DECLARED = (
    "void smi__turn(unsigned, unsigned, unsigned); int smi__begin_pipeline(long, long); int smi__end_pipeline(void); "
    "void smi__channel(void*, void*, unsigned long, unsigned long, long, {text});\n"
)
_PROLOGUE = _DECLARED.format(
    text="""
#ifdef __OPENCL_C_VERSION__
__constant
#endif
const char*
"""
)
_PROLOGUE_CPLUSPLUS = 'extern "C" {' + _DECLARED.format(text="const char*") + "}\n"


def _loops(source: _Text) -> list[tuple[str, int]]:
    """Puts a call of smi__turn into each loop that is not unrolled."""
    found: list[tuple[str, int]] = []
    pending = _Pending()
    braces: list[bool] = []  #: whether it is the body of a do
    tails = 0  #: statements of a do without braces that have not ended
    after_do = tail = False
    starts = set(source.where)
    at = -1
    for i, token in enumerate(source.tokens):
        if token.kind == "line":
            _pragma(token, pending)
        if i not in starts:
            continue
        at += 1
        was_tail, tail = tail, False
        body, after_do = after_do, False
        if token.text == "{":
            braces.append(body)
            continue
        if body:
            tails += 1
        if token.text == "}":
            tail = bool(braces) and braces.pop()
        elif token.text == ";" and tails and not _inside_parentheses(source, at):
            tails -= 1
            tail = True
        elif token.text == "opencl_unroll_hint":
            pending.unroll = int(source[at + 2].text) if source[at + 2].kind == "number" else 0
        elif token.text in ("for", "while", "do") and token.kind == "word":
            if token.text == "while" and was_tail:
                continue
            head = token
            if token.text == "do":
                after_do = True
                end = token
            else:
                if source[at + 1].text != "(":
                    continue
                end = source[source.close(at + 1)]
            _mark(head, end, pending, found)
            pending = _Pending()
    return found


def _inside_parentheses(source: _Text, at: int) -> bool:
    depth = 0
    for i in range(at, -1, -1):
        text = source[i].text
        if text == ")":
            depth += 1
        elif text == "(":
            depth -= 1
            if depth < 0:
                return True
        elif text in ("{", "}"):
            return False
    return False


def _pragma(token: _Token, pending: _Pending) -> None:
    text = token.text.strip()
    if match := _UNROLL.match(text):
        pending.unroll = int(match.group(1) or 0)
        token.text = ""  # the compiler does as it likes: a loop's turns take no time for that
    elif match := _INTERVAL.match(text):
        pending.interval = match.group(1)
    elif match := _PIPELINE.match(text):
        parts = dict(_PIPELINE_PART.findall(match.group(1)))
        if not parts:
            raise InputError(f"{token.file}:{token.line}: #pragma smi is interval(N) or depth(N), or both")
        pending.pipeline = (parts.get("interval", "1"), parts.get("depth", "0"))


def _mark(head: _Token, end: _Token, pending: _Pending, found: list[tuple[str, int]]) -> None:
    if pending.unroll == 0:
        return
    site = len(found)
    found.append((head.file, head.line))
    interval = pending.interval
    if pending.pipeline:
        name = f"smi__pipeline_{site}"
        head.before += (
            f"for (int {name} = smi__begin_pipeline({pending.pipeline[0]}, {pending.pipeline[1]}); {name}; "
            f"{name} = smi__end_pipeline()) "
        )
        interval = "0"
    end.after += f" if (smi__turn({site}u, {interval}, {pending.unroll or 1}u), 0) ; else "


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
        token.text = ""
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
