# SPDX-License-Identifier: Apache-2.0
"""Output of figures, which systems draw with matplotlib."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg import extras
from thalweg.errors import InputError
from thalweg.launch import scratch

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PICTURES = (".png", ".svg", ".pdf")


def check_plots(folder: Path) -> None:
    """Creates `folder` if needed. Raises InputError if it cannot be created or matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise extras.missing("--plot needs matplotlib", "plot") from None
    if folder.suffix in _PICTURES and not folder.is_dir():
        raise InputError(f"--plot {folder}: give a folder; each figure is a file in it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be created as a folder: {error.strerror}", folder) from error
    if not os.access(folder, os.W_OK):
        raise InputError("figures cannot be written into it: permission denied", folder)


def save(figures: Mapping[str, Callable[[], Figure]], folder: Path) -> list[Path]:
    """Draws each figure into a file of its name; returns the files. Raises InputError."""
    drawn = []
    for name, draw in figures.items():
        figure = draw()
        path = folder / f"{name}.png"
        try:
            with scratch.in_place_of(path) as new:
                figure.savefig(new, dpi=130)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", path) from error
        drawn.append(path)
    return drawn
