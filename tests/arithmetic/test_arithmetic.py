# SPDX-License-Identifier: Apache-2.0
"""Does the RTL's arithmetic equal the processor's, to the bit? Every operator on every type, at the corners and at
random; docs/arithmetic.md describes the method. A failure names its seed; THALWEG_SEED=<seed> repeats it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from thalweg import spec
from thalweg.rtl.project import Project

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
OPERATORS = [
    operator for operator in spec.Operator if any(spec.supported(operator, datatype) for datatype in spec.Datatype)
]


def build(project: Project) -> Path:
    return project.build_driver(HERE / "arithmetic.sv", HERE / "driver.cpp")


@pytest.fixture(scope="module")
def driver() -> Path:
    return build(Project(ROOT))


def run(driver: Path, pairs: int, seed: int, operator: str = "") -> subprocess.CompletedProcess[str]:
    done = subprocess.run([driver, str(pairs), str(seed), operator], text=True, stdout=subprocess.PIPE, check=False)
    print(done.stdout)
    return done


def operators_in(text: str, pairs: int) -> set[tuple[str, str]]:
    """Operators and types for which at least `pairs` pairs were equal."""
    found = re.findall(r"^(\w+) +(\w+) +(\d+) pairs equal", text, re.MULTILINE)
    return {(operator, datatype) for operator, datatype, count in found if int(count) >= pairs}


def supported(operators: list[spec.Operator]) -> set[tuple[str, str]]:
    return {
        (operator.name.lower(), datatype.name.lower())
        for operator in operators
        for datatype in spec.Datatype
        if spec.supported(operator, datatype)
    }


@pytest.mark.long
def test_a_million_pairs(driver: Path, seed: int) -> None:
    done = run(driver, 1_000_000, seed)
    assert done.returncode == 0, done.stdout
    assert operators_in(done.stdout, 1_000_000) == supported(OPERATORS)
    assert done.stdout.count("all 65536 pairs equal") == 2 + 4  # of formats; of integers, min and max


@pytest.mark.long
def test_all_pairs_of_halves(driver: Path) -> None:
    """min and max, in the smallest floating-point format of their unit."""
    done = subprocess.run([driver, "halves"], text=True, stdout=subprocess.PIPE, check=False)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count(f"all {2**32} pairs equal") == 2


@pytest.mark.long
@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name.lower())
def test_ten_million_pairs(driver: Path, operator: spec.Operator, seed: int) -> None:
    done = run(driver, 10_000_000, seed, operator.name.lower())
    assert done.returncode == 0, done.stdout
    assert operators_in(done.stdout, 10_000_000) == supported([operator])


@pytest.mark.long
@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        ("fp_add", "shifted[0] || lost != 0", "shifted[0]"),
        ("fp_add", "sum_9[3] && (sum_9[4] || sum_9[2:0] != 0)", "sum_9[3]"),
        ("fp_add", "limited || zero_6_q ? 0", "limited ? 0"),
        ("fp_add", "(&exponent_lesser && subtract)", "&exponent_lesser"),
        ("fp_add", "exponent_lesser[0] || exponent_lesser == 0", "exponent_lesser[0]"),
        ("fp_add", "kind_10_q.infinite || &magnitude_q[Bits-2:F]", "kind_10_q.infinite"),
        ("fp_mul", "kept[0] || lost != 0", "kept[0]"),
        ("fp_mul", "power_6_q >= power_t'(2 ** E - 1)", "power_6_q > power_t'(2 ** E - 1)"),
        ("fp_mul", "kind_10_q.zero ? {kind_10_q.sign", "kind_10_q.zero ? {1'b0"),
        ("fp_mul", "below > power_t'(Width) ? ShiftBits'(Width) : ", ""),
        ("compare", "{(Bits - 1) {float && value[Bits-1]}}", "{(Bits - 1) {1'b0}}"),
        ("order", "!value.identical && !zeros", "!value.identical"),
        ("order", "if (!index.a_nan && !index.identical)", "if (!index.identical)"),
        ("integer", "(i % 4 == 2 && bytes[3:2] != 0)", "(i % 4 == 2 && bytes[3:1] != 0)"),
    ],
)
def test_a_bug_is_noticed(part: str, old: str, new: str, tmp_path: Path) -> None:
    original = Project(ROOT)
    for folder in ("rtl", "spec/generated"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    file = tmp_path / f"rtl/reduce/parts/tw_{part}.sv"
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))
    done = run(build(Project(tmp_path, tmp_path / "build", original)), 1_000_000)
    assert done.returncode == 1, "no result differs"
