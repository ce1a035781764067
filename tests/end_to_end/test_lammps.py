# SPDX-License-Identifier: Apache-2.0
"""Does the driver of LAMMPS detect a difference between the results with and without the fabric? (test_documents.py
runs it.)"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from programs import ROOT

DRIVER = ROOT / "examples/lammps/run.py"


@pytest.fixture
def driver() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lammps_driver", DRIVER)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def log(path: Path, energy: str) -> Path:
    path.write_text(
        f"LAMMPS\n   Step          Temp          TotEng\n 0   3.0  -2.25\n 10   2.5  {energy}\nLoop time of 1\n"
    )
    return path


@pytest.mark.parametrize(
    ("energy", "right"),
    [("-2.25", True), ("-2.2500000000001", True), ("-2.250000003", False), ("nan", False), ("inf", False)],
)
def test_a_difference_is_seen(driver: ModuleType, tmp_path: Path, energy: str, right: bool) -> None:
    plain, fabric = driver.thermo(log(tmp_path / "a", "-2.25")), driver.thermo(log(tmp_path / "b", energy))
    assert plain == {0: {"Temp": 3.0, "TotEng": -2.25}, 10: {"Temp": 2.5, "TotEng": -2.25}}
    assert (driver.compare(plain, fabric) <= driver.LIMIT) is right


def test_a_log_that_breaks_off_is_refused(driver: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "log").write_text("   Step Temp TotEng\n 0 3.0 -2.25\n")
    with pytest.raises(SystemExit, match="no complete"):
        driver.thermo(tmp_path / "log")


def test_a_collective_in_software_is_seen(driver: ModuleType) -> None:
    rows = [
        {"function": "MPI_Scan", "calls": 8, "offloaded": False},
        {"function": "MPI_Bcast", "calls": 8, "offloaded": True},
    ]
    assert driver.left_to_software({"collectives": rows}) == []
    rows.append({"function": "MPI_Allreduce", "calls": 16, "offloaded": False})
    assert driver.left_to_software({"collectives": rows}) == ["MPI_Allreduce: 16 calls"]
