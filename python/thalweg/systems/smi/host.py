# SPDX-License-Identifier: Apache-2.0
"""Host descriptions in TOML, which replace a host program: kernels with their ranks and arguments, buffers, and checks of results.

    [[buffer]]
    name = "mem"
    ranks = [1]
    type = "char"
    count = 1

    [[kernel]]
    file = "bandwidth_0.cl"      # relative to this file; default: a source given to the command
    name = "app"
    ranks = [0]
    arguments = { N = 1000, dest_rank = 1 }

    [[kernel]]
    file = "bandwidth_1.cl"
    name = "app"
    ranks = [1]
    arguments = { mem = "mem", N = 1000 }

    [[check]]
    buffer = "mem"
    ranks = [1]
    equals = 1

A number may be an expression of `rank` and `ranks`; in checks also of a rank's buffers: their names are the final
contents, `first_NAME` the initial ones.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from thalweg.errors import CheckFailed, InputError
from thalweg.systems.smi.expressions import evaluate
from thalweg.systems.smi.run import DTYPES, Buffer, Result, Run

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Number = int | float | str

#: elements per vector: three take the space of four (OpenCL C 3.0, 6.3.5)
LANES = {"": 1, "2": 2, "3": 4, "4": 4, "8": 8, "16": 16}


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Ranks(_Table):
    ranks: list[int] | Literal["all"] | None = Field(
        None, description='rank numbers or "all" [default of a kernel: the ranks whose program is its file]'
    )


class BufferTable(Ranks):
    name: str
    type: str = Field("float", description="type of an element: float, int, float4, ...")
    count: Number | None = Field(None, description="elements")
    shape: list[Number] | None = Field(None, min_length=1)
    bank: int = Field(0, ge=0)
    fill: Number | Literal["zeros", "iota"] = Field(
        "zeros", description="initial value; also zeros, iota, or an expression of i"
    )
    random: int | None = Field(
        None, ge=0, description="seed of random values, 0 to 1 or integers 0 to 99; different for each rank"
    )
    file: Path | None = Field(None, description=".npy file; {rank} in its name is replaced by the rank")

    @model_validator(mode="after")
    def _one(self) -> BufferTable:
        if (self.count is None) == (self.shape is None) and self.file is None:
            raise ValueError("give a buffer one of count, shape and file")
        if self.random is not None and self.file is not None:
            raise ValueError("give a buffer either random or file")
        return self


class KernelTable(Ranks):
    name: str
    file: Path | None = None
    arguments: dict[str, Number | bool] = {}
    serves: bool | None = Field(
        None, description="whether the kernel need not end [default: true if its body has an endless loop]"
    )


class CheckTable(Ranks):
    buffer: str
    equals: Number | None = None
    file: Path | None = None
    tolerance: float = Field(0, ge=0, description="tolerance relative to the largest value")

    @model_validator(mode="after")
    def _one(self) -> CheckTable:
        if (self.equals is None) == (self.file is None):
            raise ValueError("give a check either equals or file")
        return self


class HostTable(_Table):
    include: list[Path] = []
    define: list[str] = []
    max_cycles: int | None = Field(
        None, ge=1, description="last cycle in which a kernel that does not serve may end; overridden by --max-cycles"
    )
    buffer: list[BufferTable] = []
    kernel: list[KernelTable] = []
    check: list[CheckTable] = []


@dataclass(frozen=True)
class Host:
    """A host description; file names are relative to `folder`."""

    table: HostTable
    folder: Path
    name: str


@dataclass(frozen=True)
class Check:
    """The result of a check."""

    buffer: str
    rank: int
    right: bool
    what: str


def read(file: Path) -> Host:
    """Reads a host description.

    Raises
    ------
    InputError
        The file cannot be read or is invalid.
    """
    try:
        whole = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file) from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is not TOML: {error}", file) from None
    return of_values(whole, file.parent, str(file))


def of_values(whole: Mapping[str, Any], folder: Path = Path(), name: str = "host description") -> Host:
    """Returns a host description from parsed values. Raises InputError."""
    try:
        return Host(HostTable.model_validate(whole), folder, name)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in first["loc"]).lstrip(".")
        raise InputError(f"{path or 'it'}: {first['msg'][:1].lower()}{first['msg'][1:]}", name) from None


class Prepared:
    """A run prepared from a host description: buffers, kernels and checks.

    Attributes
    ----------
    run : Run
        The run.
    ranks : int
        Number of ranks.
    buffers : dict
        Buffers by name and rank.
    """

    def __init__(self, run: Run, host: Host, sources: Sequence[Path] = ()) -> None:
        self.run, self.host = run, host
        assert run.ranks is not None
        self.ranks: int = run.ranks
        self.sources = [Path(source) for source in sources]
        self.used: set[Path] = set()
        run.includes = [*run.includes, *(host.folder / folder for folder in host.table.include)]
        run.defines = [*run.defines, *host.table.define]
        if run.max_cycles is None:
            run.max_cycles = host.table.max_cycles
        self.buffers: dict[tuple[str, int], Buffer] = {}
        self.first: dict[tuple[str, int], NDArray[Any]] = {}
        for buffer in host.table.buffer:
            self._buffer(buffer)
        for number, kernel in enumerate(host.table.kernel):
            self._kernel(number, kernel)
        if unused := [source for source in self.sources if source not in self.used]:
            raise self._wrong(f"no kernel uses {unused[0]}: name that file in a [[kernel]], or remove it")

    def execute(self) -> tuple[Result, list[Check]]:
        """Executes the run, and returns its result and those of the checks.

        Raises
        ------
        WrongUse, Stuck, CheckFailed
            As `Run.run`.
        """
        result = self.run.run()
        return result, [self._check(check, rank) for check in self.host.table.check for rank in self._ranks(check)]

    def _wrong(self, what: str) -> InputError:
        return InputError(what, self.host.name)

    @contextmanager
    def _at(self, what: str) -> Iterator[None]:
        """Adds a context to errors raised within."""
        try:
            yield
        except InputError as error:
            raise self._wrong(f"{what}: {error.what}") from None
        except (ArithmeticError, MemoryError, TypeError, ValueError) as error:
            raise self._wrong(f"{what}: {error}") from None

    def _names(self, rank: int) -> dict[str, Any]:
        return {"rank": rank, "ranks": self.ranks}

    def _ranks(self, table: Ranks, default: Sequence[int] | None = None) -> Sequence[int]:
        if table.ranks is None and default is not None:
            return default
        if table.ranks is None or table.ranks == "all":
            return range(self.ranks)
        return table.ranks

    def _number(self, value: Number | bool, rank: int) -> Any:
        return evaluate(value, self._names(rank)) if isinstance(value, str) else value

    def _buffer(self, table: BufferTable) -> None:
        scalar = table.type.rstrip("0123456789")
        lanes = LANES.get(table.type[len(scalar) :])
        if scalar not in DTYPES or lanes is None:
            raise self._wrong(f"buffer {table.name}: unknown type {table.type}")
        dtype = DTYPES[scalar]
        for rank in self._ranks(table):
            if (table.name, rank) in self.buffers:
                raise self._wrong(f"rank {rank} has two buffers {table.name}")
            with self._at(f"buffer {table.name} of rank {rank}"):
                array = self._content(table, rank, dtype, lanes)
                self.buffers[table.name, rank] = self.run.buffer(rank, array, table.bank, table.name)
            self.first[table.name, rank] = array

    def _content(self, table: BufferTable, rank: int, dtype: type[np.generic], lanes: int) -> NDArray[Any]:
        if table.file is not None:
            return self._load(table.file, rank).astype(dtype)
        sizes = [table.count] if table.shape is None else table.shape
        shape = [int(self._number(size, rank)) for size in sizes if size is not None]
        if min(shape) < 1:
            raise InputError("it has no elements")
        shape[-1] *= lanes
        count = int(np.prod(shape))
        if table.random is not None:
            random = np.random.default_rng([table.random, rank])
            whole = np.issubdtype(dtype, np.integer)
            made = random.integers(0, 100, count) if whole else random.random(count)
        elif table.fill == "zeros":
            made = np.zeros(count)
        elif table.fill == "iota":
            made = np.arange(count)
        elif isinstance(table.fill, str):
            made = np.broadcast_to(evaluate(table.fill, {**self._names(rank), "i": np.arange(count)}), count)
        else:
            made = np.full(count, table.fill)
        with np.errstate(invalid="raise"):
            return np.asarray(made).astype(dtype).reshape(shape)

    def _load(self, file: Path, rank: int) -> NDArray[Any]:
        path = self.host.folder / str(file).replace("{rank}", str(rank))
        try:
            loaded: NDArray[Any] = np.load(path, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise InputError(f"{path} is not a NumPy array: {error}") from None
        return loaded

    def _kernel(self, number: int, table: KernelTable) -> None:
        if table.file is not None:
            source = self.host.folder / table.file
            source = next((given for given in self.sources if given.name == table.file.name), source)
        elif len(self.sources) == 1:
            source = self.sources[0]
        else:
            having = [given for given in self.sources if table.name in self.run.source(given).kernels]
            if self.sources and not having:
                raise self._wrong(f"kernel[{number}]: no source has a kernel {table.name}")
            if len(having) != 1:
                raise self._wrong(f"kernel[{number}]: several files have a kernel {table.name}; give its file")
            source = having[0]
        self.used.add(source)
        for rank in self._ranks(table, self._ranks_of(source)):
            arguments: dict[str, Any] = {}
            for name, value in table.arguments.items():
                with self._at(f"kernel {table.name} of rank {rank}, argument {name}"):
                    arguments[name] = self._argument(value, rank)
            self.run.kernel(source, table.name, rank, serves=table.serves, **arguments)

    def _argument(self, value: Number | bool, rank: int) -> Any:
        if isinstance(value, str):
            if (value, rank) in self.buffers:
                return self.buffers[value, rank]
            if having := [of for name, of in self.buffers if name == value]:
                raise InputError(f"rank {rank} has no buffer {value}, only {', '.join(map(str, having))}")
        return self._number(value, rank)

    def _ranks_of(self, source: Path) -> Sequence[int]:
        """Returns the ranks whose program, in a topology file, has the source's name; all without a topology file."""
        fpgas = getattr(self.run.cluster, "fpgas", None)
        if fpgas and source.stem in fpgas.programs:
            return [rank for rank, program in enumerate(fpgas.programs[: self.ranks]) if program == source.stem]
        return range(self.ranks)

    def _check(self, table: CheckTable, rank: int) -> Check:
        if (table.buffer, rank) not in self.buffers:
            raise self._wrong(f"check: rank {rank} has no buffer {table.buffer}")
        found = self.buffers[table.buffer, rank].array
        with self._at(f"check of buffer {table.buffer} of rank {rank}"):
            return self._compared(table, rank, found)

    def _compared(self, table: CheckTable, rank: int, found: NDArray[Any]) -> Check:
        if table.file is not None:
            expected = self._load(table.file, rank)
        else:
            assert table.equals is not None
            names = self._names(rank) | {"i": np.arange(found.size).reshape(found.shape)}
            for (name, of), buffer in self.buffers.items():
                if of == rank:
                    names |= {name: buffer.array, f"first_{name}": self.first[name, of]}
            expected = np.asarray(evaluate(table.equals, names) if isinstance(table.equals, str) else table.equals)
        if expected.size not in (1, found.size):
            raise InputError(f"it has {found.size} elements; expected are {expected.size}")
        expected = np.broadcast_to(expected if expected.size == 1 else expected.reshape(found.shape), found.shape)
        allowed = table.tolerance * float(np.max(np.abs(expected), initial=0))
        wrong = ~(np.abs(found.astype(np.float64) - expected.astype(np.float64)) <= allowed)
        if not wrong.any():
            return Check(table.buffer, rank, True, f"{found.size} elements right")
        at = int(np.argmax(wrong.ravel()))
        what = f"{int(wrong.sum())} of {found.size} elements wrong; element {at} is {found.ravel()[at]}, not {expected.ravel()[at]}"
        return Check(table.buffer, rank, False, what)


def failed(checks: Sequence[Check]) -> CheckFailed | None:
    """Returns the error to raise if a check failed."""
    wrong = [check for check in checks if not check.right]
    if not wrong:
        return None
    more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    return CheckFailed(f"buffer {wrong[0].buffer} of rank {wrong[0].rank}: {wrong[0].what}{more}")
