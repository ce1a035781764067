# SPDX-License-Identifier: Apache-2.0
"""Do C++ programs get the clusters of Python: the example's description, and every value of it?"""

from __future__ import annotations

from pathlib import Path

import pytest
from thalweg.cli import main
from thalweg.peach2 import Cluster

EXAMPLE = Path(__file__).parents[3] / "examples/peach2"


def test_the_examples_description_is_the_presets(tmp_path: Path) -> None:
    assert main(["cluster", "describe", "peach2-ring-4", "-o", str(tmp_path / "made")]) == 0
    assert (tmp_path / "made").read_text() == (EXAMPLE / "peach2-ring-4.cluster").read_text()


def test_a_description_has_every_node_and_window() -> None:
    nodes = Cluster.load("peach2").assembly["nodes"]
    windows = Cluster.load("peach2").windows
    assert [node["values"]["window_table"] for node in nodes] == [
        [n for window in table for n in window] for table in windows
    ]


def test_what_has_no_types_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "describe", "torus:4x4"]) == 2
    assert "no node and link types to describe" in capsys.readouterr().err


def test_the_page_shows_what_the_example_prints() -> None:
    """The C++ tests compare the example with this file."""
    assert (EXAMPLE / "reduction.out").read_text() in (EXAMPLE.parents[1] / "docs/peach2.md").read_text()
