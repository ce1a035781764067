# SPDX-License-Identifier: Apache-2.0
"""Compilation of kernels in OpenCL C, C or C++ to libraries for simulated time (runtime/smi/device)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from thalweg.errors import InputError
from thalweg.kernels.compiler import (
    CODE,
    LINES,
    TARGET_OPTIONS,
    Compiler,
    Preprocessed,
    clang,
    compiler_of,
    expand,
    run,
)
from thalweg.kernels.frontend import SPACES
from thalweg.kernels.kept import kept
from thalweg.launch import scratch
from thalweg.resources import resource
from thalweg.systems.smi.rewrite import KernelText, rewrite


@dataclass(frozen=True)
class Compiled:
    """A library, and its kernels."""

    library: Path
    source: Path
    kernels: dict[str, KernelText]


def _preprocessor(compiler: Compiler, source: Path, includes: Sequence[Path], defines: Sequence[str]) -> list[str]:
    return [
        compiler.program,
        "-E",
        "-x",
        compiler.language,
        *compiler.standard,
        *(("-cl-no-stdinc",) if compiler.language == "cl" else ()),  # its built-in functions come at compilation
        *(TARGET_OPTIONS if compiler.clang else ()),
        "-include",
        str(resource("runtime/smi/include") / "smi.h"),
        f"-I{resource('runtime/smi/include')}",
        *(f"-I{folder}" for folder in includes),
        *(f"-D{define}" for define in defines),
        "-w",
        str(source),
    ]


def compile_kernels(source: Path, folder: Path, includes: Sequence[Path] = (), defines: Sequence[str] = ()) -> Compiled:
    """Writes a library in `folder`. Raises InputError with the compiler's first error."""
    if not source.is_file():
        raise InputError(f"there is no file {source}")
    compiler, library = compiler_of(source), folder / f"{source.stem}.so"
    command = _preprocessor(compiler, source, includes, defines)
    kernels = kept(library, command, compiler, "smi", lambda given: _build(source, given, library, compiler))
    return Compiled(library, source, {kernel.name: kernel for kernel in kernels})


def _build(source: Path, given: Preprocessed, library: Path, compiler: Compiler) -> tuple[KernelText, ...]:
    rewritten = rewrite(given.text, compiler.language, lambda operands: expand(compiler, given, operands))
    for kernel in rewritten.kernels:
        for argument in kernel.arguments:
            if "pipe" in argument.type.split():
                raise InputError(
                    f"{kernel.file}:{kernel.line}: argument {argument.name} of kernel {kernel.name} is a pipe; use channels between kernels: "
                    "channel int name __attribute__((depth(8)))"
                )
    text, made = library.with_suffix(f".rewritten{source.suffix}"), library.with_suffix(".o")
    text.write_text(rewritten.text)
    device, headers = resource("runtime/smi/device"), resource("runtime/smi/include")
    shared = resource("runtime/kernels/device")
    run(
        [
            compiler.program,
            "-c",
            "-x",
            compiler.language,
            *compiler.standard,
            *CODE,
            LINES,
            *compiler.instrumented,
            *SPACES,
            *_of_language(compiler),
            f"-I{source.parent}",
            f"-I{device}",
            f"-I{shared}",
            "-o",
            made,
            text,
        ],
        source,
    )
    shim, builtins = (scratch.folder() / f"smi-{name}.o" for name in ("shim", "builtins"))
    if not shim.exists():
        plain = clang() or "gcc"
        run(
            [
                plain,
                "-c",
                "-std=gnu17",
                *CODE,
                f"-I{headers}",
                f"-I{device}",
                f"-I{shared}",
                "-o",
                shim,
                device / "shim.c",
            ]
        )
    objects = [made, shim]
    if compiler.language == "cl":
        if not builtins.exists():
            run(
                [
                    compiler.program,
                    "-c",
                    "-x",
                    "cl",
                    *compiler.standard,
                    *CODE,
                    *_of_language(compiler),
                    "-o",
                    builtins,
                    device / "builtins.cl",
                ]
            )
        objects.append(builtins)
    names = ["memcpy", "memmove", "memset", "exit", "_exit", "_Exit", "quick_exit"]
    names += ["__cxa_throw"] if compiler.language == "c++" else []
    wraps = [f"-Wl,--wrap={name}" for name in names]
    own = (
        "-Wl,-Bsymbolic",
        "-Wl,-z,defs",
    )  # a kernel named read must not become the C library's; no undefined symbols
    run([compiler.program, "-shared", *own, *wraps, "-o", library, *objects, "-lm"])
    return rewritten.kernels


def _of_language(compiler: Compiler) -> tuple[str, ...]:
    target = TARGET_OPTIONS if compiler.clang else ()
    if compiler.language == "cl":
        return (*target, "-Xclang", "-finclude-default-header")
    kernel = 'extern "C"' if compiler.language == "c++" else ""
    return (*target, f"-D__kernel={kernel}", "-D__global=", "-D__constant=const", "-D__private=")
