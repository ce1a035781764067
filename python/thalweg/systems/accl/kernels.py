# SPDX-License-Identifier: Apache-2.0
"""HLS kernels for ACCL, compiled for this computer, and the streams between them and their board's engine
(docs/accl-kernels.md)."""

from __future__ import annotations

import importlib.util
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thalweg.errors import InputError
from thalweg.kernels.compiler import CODE, LINES, TARGET_OPTIONS, Compiler, Preprocessed, compiler_of, expand, run
from thalweg.kernels.kept import kept
from thalweg.launch import scratch
from thalweg.resources import resource
from thalweg.systems.accl.hls import Argument, Kernel, Loop, rewrite

#: Packages with the vendor's open headers of arbitrary-precision types, and their folder in it.
_MACRO = re.compile(r"[A-Za-z_]\w*(\([\w, .]*\))?(=.*)?")
_PACKAGES = (("da4ml", "codegen/hls/source/ap_types/include"), ("hls4ml", "templates/vivado/ap_types"))
_WRAPPED = ("memcpy", "memmove", "memset", "exit", "_exit", "_Exit", "quick_exit", "abort", "__cxa_throw")


@dataclass(frozen=True)
class KernelStream:
    """Stream of a rank's kernels, made by `Rank.kernel_port` or `Rank.kernel_stream`. Each end belongs to one kernel.

    Attributes
    ----------
    rank : int
        Rank of the kernels.
    number : int
        Number in the simulator.
    name : str
        Name in messages.
    """

    rank: int
    number: int
    name: str
    _run: object = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Memory:
    """Range of bytes in a rank's board memory or host memory."""

    rank: int
    host: bool
    address: int
    size: int
    elements: str = ""  #: element type, if known


@dataclass(frozen=True)
class KernelPort:
    """Streams of a kernel that calls the engine, arguments of ACCL's `ACCLCommand` and `ACCLData`.

    Attributes
    ----------
    commands, status : KernelStream
        Calls to the engine, and their ends.
    data_in : KernelStream
        Data to the engine.
    data_out : KernelStream
        Data from the engine.
    """

    commands: KernelStream
    status: KernelStream
    data_in: KernelStream  #: to the engine
    data_out: KernelStream  #: from the engine


@dataclass
class Kernels:
    """Compiles the HLS kernels of a C++ source.

    Parameters
    ----------
    source : str or Path
        File `.cpp` with the kernels.
    includes : sequence of str or Path, optional
        Folders of headers. If none has `ap_int.h`, that of an installed package da4ml or hls4ml is used.
    defines : sequence of str, optional
        Macros, `NAME` or `NAME=VALUE`.

    Attributes
    ----------
    names : list of str
        The kernels.
    loops : sequence
        Loops of the source, each with the cycles of an iteration.

    Raises
    ------
    InputError
        A folder does not exist, a macro is invalid, or the source cannot be compiled; the message has the first error.

    Examples
    --------
    >>> from thalweg.accl import Kernels
    >>> Kernels("no-such-file.cpp")
    Traceback (most recent call last):
    thalweg.errors.InputError: no-such-file.cpp does not exist
    """

    source: str | Path
    includes: Sequence[str | Path] = ()
    defines: Sequence[str] = ()
    library: Path = field(init=False)
    _kernels: dict[str, Kernel] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        source = Path(self.source)
        if not source.is_file():
            raise InputError(f"{source} {'is not a file of source code' if source.exists() else 'does not exist'}")
        if missing := next((each for each in self.includes if not Path(each).is_dir()), None):
            raise InputError(f"{missing} is not a folder of headers")
        if wrong := next((each for each in self.defines if not _MACRO.fullmatch(each)), None):
            raise InputError(f"{wrong!r} is not a macro; must be NAME or NAME=VALUE")
        folder = Path(tempfile.mkdtemp(dir=scratch.folder()))
        self.library = folder / f"{source.stem}.so"
        kernels, loops = _compiled(source, self.library, [Path(each) for each in self.includes], self.defines)
        self._kernels = {kernel.name: kernel for kernel in kernels}
        self.loops = loops  #: of the user's files, with the cycles of an iteration

    @property
    def names(self) -> list[str]:
        """Names of the kernels."""
        return list(self._kernels)

    def __getitem__(self, name: str) -> Kernel:
        """Returns a kernel. Raises InputError if there is none of that name."""
        if name not in self._kernels:
            raise InputError(
                f"{self.source} has no kernel {name}; its kernels are {', '.join(self._kernels) or 'none'}"
            )
        return self._kernels[name]


def _ap_types(includes: Sequence[Path]) -> Sequence[Path]:
    """Returns the folder of `ap_int.h`. Raises InputError if it is not found."""
    if found := [folder for folder in includes if (folder / "ap_int.h").is_file()]:
        return found
    for package, inside in _PACKAGES:
        spec = importlib.util.find_spec(package)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            if (Path(place) / inside / "ap_int.h").is_file():
                return [Path(place) / inside]
    raise InputError("kernels need ap_int.h: install da4ml, or add its folder to the includes")


