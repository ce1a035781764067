# SPDX-License-Identifier: Apache-2.0
"""Folders for code that is built and then executed: owned by this user, and used by one builder at a time."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from thalweg.errors import InputError
from thalweg.launch import scratch


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


def cache_folder() -> Path:
    """Returns the first folder that belongs to this user only and is writable: of the virtual environment, the user's, or
    one for this process."""
    folders = [Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "thalweg"]
    if sys.prefix != sys.base_prefix and os.access(sys.prefix, os.W_OK):
        folders.insert(0, Path(sys.prefix) / "var" / "thalweg")
    for folder in folders:
        with suppress(OSError, InputError):
            if os.access(private(folder), os.W_OK):
                return folder
    return private(scratch.folder() / "cache")


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Locks the folder against other builders, in this process and in others."""
    with (private(folder) / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
