# SPDX-License-Identifier: Apache-2.0
"""Processes that are not children of a test."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

_TIMEOUT_S = 60


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_for_end(processes: Iterable[int]) -> None:
    deadline = time.monotonic() + _TIMEOUT_S
    while still := [process for process in processes if alive(process)]:
        assert time.monotonic() < deadline, still
        time.sleep(0.01)
