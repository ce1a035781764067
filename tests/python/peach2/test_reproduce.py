# SPDX-License-Identifier: Apache-2.0
"""Does `thalweg reproduce peach2` report the values that follow from rates, and the parameters that a published point
would need?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from published import lines
from thalweg.cli import main

pytestmark = pytest.mark.slow

PAGE = Path(__file__).resolve().parents[3] / "docs/reproduce.md"


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    file = tmp_path_factory.mktemp("reproduce") / "rows.json"
    assert main(["reproduce", "peach2", "--no-resources", "--json", str(file)]) == 0
    found: list[dict[str, Any]] = json.loads(file.read_text())["rows"]
    return found


def of(rows: list[dict[str, Any]], what: str) -> dict[str, Any]:
    return next(row for row in rows if what in row["what"])


@pytest.mark.sample(3)
def test_rates_are_those_of_lanes_and_clocks(rows: list[dict[str, Any]]) -> None:
    lane = 5e9 * 8 / 10 / 8 / 1e9  # 5 GT/s of 8b/10b, in GB/s
    packet = 256 / (256 + 16 + 3 + 5)
    assert of(rows, "x8, all")["measured"] == pytest.approx(8 * lane)
    assert of(rows, "x16, data")["measured"] == pytest.approx(16 * lane * packet)
    assert of(rows, "bus")["measured"] == pytest.approx(16 * 0.150)
    # The processor copies, 6 GB/s, and then sums, 12.8 GB/s; the hub is as fast as its bus.
    assert of(rows, "long data")["measured"] == pytest.approx(2.4 * (1 / 6.0 + 1 / 12.8), rel=1e-3)


def test_the_curve_comes_to_that_ratio(rows: list[dict[str, Any]]) -> None:
    curve = [row for row in rows if row["id"] == "peach2.curve"]
    assert [row["bytes"] for row in curve] == [1 << k for k in range(10, 25)]
    assert curve[-1]["measured"] == pytest.approx(of(rows, "long data")["measured"], rel=0.03)
    ratios = [row["measured"] for row in curve]
    assert ratios == sorted(ratios, reverse=True)


def test_long_puts_reach_their_limit(rows: list[dict[str, Any]]) -> None:
    assert of(rows, "CPU to CPU")["measured"] >= 0.95 * of(rows, "x8, data")["measured"]
    assert of(rows, "GPU to GPU")["measured"] == pytest.approx(2.8, rel=0.01)


def test_the_page_has_these_lines(rows: list[dict[str, Any]]) -> None:
    assert set(lines("peach2", rows)) <= set(PAGE.read_text().splitlines()), "make examples writes them"


def test_nodes_together_stay_near_the_bound(rows: list[dict[str, Any]]) -> None:
    together = [row for row in rows if row["id"] == "peach2.nodes"]
    assert {row["nodes"] for row in together} >= {2, 4, 8, 16}
    assert all(row["time_us"] >= row["bound_us"] for row in together)
    assert all(row["measured"] <= 1.3 for row in together if row["bytes"] >= 64 << 10)
