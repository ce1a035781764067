# SPDX-License-Identifier: Apache-2.0
"""Does a sweep by an executor return the rows of one without, and an error in a worker as one line?"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context
from typing import Any

import pytest
import thalweg
from distributed import Client, LocalCluster
from thalweg.bench.operation import Plan
from thalweg.errors import FabricStopped, InputError, RtlDifference, WorkerFailed

WORKERS = 2


@contextmanager
def threads() -> Iterator[Executor]:
    with ThreadPoolExecutor(WORKERS) as executor:
        yield executor


@contextmanager
def forked() -> Iterator[Executor]:
    with ProcessPoolExecutor(WORKERS, get_context("fork")) as executor:
        yield executor


@contextmanager
def spawned() -> Iterator[Executor]:
    with ProcessPoolExecutor(WORKERS, get_context("spawn")) as executor:
        yield executor


@contextmanager
def dask() -> Iterator[Executor]:
    with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as workers,
        Client(workers) as client,
    ):
        yield client.get_executor()


@contextmanager
def dask_threads() -> Iterator[Executor]:
    with (
        LocalCluster(n_workers=1, threads_per_worker=WORKERS, processes=False, dashboard_address=None) as workers,
        Client(workers) as client,
    ):
        yield client.get_executor()


@pytest.mark.sample(4)
@pytest.mark.parametrize("made", [threads, forked, spawned, dask])
def test_rows_are_those_without_an_executor(made: Callable[[], Any]) -> None:
    used = thalweg.load("vcsn-d5005")  # whose front is in C++, and cached
    thalweg.measure("transfer", used, sizes=64)
    done: list[float] = []
    with made() as executor:
        for operation, clusters, options in (
            ("allreduce", ["ring:4", "torus:2x2"], {"sizes": [8, 64], "algorithm": ["tree", "exchange"]}),
            ("transfer", used, {"sizes": 64}),
        ):
            assert thalweg.sweep(operation, clusters, **options) == thalweg.sweep(
                operation, clusters, executor=executor, progress=done.append, **options
            )
    assert done == [0.25, 0.5, 0.75, 1, 1]


def fails(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets all measurements of this process, and of those forked from it, fail."""

    def rows(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(Plan, "rows", rows)


@pytest.mark.parametrize("made", [threads, forked, dask_threads])
@pytest.mark.parametrize(
    "error",
    [
        InputError("is wrong", "a.toml", 3),
        FabricStopped("deadlock: node 0"),
        RtlDifference("the router differs", "tw_router", 3, 17),
    ],
)
def test_an_error_of_thalweg_arrives_unchanged(
    made: Callable[[], Any], error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails(error, monkeypatch)
    with made() as executor, pytest.raises(type(error)) as found:
        thalweg.sweep("barrier", ["ring:4", "ring:8"], executor=executor)
    assert str(found.value) == str(error) and vars(found.value) == vars(error)


@pytest.mark.parametrize("made", [threads, forked, dask_threads])
def test_another_error_names_the_measurement(made: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    fails(ZeroDivisionError("in\ntwo lines"), monkeypatch)
    with made() as executor, pytest.raises(WorkerFailed) as found:
        thalweg.sweep("barrier", "ring:4", executor=executor)
    assert str(found.value) == "barrier on ring:4: a worker failed: ZeroDivisionError: in two lines"


def test_a_killed_worker_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Plan, "rows", lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
    with forked() as executor, pytest.raises(WorkerFailed, match="^barrier on ring:[48]: a worker failed: Broken"):
        thalweg.sweep("barrier", ["ring:4", "ring:8"], executor=executor)


def test_what_cannot_be_sent_is_refused_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    fails(AssertionError("ran"), monkeypatch)
    ring = thalweg.load("ring:4")
    held = replace(ring, routers=threading.Lock())  # type: ignore[type-var]
    with threads() as executor, pytest.raises(InputError, match="barrier on ring:4 cannot be sent to workers"):
        thalweg.sweep("barrier", [ring, held], executor=executor)
    with pytest.raises(InputError, match=r"executor is 3; it must be a concurrent.futures.Executor"):
        thalweg.sweep("barrier", ring, executor=3)
