# SPDX-License-Identifier: Apache-2.0
"""Programs that may take so much processor time, however busy the machine is with others."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

LIMITED = 'ulimit -c 0 && ulimit -S -t "$0" && exec "$@"'  # past the limit comes SIGXCPU


def run(
    command: Sequence[str | Path], seconds: int | None = None, input: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a program that gets `input`; what it prints, errors too, is the result's stdout.

    Raises subprocess.TimeoutExpired where it takes more than `seconds` of processor time, with all its threads; a program
    that it starts has as much of its own.
    """
    limited = command if seconds is None else ["sh", "-c", LIMITED, str(seconds), *command]
    done = subprocess.run(
        limited, input=input, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    if done.returncode == -signal.SIGXCPU:
        raise subprocess.TimeoutExpired(list(map(str, command)), seconds or 0, done.stdout)
    return done
