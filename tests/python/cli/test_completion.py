# SPDX-License-Identifier: Apache-2.0
"""Do shells get valid completions, by click's protocols? For bash the real shell is used."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from thalweg.cluster.file import presets

TORI = [name for name in presets() if name.startswith("mpi-fpga-t")]


def ask(instruction: str, words: str, index: str) -> list[str]:
    environment = {"_THALWEG_COMPLETE": instruction, "COMP_WORDS": words, "COMP_CWORD": index}
    command = [sys.executable, "-m", "thalweg"]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


def proposed(shell: str, words: list[str]) -> list[str]:
    """A shell's completions of the last word."""
    if shell == "bash":
        return [line.partition(",")[2] for line in ask("bash_complete", " ".join(words), str(len(words) - 1))]
    if shell == "zsh":
        return ask("zsh_complete", " ".join(words), str(len(words) - 1))[1::3]
    return [line.partition(",")[2].partition("\t")[0] for line in ask("fish_complete", " ".join(words), words[-1])]


@pytest.mark.sample(4)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["thalweg", "r"], ["run", "route", "reproduce", "rtl"]),
        (["thalweg", "cluster", "sh"], ["show"]),
        (["thalweg", "run", "--cl"], ["--cluster"]),
        (["thalweg", "run", "--cluster", "mpi-fpga-t"], TORI),
        (["thalweg", "bench", "allreduce", "--cluster", "mpi-fpga-t"], TORI),
        (["thalweg", "route", "mpi-fpga-t"], TORI),
        (["thalweg", "bench", "allreduce", "--algorithm", "ex"], ["exchange"]),
    ],
)
def test_what_can_follow(shell: str, words: list[str], expected: list[str]) -> None:
    assert proposed(shell, words) == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_script(shell: str) -> None:
    script = "\n".join(ask(f"{shell}_source", "", ""))
    assert f"_THALWEG_COMPLETE={shell}_complete" in script
    program = shutil.which(shell)
    if program:
        subprocess.run([program, "-n"], input=script, text=True, check=True)


def test_bash_completes(tmp_path: Path) -> None:
    (tmp_path / "thalweg").write_text(f'#!/bin/sh\nexec {sys.executable} -m thalweg "$@"\n')
    (tmp_path / "thalweg").chmod(0o755)
    script = f"""
        PATH={tmp_path}:$PATH
        eval "$(_THALWEG_COMPLETE=bash_source thalweg)"
        COMP_WORDS=(thalweg cluster show mpi-fpga-t) COMP_CWORD=3 COMP_TYPE=9
        _thalweg_completion thalweg mpi-fpga-t show 2>/dev/null
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == TORI
