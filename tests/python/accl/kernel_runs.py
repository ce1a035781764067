# SPDX-License-Identifier: Apache-2.0
"""Shared parts of the tests of HLS kernels: sources, and programs of a single rank."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from thalweg.accl import Kernels, Rank, run

SOURCES = Path(__file__).parent / "kernels"
LATENCY = 106.7e-9 * 250e6  # of the memory of a board of accl-u280-udp, in cycles
WORD = 64 / (14e9 / 250e6)  # cycles of 64 bytes at its rate


def alone(program: Any) -> Any:
    return run(program, 1).values[0]


def cycles(kernels: Kernels, name: str, rank: Rank, **arguments: Any) -> tuple[int, Any]:
    """Cycles of a kernel, minus those of an empty kernel; and the contents of `out`."""
    out = rank.create_buffer(2, np.int32)
    if "out" in [each.name for each in kernels[name].arguments if each.kind == "memory"]:
        arguments["out"] = out
    started = rank.start(kernels, name, arguments)
    started.wait()
    empty = rank.start(kernels, name, arguments | {"count": 0})
    empty.wait()
    return started.cycles - empty.cycles, out
