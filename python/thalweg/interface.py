# SPDX-License-Identifier: Apache-2.0
"""What `import thalweg` gives: the commands as functions, which ask the registry of systems for what is a system's own.

Errors are those of thalweg.errors. Rows are dictionaries of plain values, as `--json` of the command has them: pandas.DataFrame(rows).
No package of thalweg has the name of a function here.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from thalweg.arguments import plain
from thalweg.cluster import Cluster, mixed
from thalweg.cluster import load as load
from thalweg.cluster.file import presets as presets
from thalweg.errors import InputError
from thalweg.systems import System, systems

if TYPE_CHECKING:
    from thalweg.bench.operation import Operation, Option, Plan, Progress, Row
    from thalweg.route.proved import ProvedRoutes
    from thalweg.trace import Recorded

AnyCluster = Cluster | str | Path
"""A cluster, or what `load` takes."""


class RunReport(Protocol):
    """How a run went; a system's own has more."""

    @property
    def exit_code(self) -> int:
        """The program's own; 124 where the fabric could not go on."""

    @property
    def complaint(self) -> Sequence[str]:
        """Why it ended early, and who waits for whom; empty where it did not."""

    @property
    def virtual_time_us(self) -> float: ...
    @property
    def collectives(self) -> list[Row]: ...
    @property
    def links(self) -> list[Row]: ...
    @property
    def recorded(self) -> Recorded | None:
        """What happened when, with `record=True`."""

    def as_json(self) -> dict[str, Any]:
        """What `thalweg run --json` writes."""


def routes(cluster: AnyCluster, *, routing: str | None = None, table: str | Path | None = None) -> ProvedRoutes:
    """Its routes, proved; of the algorithm `routing` or the `table` in a file instead of its own. Raises CheckFailed where they are wrong."""
    of = _loaded(cluster)
    given = {name: value for name, value in (("routing", routing), ("table", table)) if value is not None}
    found: ProvedRoutes = _call("route", _system(of), given, of)
    return found


def operations(cluster: AnyCluster) -> dict[str, list[Option]]:
    """What can be measured on a cluster, and the options of each: name, type and default. Raises InputError for a cluster of several systems'
    nodes, on which nothing can be."""
    system = _system(_loaded(cluster))
    if isinstance(system, mixed.Mixed):
        raise system.refusal("thalweg.operations")
    return {name: system.python(system.operations, name).listed() for name in system.operations}


def measure(operation: str, cluster: AnyCluster, **options: Any) -> list[Row]:
    """Measures an operation: the rows of `thalweg bench`, with its options by their names. Raises InputError, and WrongRows, which has the
    rows, if a result is wrong or a time is below its bound."""
    from thalweg.bench.operation import cores

    plan = _plan(operation, _loaded(cluster), options)
    rows = plan.rows(workers=cores())
    plan.check(rows)
    return rows


def sweep(
    operation: str | Sequence[str],
    clusters: AnyCluster | Sequence[AnyCluster],
    *,
    progress: Progress | None = None,
    **options: Any,
) -> list[Row]:
    """What `measure` gives, on all cores: each operation on each cluster with each combination of the options that are lists, but
    `sizes`, which are measured one after the other.

    Rows are in that order, the last option running fastest, and each has a column for whatever was varied, unless it says itself what it is
    (`algorithm`: the one that was taken). What cannot be planned raises before anything is measured.
    """
    from thalweg.bench import sweep as many
    from thalweg.bench.operation import WrongRows, silent

    known = [_loaded(each) for each in _all(clusters)]
    options = plain(options)
    varied = {name: value for name, value in options.items() if isinstance(value, list) and name != "sizes"}
    points = [dict(zip(varied, values, strict=True)) for values in itertools.product(*varied.values())]
    planned = [
        (point, _plan(name, of, options | point)) for name in _all(operation) for of in known for point in points
    ]
    measured = many.measure([plan for _, plan in planned], progress or silent)
    rows = [
        row | {name: value for name, value in point.items() if name not in row}
        for (point, _), found in zip(planned, measured, strict=True)
        for row in found
    ]
    for (_, plan), found in zip(planned, measured, strict=True):
        try:
            plan.check(found)
        except WrongRows as wrong:
            raise WrongRows(f"{plan.title}: {wrong}", rows) from None
    return rows


def _all(given: Any) -> Sequence[Any]:
    return given if isinstance(given, Sequence) and not isinstance(given, str) else [given]


def run(command: Sequence[str | Path], cluster: AnyCluster | None = None, **options: Any) -> RunReport:
    """Runs an MPI program, unchanged, on a cluster, as `thalweg run` does, with its options by their names. What the program writes goes
    to the process's own output; how it ended is in the report."""
    of = None if cluster is None else _loaded(cluster)
    report: RunReport = _call("run", _system(of) if of else None, options, [str(word) for word in command], of)
    return report


def reproduce(paper: str, **options: Any) -> list[Row]:
    """What a paper published beside what is measured here, as `thalweg reproduce` does, with its options by their names."""
    rows: list[Row] = _call("reproduce", systems().get(paper), options, paper)
    return rows


def _loaded(cluster: AnyCluster) -> Cluster:
    return load(cluster) if isinstance(cluster, str | Path) else cluster


def _system(cluster: Cluster) -> System:
    if system := systems().get(getattr(cluster, "system", "")):
        return system
    if isinstance(cluster, mixed.Cluster):
        return cluster.of
    raise InputError(f"{cluster!r} is no cluster: thalweg.load gives one, by names such as torus:4x4")


def _plan(name: str, cluster: Cluster, options: Mapping[str, Any]) -> Plan:
    from thalweg.bench.operation import checked

    system = _system(cluster)
    operation: Operation = system.python(system.operations, name)
    return operation.plan(cluster, **checked(name, operation.plan, operation.listed(), options))


def _call(name: str, system: System | None, options: Mapping[str, Any], *values: Any) -> Any:
    """The function of a system's command; of the first that has it, where none is named."""
    from thalweg.bench.operation import checked, listed

    having = system or next(system for system in systems().values() if name in system.commands)
    function = having.python(having.commands, name)
    return function(*values, **checked(name, function, listed(function), options))
