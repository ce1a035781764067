# SPDX-License-Identifier: Apache-2.0
"""`thalweg accl kernels`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from thalweg.commands.named_files import InputFile
from thalweg.commands.output import json_option, print_line, write_json
from thalweg.systems.accl.kernels import Kernels


@click.command()
@click.argument("source", type=InputFile())
@click.option(
    "-I", "includes", multiple=True, type=click.Path(path_type=Path), metavar="DIR", help="Folder of headers."
)
@click.option("-D", "defines", multiple=True, metavar="NAME[=VALUE]", help="A macro.")
@json_option
def command(source: Path, includes: tuple[Path, ...], defines: tuple[str, ...], json_file: Path | None) -> None:
    """Compile the HLS kernels of SOURCE and show its functions that `Rank.start` can start, their arguments, and the
    cycles per iteration of its loops."""
    kernels = Kernels(source, includes, defines)
    if not kernels.names:
        print_line(
            f"{source} has no kernel: a kernel is a non-static function whose arguments are numbers, pointers and streams"
        )
    for name in kernels.names:
        kernel = kernels[name]
        print_line(f"{kernel.file}:{kernel.line}: kernel {name}" + (", restarts at its end" if kernel.restarts else ""))
        for argument in kernel.arguments:
            port = f" at port {argument.port}" if argument.port else ""
            print_line(f"  {argument.name}: {argument.kind}{port}, {argument.type}")
    for loop in kernels.loops:
        print_line(f"{loop.file}:{loop.line}: loop: {loop.takes}")
    write_json(
        json_file,
        {
            "kernels": [asdict(kernels[name]) for name in kernels.names],
            "loops": [asdict(each) for each in kernels.loops],
        },
    )
