# SPDX-License-Identifier: Apache-2.0
"""Detection and use of the compilers for kernels."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from thalweg.errors import InputError
from thalweg.kernels.frontend import TARGET, language_of
from thalweg.kernels.loops import unexpanded
from thalweg.kernels.pragmas import Operand

#: for clang
TARGET_OPTIONS = ("-target", TARGET)
_OPERAND = "kernel__operand"
_MARKER = re.compile(r'^# \d+ "([^"]+)"', re.MULTILINE)
_MOST_PREPROCESSED = 16
_RESOLUTION = 20_000_000  # ns, of the times of files
_PREPROCESSED: dict[tuple[str, ...], tuple[dict[str, tuple[int, ...]], Preprocessed]] = {}
_FOLDERS = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")  #: variables that name folders of headers
_PRAGMA = re.compile(r"^[ \t]*#[ \t]*pragma\b|\b_Pragma\b", re.MULTILINE)
# for gcc's DWARF 5, addr2line reports the name of the preprocessed text instead of the original file
LINES = "-gdwarf-4"  # for kernels, not for libraries linked to them
CODE = ("-fPIC", "-O2", "-w", "-ffp-contract=off", "-fexceptions", "-fstack-clash-protection")
_OF_CLANG = (
    "-mllvm",
    "-asan-instrumentation-with-call-threshold=0",
    "-mllvm",
    "-asan-stack=0",
    "-mllvm",
    "-asan-globals=0",
)
_OF_GCC = (
    "--param",
    "asan-instrumentation-with-call-threshold=0",
    "--param",
    "asan-stack=0",
    "--param",
    "asan-globals=0",
)


@dataclass(frozen=True)
class Compiler:
    program: str
    language: str

    @property
    def clang(self) -> bool:
        return "clang" in Path(self.program).name

    @property
    def standard(self) -> tuple[str, ...]:
        return {"cl": ("-cl-std=CL2.0",), "c": ("-std=gnu17",), "c++": ("-std=c++20",)}[self.language]

    @property
    def instrumented(self) -> tuple[str, ...]:
        """Options that report each memory access to the runtime, and stop a kernel at an integer division by zero."""
        trap = "-fsanitize-trap=integer-divide-by-zero" if self.clang else "-fsanitize-undefined-trap-on-error"
        return ("-fsanitize=kernel-address,integer-divide-by-zero", trap, *(_OF_CLANG if self.clang else _OF_GCC))


def clang(cplusplus: bool = False) -> str | None:
    """Returns the path of clang, or None. The environment variable THALWEG_CLANG overrides it."""
    if named := os.environ.get("THALWEG_CLANG"):
        return f"{named}++" if cplusplus else named
    return shutil.which("clang++" if cplusplus else "clang")


def compiler_of(source: Path) -> Compiler:
    language = language_of(source)
    cplusplus = language == "c++"
    if found := clang(cplusplus):
        return Compiler(found, language)
    if language != "cl" and (found := shutil.which("g++" if cplusplus else "gcc")):
        return Compiler(found, language)
    raise InputError(f"{source} needs clang, which is not installed: apt-get install clang")


def run(command: Sequence[str | Path], source: Path | None = None, stdin: str = "") -> str:
    done = subprocess.run(list(map(str, command)), input=stdin, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(_first_error(done.stderr, source) or f"{command[0]} fails")
    return done.stdout


def _first_error(output: str, source: Path | None) -> str:
    """Returns the first error, located at the line of `source` that uses it if it is in a header's template."""
    lines = output.strip().splitlines()
    if nowhere := re.search(r"(\S+:\d+): undefined reference to [`'](\w+)", output):
        return f"{nowhere[1]}: error: kernels have no function {nowhere[2]}, or none with these argument types"
    first = next((line for line in lines if "error" in line), lines[0] if lines else "")
    use = re.search(
        rf"^({re.escape(str(source))}:\d+:\d+:) +(?:note: in instantiation|required from)", output, re.MULTILINE
    )
    if use and not first.startswith(f"{source}:"):
        return f"{use[1]} error: {first.partition(' error: ')[2]}"
    return first


