# SPDX-License-Identifier: Apache-2.0
"""Temporary files of a process, removed when it ends, or by the next process if it was killed.

They are in a folder on which the process holds a lock: whoever gets the lock knows that the owner has ended, even if
its process number is in use again. Tools started by the process use the same folder. Two kinds of files outside carry
the folder's name: shared memory of MPI ranks, named by the interposer, and new versions of files, written next to the
files that they replace.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import itertools
import os
import secrets
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX = "thalweg."
_SHARED_MEMORY = Path("/dev/shm")

_making = threading.Lock()
_numbers = itertools.count()
_own: Path | None = None
_own_lock: int | None = None
_users_folder = os.environ.get("TMPDIR")


def folder() -> Path:
    """Returns the folder of this process. The first call creates it, and removes the folders of killed processes."""
    with _making:
        if _own_lock is None:
            around = Path(tempfile.gettempdir())
            for name in around.glob(f"{_PREFIX}*"):
                _remove_if_left(name)
            own = _make(around)
            atexit.register(remove)
            tempfile.tempdir = os.environ["TMPDIR"] = str(own)
        assert _own is not None
        return _own


def remove() -> None:
    """Removes the folder of this process, if it has one, and the files that carry its name."""
    if _own is not None:
        _remove_if_left(_own) if _own_lock is None else _remove(_own)


def remove_shared_memory(of: Path | None = None) -> None:
    """Removes shared memory left by ranks of this process's runs."""
    name = (of or folder()).name
    for file in _SHARED_MEMORY.glob(f"{name}*"):
        with contextlib.suppress(OSError):
            if file.lstat().st_uid == os.geteuid():
                file.unlink()


def users_environment() -> dict[str, str]:
    """Returns the environment of this process with the user's own temporary folder, for the user's programs."""
    environment = {name: value for name, value in os.environ.items() if name != "TMPDIR"}
    return environment if _users_folder is None else {**environment, "TMPDIR": _users_folder}


@contextmanager
def in_place_of(path: Path) -> Iterator[Path]:
    """Yields the path of a new file that replaces `path` at the end of the context; it is discarded after an error."""
    path = path.absolute()
    number = next(_numbers)
    new = path.with_name(f".{path.name}.{folder().name}.{number}{path.suffix}")
    note = folder() / f"beside.{number}"
    note.symlink_to(new)
    try:
        yield new
        new.replace(path)
    finally:
        _discard(new)
        note.unlink()


def _make(around: Path) -> Path:
    """Creates the folder of this process, and locks it until the process ends."""
    global _own, _own_lock
    while _own_lock is None:
        _own = around / f"{_PREFIX}{secrets.token_hex(3)}"
        with contextlib.suppress(FileExistsError):
            _own.mkdir(mode=0o700)
            _own_lock = _lock(_own)
    assert _own is not None
    return _own


def _lock(made: Path) -> int | None:
    """Returns a descriptor that holds the folder's lock; None if another process holds it, or the folder is gone or
    another user's."""
    try:
        descriptor = os.open(made, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_uid == os.geteuid() and os.path.samestat(os.fstat(descriptor), made.lstat()):
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def _remove_if_left(name: Path) -> None:
    descriptor = _lock(name)
    if descriptor is None:
        return
    for process in _marked(name):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    _remove(name)
    os.close(descriptor)


def _marked(name: Path) -> Iterator[int]:
    """Yields processes whose environment names the folder, i.e. those started to work in it."""
    mark = f"={name}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (entry / "environ").read_bytes():
                yield int(entry.name)


def _discard(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _remove(folder: Path) -> None:
    for each in (folder, *folder.glob(f"{_PREFIX}*")):  # runs started by this process have their folders inside
        remove_shared_memory(each)
        for note in each.glob("beside.*"):
            with contextlib.suppress(OSError):
                _discard(Path(os.readlink(note)))
    shutil.rmtree(folder, ignore_errors=True)
