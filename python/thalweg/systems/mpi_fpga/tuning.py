# SPDX-License-Identifier: Apache-2.0
"""Tuning files: algorithms of collectives in measured order, fastest first, by size of communicator and block.

    cluster = "thalweg-torus-4x4x4"

    [ranks.64.allreduce]                          # from 64 ranks on
    0 = ["exchange", "tree", "trees", "ring"]     # from 0 bytes on
    32768 = ["trees", "tree", "exchange", "ring"]

A communicator uses the first algorithm that it supports. `thalweg tune` writes such files. Those in clusters/tuning are the
defaults: presets have their own, other clusters use that of a similar preset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg.cluster import toml_lines
from thalweg.errors import InputError
from thalweg.resources import resource
from thalweg.systems.mpi_fpga import bench, choice
from thalweg.systems.mpi_fpga.bench import CollectivePlan
from thalweg.systems.mpi_fpga.choice import From
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.spec import Algorithm, Collective

FOLDER = "clusters/tuning"

KINDS = {"by rank": "mpi-fpga-torus-4x4x4", "grid": "thalweg-torus-4x4x4", "other": "thalweg-fattree-32"}
"""Presets whose tuning applies to other clusters: with trees of rank numbers, grids, and others."""

LARGEST = 2 << 20
"""Maximum measured size of a rank's blocks in bytes; beyond, the order of algorithms hardly changes."""


def default(cluster: Cluster) -> list[From]:
    """Returns the measured choice of a preset, or of a similar one: with trees of rank numbers, a grid, or neither."""
    by_rank = cluster.values.collective.trees == "rank"
    kind = KINDS["by rank" if by_rank else "grid" if cluster.topology.is_grid else "other"]
    files = {file.stem: file for file in resource(FOLDER).glob("*.toml")}
    faultless = {"faults": None}  # tuning is measured without faults
    own = cluster.name in files and cluster.values.model_copy(update=faultless) == Cluster.load(
        cluster.name
    ).values.model_copy(update=faultless)
    return _read(files[cluster.name if own else kind])[1]


def load(file: Path, cluster: Cluster) -> list[From]:
    """Returns the choice in a tuning file. Raises InputError if it is invalid or of another cluster."""
    (name, line), rows = _read(file)
    if Path(name).name != Path(cluster.name).name:
        raise InputError(f"was measured on {name}, but this is {cluster.name}", file, line)
    return rows


def _read(file: Path) -> tuple[tuple[str, int], list[From]]:
    """Returns the measured cluster, its line, and the choice."""
    values, lines = toml_lines.read(file)
    cluster, rows = None, []
    for path, value in _leaves(values, ()):
        try:
            match path:
                case ("cluster",) if isinstance(value, str):
                    cluster = value, lines[path]
                case ("ranks", ranks, collective, size) if (
                    ranks.isdecimal() and size.isdecimal() and isinstance(value, list)
                ):
                    order = tuple(choice.algorithm_named(str(name)) for name in value)
                    rows.append(From(int(ranks), int(size), choice.collective_named(collective), order))
                case _:
                    raise InputError(
                        'is not allowed in a tuning file; entries look like [ranks.64.allreduce] 0 = ["tree"]'
                    )
        except InputError as error:
            named = f"{'.'.join(path)}: " if error.what.startswith("is not allowed") else ""
            raise InputError(named + error.what, file, lines.get(path)) from None
    if cluster is None:
        raise InputError("'cluster' is missing: the name of the cluster that was measured", file)
    return cluster, rows


def _leaves(table: dict[str, Any], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in table.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, (*above, key))
        else:
            yield (*above, key), value


@dataclass(frozen=True)
class Measured:
    """One collective of one size, host to host."""

    ranks: int
    operation: str
    size: int
    times: dict[Algorithm, float | None]
    """Time of every available algorithm in us, fastest first; None for one that was much slower at smaller sizes."""


