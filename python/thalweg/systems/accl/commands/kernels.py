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
    "-I", "includes", multiple=True, type=click.Path(path_type=Path), metavar="DIR", help="Where headers are."
)
@click.option("-D", "defines", multiple=True, metavar="NAME[=VALUE]", help="A macro.")
@json_option
def command(source: Path, includes: tuple[Path, ...], defines: tuple[str, ...], json_file: Path | None) -> None:
    """Compile the HLS kernels of SOURCE, and show what was found in it: functions that `Rank.start` can start, with their arguments, and loops, with
    the cycles of an iteration as their pragmas say them."""
    kernels = Kernels(source, includes, defines)
    if not kernels.names:
        print_line(
            f"{source} has no kernel: no function that is not static and whose arguments are numbers, pointers and streams"
        )
    for name in kernels.names:
        kernel = kernels[name]
        print_line(f"{kernel.file}:{kernel.line}: kernel {name}" + (", which begins again" if kernel.restarts else ""))
        for argument in kernel.arguments:
            port = f" by port {argument.port}" if argument.port else ""
            print_line(f"  {argument.name}: {argument.kind}{port}, {argument.type}")
    for loop in kernels.loops:
        print_line(f"{loop.file}:{loop.line}: an iteration takes {loop.takes}")
    write_json(
        json_file,
        {
            "kernels": [asdict(kernels[name]) for name in kernels.names],
            "loops": [asdict(each) for each in kernels.loops],
        },
    )
