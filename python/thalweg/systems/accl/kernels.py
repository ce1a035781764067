# SPDX-License-Identifier: Apache-2.0
"""HLS kernels for ACCL, compiled for this computer, and the streams that join them to their board's engine (docs/accl-kernels.md)."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thalweg.errors import InputError
from thalweg.kernels.compiler import CODE, LINES, TARGET_OPTIONS, compiler_of, expand, run
from thalweg.launch import scratch
from thalweg.resources import resource
from thalweg.systems.accl.hls import Argument, Kernel, Rewritten, rewrite

#: Packages that have the vendor's open headers of arbitrary-precision types, and where.
_PACKAGES = (("da4ml", "codegen/hls/source/ap_types/include"), ("hls4ml", "templates/vivado/ap_types"))
_WRAPPED = ("memcpy", "memmove", "memset", "exit", "_exit", "_Exit", "quick_exit", "abort", "__cxa_throw")


@dataclass(frozen=True)
class KernelStream:
    """A stream of a rank's kernels. Each end is one kernel's."""

    rank: int
    number: int
    name: str


@dataclass(frozen=True)
class Memory:
    """Bytes of the board's or the host's memory of a rank."""

    rank: int
    host: bool
    address: int
    size: int
    elements: str = ""  #: their type, where it is known


@dataclass(frozen=True)
class KernelPort:
    """The streams of a kernel that calls the engine, as ACCL's `ACCLCommand` and `ACCLData` take them."""

    commands: KernelStream
    status: KernelStream
    data_in: KernelStream  #: to the engine
    data_out: KernelStream  #: from it


@dataclass
class Kernels:
    """The kernels of a source in C++, compiled. `includes`: folders of headers; those of `ap_int.h` are found in an installed package da4ml or
    hls4ml where none of the folders has them. Raises InputError with the first error."""

    source: str | Path
    includes: Sequence[str | Path] = ()
    defines: Sequence[str] = ()
    library: Path = field(init=False)
    _kernels: dict[str, Kernel] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        source = Path(self.source)
        if not source.is_file():
            raise InputError(f"there is no file {source}")
        folder = Path(tempfile.mkdtemp(dir=scratch.folder()))
        self.library, rewritten = _compiled(source, folder, [Path(each) for each in self.includes], self.defines)
        self._kernels = {kernel.name: kernel for kernel in rewritten.kernels}
        self.loops = rewritten.loops  #: of the user's files, with what their iterations take

    @property
    def names(self) -> list[str]:
        return list(self._kernels)

    def __getitem__(self, name: str) -> Kernel:
        """Raises InputError where there is no kernel of that name."""
        if name not in self._kernels:
            raise InputError(f"{self.source} has no kernel {name}; it has {', '.join(self._kernels) or 'none'}")
        return self._kernels[name]


def _ap_types(includes: Sequence[Path]) -> Sequence[Path]:
    """The folder of `ap_int.h`. Raises InputError where it is nowhere."""
    if found := [folder for folder in includes if (folder / "ap_int.h").is_file()]:
        return found
    for package, inside in _PACKAGES:
        spec = importlib.util.find_spec(package)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            if (Path(place) / inside / "ap_int.h").is_file():
                return [Path(place) / inside]
    raise InputError("kernels need ap_int.h: pip install da4ml, or name its folder among the includes")


def _compiled(source: Path, folder: Path, includes: Sequence[Path], defines: Sequence[str]) -> tuple[Path, Rewritten]:
    compiler = compiler_of(source)
    if compiler.language != "c++":
        raise InputError(f"{source}: HLS kernels are in C++, in a file .cpp")
    own, device, shared = (resource(f"runtime/{of}") for of in ("accl/include", "accl/device", "kernels/device"))
    types = _ap_types(includes)
    target = TARGET_OPTIONS if compiler.clang else ()
    command = [compiler.program, "-E", "-x", "c++", *compiler.standard, *target, "-w"]
    command += [word for each in (own, *types) for word in ("-isystem", str(each))]
    command += [f"-I{each}" for each in includes if each not in types]
    command += ["-include", "thalweg_hls.hpp", *(f"-D{each}" for each in defines), str(source)]
    text = run(command)
    rewritten = rewrite(text, lambda operands: expand(compiler, command, text, operands))
    written = folder / f"{source.stem}.rewritten.cpp"
    written.write_text(rewritten.text)
    made, shim, library = folder / f"{source.stem}.o", scratch.folder() / "hls-shim.o", folder / f"{source.stem}.so"
    plain = [compiler.program, "-c", "-x", "c++", *compiler.standard, *CODE, *target]
    headers = [f"-I{own}", f"-I{shared}"]
    run([*plain, LINES, *compiler.instrumented, f"-I{source.parent}", *headers, "-o", made, written], source)
    if not shim.exists():
        beside = shim.with_suffix(f".{os.getpid()}.o")
        run([*plain, *headers, "-o", beside, device / "shim.cpp"])
        beside.rename(shim)
    wraps = [f"-Wl,--wrap={name}" for name in _WRAPPED]
    run([compiler.program, "-shared", "-Wl,-Bsymbolic", "-Wl,-z,defs", *wraps, "-o", library, made, shim, "-lm"])
    return library, rewritten


def packed(kernels: Kernels, name: str, rank: int, given: Mapping[str, Any]) -> tuple[Kernel, list[tuple[Any, ...]]]:
    """A kernel's arguments, which are numbers, KernelStream and Memory, as the simulator takes them. Raises InputError."""
    kernel = kernels[name]
    known = [argument.name for argument in kernel.arguments]
    for each in given:
        if each not in known:
            raise InputError(f"kernel {name} has no argument {each}; it has {', '.join(known) or 'none'}")
    values = []
    for argument in kernel.arguments:
        if argument.name not in given:
            raise InputError(f"kernel {name}: argument {argument.name}, {argument.type}, is not given")
        values.append(_value(f"kernel {name}: argument {argument.name}", argument, given[argument.name], rank))
    return kernel, values


def _value(where: str, argument: Argument, value: Any, rank: int) -> tuple[Any, ...]:
    if argument.kind == "stream":
        if not isinstance(value, KernelStream):
            raise InputError(f"{where} is a stream, such as those of kernel_port()")
        if value.rank != rank:
            raise InputError(
                f"{where}: {value.name} is a stream of rank {value.rank}, and the kernel runs on rank {rank}"
            )
        return "stream", value.number
    if argument.kind == "memory":
        if not isinstance(value, Memory):
            raise InputError(f"{where} is memory: give a buffer")
        if value.rank != rank:
            raise InputError(f"{where}: a buffer of rank {value.rank}, and the kernel runs on rank {rank}")
        if argument.elements and value.elements and argument.elements != value.elements:
            raise InputError(
                f"{where}, {argument.type}, is a buffer of {value.elements}; wanted is {argument.elements}"
            )
        return "memory", value.host, value.address, value.size, argument.port
    return number_value(where, argument, value)


def number_value(where: str, argument: Argument, value: Any) -> tuple[Any, ...]:
    """A number as the simulator takes it. Raises InputError where the argument's type does not hold it."""
    assert argument.range
    if wanted := argument.range.wrong(value):
        what = "a buffer" if isinstance(value, Memory) else repr(value)
        raise InputError(f"{where}, {argument.type}, is {what}; {wanted}")
    if argument.range.floating or not float(value).is_integer():
        return "real", float(value)
    return "integer", int(value) - (2**64 if int(value) >= 2**63 else 0)
