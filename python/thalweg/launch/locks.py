# SPDX-License-Identifier: Apache-2.0
"""Folders for building code that is then executed: owned by this user, and used by one builder at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from thalweg.errors import InputError


def own(path: Path) -> Path:
    """Checks the owner of code to be executed. Raises InputError if it belongs to another user."""
    if (owner := path.stat().st_uid) != os.geteuid():
        raise InputError(
            f"belongs to user {owner}, not to you ({os.geteuid()}), so it will not be executed: remove it", path
        )
    return path


def private(folder: Path) -> Path:
    """Creates the folder, accessible to this user only, if it does not exist. Raises InputError if it belongs to another
    user."""
    folder.mkdir(parents=True, exist_ok=True)
    own(folder).chmod(0o700)
    return folder


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Locks the folder against other builders, in this process and in others."""
    with (private(folder) / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
