# SPDX-License-Identifier: Apache-2.0
"""HLS kernels of host programs: `thalweg accl run --kernels` compiles them and connects their streams to the ranks'
engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from thalweg.errors import InputError
from thalweg.systems.accl.engine import Simulated
from thalweg.systems.accl.hls import Kernel
from thalweg.systems.accl.hosts import KernelArgument
from thalweg.systems.accl.kernels import Kernels, KernelStream, Memory, number_value, packed
from thalweg.systems.accl.rank import Rank
from thalweg.systems.accl.values import MAX_STREAMS, UNITS

_DEPTH = 64  # capacity of a data stream in words
_BETWEEN = 2  # capacity of a stream between kernels in words
_PATIENCE_S = 60.0
_STREAMS = {"commands": "commands", "status": "status", "data_in": "to engine", "data_out": "from engine"}
_FIRST = 0x8  # exchange memory: receive buffers from here on, then communicators and arithmetic configurations
_BUFFER_BYTES, _MEMBER_BYTES = 28, 24
_CONFIGURATIONS_END = 0x1FC4


@dataclass(frozen=True)
class KernelOption:
    """A kernel given on the command line as `FILE.cpp:NAME[@RANK][:ARGUMENT=VALUE,...]`."""

    file: str
    name: str
    rank: int | None  #: None: all ranks
    given: Mapping[str, str]

    @staticmethod
    def parse(text: str) -> KernelOption:
        """Parses the option's value. Raises InputError."""
        file, _, rest = text.partition(":")
        named, _, arguments = rest.partition(":")
        name, at, rank = named.partition("@")
        if not name or (at and not rank.isdigit()):
            raise InputError(f"--kernels {text}: must be FILE.cpp:NAME[@RANK][:ARGUMENT=VALUE,...]")
        pairs = [each.partition("=") for each in arguments.split(",")] if arguments else []
        for argument, equals, value in pairs:
            if not argument or not equals or not value:
                raise InputError(f"--kernels {text}: {argument or '='} has no value; must be ARGUMENT=VALUE,...")
        names = [argument for argument, _, _ in pairs]
        if twice := next((each for each in names if names.count(each) > 1), None):
            raise InputError(f"--kernels {text}: {twice} is given twice")
        return KernelOption(file, name, int(rank) if at else None, {argument: value for argument, _, value in pairs})


