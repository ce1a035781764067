# SPDX-License-Identifier: Apache-2.0
"""Compiled kernels, kept on disk between processes: a source is compiled again only if something that it is made of has
changed."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import pickle
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from thalweg.kernels.compiler import Compiler, Preprocessed, preprocess, run
from thalweg.launch import scratch
from thalweg.launch.locks import cache_folder, own, private
from thalweg.resources import resource

T = TypeVar("T")
_MOST = 128  # libraries


def kept(
    library: Path, command: Sequence[str], compiler: Compiler, system: str, make: Callable[[Preprocessed], T]
) -> T:
    """Writes `library` and returns its description: the kept ones, else those of `make`, which are kept from then on.

    Parameters
    ----------
    library : Path
        The file that `make` writes.
    command : sequence of str
        Preprocessor run of the source.
    compiler : Compiler
        Compiles its output.
    system : str
        The system whose rules and headers `make` uses.

    Raises
    ------
    InputError
        The preprocessor fails, or `make` raises it.
    """
    source = preprocess(command)
    parts = [source.text, source.defined, *command, str(Path.cwd()), *_versions(compiler.program), *_rules(system)]
    name = _digest(b"".join(_digest(part.encode(errors="surrogateescape")) for part in parts)).hex()
    try:
        place = private(cache_folder() / "kernels") / name
    except OSError:  # such as a full disk
        return make(source)
    if (found := _read(place)) is not None:
        described, made = found
        library.write_bytes(made)
        return described  # type: ignore[no-any-return]
    described = make(source)
    with contextlib.suppress(OSError):
        _write(place, (described, library.read_bytes()))
    return described


def _read(place: Path) -> Any:
    """Returns what a file holds; None if there is none, or it is damaged."""
    with contextlib.suppress(FileNotFoundError):
        found = own(place).read_bytes()
        digest, content = found[: len(place.name) // 2], found[len(place.name) // 2 :]
        if digest == _digest(content):
            place.touch()  # the last use
            return pickle.loads(content)
    return None


def _write(place: Path, what: Any) -> None:
    content = pickle.dumps(what)
    with scratch.in_place_of(place) as new:
        new.write_bytes(_digest(content) + content)
    by_use = {file: file.stat().st_mtime for file in place.parent.iterdir()}
    for unused in sorted(by_use, key=lambda file: by_use[file])[:-_MOST]:
        unused.unlink(missing_ok=True)


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


@cache
def _versions(compiler: str) -> tuple[str, ...]:
    try:
        return run([compiler, "--version"]), importlib.metadata.version("libclang")
    except importlib.metadata.PackageNotFoundError:
        return (run([compiler, "--version"]),)


@cache
def _rules(system: str) -> tuple[str, ...]:
    """Returns the text of this package's files that decide how a system's kernels are compiled."""
    here = Path(__file__).parent
    files = [*here.glob("*.py"), *(here.parent / "systems" / system).glob("*.py")]
    for name in (f"{system}/include", f"{system}/device", "kernels/device"):
        files += [file for file in resource(f"runtime/{name}").rglob("*") if file.is_file()]
    return tuple(file.read_text() for file in sorted(files))
