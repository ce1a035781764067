# SPDX-License-Identifier: Apache-2.0
"""Tuning files: the algorithms of a collective as measured, the fastest first, by the size of the communicator and of a block.

    cluster = "thalweg-torus-4x4x4"

    [ranks.64.allreduce]                          # from 64 ranks on
    0 = ["exchange", "tree", "trees", "ring"]     # from 0 bytes on
    32768 = ["trees", "tree", "exchange", "ring"]

Of those, a communicator takes the first that it has. `thalweg tune` writes such files. Those in clusters/tuning are the
defaults: presets have their own, other clusters take that of a preset of their kind.
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
"""Presets whose tuning other clusters take: with trees of rank numbers, on a grid, and elsewhere."""

LARGEST = 2 << 20
"""Bytes of a rank's blocks up to which is measured: beyond, the order of algorithms hardly turns."""


def default(cluster: Cluster) -> list[From]:
    """What was measured on a preset, or on a cluster of the same kind: with trees of rank numbers, a grid, or neither."""
    by_rank = cluster.values.collective.trees == "rank"
    kind = KINDS["by rank" if by_rank else "grid" if cluster.topology.is_grid else "other"]
    files = {file.stem: file for file in resource(FOLDER).glob("*.toml")}
    faultless = {"faults": None}  # it is measured without
    own = cluster.name in files and cluster.values.model_copy(update=faultless) == Cluster.load(
        cluster.name
    ).values.model_copy(update=faultless)
    return _read(files[cluster.name if own else kind])[1]


def load(file: Path, cluster: Cluster) -> list[From]:
    """What a tuning file says of a cluster. Raises InputError where it is none, or one of another cluster."""
    (name, line), rows = _read(file)
    if Path(name).name != Path(cluster.name).name:
        raise InputError(f"was measured on {name}, and this is {cluster.name}", file, line)
    return rows


def _read(file: Path) -> tuple[tuple[str, int], list[From]]:
    """The cluster that was measured and the line that says so, and what came out."""
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
                        'has no place in a tuning file; entries look like [ranks.64.allreduce] 0 = ["tree"]'
                    )
        except InputError as error:
            named = f"{'.'.join(path)}: " if error.what.startswith("has") else ""
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
    """In us, of every algorithm that there is, the fastest first; None of one that was far behind at smaller sizes."""


def measure(
    cluster: Cluster, ranks: Sequence[int], sizes: Sequence[int], progress: Callable[..., None]
) -> Iterator[Measured]:
    """Of each collective that has a choice, at each number of ranks and each size of which a rank has at most `LARGEST` bytes;
    ranks are on the first nodes.

    Raises InputError where the ranks do not fit, FabricStopped where an operation never ends.
    """
    plans = [CollectivePlan(cluster, name, n, sizes) for n in ranks for name in bench.COLLECTIVES]
    plans = [plan for plan in plans if len(plan.algorithms) > 1]
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


def _blocks(plan: CollectivePlan) -> int:
    """How many blocks a rank has at most."""
    return 1 if plan.operation in ("barrier", "broadcast", "reduce", "allreduce", "scan", "exscan") else plan.ranks


def _sizes(plan: CollectivePlan) -> list[int]:
    return [size for size in plan.measured_sizes if _blocks(plan) * size <= LARGEST]


def crossings(rows: Sequence[Measured]) -> list[tuple[From, Measured]]:
    """Where algorithms change their order as blocks grow, the first at 0 bytes, and what was measured there."""
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
    """A tuning file. More ranks have no table where they would have the same one."""
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