_Described = tuple[tuple[Kernel, ...], tuple[Loop, ...]]


def _compiled(source: Path, library: Path, includes: Sequence[Path], defines: Sequence[str]) -> _Described:
    compiler = compiler_of(source)
    if compiler.language != "c++":
        raise InputError(f"{source}: the source of HLS kernels must be a .cpp file")
    own, types = resource("runtime/accl/include"), _ap_types(includes)
    target = TARGET_OPTIONS if compiler.clang else ()
    command = [compiler.program, "-E", "-x", "c++", *compiler.standard, *target, "-w"]
    command += [word for each in (own, *types) for word in ("-isystem", str(each))]
    command += [f"-I{each}" for each in includes if each not in types]
    command += ["-include", "thalweg_hls.hpp", *(f"-D{each}" for each in defines), str(source)]
    return kept(library, command, compiler, "accl", lambda given: _build(source, given, library, compiler))


def _build(source: Path, given: Preprocessed, library: Path, compiler: Compiler) -> _Described:
    rewritten = rewrite(given.text, lambda operands: expand(compiler, given, operands))
    own, device, shared = (resource(f"runtime/{of}") for of in ("accl/include", "accl/device", "kernels/device"))
    target = TARGET_OPTIONS if compiler.clang else ()
    written, made = library.with_suffix(".rewritten.cpp"), library.with_suffix(".o")
    written.write_text(rewritten.text)
    shim = scratch.folder() / "hls-shim.o"
    plain = [compiler.program, "-c", "-x", "c++", *compiler.standard, *CODE, *target]
    headers = [f"-I{own}", f"-I{shared}"]
    run([*plain, LINES, *compiler.instrumented, f"-I{source.parent}", *headers, "-o", made, written], source)
    if not shim.exists():
        beside = shim.with_suffix(f".{os.getpid()}.o")
        run([*plain, *headers, "-o", beside, device / "shim.cpp"])
        beside.rename(shim)
    wraps = [f"-Wl,--wrap={name}" for name in _WRAPPED]
    run([compiler.program, "-shared", "-Wl,-Bsymbolic", "-Wl,-z,defs", *wraps, "-o", library, made, shim, "-lm"])
    return rewritten.kernels, rewritten.loops


def packed(kernels: Kernels, name: str, rank: int, given: Mapping[str, Any]) -> tuple[Kernel, list[tuple[Any, ...]]]:
    """Checks a kernel's arguments (numbers, KernelStream, Memory) and converts them for the simulator. Raises InputError."""
    kernel = kernels[name]
    known = [argument.name for argument in kernel.arguments]
    for each in given:
        if each not in known:
            raise InputError(f"kernel {name} has no argument {each}; its arguments are {', '.join(known) or 'none'}")
    values = []
    for argument in kernel.arguments:
        if argument.name not in given:
            raise InputError(f"kernel {name}: argument {argument.name}, {argument.type}, is missing")
        values.append(_value(f"kernel {name}: argument {argument.name}", argument, given[argument.name], rank))
    return kernel, values


def _value(where: str, argument: Argument, value: Any, rank: int) -> tuple[Any, ...]:
    if argument.kind == "stream":
        if not isinstance(value, KernelStream):
            raise InputError(f"{where} must be a stream, such as those of kernel_port()")
        if value.rank != rank:
            raise InputError(
                f"{where}: stream {value.name} belongs to rank {value.rank}, but the kernel runs on rank {rank}"
            )
        return "stream", value.number
    if argument.kind == "memory":
        if not isinstance(value, Memory):
            raise InputError(f"{where} must be a buffer")
        if value.rank != rank:
            raise InputError(f"{where}: the buffer belongs to rank {value.rank}, but the kernel runs on rank {rank}")
        if argument.elements and value.elements and argument.elements != value.elements:
            raise InputError(
                f"{where}, {argument.type}, is a buffer of {value.elements}; must be of {argument.elements}"
            )
        return "memory", value.host, value.address, value.size, argument.port
    return number_value(where, argument, value)


def number_value(where: str, argument: Argument, value: Any) -> tuple[Any, ...]:
    """Converts a number for the simulator. Raises InputError if the argument's type cannot represent it."""
    assert argument.range
    if wanted := argument.range.wrong(value):
        what = "a buffer" if isinstance(value, Memory) else repr(value)
        raise InputError(f"{where}, {argument.type}, is {what}; {wanted}")
    if argument.range.floating or not float(value).is_integer():
        return "real", float(value)
    return "integer", int(value) - (2**64 if int(value) >= 2**63 else 0)
