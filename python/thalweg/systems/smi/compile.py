# SPDX-License-Identifier: Apache-2.0
"""Kernels in OpenCL C, C or C++, as libraries for the processor, in simulated time (runtime/smi/device)."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from thalweg.errors import InputError
from thalweg.launch import scratch
from thalweg.resources import resource
from thalweg.systems.smi.frontend import SPACES, TARGET, language_of
from thalweg.systems.smi.loops import as_it_is
from thalweg.systems.smi.pragmas import Operand
from thalweg.systems.smi.rewrite import KernelText, Rewritten, rewrite

_TARGET = ("-target", TARGET)
_OPERAND = "smi__operand"
# Of DWARF 5 by gcc, addr2line has the name of the text that is compiled, not of that which it came from.
_LINES = "-gdwarf-4"  # the kernels', not what is linked to them
_CODE = ("-fPIC", "-O2", "-w", "-ffp-contract=off", "-fexceptions", "-fstack-clash-protection")
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
class Compiled:
    """A library, and what is in it."""

    library: Path
    source: Path
    kernels: dict[str, KernelText]


@dataclass(frozen=True)
class _Compiler:
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
        """What memory is used is told to the runtime, and a division by zero ends the kernel, though a compiler may do as it likes."""
        trap = "-fsanitize-trap=integer-divide-by-zero" if self.clang else "-fsanitize-undefined-trap-on-error"
        return ("-fsanitize=kernel-address,integer-divide-by-zero", trap, *(_OF_CLANG if self.clang else _OF_GCC))


def clang(cplusplus: bool = False) -> str | None:
    """The compiler, or none. The environment variable THALWEG_CLANG names another one."""
    if named := os.environ.get("THALWEG_CLANG"):
        return f"{named}++" if cplusplus else named
    return shutil.which("clang++" if cplusplus else "clang")


def _compiler(source: Path) -> _Compiler:
    language = language_of(source)
    cplusplus = language == "c++"
    if found := clang(cplusplus):
        return _Compiler(found, language)
    if language != "cl" and (found := shutil.which("g++" if cplusplus else "gcc")):
        return _Compiler(found, language)
    raise InputError(f"{source} needs clang, which is not here: apt-get install clang")


def _run(command: Sequence[str | Path], source: Path | None = None, stdin: str = "") -> str:
    done = subprocess.run(list(map(str, command)), input=stdin, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(_first_error(done.stderr, source) or f"{command[0]} fails")
    return done.stdout


def _first_error(said: str, source: Path | None) -> str:
    """With the line of `source` that uses it, where it is in a header's template."""
    lines = said.strip().splitlines()
    if nowhere := re.search(r"(\S+:\d+): undefined reference to [`'](\w+)", said):
        return (
            f"{nowhere[1]}: error: there is no function {nowhere[2]} for kernels, or not with arguments of these types"
        )
    first = next((line for line in lines if "error" in line), lines[0] if lines else "")
    use = re.search(
        rf"^({re.escape(str(source))}:\d+:\d+:) +(?:note: in instantiation|required from)", said, re.MULTILINE
    )
    if use and not first.startswith(f"{source}:"):
        return f"{use[1]} error: {first.partition(' error: ')[2]}"
    return first


def preprocess(source: Path, includes: Sequence[Path] = (), defines: Sequence[str] = ()) -> Rewritten:
    """The source with its macros expanded, and what loops need in it. Raises InputError where it is not there, or wrong."""
    if not source.is_file():
        raise InputError(f"there is no file {source}")
    compiler = _compiler(source)
    command = [
        compiler.program,
        "-E",
        "-x",
        compiler.language,
        *compiler.standard,
        *(("-cl-no-stdinc",) if compiler.language == "cl" else ()),  # what it has comes when it is compiled
        *(_TARGET if compiler.clang else ()),
        "-include",
        str(resource("runtime/smi/include") / "smi.h"),
        f"-I{resource('runtime/smi/include')}",
        *(f"-I{folder}" for folder in includes),
        *(f"-D{define}" for define in defines),
        "-w",
        str(source),
    ]

    def expand(operands: Sequence[Operand]) -> dict[Operand, str]:
        names = [each for each in operands if each.pragma >= 0 and re.search(r"[A-Za-z_]", each.text)]
        if not names:
            return as_it_is(operands)
        _no_macro_is_restored(text)
        return as_it_is(operands) | _expanded(compiler, _run([*command, "-dD"]), names)

    text = _run(command)
    return rewrite(text, compiler.language, expand)