class AttachedKernels:
    """The kernels of all ranks.

    A kernel with all its arguments on the command line starts once the engines of all ranks are enabled; programs start
    the others. Raises InputError.
    """

    def __init__(
        self,
        engine: Simulated,
        chosen: Sequence[KernelOption],
        includes: Sequence[Path] = (),
        defines: Sequence[str] = (),
    ) -> None:
        self._engine = engine
        self._compiled = {file: Kernels(file, includes, defines) for file in {each.file for each in chosen}}
        self._chosen: dict[tuple[int, str], KernelOption] = {}
        self._streams: dict[tuple[int, str], KernelStream] = {}
        self._begun = False
        for each in chosen:
            if each.rank is not None and each.rank >= engine.ranks:
                raise InputError(f"--kernels {each.name}@{each.rank}: the rank must be below {engine.ranks}")
            for rank in range(engine.ranks) if each.rank is None else [each.rank]:
                if (rank, each.name) in self._chosen:
                    raise InputError(f"--kernels {each.name}: given twice for rank {rank}")
                self._chosen[rank, each.name] = each
                self._join(rank, each)

    def _kernel(self, chosen: KernelOption) -> Kernel:
        return self._compiled[chosen.file][chosen.name]

    def _join(self, rank: int, chosen: KernelOption) -> None:
        """Makes the streams, as data may come before the kernel starts, and checks the arguments."""
        arguments = {argument.name: argument for argument in self._kernel(chosen).arguments}
        kinds = {name: argument.kind for name, argument in arguments.items()}
        for name, value in chosen.given.items():
            if name not in kinds:
                raise InputError(
                    f"kernel {chosen.name} has no argument {name}; its arguments are {', '.join(kinds) or 'none'}"
                )
            if kinds[name] == "stream":
                self._streams[rank, value] = self._stream(rank, chosen.name, value)
            elif kinds[name] == "memory":
                raise InputError(f"kernel {chosen.name}: argument {name} is a pointer, which only the program can give")
            elif (number := _number(value)) is not None:
                number_value(f"kernel {chosen.name}: argument {name}", arguments[name], number)
            elif not _is_word(value):
                raise InputError(
                    f"kernel {chosen.name}: {name} is {value}; must be a number, rank, ranks, communicator, or arithmetic.TYPE"
                )
        for name, kind in kinds.items():
            if kind == "stream" and name not in chosen.given:
                raise InputError(f"kernel {chosen.name}: stream {name} is missing; {_WANTED}")

    def _stream(self, rank: int, kernel: str, value: str) -> KernelStream:
        if (rank, value) in self._streams:
            return self._streams[rank, value]
        name, _, suffix = value.partition(".")
        number = int(suffix or "0") if (suffix or "0").isdigit() else MAX_STREAMS
        between = name == "stream" and bool(suffix)
        if not between and (name not in _STREAMS or number >= MAX_STREAMS or (name == "data_in" and suffix)):
            raise InputError(f"kernel {kernel}: {value} is not a stream; {_WANTED}")
        what = "between" if between else _STREAMS[name]
        depth = _BETWEEN if between else _DEPTH
        made = self._engine.network.kernel_stream(rank, what, number, depth, suffix if between else value)
        return KernelStream(rank, made, value)

    def missing(self) -> str | None:
        """Returns a line on a kernel that only a program can start; None if there is none."""
        for each in self._chosen.values():
            for argument in self._open(each):
                return f"kernel {each.name}: argument {argument} is missing"
        return None

    def _open(self, chosen: KernelOption) -> list[str]:
        """Lists the arguments that the program gives, in order."""
        return [each.name for each in self._kernel(chosen).arguments if each.name not in chosen.given]

    def begin(self, ranks: Sequence[Rank]) -> None:
        """Starts the kernels that need no program, once the engines of all ranks are enabled. Raises InputError."""
        if self._begun or not all(rank.calls.enabled for rank in ranks):
            return
        self._begun = True
        for (rank, name), each in self._chosen.items():
            if not self._open(each):
                handle = self._start(rank, each, {})
                ranks[rank].calls.add(self, f"kernel {name}", handle, ends=not self._kernel(each).restarts)

    def start(self, rank: int, name: str, given: Sequence[KernelArgument]) -> int:
        """Starts a kernel for a program, which gives the arguments that are not on the command line.

        Returns the kernel's handle. Raises InputError.
        """
        if (rank, name) not in self._chosen:
            known = ", ".join(one for of, one in self._chosen if of == rank)
            raise InputError(f"rank {rank} has no kernel {name}; its kernels are {known or 'none'}")
        chosen = self._chosen[rank, name]
        if not (wanted := self._open(chosen)):
            raise InputError(f"kernel {name}: --kernels gives all its arguments, so it starts by itself")
        if self._kernel(chosen).restarts:
            raise InputError(f"kernel {name} restarts at its end, so --kernels must give all its arguments")
        if len(given) != len(wanted):
            raise InputError(f"kernel {name}: {len(given)} arguments; must be {len(wanted)}: {', '.join(wanted)}")
        values: dict[str, Any] = {}
        for argument, value in zip(wanted, given, strict=True):
            values[argument] = (
                value.value
                if value.size is None
                else Memory(rank, value.host, int(value.value), value.size, value.elements)
            )
        return self._start(rank, chosen, values)

    def _start(self, rank: int, chosen: KernelOption, values: dict[str, Any]) -> int:
        compiled = self._compiled[chosen.file]
        for argument in self._kernel(chosen).arguments:
            if (text := chosen.given.get(argument.name)) is not None:
                stream = argument.kind == "stream"
                values[argument.name] = self._streams[rank, text] if stream else self._word(rank, text)
        kernel, arguments = packed(compiled, chosen.name, rank, values)
        return self._engine.start_kernel(
            rank,
            library=str(compiled.library),
            kernel=chosen.name,
            arguments=arguments,
            serves=kernel.restarts,
            limit=None,
            patience=_PATIENCE_S,
        )

    def _word(self, rank: int, text: str) -> int | float:
        if (number := _number(text)) is not None:
            return number
        if text in ("rank", "ranks"):
            return rank if text == "rank" else self._engine.ranks

        def read(address: int) -> int:
            return self._engine.read(rank, address) or 0

        communicator = _FIRST + _BUFFER_BYTES * read(0)
        if text == "communicator":
            return communicator
        wanted = text.removeprefix("arithmetic.")
        bytes_, first = np.dtype(wanted).itemsize, UNITS[wanted][0]
        address = communicator + 8 + _MEMBER_BYTES * read(communicator)
        while address < _CONFIGURATIONS_END and (functions := read(address + 20)):
            if (read(address), read(address + 4), read(address + 28)) == (bytes_, bytes_, first):
                return address
            address += 28 + 4 * functions
        raise InputError(f"rank {rank} has no arithmetic for {wanted}")


_WANTED = "must be commands, status, data_in, data_out.NUMBER, or stream.NAME between two kernels"


def _is_word(text: str) -> bool:
    return text in ("rank", "ranks", "communicator") or (
        text.startswith("arithmetic.") and text.removeprefix("arithmetic.") in UNITS
    )


def _number(text: str) -> int | float | None:
    for kind in (lambda: int(text, 0), lambda: float(text)):
        try:
            return kind()
        except ValueError:
            continue
    return None
