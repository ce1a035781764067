# SPDX-License-Identifier: Apache-2.0
"""Execution of unmodified MPI programs on a simulated cluster: `thalweg run`, `thalweg.run`, and parts shared with
`thalweg jobs`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.bench.operation import at_least, one_of
from thalweg.errors import InputError
from thalweg.launch import placement as placements
from thalweg.systems.mpi_fpga import choice
from thalweg.systems.mpi_fpga import tuning as tunings
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.rtl_engine import ENGINES, with_engine
from thalweg.systems.mpi_fpga.spec import Algorithm, Collective

if TYPE_CHECKING:
    from thalweg.systems.mpi_fpga._sim import Sharing
    from thalweg.systems.mpi_fpga.mpi.launch import Program
    from thalweg.systems.mpi_fpga.mpi.report import Report

DEFAULT_CLUSTERS = [f"mpi-fpga-torus-{shape}" for shape in ("2x2x2", "4x4x2", "4x4x4", "4x4x8")]


_SCALES = {"measured": 1.0, "none": 0.0}


def compute_scale(given: str | float) -> float:
    """Returns the factor from a rank's processor time to virtual time, for `measured`, `none` or `scale:X`. Raises
    InputError."""
    scale = -1.0
    if not isinstance(given, str):
        scale = given
    elif given in _SCALES:
        scale = _SCALES[given]
    elif given.startswith("scale:"):
        with suppress(ValueError):
            scale = float(given.removeprefix("scale:"))
    if not 0 <= scale < 1e9:
        raise InputError(f"{given!r} is not valid; give measured, none, or scale:X with a factor X of at least 0")
    return scale


def checked_skew(given: str) -> str:
    """Validates the delay of ranks at collectives: distribution, us, seed. Raises InputError."""
    match = re.fullmatch(r"(uniform|exponential):(\d{1,9}(?:\.\d{1,9})?)(?::(\d{1,18}))?", given)
    if match is None:
        raise InputError(f"{given!r} is not valid; give uniform:US or exponential:US, optionally followed by :SEED")
    return ":".join([match[1], match[2], match[3] or "1"])


def seconds(given: str | float) -> float:
    """Returns a time in seconds. Raises InputError."""
    try:
        time = float(given)
    except ValueError:
        time = -1.0
    if not 0 <= time <= 1e9:
        raise InputError(f"{given!r} is not valid; give seconds from 0 to 1e9")
    return time


@dataclass(frozen=True)
class RunSettings:
    """Settings of runs of MPI programs: the options of `thalweg run` and `thalweg jobs`."""

    algorithms: dict[Collective, Algorithm]
    tuning_file: Path | None
    reproducible: bool
    compute: float
    skew: str | None
    mpi: str | None
    timeout: float
    operators: tuple[Path, ...]

    @property
    def seeds(self) -> dict[str, int]:
        """Seeds for `write_json`."""
        return {} if self.skew is None else {"skew": int(self.skew.rpartition(":")[2])}

    def run(
        self,
        cluster: Cluster,
        programs: Sequence[Program],
        sharing: Sharing | None = None,
        instances_of: Path | None = None,
        record: bool = False,
    ) -> Report:
        """Runs MPI programs concurrently on a cluster, and returns their report.

        `instances_of` adds the instances of that program's collectives; `record` adds the timeline. Raises InputError
        for inconsistent arguments, ValueError if the cluster cannot be shared so.
        """
        from thalweg.launch.mpi import find_program
        from thalweg.systems.mpi_fpga.mpi.launch import run_programs
        from thalweg.systems.mpi_fpga.mpi.library import find_library, interposer, library_of
        from thalweg.systems.mpi_fpga.mpi.report import report_of
        from thalweg.systems.mpi_fpga.operators import load_operators
        from thalweg.systems.mpi_fpga.timelines import of_programs

        share_nodes = any(len(set(program.nodes)) < len(program.nodes) for program in programs)
        if self.reproducible:
            if share_nodes:
                raise InputError(
                    "--reproducible needs one rank per node, as ranks of one node combine among themselves first"
                )
            cluster = cluster.by_rank()
        config = cluster.fabric_config()
        tuned = tunings.load(self.tuning_file, cluster) if self.tuning_file else tunings.default(cluster)
        algorithms = self.algorithms
        if algorithms or self.reproducible:
            known = choice.algorithms(config, *(list(dict.fromkeys(p.nodes)) for p in programs), sharing=sharing)
            ranks = " and ".join(str(len(program.nodes)) for program in programs)
            choice.check(algorithms, known, f"{ranks} ranks on {cluster.name}")
            if self.reproducible:
                algorithms = choice.reproducible(algorithms, known)
        own = load_operators(config.collective, self.operators) if self.operators else {}
        if config.collective.has_units and share_nodes:
            raise InputError("user-defined units are between host and switch, so they need one rank per node")
        library = find_library(self.mpi) if self.mpi else library_of(find_program(p.command[0]) for p in programs)
        compiled = interposer(library)
        result = run_programs(
            programs,
            config,
            library,
            compiled,
            self.compute,
            self.timeout,
            operators=own,
            skew=self.skew,
            choice=choice.over(tuned, algorithms),
            sharing=sharing,
            record=record,
        )
        nodes = [node for program in programs for node in program.nodes]
        title = f"{' and '.join(Path(program.command[0]).name for program in programs)} on {cluster.name}"
        books, functions = result.books, compiled.functions
        timeline = of_programs(title, books, functions, cluster, config, nodes) if record else None
        return report_of(result, config, cluster, nodes, self.reproducible, instances_of, timeline)


def smallest(nodes: int, faults: str | None = None) -> Cluster:
    """Returns the smallest preset torus with at least `nodes` nodes. Raises InputError."""
    for preset in DEFAULT_CLUSTERS:
        cluster = Cluster.load(preset, faults)
        if cluster.topology.hosts >= nodes:
            return cluster
    raise InputError(f"no preset has {nodes} nodes: give --cluster, such as torus:8x8x{-(-nodes // 64)}")


def run_program(
    command: Sequence[str],
    cluster: Cluster,
    settings: RunSettings,
    ranks: int | None,
    ranks_per_node: int,
    placement: str,
    engine: str,
    instances: bool,
    record: bool = False,
) -> Report:
    """Runs one program. Raises InputError for inconsistent options."""
    from thalweg.launch.mpi import find_program
    from thalweg.systems.mpi_fpga.mpi.launch import Program

    nodes = placements.shared_nodes_of(
        placement, cluster, ranks or cluster.topology.hosts * ranks_per_node, ranks_per_node
    )
    if engine == "rtl" and settings.operators:
        raise InputError("--engine rtl does not support user-defined operators; use rtl-routers")
    path = find_program(command[0])
    programs = [Program(command, nodes)]
    of = Path(path) if instances else None
    return settings.run(with_engine(cluster, engine), programs, instances_of=of, record=record)


def run(
    command: Sequence[str],
    cluster: Cluster | None,
    *,
    ranks: int | None = None,
    ranks_per_node: int = 1,
    placement: placements.Placement = placements.BLOCK,
    engine: str = "sim",
    instances: bool = False,
    record: bool = False,
    algorithm: str | Mapping[str, str] = "",
    tuning: str | Path | None = None,
    reproducible: bool = False,
    threads: int | None = None,
    compute: str | float = "measured",
    skew: str | None = None,
    mpi: str | None = None,
    timeout: float = 600.0,
    operators: Sequence[str | Path] = (),
) -> Report:
    """Implements `thalweg run`.

    `ranks` defaults to the capacity of the cluster, `cluster` to the smallest preset torus that is large enough. Raises
    InputError.
    """
    if not command:
        raise InputError("a program is missing: give its path and arguments")
    settings = RunSettings(
        choice.wanted(algorithm),
        Path(tuning) if tuning else None,
        reproducible,
        compute_scale(compute),
        checked_skew(skew) if skew is not None else None,
        mpi,
        seconds(timeout),
        tuple(map(Path, operators)),
    )
    at_least("ranks_per_node", ranks_per_node, 1)
    if ranks is not None:
        at_least("ranks", ranks, 1)
    loaded = (cluster or smallest(-(-(ranks or 1) // ranks_per_node))).with_threads(threads)
    where, on = placements.checked(placement), one_of("engine", engine, ENGINES)
    return run_program(command, loaded, settings, ranks, ranks_per_node, where, on, instances, record)