def _no_macro_is_restored(text: str) -> None:
    """A preprocessor does not show what `#pragma pop_macro` defines. Raises InputError where a file of the program has one."""
    for name in sorted(set(re.findall(r'^# \d+ "([^"<]+)"(?: [12])?$', text, re.MULTILINE))):
        with contextlib.suppress(OSError):
            lines = Path(name).read_text(encoding="utf-8", errors="replace").splitlines()
            for number, line in enumerate(lines, 1):
                if "pop_macro" in line:
                    raise InputError(f"{name}:{number}: pop_macro in a program whose pragmas have macros; use #define")


def _expanded(compiler: _Compiler, text: str, operands: Sequence[Operand]) -> dict[Operand, str]:
    """Operands of pragmas, which a preprocessor leaves as they are, with the macros that are defined where they stand: `text` is
    preprocessed, with the definitions in it."""
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
    said = _run([compiler.program, "-E", "-P", "-undef", "-x", "c", "-w", "-"], stdin="\n".join(lines) + "\n")
    parts = [" ".join(part.split()) for part in said.split(_OPERAND)[1:-1]]
    return dict(zip(asked, parts, strict=True))


def compile_kernels(source: Path, folder: Path, includes: Sequence[Path] = (), defines: Sequence[str] = ()) -> Compiled:
    """Makes a library in `folder`. Raises InputError with the compiler's first error."""
    compiler = _compiler(source)
    rewritten = preprocess(source, includes, defines)
    for kernel in rewritten.kernels:
        for argument in kernel.arguments:
            if "pipe" in argument.type.split():
                raise InputError(
                    f"{kernel.file}:{kernel.line}: argument {argument.name} of kernel {kernel.name} is a pipe; kernels of a rank are "
                    "joined by channels: channel int name __attribute__((depth(8)))"
                )
    text = folder / f"{source.stem}.rewritten{source.suffix}"
    text.write_text(rewritten.text)
    device, headers = resource("runtime/smi/device"), resource("runtime/smi/include")
    made = folder / f"{source.stem}.o"
    _run(
        [
            compiler.program,
            "-c",
            "-x",
            compiler.language,
            *compiler.standard,
            *_CODE,
            _LINES,
            *compiler.instrumented,
            *SPACES,
            *_of_language(compiler),
            f"-I{source.parent}",
            f"-I{device}",
            "-o",
            made,
            text,
        ],
        source,
    )
    shim, builtins = (scratch.folder() / f"smi-{name}.o" for name in ("shim", "builtins"))
    if not shim.exists():
        plain = clang() or "gcc"
        _run([plain, "-c", "-std=gnu17", *_CODE, f"-I{headers}", f"-I{device}", "-o", shim, device / "shim.c"])
    objects = [made, shim]
    if compiler.language == "cl":
        if not builtins.exists():
            _run(
                [
                    compiler.program,
                    "-c",
                    "-x",
                    "cl",
                    *compiler.standard,
                    *_CODE,
                    *_of_language(compiler),
                    "-o",
                    builtins,
                    device / "builtins.cl",
                ]
            )
        objects.append(builtins)
    library = folder / f"{source.stem}.so"
    names = ["memcpy", "memmove", "memset", "exit", "_exit", "_Exit", "quick_exit"]
    names += ["__cxa_throw"] if compiler.language == "c++" else []
    wraps = [f"-Wl,--wrap={name}" for name in names]
    own = (
        "-Wl,-Bsymbolic",
        "-Wl,-z,defs",
    )  # a kernel is called read, and is not the C library's; nothing is left undefined
    _run([compiler.program, "-shared", *own, *wraps, "-o", library, *objects, "-lm"])
    return Compiled(library, source, {kernel.name: kernel for kernel in rewritten.kernels})


def _of_language(compiler: _Compiler) -> tuple[str, ...]:
    target = _TARGET if compiler.clang else ()
    if compiler.language == "cl":
        return (*target, "-Xclang", "-finclude-default-header")
    kernel = 'extern "C"' if compiler.language == "c++" else ""
    return (*target, f"-D__kernel={kernel}", "-D__global=", "-D__constant=const", "-D__private=")
