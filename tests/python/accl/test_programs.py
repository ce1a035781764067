# SPDX-License-Identifier: Apache-2.0
"""Does `thalweg accl programs` print the sequencer's programs?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from assemble import assemble
from thalweg import cli

SPEC = Path(__file__).parents[3] / "spec"


def test_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Reassembled, the output equals the specification."""
    assert cli.main(["accl", "programs"]) == 0
    printed = tmp_path / "programs.txt"
    printed.write_text(capsys.readouterr().out)
    assert assemble(printed) == assemble(SPEC / "accl" / "programs.txt")


def test_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "send.json"
    assert cli.main(["accl", "programs", "send", "--json", str(file)]) == 0
    assert capsys.readouterr().out == "send:\n    move op0[op0] > give[root]\n    end\n"
    assert json.loads(file.read_text())["programs"] == {"send": ["    move op0[op0] > give[root]", "    end"]}


def test_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["accl", "programs", "scan"]) == 2
    assert "'scan' is not one of" in capsys.readouterr().err
