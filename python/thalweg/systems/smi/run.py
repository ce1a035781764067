# SPDX-License-Identifier: Apache-2.0
"""SMI programs: kernels on the ranks of a cluster, in simulated time.

    run = Run("smi-noctua", ranks=2)
    numbers = run.buffer(1, np.zeros(1, np.int8))
    run.kernel("send.cl", "app", 0, N=1000, dest_rank=1)
    run.kernel("receive.cl", "app", 1, mem=numbers, N=1000)
    result = run.run()
    print(result.time_us, numbers.array)

Host accesses to buffers take no simulated time.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thalweg.bench.operation import ENGINES, one_of
from thalweg.cluster import of_system
from thalweg.errors import Blocked, CheckFailed, FabricStopped, InputError
from thalweg.launch import scratch
from thalweg.lost import counted
from thalweg.systems.smi import _sim, metadata, routes, rtl_engine, timelines
from thalweg.systems.smi.apart import run_apart
from thalweg.systems.smi.cluster import PROTOCOLS, Cluster
from thalweg.systems.smi.compile import Compiled, compile_kernels
from thalweg.systems.smi.extract import extract
from thalweg.systems.smi.rewrite import Argument, KernelText
from thalweg.systems.smi.timelines import Raw
from thalweg.trace import Recorded

if TYPE_CHECKING:
    from thalweg.systems.mpi_fpga.cluster import Cluster as Switches

#: OpenCL's scalars
DTYPES: dict[str, type[np.generic]] = {
    "bool": np.bool_,
    "char": np.int8,
    "uchar": np.uint8,
    "unsigned char": np.uint8,
    "short": np.int16,
    "ushort": np.uint16,
    "unsigned short": np.uint16,
    "int": np.int32,
    "uint": np.uint32,
    "unsigned": np.uint32,
    "unsigned int": np.uint32,
    "long": np.int64,
    "ulong": np.uint64,
    "unsigned long": np.uint64,
    "size_t": np.uint64,
    "float": np.float32,
    "double": np.float64,
}
COMMUNICATOR = "SMI_Comm"


class WrongUse(CheckFailed):
    """A kernel used a channel, a port or memory incorrectly; the message starts with its source line."""


class Stuck(FabricStopped):
    """A deadlock; `lines` list who waits for whom, and a wait-for cycle."""

    def __init__(self, text: str, blocked: Sequence[Blocked] = ()) -> None:
        super().__init__(text, blocked)
        self.lines = text.splitlines()
        self.raw: Raw | None = None  #: recorded data until then


class Buffer:
    """Memory in a bank of a rank, created by `Run.buffer`.

    Attributes
    ----------
    rank, bank : int
        Location.
    name : str
        Name in messages.
    array : ndarray
        Contents: before the run the initial ones, afterwards the final ones.
    """

    def __init__(self, rank: int, name: str, bank: int, array: NDArray[Any]) -> None:
        self.rank, self.name, self.bank = rank, name, bank
        self.array = array  #: before the run the initial contents, afterwards the memory itself
        self.number = -1


@dataclass(frozen=True)
class KernelEnd:
    """The end of a kernel."""

    rank: int
    name: str
    cycle: int | None  #: cycle in which it ended; None for a serving kernel that did not end
    serves: bool


@dataclass(frozen=True)
class Result:
    """Result of `Run.run`.

    Attributes
    ----------
    kernels : list of KernelEnd
        Each kernel with its rank and the cycle in which it ended.
    warnings : list of str
        Such as data that no kernel has popped.
    elements : int
        Elements pushed and popped by kernels.
    hertz : float
        Clock of the ranks in Hz.
    """

    kernels: list[KernelEnd]
    warnings: list[str]  #: e.g. data that no kernel has popped
    elements: int  #: number of elements pushed and popped by kernels
    hertz: float

    @property
    def cycles(self) -> int:
        """Cycles until the last kernel ended."""
        return max((kernel.cycle for kernel in self.kernels if kernel.cycle is not None), default=0)

    @property
    def time_us(self) -> float:
        """Time in us until the last kernel ended."""
        return self.cycles / self.hertz * 1e6

    def cycle(self, rank: int, kernel: str) -> int:
        """Returns the cycle in which a kernel ended. Raises InputError if it is unknown or has not ended."""
        for each in self.kernels:
            if (each.rank, each.name) == (rank, kernel) and each.cycle is not None:
                return each.cycle
        raise InputError(f"no kernel {kernel} of rank {rank} has ended")


def _packed(value: Any, dtype: type[np.generic]) -> bytes:
    """Returns the bytes of a kernel argument. Raises TypeError, ValueError or OverflowError."""
    number = np.array(value)
    if number.ndim:
        raise TypeError("it is not a number")
    if dtype is np.bool_ and number not in (0, 1):
        raise OverflowError("that is 0 or 1")
    if np.issubdtype(dtype, np.integer) and number.dtype.kind in "iuO":
        limits = np.iinfo(np.dtype(dtype).name)
        if not limits.min <= int(number) <= limits.max:
            raise OverflowError(f"that is from {limits.min} to {limits.max}")
    with np.errstate(over="ignore"):
        made = number.astype(dtype, casting="same_kind" if number.dtype.kind == "f" else "unsafe")
    if made.dtype.kind == "f" and np.isinf(made) and not (number.dtype.kind == "f" and np.isinf(number)):
        raise OverflowError(f"that is from {-np.finfo(made.dtype).max} to {np.finfo(made.dtype).max}")
    return made.tobytes()


def _is_of(dtype: np.dtype[Any], target: str) -> bool:
    """Returns whether a kernel's pointer to a target type reads an array's elements as they are. Bytes (uint8),
    structures, and target types other than OpenCL's scalars and vectors are not compared."""
    expected = DTYPES.get(target) or DTYPES.get(target.rstrip("0123456789"))
    if expected is None or dtype == np.uint8 or dtype.kind == "V":
        return True
    size = dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize
    return size == np.dtype(expected).itemsize and (dtype.kind in "fc") == (np.dtype(expected).kind == "f")


