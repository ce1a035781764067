# SPDX-License-Identifier: Apache-2.0
"""Thalweg simulates FPGA clusters with in-network computing, cycle by cycle, and runs MPI programs on them.

The functions correspond to the commands of `thalweg` (docs/python.md) and are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thalweg.interface import load as load
    from thalweg.interface import measure as measure
    from thalweg.interface import operations as operations
    from thalweg.interface import presets as presets
    from thalweg.interface import reproduce as reproduce
    from thalweg.interface import routes as routes
    from thalweg.interface import run as run
    from thalweg.interface import sweep as sweep

__all__ = ["load", "measure", "operations", "presets", "reproduce", "routes", "run", "sweep"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(importlib.import_module("thalweg.interface"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
