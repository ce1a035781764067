# SPDX-License-Identifier: Apache-2.0
"""Extraction of a program's SMI operations from its source by libclang: ports, datatypes and operators, if constant."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg.errors import InputError
from thalweg.kernels import frontend
from thalweg.resources import resource
from thalweg.systems.smi import metadata

_TYPES = {1: "int", 2: "float", 3: "double", 4: "char", 5: "short"}
_OPERATORS = {0: "add", 1: "max", 2: "min"}
#: for each call, without count: the arguments of type and port, and of the operator
_CALLS = {
    "SMI_Open_send_channel": ("push", 1, 3, None),
    "SMI_Open_receive_channel": ("pop", 1, 3, None),
    "SMI_Open_recv_channel": ("pop", 1, 3, None),
    "SMI_Open_bcast_channel": ("broadcast", 1, 2, None),
    "SMI_Open_reduce_channel": ("reduce", 1, 3, 2),
    "SMI_Open_scatter_channel": ("scatter", 2, 3, None),
    "SMI_Open_gather_channel": ("gather", 2, 3, None),
}
#: channel classes of smi.hpp, and their types
_CHANNEL = re.compile(r"\b(send|receive|broadcast|scatter|gather|reduce)_channel<([\w -]+), ([^<>]+?)(?:, ([^,<>]+))?>")
_KINDS = {"send": "push", "receive": "pop"}
_TYPE_NAMES = {"unsigned int": "int", "signed char": "char", "unsigned char": "char", "unsigned short": "short"}

#: binary operators, as numbered by clang_getCursorBinaryOperatorKind
_BINARY: dict[int, Callable[[int, int], int | None]] = {
    3: lambda a, b: a * b,
    4: lambda a, b: _quotient(a, b),
    5: lambda a, b: a - b * _quotient(a, b),
    6: lambda a, b: a + b,
    7: lambda a, b: a - b,
    8: lambda a, b: a << b if 0 <= b < 64 else None,
    9: lambda a, b: a >> b if 0 <= b < 64 else None,
}


def _quotient(a: int, b: int) -> int:
    if b == 0:
        raise InputError("a port or type is divided by zero")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@dataclass(frozen=True)
class ExtractedOperation:
    """An operation, and the place where it is first opened."""

    type: str
    port: int
    data_type: str
    op: str
    degree: int | None
    file: str
    line: int


def extract(
    files: Path | Sequence[Path],
    includes: Sequence[Path] = (),
    defines: Sequence[str] = (),
    reads: int = 8,
    max_ranks: int = 8,
) -> dict[str, Any]:
    """Extracts the metadata of a program from its sources.

    Parameters
    ----------
    files : Path or sequence of Path
        The sources of one program.
    includes : sequence of Path
        Folders with headers.
    defines : sequence of str
        Macros, as NAME or NAME=VALUE.
    reads : int
        Consecutive reads of a kernel's input (R in the paper).
    max_ranks : int
        Maximum number of ranks.

    Returns
    -------
    dict
        Metadata in the format of the reference implementation (docs/smi-programs.md).

    Raises
    ------
    InputError
        A port or type is not a compile-time constant, or two operations use a port in conflicting ways.
    """
    sources = [files] if isinstance(files, Path) else list(files)
    merged: dict[tuple[str, int], ExtractedOperation] = {}
    for source in sources:
        for found in find(source, includes, defines):
            key = (found.type, found.port)
            first = merged.setdefault(key, found)
            if (first.data_type, first.op) != (found.data_type, found.op):
                raise InputError(
                    f"{found.file}:{found.line}: port {found.port} is a {found.type} of {found.data_type}, {found.op}; in "
                    f"{first.file}:{first.line} of {first.data_type}, {first.op}"
                    if found.type == "reduce"
                    else f"{found.file}:{found.line}: port {found.port} is a {found.type} of {found.data_type}; in "
                    f"{first.file}:{first.line} of {first.data_type}"
                )
            if (found.degree or 0) > (first.degree or 0):
                merged[key] = found
    operations = [
        {
            "type": found.type,
            "port": found.port,
            "data_type": found.data_type,
            "buffer_size": found.degree or None,
            "args": {"op_type": found.op} if found.type == "reduce" else {},
        }
        for _, found in sorted(merged.items(), key=lambda item: (item[0][1], item[0][0] != "push"))
    ]
    whole = {"operations": operations, "consecutive_reads": reads, "max_ranks": max_ranks}
    metadata.of_values(whole, str(sources[0]) if sources else "")
    return whole


def find(source: Path, includes: Sequence[Path] = (), defines: Sequence[str] = ()) -> list[ExtractedOperation]:
    """Returns all calls that open a channel, in textual order; for templates, one per instantiation. Raises InputError."""
    if not source.is_file():
        raise InputError(f"there is no file {source}")
    language = frontend.language_of(source)
    cindex = frontend.cindex()
    smi = resource("runtime/smi/include")
    more = ["-DSMI_EXTRACT", "-Dread_channel_intel(c)=(c)", f"-I{smi}", "-include", str(smi / "smi.h")]
    more += ["-Dchannel="] if language == "cl" else []
    more += [*(f"-I{folder}" for folder in includes), *(f"-D{define}" for define in defines)]
    unit = frontend.parse(str(source), None if language == "cl" else _without_channels(source), language, more)
    for message in unit.diagnostics:
        if message.severity == cindex.Diagnostic.Fatal:
            why = "" if frontend.headers() else "; the compiler's own headers are missing: apt-get install clang"
            raise InputError(f"{message.location.file}:{message.location.line}: {message.spelling}{why}")
    reader = _Reader(cindex, unit)
    return list(reader.found())


def _without_channels(source: Path) -> str:
    """Returns a C or C++ source in which `channel` is a keyword only at the start of the program's declarations."""
    text = source.read_text(encoding="utf-8", errors="replace")
    return re.sub(r"^channel(?=\s+\w)", " " * len("channel"), text, flags=re.MULTILINE)


