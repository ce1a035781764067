# SPDX-License-Identifier: Apache-2.0
"""Measures several plans in parallel on all cores."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from thalweg.bench.operation import Plan, Progress, Row, cores, silent

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
        futures = [pool.submit(_rows, index) for index in range(len(plans))]
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                future.result()
                progress(done / len(plans))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [future.result() for future in futures]


def _begin(plans: Sequence[Plan], threads: int) -> None:
    global _plans, _threads
    _plans, _threads = plans, threads


def _rows(index: int) -> list[Row]:
    return _plans[index].rows(workers=_threads)
