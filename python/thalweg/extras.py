# SPDX-License-Identifier: Apache-2.0
"""Extras of the package: optional dependencies, and the command that installs them."""

from __future__ import annotations

import shlex
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from thalweg.errors import InputError


def install(extra: str) -> str:
    """Returns the command that adds an extra to this installation.

    pip does not download an installed package again for its extras. Without an installation, as with PYTHONPATH, the command
    installs the clone.
    """
    try:
        distribution("thalweg")
        package = "thalweg"
    except PackageNotFoundError:
        package = str(Path(__file__).resolve().parents[2])
    return f"{shlex.quote(sys.executable)} -m pip install '{package}[{extra}]'"


def missing(what: str, extra: str) -> InputError:
    """Returns the error for a missing dependency; `what` says which feature needs which package."""
    return InputError(f"{what}: {install(extra)}")
