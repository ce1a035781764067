# SPDX-License-Identifier: Apache-2.0
"""The C++ tests' random fabrics for longer: among them thousands of collectives in random order on links that fail."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def program() -> Path:
    for command in (
        ["cmake", "--preset", "sanitize"],
        ["cmake", "--build", "--preset", "sanitize", "--target", "mpi_fpga_test"],
    ):
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return ROOT / "build/sanitize/tests/mpi_fpga_test"


def operations(program: Path, test: str, runs: int) -> int:
    ran = subprocess.run(
        [program, f"--gtest_filter=Stress.{test}", "--gtest_brief=1"],
        env=os.environ | {"THALWEG_RUNS": str(runs), "THALWEG_SEED": "1"},
        capture_output=True,
        text=True,
        timeout=3600,
    )
    assert ran.returncode == 0, ran.stdout
    found = re.search(r"(\d+) operations", ran.stdout)
    assert found
    return int(found[1])


@pytest.mark.parametrize("test", ["BadLinks", "CutLinks"])
def test_links_that_fail(program: Path, test: str) -> None:
    """Bit errors at 1e-4 to 1e-8, losses, duplicates, temporary cuts; links that stay down. Each result is compared
    with the oracle."""
    assert operations(program, test, 180) >= 3_000


@pytest.mark.parametrize(("test", "runs"), [("RandomFabrics", 200), ("RandomAllToAlls", 60)])
def test_good_links(program: Path, test: str, runs: int) -> None:
    assert operations(program, test, runs) >= runs
