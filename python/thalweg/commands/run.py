"""`thalweg run`: an unchanged MPI program on a simulated cluster."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from thalweg import choice, placement, tuning
from thalweg.cluster import Cluster
from thalweg.errors import InputError
from thalweg.output import json_option, write_json
from thalweg.spec import Algorithm, Collective

DEFAULT_CLUSTERS = [f"mpi-fpga-torus-{shape}" for shape in ("2x2x2", "4x4x2", "4x4x4", "4x4x8")]


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


class SkewType(click.ParamType[str]):
    """How late ranks come to their collectives: distribution, microseconds, seed."""

    name = "uniform|exponential:US[:SEED]"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        match = re.fullmatch(r"(uniform|exponential):(\d+(?:\.\d+)?)(?::(\d{1,18}))?", value)
        if match is None:
            self.fail(f"{value!r} is not uniform:US or exponential:US, with :SEED behind it or not", param, ctx)
        return ":".join([match[1], match[2], match[3] or "1"])


def _cluster(name: str | None, nodes: int) -> tuple[Cluster, str]:
    """The cluster that was asked for, or the smallest torus of the presets with so many nodes."""
    if name is not None:
        return Cluster.load(name), name
    for preset in DEFAULT_CLUSTERS:
        cluster = Cluster.load(preset)
        if cluster.topology.hosts >= nodes:
            return cluster, preset
    raise InputError(f"no preset has {nodes} nodes: give --cluster, such as torus:8x8x{-(-nodes // 64)}")


@click.command(context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.option("-n", "--ranks", type=click.IntRange(1), help="Ranks. [default: as many as the cluster has room for]")
@click.option(
    "--ranks-per-node",
    "--ppn",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="R",
    help="Ranks that share a node, one after the other.",
)
@click.option(
    "--cluster",
    metavar="CLUSTER",
    help="Preset, file, or shape in place. [default: the smallest torus of the presets that is large enough]",
)
@placement.option
@click.option(
    "--algorithm",
    "algorithms",
    type=choice.AlgorithmType(),
    default={},
    help="Algorithms of collectives in the network, such as allreduce=tree,allgather=exchange.",
)
@click.option(
    "--tuning",
    "tuning_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The fastest algorithms by size, as `thalweg tune` found them. [default: those of the presets]",
)
@click.option(
    "--reproducible",
    is_flag=True,
    help="Combine in an order of the ranks' numbers alone: the same bits on every cluster, in every placement.",
)
@click.option(
    "--engine", type=click.Choice(["sim"]), default="sim", show_default=True, help="What executes operations."
)
@click.option(
    "--compute",
    type=ComputeScale(),
    default="measured",
    show_default=True,
    help="How the ranks' own processor time counts as virtual time.",
)
@click.option(
    "--skew",
    type=SkewType(),
    help="Ranks come late to each collective: by up to, or by a mean of, so many us of virtual time. [seed: 1]",
)
@click.option(
    "--mpi",
    "mpi",
    default="mpich",
    show_default=True,
    metavar="MPI",
    help="mpich: the one installed with Thalweg; else the folder of an installed MPICH or Open MPI.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0),
    default=600.0,
    show_default=True,
    metavar="S",
    help="Give up when no rank gets any further for so many seconds; 0 never does.",
)
@click.option(
    "--instances",
    is_flag=True,
    help="Report each place that calls a collective: its time in software, in the network, and the ranks' skew.",
)
@click.option(
    "--operators",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE.cpp",
    help="Operators of your own in the switches, for operations that the program names, and units before and after them.",
)
@json_option
@click.argument("program", nargs=-1, type=click.UNPROCESSED, required=True)
def command(
    ranks: int | None,
    ranks_per_node: int,
    cluster: str | None,
    placement_name: str,
    algorithms: dict[Collective, Algorithm],
    tuning_file: Path | None,
    reproducible: bool,
    engine: str,
    compute: float,
    skew: str | None,
    mpi: str,
    timeout: float,
    instances: bool,
    operators: tuple[Path, ...],
    json_file: Path | None,
    program: tuple[str, ...],
) -> None:
    """Run an MPI PROGRAM, unchanged, on a simulated cluster: `thalweg run -n 8 -- ./program arguments`.

    The program's output comes first, then what the network did, on stderr. Exit code: the program's own; 124 when the
    fabric could not go on (a rank died, a deadlock, ranks that disagree), 125 for bad input.
    """
    from thalweg.mpi.launch import find_program, run_program
    from thalweg.mpi.library import find_library, interposer
    from thalweg.mpi.report import Report
    from thalweg.operators import load_operators

    loaded, name = _cluster(cluster, -(-(ranks or 1) // ranks_per_node))
    if reproducible and ranks_per_node > 1:
        raise InputError("--reproducible needs a node for each rank: those of one node combine among themselves first")
    if reproducible:
        loaded = loaded.by_rank()
    nodes = placement.shared_nodes_of(
        placement_name, loaded, ranks or loaded.topology.hosts * ranks_per_node, ranks_per_node
    )
    path = Path(find_program(program[0]))
    library = find_library(mpi)
    config = loaded.fabric_config(collectives=True)
    tuned = tuning.load(tuning_file, loaded) if tuning_file else tuning.default(loaded)
    if algorithms or reproducible:
        known = choice.algorithms(config, list(dict.fromkeys(nodes)))
        choice.check(algorithms, known, f"{len(nodes)} ranks on {name}")
        if reproducible:
            algorithms = choice.reproducible(algorithms, known)
    own = load_operators(config.collective, operators) if operators else {}
    if config.collective.has_units and ranks_per_node > 1:
        raise InputError("units stand between host and switch: what ranks on one node exchange would pass none of them")
    result = run_program(
        program,
        nodes,
        config,
        library,
        interposer(library),
        compute,
        timeout,
        own,
        skew,
        choice.over(tuned, algorithms),
    )
    sys.stdout.flush()
    for line in result.complaint:
        print(f"thalweg: {line}", file=sys.stderr)
    report = Report(result, config, name, nodes, reproducible, path if instances else None)
    report.print(sys.stderr)
    write_json(json_file, report.as_json())
    sys.exit(result.exit_code)
