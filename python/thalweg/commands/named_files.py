# SPDX-License-Identifier: Apache-2.0
"""Parameter types for file names. A command refuses to overwrite a file that it reads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from thalweg.commands import completion
from thalweg.errors import InputError
from thalweg.files import stdout_for_files


class OutputFile(click.ParamType[Path]):
    """A file to write, or `-` for stdout: everything else is then printed to stderr. Checked to be writable before any
    work starts."""

    name = "file"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return completion.files(ctx, param, incomplete)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(value)
        if str(value) == "-":
            if ctx and param and (first := _written(ctx).setdefault(path, _name(param))) != _name(param):
                self.fail(f"{first} is written to stdout already; give a file", param, ctx)
            if ctx:
                ctx.with_resource(stdout_for_files())
            return path
        if path.is_dir():
            self.fail(f"{value!r} is a directory; give a file in it", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"{value!r} cannot be written: there is no directory {str(path.parent)!r}", param, ctx)
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            self.fail(f"{value!r} cannot be written: permission denied", param, ctx)
        if ctx and param and (path.is_file() or not path.exists()):  # pipes and devices may be shared
            if other := _read(ctx).get(path.resolve()):
                self.fail(
                    f"{value!r} is also the file of {other} and would be overwritten; give another file", param, ctx
                )
            if (other := _written(ctx).setdefault(path.resolve(), _name(param))) != _name(param):
                self.fail(f"{value!r} is also the file of {other}; give a different file to each", param, ctx)
        return path


class InputFile(click.ParamType[Path]):
    """A file to read. With `exists`, its existence is checked at once, otherwise when it is opened."""

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
    """The name of a cluster. The files that it is read from count as inputs of the command."""

    name = "cluster"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return completion.clusters(ctx, param, incomplete)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from thalweg.cluster.file import files_of  # not needed for completion

        for path in files_of(value):
            _reads(path, param, ctx)
        return value


def read_programs(ctx: click.Context, param: click.Parameter, words: Sequence[str]) -> Sequence[str]:
    """Callback for command lines separated by `:`. The first word of each counts as an input if it is a file."""
    for before, word in zip((":", *words), words, strict=False):
        if before == ":":
            _reads(Path(word), param, ctx)
    return words


def check_written(path: Path) -> None:
    """Raises InputError if `path`, an output that no option names, is also an input of the command."""
    context = click.get_current_context(silent=True)
    if context and (other := _read(context).get(path.resolve())):
        raise InputError(f"{str(path)!r} is also the file of {other} and would be overwritten; give another file")


def _reads(path: Path, param: click.Parameter | None, ctx: click.Context | None) -> None:
    """Records an input. Raises click.BadParameter if it is also an output."""
    if ctx and param and path.is_file():
        if other := _written(ctx).get(path.resolve()):
            raise click.BadParameter(
                f"{str(path)!r} is also the file of {other} and would be overwritten; give another file", ctx, param
            )
        _read(ctx)[path.resolve()] = _name(param)


def _name(param: click.Parameter) -> str:
    return param.opts[0] if isinstance(param, click.Option) else param.human_readable_name


def _read(ctx: click.Context) -> dict[Path, str]:
    """Returns the inputs of a command, with the parameters that name them."""
    files: dict[Path, str] = ctx.meta.setdefault(f"{__name__}.read", {})
    return files


def _written(ctx: click.Context) -> dict[Path, str]:
    files: dict[Path, str] = ctx.meta.setdefault(f"{__name__}.written", {})
    return files
