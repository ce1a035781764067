# SPDX-License-Identifier: Apache-2.0
"""libclang, the compiler front end that reads sources of kernels."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from thalweg import extras
from thalweg.errors import InputError

#: languages by file suffix
LANGUAGES = {".cl": "cl", ".c": "c", ".cpp": "c++", ".cc": "c++", ".cxx": "c++"}
CLANG = os.environ.get("THALWEG_CLANG") or "clang"
#: The target that kernels are compiled for.
TARGET = "x86_64-unknown-linux-gnu"
#: removes the qualifiers of local memory: every variable of a kernel is private
SPACES = ("-D__local=", "-Dlocal=")
#: replaces the word `channel` for libclang with a marker of equal length
CHANNEL = "smi__ch"
#: Annotations that mark kernels and channels.
KERNEL_MARK, CHANNEL_MARK = "smi kernel", "smi channel"
_VECTORS = "/smi_vectors.h"  # exists only in memory


def language_of(source: Path) -> str:
    """The language of a source. Raises InputError for an unknown ending."""
    if language := LANGUAGES.get(source.suffix):
        return language
    raise InputError(f"{source} is not a kernel source: give a file that ends in {', '.join(LANGUAGES)}")


def cindex() -> Any:
    """The Python module of libclang. Raises InputError if it is not installed."""
    try:
        from clang import cindex
    except ImportError as error:
        raise extras.missing("reading kernels needs libclang", "smi") from error
    return cindex


@cache
def headers() -> tuple[str, ...]:
    """Returns arguments for the compiler's own headers, such as stddef.h, which libclang lacks.

    They are those of the clang that compiles kernels, else gcc's; empty if neither is installed.
    """
    for program, question, inside, option in (
        (CLANG, "-print-resource-dir", "include/stddef.h", "-resource-dir"),
        ("gcc", "-print-file-name=include", "stddef.h", "-idirafter"),
    ):
        if shutil.which(program):
            answer = subprocess.run([program, question], capture_output=True, text=True, check=False).stdout.strip()
            if (Path(answer) / inside).is_file():
                return (option, answer)
    return ()


def arguments(language: str) -> list[str]:
    """Returns libclang's arguments for a language, with OpenCL's functions and types, and in C and C++ also its keywords."""
    common = ["-x", language, "-target", TARGET, "-ferror-limit=0", *headers()]
    common.append(f'-D{CHANNEL}=__attribute__((annotate("{CHANNEL_MARK}")))')
    mark = f'__attribute__((annotate("{KERNEL_MARK}")))'
    if language == "cl":
        common += [f"-D__kernel=__kernel {mark}", f"-Dkernel=__kernel {mark}"]
        common += ["-cl-std=CL2.0", "-Xclang", "-fdeclare-opencl-builtins", *SPACES]
        return [*common, "-include", "opencl-c-base.h"] if _has_opencl() else [*common, "-include", _VECTORS]
    words = [f"-D__kernel={mark}", "-D__global=", "-D__constant=const", "-D__local=", "-D__private="]
    return [*common, *words, "-std=c++20" if language == "c++" else "-std=gnu17"]


def _has_opencl() -> bool:
    return any((Path(folder) / "include/opencl-c-base.h").is_file() for folder in headers()[1:])


def parse(name: str, text: str | None, language: str, more: Sequence[str] = ()) -> Any:
    """Returns the translation unit of a text, or without a text of the file `name`."""
    files = [(_VECTORS, _vectors())] if language == "cl" else []
    if text is not None:
        files.append((name, text))
    return cindex().Index.create().parse(name, args=[*arguments(language), *more], unsaved_files=files)


def _vectors() -> str:
    lines = [f"typedef unsigned {name} u{name};" for name in ("char", "short", "int", "long")]
    lines += ["typedef unsigned long size_t;", "typedef unsigned int cl_mem_fence_flags;"]
    for name in ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double"):
        lines += [f"typedef {name} {name}{n} __attribute__((ext_vector_type({n})));" for n in (2, 3, 4, 8, 16)]
    return "\n".join(lines) + "\n"


def is_marked(cursor: Any, mark: str) -> bool:
    """True if a declaration has the annotation."""
    return any(
        child.kind == cindex().CursorKind.ANNOTATE_ATTR and child.spelling == mark for child in cursor.get_children()
    )


def presumed(location: Any) -> tuple[str, int]:
    """Returns file and line of a location, following line markers."""
    module = cindex()
    name, line, column = module._CXString(), ctypes.c_uint(), ctypes.c_uint()
    module.conf.lib.clang_getPresumedLocation(location, ctypes.byref(name), ctypes.byref(line), ctypes.byref(column))
    return (name.spelling or b"").decode(errors="replace"), line.value


def is_true(cursor: Any) -> bool:
    """True if an expression is a constant other than 0."""
    library = cindex().conf.lib
    evaluate, kind, value, dispose = (
        getattr(library, f"clang_{name}")
        for name in ("Cursor_Evaluate", "EvalResult_getKind", "EvalResult_getAsLongLong", "EvalResult_dispose")
    )
    evaluate.argtypes, evaluate.restype = [cindex().Cursor], ctypes.c_void_p
    kind.argtypes = dispose.argtypes = value.argtypes = [ctypes.c_void_p]
    kind.restype, value.restype, dispose.restype = ctypes.c_int, ctypes.c_longlong, None
    result = evaluate(cursor)
    if not result:
        return False
    found = bool(kind(result) == 1 and value(result) != 0)
    dispose(result)
    return found


def words(lines: Sequence[str]) -> list[list[str]]:
    """Returns the tokens of each line."""
    found: list[list[str]] = [[] for _ in lines]
    if lines:
        unit = parse("/smi_lines.cpp", "\n".join(lines) + "\n", "c++")
        for token in unit.get_tokens(extent=unit.cursor.extent):
            found[token.location.line - 1].append(token.spelling)
    return found


def raw_strings(text: str) -> list[tuple[int, int]]:
    """Returns start and end of each multi-line raw string in a C++ text."""
    unit = parse("/smi_strings.cpp", re.sub(r"[^\x00-\x7f]", "_", text), "c++")
    literal = cindex().TokenKind.LITERAL
    of = (token.extent for token in unit.get_tokens(extent=unit.cursor.extent) if token.kind == literal)
    return [(extent.start.offset, extent.end.offset) for extent in of if extent.start.line != extent.end.line]