class _Reader:
    def __init__(self, cindex: Any, unit: Any) -> None:
        self.cindex, self.unit = cindex, unit
        self.kinds = cindex.CursorKind
        library = cindex.conf.lib
        self._evaluate = library.clang_Cursor_Evaluate
        self._evaluate.argtypes, self._evaluate.restype = [cindex.Cursor], ctypes.c_void_p
        self._kind = library.clang_EvalResult_getKind
        self._kind.argtypes, self._kind.restype = [ctypes.c_void_p], ctypes.c_int
        self._as_int = library.clang_EvalResult_getAsLongLong
        self._as_int.argtypes, self._as_int.restype = [ctypes.c_void_p], ctypes.c_longlong
        self._dispose = library.clang_EvalResult_dispose
        self._dispose.argtypes, self._dispose.restype = [ctypes.c_void_p], None
        self._operator = library.clang_getCursorBinaryOperatorKind
        self._operator.argtypes, self._operator.restype = [cindex.Cursor], ctypes.c_int
        self._template = library.clang_getSpecializedCursorTemplate
        self._template.argtypes, self._template.restype = [cindex.Cursor], cindex.Cursor
        self.uses: dict[str, list[tuple[int, ...]]] = {}

    def found(self) -> Iterator[ExtractedOperation]:
        self._collect()
        for cursor in self._cursors():
            if cursor.kind == self.kinds.CALL_EXPR and cursor.spelling.removesuffix("_ad") in _CALLS:
                for values in self._bindings(cursor):
                    yield self._one(cursor, values)
            elif cursor.kind in (self.kinds.VAR_DECL, self.kinds.CALL_EXPR, self.kinds.TYPE_ALIAS_DECL):
                file = cursor.location.file
                if file and not file.name.endswith("/smi.hpp"):
                    yield from self._channels(cursor)

    def _channels(self, cursor: Any) -> Iterator[ExtractedOperation]:
        """Yields channels of smi.hpp in the type of a variable, of a constructed object, or of a list of ports."""
        where = f"{cursor.location.file}:{cursor.location.line}"
        matches = list(_CHANNEL.finditer(cursor.type.get_canonical().spelling))
        for match in matches:
            name, c_type, port_text, op = match.groups()
            if not port_text.isdigit() and cursor.kind != self.kinds.VAR_DECL:
                continue  # within a template; the type of the variable is more specific
            data_type = _TYPE_NAMES.get(c_type, c_type)
            if data_type not in metadata.BYTES:
                raise InputError(f"{where}: the datatype of a {name}_channel is a template parameter; name the type")
            expression = next((child for child in cursor.get_children() if child.kind.is_expression()), None)
            for values in self._bindings(cursor) if not port_text.isdigit() else [{}]:
                port = int(port_text) if port_text.isdigit() else self._value(expression, values)
                if port is None:
                    raise InputError(f"{where}: the port of a {name}_channel is not a compile-time constant")
                yield ExtractedOperation(
                    type=_KINDS.get(name, name),
                    port=port,
                    data_type=data_type,
                    op=(op or "").removeprefix("SMI_").lower() if name == "reduce" else "",
                    degree=None,
                    file=str(cursor.location.file),
                    line=cursor.location.line,
                )

    def _collect(self) -> None:
        """Collects the arguments of instantiated function templates."""
        for cursor in self._cursors():
            if cursor.kind not in (self.kinds.DECL_REF_EXPR, self.kinds.CALL_EXPR) or cursor.referenced is None:
                continue
            function = cursor.referenced
            number = function.get_num_template_arguments() if function.kind == self.kinds.FUNCTION_DECL else -1
            if number <= 0:
                continue
            template = self._template(function)
            values = tuple(
                function.get_template_argument_value(i) if self._is_integral(function, i) else 0 for i in range(number)
            )
            uses = self.uses.setdefault(template.get_usr(), [])
            if values not in uses:
                uses.append(values)

    def _is_integral(self, function: Any, argument: int) -> bool:
        try:
            return bool(function.get_template_argument_kind(argument) == self.cindex.TemplateArgumentKind.INTEGRAL)
        except ValueError:  # a kind unknown to the module, such as a parameter pack
            return False

    def _cursors(self) -> Iterator[Any]:
        """Yields cursors of the program, without headers of compilers and libraries."""
        for declaration in self.unit.cursor.get_children():
            if not declaration.location.is_in_system_header:
                yield from declaration.walk_preorder()

    def _bindings(self, cursor: Any) -> Iterator[Mapping[str, int]]:
        """Yields the possible values of the parameters of enclosing templates."""
        around = self._around(cursor)
        if around is None:
            yield {}
            return
        names = [
            child.spelling if child.kind == self.kinds.TEMPLATE_NON_TYPE_PARAMETER else ""
            for child in around.get_children()
            if child.kind
            in (
                self.kinds.TEMPLATE_NON_TYPE_PARAMETER,
                self.kinds.TEMPLATE_TYPE_PARAMETER,
                self.kinds.TEMPLATE_TEMPLATE_PARAMETER,
            )
        ]
        for values in self.uses.get(around.get_usr(), []):
            yield {name: value for name, value in zip(names, values, strict=False) if name}

    def _around(self, cursor: Any) -> Any:
        """Returns the enclosing function template."""
        for top in self._templates():
            extent = top.extent
            if (
                extent.start.file
                and cursor.location.file
                and extent.start.file.name == cursor.location.file.name
                and extent.start.offset <= cursor.location.offset <= extent.end.offset
            ):
                return top
        return None

    def _templates(self) -> list[Any]:
        if not hasattr(self, "_all_templates"):
            self._all_templates = [cursor for cursor in self._cursors() if cursor.kind == self.kinds.FUNCTION_TEMPLATE]
        return self._all_templates

    def _one(self, cursor: Any, values: Mapping[str, int]) -> ExtractedOperation:
        name = cursor.spelling
        kind, type_at, port_at, op_at = _CALLS[name.removesuffix("_ad")]
        arguments = list(cursor.get_arguments())
        place = cursor.location
        where = f"{place.file}:{place.line}"

        def constant(at: int, what: str, known: Mapping[int, str] | None = None) -> int:
            value = self._value(arguments[at], values) if at < len(arguments) else None
            if value is None:
                raise InputError(f"{where}: {what} of {name} is not a compile-time constant")
            if known is not None and value not in known:
                raise InputError(f"{where}: {what} of {name} is {value}, which is unknown")
            return value

        port = constant(port_at, "the port")
        if not 0 <= port <= 255:
            raise InputError(f"{where}: port is {port}; it must be 0 to 255")
        return ExtractedOperation(
            type=kind,
            port=port,
            data_type=_TYPES[constant(type_at, "the datatype", _TYPES)],
            op=_OPERATORS[constant(op_at, "the operator", _OPERATORS)] if op_at is not None else "",
            degree=self._value(arguments[-1], values) if name.endswith("_ad") else None,
            file=str(place.file),
            line=place.line,
        )

    def _value(self, cursor: Any, values: Mapping[str, int]) -> int | None:
        if result := self._evaluate(cursor):
            value = self._as_int(result) if self._kind(result) == 1 else None
            self._dispose(result)
            if value is not None:
                return int(value)
        children = list(cursor.get_children())
        if cursor.kind == self.kinds.DECL_REF_EXPR and cursor.referenced is not None:
            to = cursor.referenced
            if to.kind == self.kinds.TEMPLATE_NON_TYPE_PARAMETER:
                return values.get(to.spelling)
            if to.kind == self.kinds.VAR_DECL and to.type.is_const_qualified():
                last = [child for child in to.get_children() if child.kind.is_expression()]
                return self._value(last[-1], values) if last else None
            return None
        if cursor.kind == self.kinds.BINARY_OPERATOR and len(children) == 2:
            a, b = (self._value(child, values) for child in children)
            operator = _BINARY.get(self._operator(cursor))
            return operator(a, b) if operator and a is not None and b is not None else None
        inside = [child for child in children if child.kind.is_expression()]
        transparent = (self.kinds.UNEXPOSED_EXPR, self.kinds.PAREN_EXPR, self.kinds.CSTYLE_CAST_EXPR)
        if cursor.kind in transparent and len(inside) == 1:
            return self._value(inside[0], values)
        return None