@dataclass(frozen=True)
class Preprocessed:
    """A source after a run of the preprocessor.

    Attributes
    ----------
    text : str
        The source, with line markers.
    defined : str
        The same with the definitions of macros; empty if the text has no pragma, whose macros are not expanded.
    """

    text: str
    defined: str


def preprocess(command: Sequence[str]) -> Preprocessed:
    """Runs a preprocessor, unless no file that it read, and no folder in which it looked for them, has changed since its
    last run. Raises InputError."""
    variables = [os.environ.get(name, "") for name in _FOLDERS]
    key = (str(Path.cwd()), *variables, *command)
    if (known := _PREPROCESSED.get(key)) and all(_state(file) == state for file, state in known[0].items()):
        return known[1]
    recently = time.time_ns() - _RESOLUTION
    text = run(command)
    read = set(_MARKER.findall(text))
    folders = {os.path.dirname(name) or "." for name in read if not name.startswith("<")}
    folders |= {word[2:] for word in command if word.startswith("-I")}
    folders |= {folder or "." for value in variables if value for folder in value.split(os.pathsep)}
    files = {name: _state(name) for name in read | folders}
    made = Preprocessed(text, run([*command, "-dD"]) if _PRAGMA.search(text) else "")
    if all(max(state, default=0) < recently for state in files.values()):  # else a file may change without a trace
        if len(_PREPROCESSED) >= _MOST_PREPROCESSED:
            del _PREPROCESSED[next(iter(_PREPROCESSED))]
        _PREPROCESSED[key] = files, made
    return made


def _state(file: str) -> tuple[int, ...]:
    """Returns inode, size and times (ns) of a file or folder; nothing if there is none, as for `<built-in>`."""
    try:
        found = os.stat(file)
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def expand(compiler: Compiler, source: Preprocessed, operands: Sequence[Operand]) -> dict[Operand, str]:
    """Returns operands of pragmas with macros expanded. Raises InputError."""
    names = [each for each in operands if each.pragma >= 0 and re.search(r"[A-Za-z_]", each.text)]
    if not names:
        return unexpanded(operands)
    _no_macro_is_restored(source.text)
    return unexpanded(operands) | _expanded(compiler, source.defined, names)


def _no_macro_is_restored(text: str) -> None:
    """Raises InputError if a file of the program uses `#pragma pop_macro`, whose effect is invisible after preprocessing."""
    for name in sorted(set(re.findall(r'^# \d+ "([^"<]+)"(?: [12])?$', text, re.MULTILINE))):
        with contextlib.suppress(OSError):
            lines = Path(name).read_text(encoding="utf-8", errors="replace").splitlines()
            for number, line in enumerate(lines, 1):
                if "pop_macro" in line:
                    raise InputError(f"{name}:{number}: pop_macro is not supported if pragmas use macros; use #define")


def _expanded(compiler: Compiler, text: str, operands: Sequence[Operand]) -> dict[Operand, str]:
    """Preprocesses operands with the macro definitions in force at their position, since preprocessors leave pragmas
    unchanged."""
    by_pragma: dict[int, list[Operand]] = {}
    for operand in dict.fromkeys(operands):
        by_pragma.setdefault(operand.pragma, []).append(operand)
    asked: list[Operand] = []
    lines = []
    number = -1
    for line in text.splitlines():
        if re.match(r"\s*#\s*(define|undef)\b", line):
            lines.append(line)
        if re.match(r"\s*#\s*pragma\b", line):
            number += 1
            for operand in by_pragma.get(number, ()):
                lines += [_OPERAND, operand.text]
                asked.append(operand)
    lines.append(_OPERAND)
    output = run([compiler.program, "-E", "-P", "-undef", "-x", "c", "-w", "-"], stdin="\n".join(lines) + "\n")
    parts = [" ".join(part.split()) for part in output.split(_OPERAND)[1:-1]]
    return dict(zip(asked, parts, strict=True))
