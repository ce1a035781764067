# SPDX-License-Identifier: Apache-2.0
"""Hardware of fewer parts, so that it is built in less time."""

from __future__ import annotations

import numpy as np
import pytest
from thalweg.spec import Datatype, Operator
from thalweg.systems.accl import drawn_programs, rtl_engine
from thalweg.systems.accl.cluster import Board, Cluster
from thalweg.systems.accl.values import Function

SUMS = (Datatype.INT32, Datatype.FLOAT16, Datatype.FLOAT32)


@pytest.fixture
def few_plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Boards in hardware that convert, and add elements of three types; random programs use no more. All pairs of
    operators and types are in the tests of tw_lane, and whole boards with them, which take three times as long to
    build, in the long tests."""
    pairs = sum(1 << (16 * datatype + Operator.SUM) for datatype in SUMS)
    whole = rtl_engine.parameters

    def parameters(cluster: Cluster, board: Board) -> dict[str, int | str]:
        return {"Pairs": f"512'h{pairs:x}", **whole(cluster, board)}  # boards without pairs remain so

    monkeypatch.setattr(rtl_engine, "parameters", parameters)
    monkeypatch.setattr(drawn_programs, "TYPES", ("float16", "float32", "int32"))
    monkeypatch.setattr(drawn_programs, "FUNCTIONS", {Function.SUM: np.add})
