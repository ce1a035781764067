# SPDX-License-Identifier: Apache-2.0
"""Do all operations of all systems give rows of one schema, the same in Python, in JSON and in the table?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import thalweg
from rows import check_schema
from thalweg import cli
from thalweg.systems import systems

TORUS, PEACH2, SMI = "mpi-fpga-torus-2x2x2", "peach2-ring-4", "smi-noctua"
CLUSTERS = {"mpi-fpga": TORUS, "peach2": PEACH2, "smi": SMI}
SHORT: dict[str, dict[str, Any]] = {
    "barrier": {},
    "faults": {"cycles": 100_000, "rates": 1e-7},
    "injection": {"messages": 50},
    "jobs": {"sizes": 8, "share": "none"},
    "traffic": {"cycles": 1000, "warmup": 100},
}
"""Options that make an operation short, other than `sizes`."""
OPERATIONS = [(of, name) for of, system in systems().items() if of in CLUSTERS for name in system.operations]


@pytest.mark.parametrize(("system", "operation"), OPERATIONS)
def test_rows_have_the_documented_columns(system: str, operation: str) -> None:
    rows = thalweg.measure(operation, CLUSTERS[system], **SHORT.get(operation, {"sizes": 4096}))
    check_schema(rows, CLUSTERS[system], operation)


@pytest.mark.parametrize(("cluster", "operation"), [(TORUS, "latency"), (PEACH2, "put"), (SMI, "push")])
def test_python_and_the_file_and_the_table_have_the_same(
    cluster: str, operation: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.json"
    assert cli.main(["bench", operation, "--cluster", cluster, "--sizes", "8,1K", "--json", str(file)]) == 0
    rows = json.loads(file.read_text())["rows"]
    assert (
        rows == thalweg.sweep(operation, cluster, sizes=[8, 1024]) == thalweg.measure(operation, cluster, sizes="8,1K")
    )
    title, until, header, first, *_ = capsys.readouterr().out.splitlines()
    assert cluster in title and operation in title and until == f"times in us, until {rows[0]['until']}"
    time, bound = (f"{rows[0][name]:.4g}" for name in ("time_us", "bound_us"))
    assert header.split()[:4] == ["bytes", "time", "bound", "share"] and header.split()[-1] == "verified"
    assert first.split()[:4] == ["8", time, bound, f"{rows[0]['share']:.1%}"] and first.split()[-1] == "yes"


def test_rows_of_a_sweep_say_whose_they_are() -> None:
    rows = thalweg.sweep("put", ["peach2", PEACH2, thalweg.load(PEACH2).replace(link={"latency_ns": 999})], sizes=8)
    assert [row["cluster"] for row in rows] == ["peach2", PEACH2, f"{PEACH2} with link.latency_ns = 999"]
