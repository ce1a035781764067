# SPDX-License-Identifier: Apache-2.0
"""Files that are not Python: the installed package carries them in `data`, a checkout has them in its root."""

from __future__ import annotations

from pathlib import Path

from thalweg.errors import InputError

_PACKAGE = Path(__file__).resolve().parent
_ROOTS = (_PACKAGE / "data", _PACKAGE.parent.parent)


def resource(path: str) -> Path:
    """Where `apps`, `clusters`, `examples/shallow_water/bay`, `reproduce`, `rtl`, `runtime/mpi` or `spec/generated` (or a file in one of them) is; FileNotFoundError
    if nowhere."""
    for root in _ROOTS:
        if (found := root / path).exists():
            return found
    raise FileNotFoundError(f"{path} belongs to this installation and is not there")


def find_root(alone: bool = False) -> Path:
    """The clone that holds the hardware's sources: the working directory's, or the one that this package lies in. For what needs
    those sources `alone`, lint and export, those that were installed with the package will do."""
    for folder in (Path.cwd(), *Path.cwd().parents, *Path(__file__).resolve().parents):
        if (folder / "rtl").is_dir() and (folder / "tests/bisim").is_dir():
            return folder
    if alone:
        return resource("rtl").parent
    raise InputError("the hardware's sources are not here: run this in a clone of the repository")
