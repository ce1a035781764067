# SPDX-License-Identifier: Apache-2.0
"""Files other than Python: in `data` of the installed package, in the root of a checkout."""

from __future__ import annotations

from pathlib import Path

from thalweg.errors import InputError

_PACKAGE = Path(__file__).resolve().parent
_ROOTS = (_PACKAGE / "data", _PACKAGE.parent.parent)


def resource(path: str) -> Path:
    """Returns the path of a resource folder, or of a file in it.

    The folders are `apps`, `clusters`, `examples/shallow_water/bay`, `reproduce`, `rtl`, `runtime/mpi` and
    `spec/generated`. Raises FileNotFoundError if there is none.
    """
    for root in _ROOTS:
        if (found := root / path).exists():
            return found
    raise FileNotFoundError(f"{path} is missing in this installation; reinstall thalweg")


def find_root(alone: bool = False) -> Path:
    """Returns the clone with the hardware's sources: that of the working directory, or the one that contains this package.

    With `alone`, sources installed with the package are sufficient, as for lint and export.
    """
    for folder in (Path.cwd(), *Path.cwd().parents, *Path(__file__).resolve().parents):
        if (folder / "rtl").is_dir() and (folder / "tests/bisim").is_dir():
            return folder
    if alone:
        return resource("rtl").parent
    raise InputError("the hardware's sources are missing: run this in a clone of the repository")
