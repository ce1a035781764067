# SPDX-License-Identifier: Apache-2.0
"""Thalweg: FPGA clusters whose network computes, simulated cycle by cycle, with MPI programs on top.

What the command line does, as functions: docs/python.md. They are loaded when they are used.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thalweg.interface import bench as bench
    from thalweg.interface import cluster as cluster
    from thalweg.interface import operations as operations
    from thalweg.interface import presets as presets
    from thalweg.interface import reproduce as reproduce
    from thalweg.interface import routes as routes
    from thalweg.interface import run as run
    from thalweg.interface import sweep as sweep

__all__ = ["bench", "cluster", "operations", "presets", "reproduce", "routes", "run", "sweep"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(importlib.import_module("thalweg.interface"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """Its functions have the names of commands, and some packages in here have them, too: an import of those does not hide these."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
