# SPDX-License-Identifier: Apache-2.0
"""Are reductions on the fabric bit-equal to the software MPI's, if the order does not matter, and to their documented
order?"""

from __future__ import annotations

import sys
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from programs import ROOT, Mpi, Thalweg
from reductions import cases, is_truth, operands
from thalweg.spec import MPI_OPERATORS, MPI_TYPES, Operator
from thalweg.systems.mpi_fpga.reduction import DTYPES, combiner, evaluate
from thalweg.systems.mpi_fpga.spec import Algorithm

PROGRAM = ROOT / "tests/end_to_end/reductions.py"
CLUSTER = "mpi-fpga-torus-2x2x2"
ORDERED = (Operator.SUM, Operator.PROD)


def load(folder: Path, ranks: int) -> list[dict[str, NDArray[Any]]]:
    return [dict(np.load(folder / f"{rank}.npz")) for rank in range(ranks)]


def has_nan(values: NDArray[Any]) -> NDArray[Any]:
    parts = values["value"] if values.dtype.names else values
    return np.isnan(parts).any(axis=0) if parts.dtype.kind in "fc" else np.zeros(values.shape[1], bool)


def same_numbers(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Equal as numbers: -0 is 0. For pairs, both parts."""
    return (a["value"] == b["value"]) & (a["index"] == b["index"]) if a.dtype.names else a == b


def bits(values: NDArray[Any]) -> bytes:
    """All significant bits: without the padding of a pair, and the same for every NaN."""
    if not values.dtype.names:
        return values.tobytes()
    value = values["value"]
    return (
        np.where(value == value, value, np.zeros((), value.dtype)).tobytes()
        + values["index"].tobytes()
        + has_nan(values[None]).tobytes()
    )


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("ranks", "per_node", "count"),
    [
        pytest.param(8, 1, 2000, marks=pytest.mark.long),
        pytest.param(5, 1, 67, marks=pytest.mark.long),
        pytest.param(7, 1, 1, marks=pytest.mark.long),
        (7, 3, 67),
    ],
)
def test_every_operator_on_every_type(
    mpi: Mpi, thalweg: Thalweg, tmp_path: Path, ranks: int, per_node: int, count: int
) -> None:
    seed = 1000 * ranks + 100 * (per_node - 1) + count
    command: list[str | Path] = [sys.executable, PROGRAM]
    (tmp_path / "plain").mkdir()
    (tmp_path / "fabric").mkdir()
    plain_run = mpi.run(ranks, [*command, tmp_path / "plain", str(count), str(seed)])
    assert plain_run.returncode == 0, plain_run.stderr
    words = [*command, tmp_path / "fabric", str(count), str(seed)]
    run = thalweg(ranks, CLUSTER, words, "--ranks-per-node", str(per_node))
    assert run.exit_code == 0, run.stderr
    assert run.report["fallback"] == {}

    plain, fabric = load(tmp_path / "plain", ranks), load(tmp_path / "fabric", ranks)
    for name, op in cases():
        operator, datatype = MPI_OPERATORS[op], MPI_TYPES[name].datatype
        given = operands(datatype, is_truth(name), ranks, count, seed)
        floating = given.dtype.kind in "fc"
        combine = combiner(operator, datatype)
        on_nodes = np.stack([reduce(combine, given[i : i + per_node]) for i in range(0, ranks, per_node)])
        for what, receivers, root in (("allreduce", range(ranks), 0), ("reduce", [ranks - 1], ranks - 1)):
            key = f"{name} {op} {what}"
            results = [fabric[rank][key] for rank in receivers]
            assert all(bits(result) == bits(results[0]) for result in results), f"{key}: ranks differ"
            algorithms = list(Algorithm)[:2] if what == "allreduce" else [Algorithm.TREE]
            documented = [
                bits(evaluate(algorithm, operator, datatype, on_nodes, root // per_node)) for algorithm in algorithms
            ]
            assert bits(results[0]) in documented, f"{key}: not the documented order, seed {seed}"
            software = plain[receivers[0]][key]
            if not floating or operator not in ORDERED:
                equal = same_numbers(results[0], software) | has_nan(given)
                assert equal.all(), f"{key}: not the software's, seed {seed}"


def test_the_operands_are_hard() -> None:
    """Do the data include the difficult values?"""
    for datatype, dtype in DTYPES.items():
        values = operands(datatype, False, 8, 5000, 1)
        parts = values["value"] if dtype.names else values
        if parts.dtype.kind in "fc":
            assert np.isnan(parts).any() and np.isinf(parts).any()
            flat = parts.view(parts.real.dtype)
            assert (np.signbit(flat) & (flat == 0)).any() and (~np.signbit(flat) & (flat == 0)).any()
        else:
            assert parts.min() == np.iinfo(parts.dtype).min and parts.max() == np.iinfo(parts.dtype).max
