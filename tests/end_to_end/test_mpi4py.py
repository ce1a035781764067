# SPDX-License-Identifier: Apache-2.0
"""Does mpi4py's own test suite give the same verdicts with and without the fabric, with every call intercepted?"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from programs import ROOT, execute

DRIVER = ROOT / "apps/mpi4py/run.py"


def run(*options: str, timeout: float) -> str:
    done = execute([sys.executable, DRIVER, *options], timeout=timeout)
    if "cannot be had" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "on the fabric nothing differs" in done.stdout
    return done.stdout


#: The whole suite takes most of an hour on two cores, by apps/mpi4py/run.py: its one-sided tests poll, and MPICH
#: sometimes miscounts the neighbours of two consecutive MPI_Dist_graph_create (test_comm_topo).
MODULES = ["test_comm_inter", "test_p2p_obj", "test_cco_obj", "test_cco_nb_buf"]


@pytest.mark.long
@pytest.mark.parametrize("ranks", [2, 3])
def test_messages_and_communicators(ranks: int) -> None:
    said = run("-n", str(ranks), "--only", *MODULES, timeout=3000)
    assert "intercommunicator" in said, "that part of the suite is missing"


@pytest.fixture
def driver() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mpi4py_driver", DRIVER)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look it up there
    spec.loader.exec_module(module)
    return module


def test_every_difference_is_seen(driver: ModuleType) -> None:
    same = [{"a": "ok", "b": "skipped: no"}, {"a": "ok"}]
    assert driver.differences(same, same, {"MPI_Scan": 4}, {"MPI_Scan": 4}) == []
    other = [{"a": "ok", "b": "ok"}, {}]
    assert driver.differences(same, other, {"MPI_Scan": 4}, {"MPI_Scan": 3, "MPI_Send": 1}) == [
        "rank 0: b: skipped: no; on the fabric ok",
        "rank 1: a: ok; on the fabric None",
        "MPI_Scan: 4 calls, 3 intercepted",
        "MPI_Send: 0 calls, 1 intercepted",
    ]


def test_a_rank_without_an_end_is_seen(driver: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "0").write_text('["m.a"]\n["m.a", "ok"]\n[]\n')
    (tmp_path / "1").write_text('["m.a"]\n["m.a", "ok"]\n["m.b"]\n')
    seen = driver.record(tmp_path, 2)
    assert (seen.whole, seen.verdicts, seen.under_way) == (False, [{"m.a": "ok"}] * 2, {"m.b": [1]})
