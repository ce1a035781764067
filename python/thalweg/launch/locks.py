# SPDX-License-Identifier: Apache-2.0
"""Folders in which this user builds what it executes: no other user's, and one builder at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from thalweg.errors import InputError


def own(path: Path) -> Path:
    """The path of what will be executed. Raises InputError where it belongs to another user."""
    if (owner := path.stat().st_uid) != os.geteuid():
        raise InputError(
            f"belongs to user {owner}, not to you ({os.geteuid()}), and would be executed: remove it", path
        )
    return path


def private(folder: Path) -> Path:
    """The folder, made if it is not there, for this user alone. Raises InputError where it belongs to another one."""
    folder.mkdir(parents=True, exist_ok=True)
    own(folder).chmod(0o700)
    return folder


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Builds in the folder while nobody else does, of this process or of another: tests of one clone run side by side."""
    with (private(folder) / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
