# SPDX-License-Identifier: Apache-2.0
"""`thalweg smi generate`: what a program needs of a rank, from its metadata."""

from __future__ import annotations

from pathlib import Path

import click

from thalweg.commands.named_files import ClusterName, InputFile
from thalweg.systems.smi import generate


@click.command()
@click.argument("metadata", nargs=-1, required=True, type=InputFile())
@click.option(
    "--cluster",
    default="smi-noctua",
    show_default=True,
    type=ClusterName(),
    help="Whose boards it is for: links, packets, FIFOs.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path(), metavar="DIR", help="Where to.  [default: here]"
)
def command(metadata: tuple[Path, ...], cluster: str, out: Path) -> None:
    """Write what the programs of METADATA (files of `thalweg smi extract`) need of a rank: of each NAME.json

    smi_NAME.json, the simulator's endpoints; smi_NAME.h, a header for the host; smi_NAME.sv, the top of the hardware.
    """
    made = [generate.generate(file, cluster) for file in metadata]
    for files in made:
        for path in generate.write(files, out):
            click.echo(f"wrote {path}")
