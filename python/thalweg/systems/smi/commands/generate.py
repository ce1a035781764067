# SPDX-License-Identifier: Apache-2.0
"""`thalweg smi generate`: generates files for a rank from a program's metadata."""

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
    help="Cluster that defines links, packets and FIFOs.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path(), metavar="DIR", help="Output folder.  [default: here]"
)
def command(metadata: tuple[Path, ...], cluster: str, out: Path) -> None:
    """Generate the files of a rank from METADATA (files of `thalweg smi extract`).

    For each NAME.json: smi_NAME.json, the simulator's endpoints; smi_NAME.h, a header for the host; smi_NAME.sv, the
    top of the hardware.
    """
    made = [generate.generate(file, cluster) for file in metadata]
    for files in made:
        for path in generate.write(files, out):
            click.echo(f"wrote {path}")
