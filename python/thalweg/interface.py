# SPDX-License-Identifier: Apache-2.0
"""The functions of `import thalweg`: the commands of `thalweg` as functions, dispatched to the cluster's system.

Errors are those of thalweg.errors. Rows are dictionaries of plain values, as in `--json`: pandas.DataFrame(rows). No
submodule of thalweg has the name of one of these functions.
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
    from concurrent.futures import Executor

    from thalweg.bench.operation import Operation, Option, Plan, Progress, Row
    from thalweg.route.proved import ProvedRoutes
    from thalweg.trace import Recorded

AnyCluster = Cluster | str | Path
"""A cluster, or an argument of `load`."""


class RunReport(Protocol):
    """The result of a run. Systems may add more."""

    @property
    def exit_code(self) -> int:
        """Exit code of the program; 124 if the simulation stopped."""

    @property
    def complaint(self) -> Sequence[str]:
        """Lines that explain why the run ended early, and who waits for whom; empty if it did not."""

    @property
    def virtual_time_us(self) -> float: ...
    @property
    def collectives(self) -> list[Row]: ...
    @property
    def links(self) -> list[Row]: ...
    @property
    def recorded(self) -> Recorded | None:
        """The timeline, if recorded with `record=True`."""

    def as_json(self) -> dict[str, Any]:
        """Returns the data written by `thalweg run --json`."""


def routes(cluster: AnyCluster, *, routing: str | None = None, table: str | Path | None = None) -> ProvedRoutes:
    """Computes the routing tables of a cluster and proves that they deliver every packet without deadlock.

    Parameters
    ----------
    cluster : Cluster, str or Path
        A cluster, or an argument of `load`.
    routing : str, optional
        Name of another routing algorithm than the cluster's.
    table : str or Path, optional
        File with a routing table (docs/routing.md), instead of an algorithm.

    Returns
    -------
    ProvedRoutes
        The tables and the figures of the proof.

    Raises
    ------
    CheckFailed
        The routes are wrong; the message has a wait-for cycle, or a pair without a route.
    InputError
        Invalid cluster, algorithm or table.

    Examples
    --------
    >>> import thalweg
    >>> thalweg.routes("torus:4x4").proof.longest_path
    4
    """
    of = _loaded(cluster)
    given = {name: value for name, value in (("routing", routing), ("table", table)) if value is not None}
    found: ProvedRoutes = _call("route", _system(of), given, of)
    return found


def operations(cluster: AnyCluster) -> dict[str, list[Option]]:
    """Lists the operations that can be measured on a cluster.

    Parameters
    ----------
    cluster : Cluster, str or Path
        A cluster, or an argument of `load`.

    Returns
    -------
    dict of str to list of Option
        For each operation its options: name, type and default.

    Raises
    ------
    InputError
        Invalid cluster, or one with nodes of several systems, which has no operations.

    Examples
    --------
    >>> import thalweg
    >>> [option.name for option in thalweg.operations("peach2-ring-4")["put"]][:2]
    ['engine', 'source']
    """
    system = _system(_loaded(cluster))
    if isinstance(system, mixed.Mixed):
        raise system.refusal("thalweg.operations")
    return {name: system.python(system.operations, name).listed() for name in system.operations}


def measure(operation: str, cluster: AnyCluster, **options: Any) -> list[Row]:
    """Measures an operation, as `thalweg bench` does.

    Parameters
    ----------
    operation : str
        Name of the operation, e.g. "allreduce".
    cluster : Cluster, str or Path
        A cluster, or an argument of `load`.
    **options
        Options of the operation, as listed by `operations`.

    Returns
    -------
    list of dict
        One row per measurement; times in us, sizes in bytes (docs/python.md, "Rows").

    Raises
    ------
    InputError
        Invalid cluster, operation or option.
    WrongRows
        A result is wrong, or a time is below its bound; `rows` has all rows.

    Examples
    --------
    >>> import thalweg
    >>> rows = thalweg.measure("allreduce", "ring:4", sizes="64,1K")
    >>> [row["bytes"] for row in rows]
    [64, 1024]
    >>> all(row["verified"] and row["time_us"] >= row["bound_us"] for row in rows)
    True
    """
    from thalweg.bench.operation import cores

    planned = plan(operation, _loaded(cluster), options)
    rows = planned.rows(workers=cores())
    planned.check(rows)
    return rows


def sweep(
    operation: str | Sequence[str],
    clusters: AnyCluster | Sequence[AnyCluster],
    *,
    progress: Progress | None = None,
    executor: Executor | None = None,
    **options: Any,
) -> list[Row]:
    """Measures operations on clusters for all combinations of options, in parallel on all cores.

    Parameters
    ----------
    operation : str or sequence of str
        One or more operations.
    clusters : Cluster, str, Path, or a sequence of these
        One or more clusters.
    progress : callable, optional
        Called with the finished fraction, 0 to 1.
    executor : concurrent.futures.Executor, optional
        Measures by tasks of this executor instead, each with one thread, e.g. on other machines.
    **options
        Options as in `measure`. Every option that is a list is varied, except `sizes`.

    Returns
    -------
    list of dict
        Rows as in `measure`, in the order of operations, clusters and options, the last option varying fastest.
        Each row has a column for every varied option, unless the operation reports it itself, as `algorithm`.

    Raises
    ------
    InputError
        An invalid combination; raised before anything is measured.
    WrongRows
        A result is wrong, or a time is below its bound; `rows` has all rows.
    WorkerFailed
        A worker failed for another reason, e.g. because its process was killed.

    Examples
    --------
    >>> import thalweg
    >>> rows = thalweg.sweep("barrier", ["ring:4", "ring:8"])
    >>> [row["ranks"] for row in rows]
    [4, 8]
    """
    from thalweg.bench import sweep as many
    from thalweg.bench.operation import WrongRows, silent

    known = [_loaded(each) for each in _all(clusters)]
    options = plain(options)
    varied = {name: value for name, value in options.items() if isinstance(value, list) and name != "sizes"}
    choices = [dict(zip(varied, values, strict=True)) for values in itertools.product(*varied.values())]
    wanted = [
        (chosen, many.Point(name, of, options | chosen))
        for name in _all(operation)
        for of in known
        for chosen in choices
    ]
    plans = [plan(*point) for _, point in wanted]  # all, before the first is measured
    if executor is None:
        found = many.measure(plans, progress or silent)
    else:
        found = many.measure_by(executor, [point for _, point in wanted], progress or silent)
    rows = [
        row | {name: value for name, value in chosen.items() if name not in row}
        for (chosen, _), of_point in zip(wanted, found, strict=True)
        for row in of_point
    ]
    for planned, of_plan in zip(plans, found, strict=True):
        try:
            planned.check(of_plan)
        except WrongRows as wrong:
            raise WrongRows(f"{planned.title}: {wrong}", rows) from None
    return rows


def _all(given: Any) -> Sequence[Any]:
    return given if isinstance(given, Sequence) and not isinstance(given, str) else [given]


def run(command: Sequence[str | Path], cluster: AnyCluster | None = None, **options: Any) -> RunReport:
    """Runs an unmodified MPI program on a cluster, as `thalweg run` does.

    Parameters
    ----------
    command : sequence of str or Path
        The program and its arguments. Its output goes to that of this process.
    cluster : Cluster, str or Path, optional
        A cluster, or an argument of `load`. Default: as for `thalweg run`.
    **options
        Options of `thalweg run`, e.g. `ranks=4`.

    Returns
    -------
    RunReport
        Exit code, virtual time in us, collectives and link traffic.

    Raises
    ------
    InputError
        Invalid cluster, option or program.
    """
    if isinstance(command, str | Path):
        raise InputError(f"a command is a list of words, such as [{str(command)!r}]")
    of = None if cluster is None else _loaded(cluster)
    report: RunReport = _call("run", _system(of) if of else None, options, [str(word) for word in command], of)
    return report


def reproduce(paper: str, **options: Any) -> list[Row]:
    """Compares a paper's published numbers with measured ones, as `thalweg reproduce` does.

    Parameters
    ----------
    paper : str
        Name of the paper's system, e.g. "mpi-fpga".
    **options
        Options of `thalweg reproduce` for this paper.

    Returns
    -------
    list of dict
        One row per published number, with the measured one.

    Raises
    ------
    InputError
        Unknown paper or invalid option.
    """
    rows: list[Row] = _call("reproduce", systems().get(paper), options, paper)
    return rows


def _loaded(cluster: AnyCluster) -> Cluster:
    return load(cluster) if isinstance(cluster, str | Path) else cluster


def _system(cluster: Cluster) -> System:
    if system := systems().get(getattr(cluster, "system", "")):
        return system
    if isinstance(cluster, mixed.Cluster):
        return cluster.of
    raise InputError(f"{cluster!r} is not a cluster: give one from thalweg.load, e.g. load('torus:4x4')")


def plan(name: str, cluster: Cluster, options: Mapping[str, Any]) -> Plan:
    """Returns the plan of an operation with these options. Raises InputError."""
    from thalweg.bench.operation import checked

    system = _system(cluster)
    operation: Operation = system.python(system.operations, name)
    return operation.plan(cluster, **checked(name, operation.plan, operation.listed(), options))


def _call(name: str, system: System | None, options: Mapping[str, Any], *values: Any) -> Any:
    """Calls the function of a system's command; without a system, that of the first system that has it."""
    from thalweg.bench.operation import checked, listed

    having = system or next(system for system in systems().values() if name in system.commands)
    function = having.python(having.commands, name)
    return function(*values, **checked(name, function, listed(function), options))
