# SPDX-License-Identifier: Apache-2.0
"""Do C++ programs get the same values from Python as Python itself: headers of clusters, and the output of the example
on the page?"""

from __future__ import annotations

from pathlib import Path

import pytest
from thalweg.cli import main

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples/vcsn"


def test_the_examples_header_is_the_presets(tmp_path: Path) -> None:
    assert main(["cluster", "header", "vcsn-d5005", "-o", str(tmp_path / "h.hpp")]) == 0
    assert (tmp_path / "h.hpp").read_text() == (EXAMPLE / "vcsn_d5005.hpp").read_text()


def test_the_page_shows_what_the_example_prints() -> None:
    """The C++ tests compare the example with this file."""
    assert (EXAMPLE / "circuits.out").read_text() in (EXAMPLE / "README.md").read_text()


def test_what_has_no_header_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "header", "torus:4x4"]) == 2
    assert capsys.readouterr().err == (
        "thalweg: torus:4x4 has no node and link types, which a header describes; only clusters with [nodes] and [links] tables have them\n"
    )


def test_a_drawing_is_svg(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "z.txt"
    assert main(["cluster", "draw", "ring:4", "-o", str(file)]) == 2
    assert capsys.readouterr().err == f"thalweg: {file}: drawings are SVG; give a file that ends in .svg\n"
    assert not file.exists()
