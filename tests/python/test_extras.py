# SPDX-License-Identifier: Apache-2.0
"""Does the message for a missing dependency contain a command that installs it into this environment?"""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest
from thalweg import extras

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("installed", [True, False])
def test_the_command_names_this_python_and_the_package(installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def distribution(name: str) -> object:
        if not installed:
            raise importlib.metadata.PackageNotFoundError(name)
        return object()

    monkeypatch.setattr(extras, "distribution", distribution)
    monkeypatch.setattr(sys, "executable", "/my tools/bin/python")
    package = "thalweg" if installed else Path(extras.__file__).resolve().parents[2]
    says = f"--plot needs matplotlib: '/my tools/bin/python' -m pip install '{package}[plot]'"
    assert str(extras.missing("--plot needs matplotlib", "plot")) == says


def test_every_extra_of_a_message_exists() -> None:
    """Otherwise pip installs nothing, with a warning."""
    named = subprocess.run(
        ["grep", "-rhoE", r"extras\.(missing\(.*, |install\()[\"'][a-z-]+[\"']", "python"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    text = (ROOT / "pyproject.toml").read_text().partition("[project.optional-dependencies]\n")[2].partition("\n\n")[0]
    known = {line.partition(" = ")[0] for line in text.splitlines()}
    assert len(named) >= 8
    assert {line.rpartition(line[-1])[0].rpartition(line[-1])[2] for line in named} <= known
