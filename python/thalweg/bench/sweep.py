# SPDX-License-Identifier: Apache-2.0
"""Measures several plans in parallel: on all cores, or by the workers of an executor."""

from __future__ import annotations

import dataclasses
import multiprocessing
import pickle
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from typing import Any, NamedTuple

from thalweg.bench.operation import Plan, Progress, Row, cores, silent
from thalweg.cluster import Cluster
from thalweg.errors import InputError, ThalwegError, WorkerFailed, one_line

_plans: Sequence[Plan] = ()  #: set in each process of the pool
_threads = 1


def measure(plans: Sequence[Plan], progress: Progress = silent) -> list[list[Row]]:
    """Measures several plans in parallel processes and returns the rows of each plan.

    Processes, because short operations spend most of their time in Python. `progress` gets the fraction of finished
    plans. Processes are forked: plans and clusters are not copied, and scripts need no `if __name__ == "__main__"`.
    Raises the exception of the first plan that fails, and cancels the others.
    """
    processes = min(cores(), len(plans))
    if processes <= 1:
        return [plan.rows(progress, cores()) for plan in plans]
    pool = ProcessPoolExecutor(
        processes, multiprocessing.get_context("fork"), _begin, (plans, max(1, cores() // processes))
    )
    with pool:
        return _finished({pool.submit(_rows, index): plan.title for index, plan in enumerate(plans)}, progress)


class Point(NamedTuple):
    """What to measure: a plan as data, which can be sent to other machines."""

    operation: str
    cluster: Cluster
    options: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.operation} on {self.cluster.name}"


def measure_by(executor: Executor, points: Sequence[Point], progress: Progress = silent) -> list[list[Row]]:
    """Measures each point by a task of an executor and returns its rows; otherwise as `measure`.

    Raises InputError if a point cannot be sent to a worker, and WorkerFailed if a worker fails for another reason than an
    error of Thalweg.
    """
    if not isinstance(executor, Executor):
        raise InputError(f"executor is {executor!r}; it must be a concurrent.futures.Executor")
    sent = [(_pickled(point), str(point)) for point in points]  # all, before the first starts
    return _finished({executor.submit(_rows_of, data): name for data, name in sent}, progress)


def _finished(futures: Mapping[Future[list[Row]], str], progress: Progress) -> list[list[Row]]:
    """Returns the results of tasks, given with their names. Cancels the others if one fails."""
    try:
        for done, future in enumerate(as_completed(futures), start=1):
            try:
                future.result()
            except ThalwegError:
                raise
            except Exception as error:
                what = one_line(f"{type(error).__name__}: {error}")
                raise WorkerFailed(f"{futures[future]}: a worker failed: {what}") from error
            progress(done / len(futures))
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    return [future.result() for future in futures]


def _pickled(point: Point) -> bytes:
    """Returns a point as bytes, without the values that its cluster caches. Raises InputError."""
    bare = dataclasses.replace(point.cluster) if dataclasses.is_dataclass(point.cluster) else point.cluster
    try:
        return pickle.dumps(point._replace(cluster=bare))
    except Exception as error:  # pickle raises several types
        raise InputError(f"{point} cannot be sent to workers of an executor: {one_line(str(error))}") from None


def _rows_of(point: bytes) -> list[Row]:
    from thalweg.interface import plan

    return plan(*pickle.loads(point)).rows()


def _begin(plans: Sequence[Plan], threads: int) -> None:
    global _plans, _threads
    _plans, _threads = plans, threads


def _rows(index: int) -> list[Row]:
    return _plans[index].rows(workers=_threads)
