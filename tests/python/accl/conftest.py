# SPDX-License-Identifier: Apache-2.0
"""Hardware and kernels shared by several tests, so that they are built once for all of them."""

from __future__ import annotations

import hashlib
import pickle
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from thalweg.kernels.compiler import Compiler
from thalweg.launch.locks import alone
from thalweg.spec import Datatype, Operator
from thalweg.systems.accl import drawn_programs, kernels, rtl_engine
from thalweg.systems.accl.cluster import Board, Cluster
from thalweg.systems.accl.hls import Rewritten
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


@pytest.fixture(scope="session", autouse=True)
def compiled_once(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[None]:
    """Kernels of the same source and compiler are compiled once per run, by the first worker, which takes seconds. Each
    test has a copy of the library, and so its own variables."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "kernels"
    build = kernels._built

    def built(
        source: Path, into: Path, text: str, compiler: Compiler, command: Sequence[str]
    ) -> tuple[Path, Rewritten]:
        # pragmas have macros, which are missing in the text
        parts = (source, source.read_bytes(), text, compiler, *command, kernels.CODE, kernels.LINES)
        place = folder / hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()
        with alone(place):
            if not (place / "rewritten").exists():
                _, rewritten = build(source, place, text, compiler, command)
                (place / "rewritten").write_bytes(pickle.dumps(rewritten))
        library = shutil.copy(place / f"{source.stem}.so", into)
        return Path(library), pickle.loads((place / "rewritten").read_bytes())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "_built", built)
        yield
