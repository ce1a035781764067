"""Files that are not Python: the installed package carries them in `data`, a checkout has them in its root."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_ROOTS = (_PACKAGE / "data", _PACKAGE.parent.parent)


def resource(path: str) -> Path:
    """Where `apps`, `clusters`, `reproduce`, `runtime/mpi` or `spec/generated` (or a file in one of them) is; FileNotFoundError if nowhere."""
    for root in _ROOTS:
        if (found := root / path).exists():
            return found
    raise FileNotFoundError(f"{path} belongs to this installation and is not there")