def plans(cluster: Cluster, ranks: Sequence[int], sizes: Sequence[int]) -> list[CollectivePlan]:
    """Returns each collective with several algorithms for each number of ranks, on the first nodes. Raises InputError
    if they do not fit.
    """
    found = [CollectivePlan(cluster, name, n, sizes) for n in ranks for name in bench.COLLECTIVES]
    return [plan for plan in found if len(plan.algorithms) > 1]


def measure(plans: Sequence[CollectivePlan], progress: Callable[..., None]) -> Iterator[Measured]:
    """Yields measurements of each plan at each size that is not `left_out`. Raises FabricStopped if an operation never
    ends.
    """
    cost = [sum(plan.ranks * _blocks(plan) * (size + 64) for size in _sizes(plan)) for plan in plans]
    for index, plan in enumerate(plans):
        tried, order = plan.algorithms, plan.algorithms
        before: dict[Algorithm, float] = {}
        for size in _sizes(plan):
            progress(sum(cost[:index]) / sum(cost), f"{plan.operation} of {plan.ranks}")
            times = bench.host_times(plan, size, tried)
            order = sorted(tried, key=times.__getitem__) + [a for a in order if a not in tried]
            yield Measured(plan.ranks, plan.operation, size, {a: times.get(a) for a in order})
            tried, before = choice.promising(times, size, before), times


def left_out(plan: CollectivePlan) -> dict[str, list[int]]:
    """Returns the sizes that `measure` leaves out, by reason."""
    found = {
        f"more than {LARGEST >> 20} MB per rank": [size for size in plan.measured_sizes if size not in _sizes(plan)],
        f"no whole {plan.datatype.name.lower()}": plan.partial_sizes,
    }
    return {why: sizes for why, sizes in found.items() if sizes}


def _blocks(plan: CollectivePlan) -> int:
    """Returns the maximum number of blocks per rank."""
    return 1 if plan.operation in ("barrier", "broadcast", "reduce", "allreduce", "scan", "exscan") else plan.ranks


def _sizes(plan: CollectivePlan) -> list[int]:
    return [size for size in plan.measured_sizes if _blocks(plan) * size <= LARGEST]


def crossings(rows: Sequence[Measured]) -> list[tuple[From, Measured]]:
    """Returns the sizes at which the order of algorithms changes, starting with 0 bytes, with the measurements."""
    found: list[tuple[From, Measured]] = []
    for row in rows:
        here = From(row.ranks, row.size, choice.COLLECTIVES[row.operation], tuple(row.times))
        last = found[-1][0] if found else None
        if last is None or (last.ranks, last.collective) != (here.ranks, here.collective):
            found.append((here._replace(bytes=0), row))
        elif last.algorithms != here.algorithms:
            found.append((here, row))
    return found


def text(cluster: Cluster, rows: Sequence[Measured], command: str) -> str:
    """Returns a tuning file. A number of ranks with the same tables as the previous one is left out."""
    lines = [f"# Written by `{command}`. Times are host to host, in us.", f'cluster = "{cluster.name}"']
    tables: dict[tuple[int, Collective], list[tuple[From, Measured]]] = {}
    for here, row in crossings(rows):
        tables.setdefault((here.ranks, here.collective), []).append((here, row))
    written: dict[Collective, list[From]] = {}
    for (ranks, collective), entries in sorted(tables.items()):
        table = [here._replace(ranks=0) for here, _ in entries]
        if written.get(collective) == table:
            continue
        written[collective] = table
        lines += ["", f"[ranks.{ranks}.{collective.name.lower()}]"]
        for here, row in entries:
            order = ", ".join(f'"{algorithm.name.lower()}"' for algorithm in here.algorithms)
            times = ", ".join(f"{us:.4g}" for us in row.times.values() if us is not None)
            lines.append(f"{here.bytes} = [{order}]  # {row.size} bytes: {times}")
    return "\n".join(lines) + "\n"
