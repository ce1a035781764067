# SPDX-License-Identifier: Apache-2.0
"""`thalweg smi extract`: extracts a program's operations from its source."""

from __future__ import annotations

import json
from pathlib import Path

import click

from thalweg.commands.named_files import InputFile, OutputFile
from thalweg.files import write_text
from thalweg.systems.smi.extract import extract
from thalweg.systems.smi.metadata import MAX_READS

include_option = click.option(
    "-I", "includes", multiple=True, type=click.Path(path_type=Path), metavar="DIR", help="Folder with headers."
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
    type=click.IntRange(1, MAX_READS),
    help="Consecutive reads of one input (R).",
)
@click.option("--max-ranks", default=8, show_default=True, type=click.IntRange(1, 256), help="Maximum number of ranks.")
@click.option(
    "-o", "--output", type=OutputFile(), default=Path("-"), metavar="FILE.json", help="Output file.  [default: stdout]"
)
def command(
    sources: tuple[Path, ...],
    includes: tuple[Path, ...],
    defines: tuple[str, ...],
    reads: int,
    max_ranks: int,
    output: Path,
) -> None:
    """Extract the operations of a program from its SOURCES, and write them as metadata."""
    found = extract(list(sources), includes, defines, reads, max_ranks)
    write_text(output, json.dumps(found, indent=2) + "\n")
