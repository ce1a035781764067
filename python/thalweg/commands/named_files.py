# SPDX-License-Identifier: Apache-2.0
"""Types of arguments that name files, of which a command overwrites none that it reads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from thalweg.commands import completion
from thalweg.errors import InputError


class OutputFile(click.ParamType[Path]):
    """A file that a command will write: refused before the work starts where it cannot be written. `-` is stdout."""

    name = "file"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return completion.files(ctx, param, incomplete)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(value)
        if value == "-":
            return path
        if path.is_dir():
            self.fail(f"{value!r} is a directory; give a file in it", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"{value!r} cannot be written: there is no directory {str(path.parent)!r}", param, ctx)
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            self.fail(f"{value!r} cannot be written: permission denied", param, ctx)
        if ctx and param and (path.is_file() or not path.exists()):  # no pipe and no device
            if other := _read(ctx).get(path.resolve()):
                self.fail(f"{value!r} is the file of {other}, and would be overwritten", param, ctx)
            if (other := _written(ctx).setdefault(path.resolve(), _name(param))) != _name(param):
                self.fail(f"{value!r} is the file of {other}, too; each writes one of its own", param, ctx)
        return path


class InputFile(click.ParamType[Path]):
    """A file that a command reads. `exists`: refused where it is none; otherwise whoever reads it says so."""

    name = "file"

    def __init__(self, exists: bool = False) -> None:
        self._file = click.Path(exists=exists, dir_okay=not exists)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return completion.files(ctx, param, incomplete)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(os.fsdecode(self._file.convert(value, param, ctx)))
        _reads(path, param, ctx)
        return path


class ClusterName(click.ParamType[str]):
    """The name of a cluster. The command reads its file, and the files that it is based on."""

    name = "cluster"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return completion.clusters(ctx, param, incomplete)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from thalweg.cluster.file import files_of  # which completion does without

        for path in files_of(value):
            _reads(path, param, ctx)
        return value


def read_programs(ctx: click.Context, param: click.Parameter, words: Sequence[str]) -> Sequence[str]:
    """Callback of command lines, which a lone colon parts: their first words may be files, which are read."""
    for before, word in zip((":", *words), words, strict=False):
        if before == ":":
            _reads(Path(word), param, ctx)
    return words


def check_written(path: Path) -> None:
    """Raises InputError where a file that the command will write, and that no option names, is one that it reads."""
    context = click.get_current_context(silent=True)
    if context and (other := _read(context).get(path.resolve())):
        raise InputError(f"{str(path)!r} is the file of {other}, and would be overwritten")


def _reads(path: Path, param: click.Parameter | None, ctx: click.Context | None) -> None:
    """Raises click.BadParameter where an output is this file."""
    if ctx and param and path.is_file():
        if other := _written(ctx).get(path.resolve()):
            raise click.BadParameter(f"{str(path)!r} is the file of {other}, too, and would be overwritten", ctx, param)
        _read(ctx)[path.resolve()] = _name(param)


def _name(param: click.Parameter) -> str:
    return param.opts[0] if isinstance(param, click.Option) else param.human_readable_name


def _read(ctx: click.Context) -> dict[Path, str]:
    """The files that a command reads, and what names each."""
    files: dict[Path, str] = ctx.meta.setdefault(f"{__name__}.read", {})
    return files


def _written(ctx: click.Context) -> dict[Path, str]:
    files: dict[Path, str] = ctx.meta.setdefault(f"{__name__}.written", {})
    return files
