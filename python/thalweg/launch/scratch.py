# SPDX-License-Identifier: Apache-2.0
"""The files that are there only while a process runs: they are removed when it ends, or by the next one where it was killed.

They are in a folder of the process's own, which it holds a lock on: who gets the lock knows that the process is gone, whatever has
its number now. The temporary files of the tools that it starts are in it, too. Named after the folder are the shared memory of
MPI's ranks, which the interposer sees to, and what is written beside a file to take its place.
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
    """That of this process, made by the first call; those of processes that were killed are removed then."""
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
    """Removes the folder of this process, if it has one, and what is named after it."""
    if _own is not None:
        _remove_if_left(_own) if _own_lock is None else _remove(_own)


def remove_shared_memory(of: Path | None = None) -> None:
    """Removes what ranks of this process's runs left in shared memory."""
    name = (of or folder()).name
    for file in _SHARED_MEMORY.glob(f"{name}*"):
        with contextlib.suppress(OSError):
            if file.lstat().st_uid == os.geteuid():
                file.unlink()


def users_environment() -> dict[str, str]:
    """The environment of this process, with its user's temporary folder: for programs that are no tools of ours."""
    environment = {name: value for name, value in os.environ.items() if name != "TMPDIR"}
    return environment if _users_folder is None else {**environment, "TMPDIR": _users_folder}


@contextmanager
def in_place_of(path: Path) -> Iterator[Path]:
    """The name of a file that takes the place of `path` at the end, whole, and not at all where an error ends it before."""
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
    """Makes the process's own folder, and locks it until the process is gone."""
    global _own, _own_lock
    while _own_lock is None:
        _own = around / f"{_PREFIX}{secrets.token_hex(3)}"
        with contextlib.suppress(FileExistsError):
            _own.mkdir(mode=0o700)
            _own_lock = _lock(_own)
    assert _own is not None
    return _own


def _lock(made: Path) -> int | None:
    """A descriptor that has the folder's lock; None where another process has it, or the folder is not ours or gone."""
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
    """The processes that were started to work in a folder: their environments say so."""
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
    for each in (folder, *folder.glob(f"{_PREFIX}*")):  # a run that this process had started has its own in ours
        remove_shared_memory(each)
        for note in each.glob("beside.*"):
            with contextlib.suppress(OSError):
                _discard(Path(os.readlink(note)))
    shutil.rmtree(folder, ignore_errors=True)