@dataclass
class _Start:
    rank: int
    source: Compiled
    kernel: KernelText
    arguments: list[Any]
    serves: bool


@dataclass
class Run:
    """A run of kernels on a cluster.

    Parameters
    ----------
    cluster : Cluster, str or Path
        An SMI cluster, or an argument of `thalweg.load`.
    ranks : int, optional
        Number of participating ranks, the first ones. Default: all.
    program : optional
        Metadata of the ranks' operations (thalweg.systems.smi.metadata), including R and credits. Default:
        operations are extracted from the sources.
    engine : str
        "sim" for the simulator's ranks, "rtl" for Verilated ranks in lockstep with them.
    protocol : str, optional
        Protocol of point-to-point channels, one of PROTOCOLS (docs/smi-programs.md). Default: the program's or the
        cluster's.
    in_switch : Cluster, str or Path, optional
        MPI-FPGA cluster whose switches execute collectives, rank r at node r.
    patience : int
        Seconds of processor time without access to channels or memory, after which a run is ended as an endless
        loop; 0 means never.
    max_cycles : int, optional
        Last cycle in which a kernel that does not serve may end.
    record : bool
        Record a timeline in `recorded`, also of a run that deadlocks.

    Raises
    ------
    InputError
        An argument is invalid.
    """

    cluster: Cluster | str | Path
    ranks: int | None = None
    program: metadata.Program | None = None
    includes: Sequence[Path] = ()
    defines: Sequence[str] = ()
    engine: str = "sim"
    in_switch: Switches | str | Path | None = None
    patience: int = 60
    protocol: str | None = None
    max_cycles: int | None = None
    record: bool = False
    recorded: Recorded | None = field(default=None, init=False)
    _compiled: dict[Path, Compiled] = field(default_factory=dict)
    _starts: list[_Start] = field(default_factory=list)
    _buffers: list[Buffer] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cluster = of_system(Cluster, self.cluster)
        one_of("engine", self.engine, ENGINES)
        if not 0 <= self.patience < 2**32:
            raise InputError(f"patience is {self.patience}; it must be 0 or more seconds")
        if self.max_cycles is not None and not 1 <= self.max_cycles < 2**62:
            raise InputError(f"max_cycles is {self.max_cycles}; it must be 1 or more cycles of the kernels' clock")
        if self.protocol is not None:
            one_of("protocol", self.protocol, PROTOCOLS)
        there = self.cluster.topology.nodes
        if self.ranks is None:
            self.ranks = there
        if not 1 <= self.ranks <= there:
            raise InputError(f"{self.ranks} ranks; {self.cluster.name} has {there}")
        if self.in_switch is not None:
            from thalweg import in_switch

            self.in_switch = in_switch.load(self.in_switch, self.cluster, self.ranks)

    def source(self, file: str | Path) -> Compiled:
        """Compiles the kernels of a file."""
        path = Path(file)
        if path not in self._compiled:
            folder = Path(tempfile.mkdtemp(dir=scratch.folder()))
            self._compiled[path] = compile_kernels(path, folder, self.includes, self.defines)
        return self._compiled[path]

    def buffer(self, rank: int, array: NDArray[Any], bank: int = 0, name: str = "") -> Buffer:
        """Allocates memory with the given contents in a bank of a rank.

        Parameters
        ----------
        rank : int
        array : numpy.ndarray
            Initial contents; any shape.
        bank : int
        name : str
            Name for messages.

        Returns
        -------
        Buffer

        Raises
        ------
        InputError
            The rank or the bank does not exist, or the array holds Python objects.
        """
        self._is_rank(rank)
        assert isinstance(self.cluster, Cluster)
        if np.asarray(array).dtype.hasobject:
            raise InputError("a buffer cannot hold Python objects; give an array of numbers")
        if not 0 <= bank < self.cluster.node.banks:
            raise InputError(f"bank is {bank}; a rank of {self.cluster.name} has {self.cluster.node.banks}")
        native = np.asarray(array).dtype.newbyteorder("=")
        made = Buffer(rank, name or str(len(self._buffers)), bank, np.ascontiguousarray(array, native))
        self._buffers.append(made)
        return made

    def kernel(
        self, file: str | Path, name: str, ranks: int | Iterable[int], *, serves: bool | None = None, **arguments: Any
    ) -> None:
        """Starts a kernel on one or more ranks.

        Parameters
        ----------
        file : str or Path
            Source of the kernel.
        name : str
        ranks : int or iterable of int
        serves : bool, optional
            Whether the kernel need not end. Default: true if its body has an endless loop.
        **arguments
            Arguments by name: numbers and buffers. A communicator defaults to that of all ranks.

        Raises
        ------
        InputError
            The kernel is unknown, or an argument is missing, unknown or of the wrong type.
        """
        compiled = self.source(file)
        if name not in compiled.kernels:
            raise InputError(f"{file} has no kernel {name}; it has {', '.join(compiled.kernels) or 'none'}")
        kernel = compiled.kernels[name]
        known = {argument.name for argument in kernel.arguments}
        for given in arguments:
            if given not in known:
                raise InputError(f"kernel {name} of {file} has no argument {given}; it has {', '.join(sorted(known))}")
        for rank in [ranks] if isinstance(ranks, int) else ranks:
            self._is_rank(rank)
            packed = [self._argument(kernel, argument, arguments, rank) for argument in kernel.arguments]
            serving = kernel.endless or kernel.autorun if serves is None else serves
            self._starts.append(_Start(rank, compiled, kernel, packed, serving))

    def run(self) -> Result:
        """Executes the run; may be called once.

        Returns
        -------
        Result

        Raises
        ------
        WrongUse
            A kernel used a channel, a port or memory incorrectly.
        Stuck
            A deadlock or an endless loop.
        CheckFailed
            The hardware diverges from the simulator.
        """
        assert isinstance(self.cluster, Cluster) and self.ranks is not None
        if not self._starts:
            raise InputError("no kernel was started: call kernel() first")
        self._start_autorun()
        programs = self._programs()
        cluster = self.cluster
        if self.program:
            eager = {} if self.program.credits else {"protocol": "eager"}
            cluster = cluster.with_node(reads=self.program.reads, **eager)
        if self.protocol is not None:
            cluster = cluster.with_node(protocol=self.protocol)
        node = cluster.node
        switches, collectives = None, list[metadata.Program | None]()
        if self.in_switch is not None:
            from thalweg import in_switch
            from thalweg.systems.smi.in_switch import split

            loaded = in_switch.load(self.in_switch, self.cluster, self.ranks)
            switches, cluster = loaded.fabric_config(), in_switch.beside(cluster, loaded)
            parts = [split(program) if program else (None, None) for program in programs]
            programs = [channels for channels, _ in parts]
            collectives = [of for _, of in parts[: self.ranks]]
        libraries: list[str] = []
        if self.engine == "rtl":
            operations = [program.operations if program else () for program in programs]
            libraries = [str(rtl_engine.library(of, node)) if of else "" for of in operations]
        links = node.links
        try:
            run = _sim.Run(
                cluster.assembly,
                _endpoints(programs),
                ranks=self.ranks,
                libraries=libraries,
                switches=switches,
                collectives=_endpoints(collectives),
            )
            nothing: list[list[int]] = [[] for _ in range(links)]
            receive = [program.receive_tables(links).tolist() if program else nothing for program in programs]
            run.load([(send.tolist(), of) for send, of in zip(self.cluster.send_tables, receive, strict=True)])
            for buffer in self._buffers:
                buffer.number = run.buffer(buffer.rank, buffer.bank, buffer.name, buffer.array.nbytes)
                memory = run.view(buffer.number).view(buffer.array.dtype).reshape(buffer.array.shape)
                memory[...] = buffer.array
                buffer.array = memory
            if self.record:
                run.record()
            for start in self._starts:
                arguments = [each.number if isinstance(each, Buffer) else each for each in start.arguments]
                run.start(start.rank, str(start.source.library), start.kernel.name, arguments, start.serves)
        except (ValueError, RuntimeError) as error:
            raise InputError(str(error)) from None
        try:
            result, raw = run_apart(lambda: self._result(run), lambda: _fault(run))
        except Stuck as stuck:
            self._keep(stuck.raw)
            raise
        self._keep(raw)
        return result

    def _keep(self, raw: Raw | None) -> None:
        assert isinstance(self.cluster, Cluster)
        if raw is not None:
            names = dict.fromkeys(start.source.source.name for start in self._starts)
            self.recorded = timelines.recorded(raw, self.cluster, f"{', '.join(names)} on {self.cluster.name}")

    def _start_autorun(self) -> None:
        """Starts the autorun kernels on each rank that has their source."""
        for rank, path in dict.fromkeys((start.rank, start.source.source) for start in self._starts):
            for name, kernel in self.source(path).kernels.items():
                here = [
                    start
                    for start in self._starts
                    if (start.rank, start.source.source, start.kernel.name) == (rank, path, name)
                ]
                if kernel.autorun and not here:
                    self.kernel(path, name, rank)

    def _result(self, run: _sim.Run) -> tuple[Result, Raw | None]:
        """Runs in a separate process, to isolate this interpreter from the kernels."""
        assert isinstance(self.cluster, Cluster)
        try:
            run.watch(self.patience)
            if self.max_cycles is not None:
                run.limit(self.max_cycles)
            run.run()
        except _sim.Misuse as error:
            raise WrongUse(str(error)) from None
        except FabricStopped as error:
            lost = _dropped(run)
            stuck = Stuck("\n  ".join([str(error), *lost]), error.blocked)
            stuck.raw = timelines.raw(run) if self.record else None
            raise stuck from None
        except _sim.Difference as error:
            raise CheckFailed(str(error)) from None
        except ValueError as error:
            raise InputError(str(error)) from None
        result = Result(
            [
                KernelEnd(rank, name, cycle if ended else None, serves)
                for rank, name, serves, ended, cycle in run.started()
            ],
            [*run.warnings, *_dropped(run)],
            run.elements,
            run.hertz,
        )
        return result, timelines.raw(run) if self.record else None

    def _is_rank(self, rank: int) -> None:
        assert self.ranks is not None
        if not 0 <= rank < self.ranks:
            raise InputError(f"rank is {rank}; the last one is {self.ranks - 1}")

    def _argument(self, kernel: KernelText, argument: Argument, given: Mapping[str, Any], rank: int) -> Any:
        where = f"kernel {kernel.name} ({kernel.file}:{kernel.line})"
        value = given.get(argument.name)
        if argument.type == COMMUNICATOR and not argument.pointer and value is None:
            return struct.pack("4i", rank, self.ranks, 0, 1)
        if value is None:
            what = f"a buffer of {argument.type}" if argument.pointer else argument.type
            raise InputError(f"{where}: argument {argument.name}, {what}, is not given")
        if isinstance(value, Buffer) or argument.pointer:
            if not (isinstance(value, Buffer) and argument.pointer):
                raise InputError(
                    f"{where}: argument {argument.name} is {'a pointer; give a buffer' if argument.pointer else f'{argument.type}, not a buffer'}"
                )
            if not any(value is each for each in self._buffers):
                raise InputError(f"{where}: argument {argument.name} is buffer {value.name} of another run")
            if not _is_of(value.array.dtype, argument.type):
                raise InputError(
                    f"{where}: argument {argument.name} is a pointer to {argument.type}, but buffer {value.name} is an array of {value.array.dtype}; convert it with astype, or pass it as bytes with view(numpy.uint8)"
                )
            return value
        if isinstance(value, bytes):
            return value
        dtype = DTYPES.get(argument.type)
        if dtype is None:
            raise InputError(f"{where}: argument {argument.name} is of type {argument.type}; give its bytes")
        try:
            return _packed(value, dtype)
        except (OverflowError, TypeError, ValueError) as error:
            raise InputError(
                f"{where}: argument {argument.name}, {argument.type}, cannot be {value!r}: {error}"
            ) from None

    def _programs(self) -> list[metadata.Program | None]:
        """Returns the program of each rank of the cluster."""
        assert isinstance(self.cluster, Cluster)
        found: dict[tuple[Path, ...], metadata.Program] = {}
        programs: list[metadata.Program | None] = []
        for rank in range(self.cluster.topology.nodes):
            files = tuple(dict.fromkeys(start.source.source for start in self._starts if start.rank == rank))
            if not files:
                programs.append(None)
                continue
            if self.program:
                programs.append(self.program)
                continue
            if files not in found:
                whole = extract(files, self.includes, self.defines, max_ranks=256)
                found[files] = metadata.of_values(whole, files[0].stem)
            programs.append(found[files])
        return programs


def _dropped(run: _sim.Run) -> Iterable[str]:
    """Yields a line for each rank that has dropped packets."""
    for rank, what, count in run.lost:
        yield f"rank {rank} dropped {counted(count, what)}"


def _fault(run: _sim.Run) -> WrongUse | Stuck | None:
    text, impatient = run.fault()
    return None if not text else Stuck(text) if impatient else WrongUse(text)


def _endpoints(programs: Sequence[metadata.Program | None]) -> list[list[tuple[int, int, int, int]]]:
    """Returns the endpoints of each rank as tuples of kind, port, buffer in packets and size."""
    return [
        [(routes.KINDS.index(of.type), of.port, of.buffer_packets, of.size) for of in program.operations]
        if program
        else []
        for program in programs
    ]
