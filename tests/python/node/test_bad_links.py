"""Ten thousand collectives in random order on links that fail, by the C++ tests' random fabrics."""

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
    for command in (["cmake", "--preset", "test"], ["cmake", "--build", "--preset", "test", "--target", "node_test"]):
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return ROOT / "build/test/tests/node_test"


@pytest.mark.parametrize("test", ["Stress.BadLinks", "Stress.CutLinks"])
def test_collectives(program: Path, test: str) -> None:
    """Bit errors at 1e-4 to 1e-8, losses, duplicates, cuts for a time; links that stay down. Each result by the oracle."""
    ran = subprocess.run(
        [program, f"--gtest_filter={test}", "--gtest_brief=1"],
        env=os.environ | {"THALWEG_RUNS": "480", "THALWEG_SEED": "1"},
        capture_output=True,
        text=True,
        timeout=3600,
    )
    assert ran.returncode == 0, ran.stdout
    operations = re.search(r"(\d+) operations", ran.stdout)
    assert operations
    assert int(operations[1]) >= 10_000
