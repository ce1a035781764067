# SPDX-License-Identifier: Apache-2.0
"""Runs programs with a limit of processor time, which is independent of the machine's load."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

LIMITED = 'ulimit -c 0 && ulimit -S -t "$0" && exec "$@"'  # SIGXCPU at the limit


def run(
    command: Sequence[str | Path], seconds: int | None = None, input: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a program with the given `input`; stdout of the result includes stderr.

    Raises subprocess.TimeoutExpired if all its threads together use more than `seconds` of processor time. Each child
    process has the same limit of its own.
    """
    limited = command if seconds is None else ["sh", "-c", LIMITED, str(seconds), *command]
    done = subprocess.run(
        limited, input=input, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    if done.returncode == -signal.SIGXCPU:
        raise subprocess.TimeoutExpired(list(map(str, command)), seconds or 0, done.stdout)
    return done
