"""What `thalweg run` and `thalweg jobs` have in common: the options that say how MPI programs run, and running them so."""

from __future__ import annotations

import functools
import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thalweg.commands.output import print_line
from thalweg.errors import InputError
from thalweg.systems.mpi_fpga import choice, tuning
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.spec import Algorithm, Collective

if TYPE_CHECKING:
    from thalweg._sim import Sharing
    from thalweg.systems.mpi_fpga.mpi.launch import Program
    from thalweg.systems.mpi_fpga.mpi.report import Report


class ComputeScale(click.ParamType[float]):
    """How a rank's own processor time counts as virtual time: a factor."""

    name = "measured|none|scale:X"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if not isinstance(value, str):
            return value
        if value in ("measured", "none"):
            return 1.0 if value == "measured" else 0.0
        try:
            scale = float(value.removeprefix("scale:")) if value.startswith("scale:") else -1.0
        except ValueError:
            scale = -1.0
        if not 0 <= scale < 1e9:
            self.fail(f"{value!r} is not measured, none, or scale:X with a factor X of at least 0", param, ctx)
        return scale


class Seconds(click.FloatRange):
    """A time that is a number."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds: float = super().convert(value, param, ctx)
        if not math.isfinite(seconds):
            self.fail(f"{value!r} is no number of seconds", param, ctx)
        return seconds


class SkewType(click.ParamType[str]):
    """How late ranks come to their collectives: distribution, microseconds, seed."""

    name = "uniform|exponential:US[:SEED]"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        match = re.fullmatch(r"(uniform|exponential):(\d{1,9}(?:\.\d{1,9})?)(?::(\d{1,18}))?", value)
        if match is None:
            self.fail(f"{value!r} is not uniform:US or exponential:US, with :SEED behind it or not", param, ctx)
        return ":".join([match[1], match[2], match[3] or "1"])


@dataclass(frozen=True)
class RunSettings:
    """The options' values, by their names."""

    algorithms: dict[Collective, Algorithm]
    tuning_file: Path | None
    reproducible: bool
    compute: float
    skew: str | None
    mpi: str
    timeout: float
    operators: tuple[Path, ...]

    @property
    def seeds(self) -> dict[str, int]:
        """For `write_json`."""
        return {} if self.skew is None else {"skew": int(self.skew.rpartition(":")[2])}

    def run(
        self,
        cluster: Cluster,
        programs: Sequence[Program],
        sharing: Sharing | None = None,
        instances_of: Path | None = None,
    ) -> Report:
        """Runs MPI programs at once on a cluster; says on stderr why they ended early, and prints the report, with the
        instances of a program's collectives if it is given.

        Raises InputError where settings, programs and cluster do not go together, ValueError where it cannot be shared so.
        """
        from thalweg.systems.mpi_fpga.mpi.launch import run_programs
        from thalweg.systems.mpi_fpga.mpi.library import find_library, interposer
        from thalweg.systems.mpi_fpga.mpi.report import Report
        from thalweg.systems.mpi_fpga.operators import load_operators

        share_nodes = any(len(set(program.nodes)) < len(program.nodes) for program in programs)
        if self.reproducible:
            if share_nodes:
                raise InputError(
                    "--reproducible needs a node for each rank: those of one node combine among themselves first"
                )
            cluster = cluster.by_rank()
        config = cluster.fabric_config()
        tuned = tuning.load(self.tuning_file, cluster) if self.tuning_file else tuning.default(cluster)
        algorithms = self.algorithms
        if algorithms or self.reproducible:
            known = choice.algorithms(config, *(list(dict.fromkeys(p.nodes)) for p in programs), sharing=sharing)
            ranks = " and ".join(str(len(program.nodes)) for program in programs)
            choice.check(algorithms, known, f"{ranks} ranks on {cluster.name}")
            if self.reproducible:
                algorithms = choice.reproducible(algorithms, known)
        own = load_operators(config.collective, self.operators) if self.operators else {}
        if config.collective.has_units and share_nodes:
            raise InputError(
                "units stand between host and switch: what ranks on one node exchange would pass none of them"
            )
        library = find_library(self.mpi)
        result = run_programs(
            programs,
            config,
            library,
            interposer(library),
            self.compute,
            self.timeout,
            operators=own,
            skew=self.skew,
            choice=choice.over(tuned, algorithms),
            sharing=sharing,
        )
        sys.stdout.flush()
        for line in result.complaint:
            print_line(f"thalweg: {line}", sys.stderr)
        nodes = [node for program in programs for node in program.nodes]
        report = Report(result, config, cluster, nodes, self.reproducible, instances_of)
        report.print(sys.stderr)
        return report


_OPTIONS = (
    click.option(
        "--algorithm",
        "algorithms",
        type=choice.AlgorithmType(),
        default={},
        help="Algorithms of collectives in the network, such as allreduce=tree,allgather=exchange.",
    ),
    click.option(
        "--tuning",
        "tuning_file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The fastest algorithms by size, as `thalweg tune` found them. [default: those of the presets]",
    ),
    click.option(
        "--reproducible",
        is_flag=True,
        help="Combine in an order of the ranks' numbers alone: the same bits on every cluster, in every placement.",
    ),
    click.option(
        "--compute",
        type=ComputeScale(),
        default="measured",
        show_default=True,
        help="How the ranks' own processor time counts as virtual time.",
    ),
    click.option(
        "--skew",
        type=SkewType(),
        help="Ranks come late to each collective: by up to, or by a mean of, so many us of virtual time. [seed: 1]",
    ),
    click.option(
        "--mpi",
        default="mpich",
        show_default=True,
        metavar="MPI",
        help="mpich: the one installed with Thalweg; else the folder of an installed MPICH or Open MPI.",
    ),
    click.option(
        "--timeout",
        type=Seconds(0, 1e9),
        default=600.0,
        show_default=True,
        metavar="S",
        help="Give up when no rank gets any further for so many seconds; 0 never does.",
    ),
    click.option(
        "--operators",
        type=click.Path(path_type=Path),
        multiple=True,
        metavar="FILE.cpp",
        help="Operators of your own in the switches, for operations that programs name, and units before and after them.",
    ),
)


def run_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options; it gets their values as `settings`."""

    @functools.wraps(command)
    def collected(**values: Any) -> None:
        settings = RunSettings(**{field.name: values.pop(field.name) for field in fields(RunSettings)})
        command(settings=settings, **values)

    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(_OPTIONS), collected)
