# SPDX-License-Identifier: Apache-2.0
"""Which of a launcher's messages are removed from the output of its ranks? Which processes does a run leave behind?"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from thalweg.launch import processes, scratch

RULE = b"-" * 74 + b"\n"
BANNER = (
    b"prterun noticed that process rank 1 with PID 7710 on node vm exited on\nsignal 6 (Aborted).\n"  # Open MPI 5.0.11
)
RANKS = b"a rank says\n" + RULE + b"prterun has nothing to do with it\n" + RULE


def test_what_open_mpis_launcher_says_is_taken_out_and_nothing_else() -> None:
    said = b"before\n" + RULE + BANNER + RULE + RANKS
    assert processes._AMONG_RANKS.sub(b"", said) == b"before\n" + RANKS


def test_every_process_of_a_run_is_reaped(tmp_path: Path) -> None:
    """Processes that a launcher leaves behind, dead or alive, are this process's children until then."""
    output = processes.Output(tmp_path)
    command = "sleep 0 & sleep 99 & echo $! > pids; exec sleep 99"
    run = processes.Processes(
        ["sh", "-c", f"cd {tmp_path}; {command}"], dict(os.environ), "no process has this", output
    )
    while not (tmp_path / "pids").exists() or not (tmp_path / "pids").read_text():
        time.sleep(0.01)
    left = int((tmp_path / "pids").read_text())
    run.end()
    with pytest.raises(ChildProcessError):
        os.waitpid(left, os.WNOHANG)


def test_a_program_that_uses_thalweg_gets_no_children_of_others() -> None:
    scratch.folder()
    child = subprocess.run(["sh", "-c", "sleep 0.2 >/dev/null & echo $!"], capture_output=True, text=True, check=True)
    with pytest.raises(ChildProcessError):
        os.waitpid(int(child.stdout), os.WNOHANG)
