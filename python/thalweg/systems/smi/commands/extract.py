# SPDX-License-Identifier: Apache-2.0
"""`thalweg smi extract`: a program's operations, found in its source."""

from __future__ import annotations

import json
from pathlib import Path

import click

from thalweg.commands.named_files import InputFile, OutputFile
from thalweg.files import write_text
from thalweg.systems.smi.extract import extract
from thalweg.systems.smi.metadata import MOST_READS

include_option = click.option(
    "-I", "includes", multiple=True, type=click.Path(path_type=Path), metavar="DIR", help="Where headers are."
)
define_option = click.option("-D", "defines", multiple=True, metavar="NAME[=VALUE]", help="A macro.")


@click.command("extract")
@click.argument("sources", nargs=-1, required=True, type=InputFile())
@include_option
@define_option
@click.option(
    "--reads",
    default=8,
    show_default=True,
    type=click.IntRange(1, MOST_READS),
    help="Consecutive reads of a kernel, R.",
)
@click.option("--max-ranks", default=8, show_default=True, type=click.IntRange(1, 256), help="Ranks at most.")
@click.option(
    "-o", "--output", type=OutputFile(), default=Path("-"), metavar="FILE.json", help="Where to.  [default: stdout]"
)
def command(
    sources: tuple[Path, ...],
    includes: tuple[Path, ...],
    defines: tuple[str, ...],
    reads: int,
    max_ranks: int,
    output: Path,
) -> None:
    """Find the operations of the program that SOURCES are together, and write them as metadata."""
    found = extract(list(sources), includes, defines, reads, max_ranks)
    write_text(output, json.dumps(found, indent=2) + "\n")
