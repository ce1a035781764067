# SPDX-License-Identifier: Apache-2.0
"""Do random programs leave the results that the processor computes, or report the operations that failed? And would a
wrong model be detected?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from thalweg.systems.peach2 import arithmetic, programs
from thalweg.systems.peach2.cluster import Cluster
from thalweg.systems.peach2.programs import Outcome


def outcomes(cluster: str, runs: int, first: int) -> Iterator[Outcome]:
    having_all = programs.with_all_pairs(Cluster.load(cluster))
    return (programs.run(having_all, "sim", seed) for seed in range(first, first + runs))


def check(cluster: str, runs: int, seed: int) -> None:
    """Each is right or reports the reason, which few do."""
    operations = ended = stopped = lost = 0
    for outcome in outcomes(cluster, runs, seed):
        operations += len(outcome.times)
        ended += sum(end >= 0 for _, end, _ in outcome.times)
        stopped += bool(outcome.said)
        lost += outcome.lost > 0
    print(f"{operations} operations, {ended} ended, {stopped} programs stopped, {lost} lost a write")
    assert ended > 0.9 * operations and stopped <= 2 + runs // 4 and (lost > 0 or runs < 100)


@pytest.mark.parametrize(("cluster", "runs"), [("peach2-ring-4", 20), ("peach2", 5)])
def test_random_programs(cluster: str, runs: int, seed: int) -> None:
    check(cluster, runs, seed)


@pytest.mark.sample(2)
@pytest.mark.slow
def test_a_hundred_random_programs(seed: int) -> None:
    check("peach2-ring-4", 80, seed)
    check("peach2", 20, seed)


@pytest.mark.long
@pytest.mark.parametrize(("cluster", "runs"), [("peach2-ring-4", 8000), ("peach2", 2000)])
def test_ten_thousand_random_programs(cluster: str, runs: int, seed: int) -> None:
    check(cluster, runs, seed)


def test_all_operators_and_types_are_drawn() -> None:
    assert len(arithmetic.PAIRS) == 105
    kinds = {pair.split()[1] for pair in arithmetic.PAIRS}
    assert {"byte", "int8", "uint64", "float16", "float64", "complex128", "pair_float32_int32"} <= kinds


def test_what_is_wrong_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum in another order, visible in its last bits."""
    right = arithmetic.reduced

    def other_order(data: bytes, op: str, kind: str, record: int, sums: int, tree: bool = False) -> bytes:
        return right(data, op, kind, record, sums * 2, tree)

    monkeypatch.setattr(arithmetic, "reduced", other_order)
    cluster = Cluster.load("peach2-ring-4")
    for seed in count():
        try:
            programs.run(cluster, "sim", seed)
        except programs.CheckFailed as failed:
            assert " of memory " in str(failed)
            break
        assert seed < 20
