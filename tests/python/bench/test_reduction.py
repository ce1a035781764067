# SPDX-License-Identifier: Apache-2.0
"""Does the evaluation on the processor combine in the documented order, and follow the rules for NaN and signed zeros?"""

from __future__ import annotations

import numpy as np
import pytest
from thalweg.spec import OPERATORS, SIZE, Datatype, Operator
from thalweg.systems.mpi_fpga.reduction import DTYPES, combiner, evaluate, joined, scan, stacked
from thalweg.systems.mpi_fpga.spec import Algorithm


def single(*values: float) -> np.ndarray:
    return np.array(values, np.float32).reshape(-1, 1)


def result(algorithm: Algorithm, operands: np.ndarray, root: int = 0) -> np.float32:
    return np.float32(evaluate(algorithm, Operator.SUM, Datatype.FLOAT32, operands, root)[0])


@pytest.mark.parametrize("seed", range(20))
def test_orders_written_out(seed: int) -> None:
    """Five ranks: 0 is connected to 1, 2 and 4, and 2 to 3."""
    operands = (np.random.default_rng(seed).standard_normal((5, 1)) * 1e3).astype(np.float32)
    a, b, c, d, e = operands[:, 0]
    assert result(Algorithm.TREE, operands) == (a + b) + ((c + d) + e)
    assert result(Algorithm.TREE, operands, root=3) == d + (c + ((a + b) + e))
    assert result(Algorithm.TREE, operands, root=4) == e + ((a + b) + (c + d))
    assert result(Algorithm.EXCHANGE, operands) == ((a + e) + b) + (c + d)


@pytest.mark.parametrize("seed", range(20))
def test_the_order_of_halving_written_out(seed: int) -> None:
    operands = (np.random.default_rng(seed).standard_normal((8, 1)) * 1e3).astype(np.float32)
    a, b, c, d, e, f, g, h = operands[:, 0]
    assert result(Algorithm.HALVING, operands) == ((a + e) + (c + g)) + ((b + f) + (d + h))


@pytest.mark.parametrize("seed", range(20))
def test_orders_of_scans_written_out(seed: int) -> None:
    operands = (np.random.default_rng(seed).standard_normal((8, 1)) * 1e3).astype(np.float32)
    a, b, c, d, e, f, g, h = operands[:, 0]
    results = [float(r[0]) for r in scan(Operator.SUM, Datatype.FLOAT32, operands, inclusive=True)]
    four = (a + b) + (c + d)
    assert results == [a, b + a, c + (a + b), (d + c) + (a + b), e + four, (f + e) + four, (g + (e + f)) + four] + [
        ((h + g) + (e + f)) + four
    ]
    before = scan(Operator.SUM, Datatype.FLOAT32, operands, inclusive=False)
    assert not before[0].size
    assert [float(r[0]) for r in before[1:]] == [a, a + b, c + (a + b), four, e + four, (e + f) + four] + [
        (g + (e + f)) + four
    ]


def test_the_order_matters_to_these_operands() -> None:
    operands = single(1e8, 1.0, -1e8, 1.0, 1.0)
    orders = {float(result(Algorithm.TREE, operands, root)) for root in range(5)}
    assert len(orders) > 1


@pytest.mark.parametrize("datatype", Datatype)
def test_every_type_is_laid_out_as_c_does(datatype: Datatype) -> None:
    assert DTYPES[datatype].itemsize == SIZE[datatype]


@pytest.mark.parametrize(("datatype", "operator"), [(t, op) for t, ops in OPERATORS.items() for op in ops])
def test_operands_may_change_places(datatype: Datatype, operator: Operator) -> None:
    random = np.random.default_rng(3)
    a, b = (np.frombuffer(random.bytes(256 * SIZE[datatype]), DTYPES[datatype]) for _ in range(2))
    combine = combiner(operator, datatype)
    assert combine(a, b).tobytes() == combine(b, a).tobytes()


def test_rules_for_nan_and_zeros() -> None:
    least, most = combiner(Operator.MIN, Datatype.FLOAT64), combiner(Operator.MAX, Datatype.FLOAT64)
    plus, minus, nan = np.array([0.0]), np.array([-0.0]), np.array([-np.nan])
    assert np.signbit(least(plus, minus))[0] and not np.signbit(most(minus, plus))[0]
    for combined in (least(nan, plus), most(plus, nan), least(nan, nan)):
        assert combined.view(np.uint64)[0] == 0x7FF8000000000000
    located = combiner(Operator.MINLOC, Datatype.PAIR_FLOAT64_INT32)
    pairs = [np.array([pair], DTYPES[Datatype.PAIR_FLOAT64_INT32]) for pair in ((1.0, 4), (1.0, 2), (np.nan, 7))]
    assert located(pairs[0], pairs[1])["index"][0] == 2
    assert located(pairs[0], pairs[2])["index"][0] == 7


@pytest.mark.parametrize(
    "datatype", [Datatype.PAIR_FLOAT64_INT32, Datatype.PAIR_INT64_INT32, Datatype.PAIR_INT16_INT32]
)
def test_padding_is_kept(datatype: Datatype) -> None:
    """NumPy's concatenate and stack leave it undefined."""
    dtype = DTYPES[datatype]
    parts = [np.frombuffer(bytes(range(3 * dtype.itemsize)), dtype) for _ in range(40)]
    expected = b"".join(part.tobytes() for part in parts)
    assert joined(parts).tobytes() == stacked(parts).tobytes() == expected
    assert stacked(parts).shape == (40, 3)
