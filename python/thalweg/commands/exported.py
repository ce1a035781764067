# SPDX-License-Identifier: Apache-2.0
"""Arguments of `thalweg rtl export`, the same for every system: a cluster and the output folder."""

from __future__ import annotations

import re
from pathlib import Path

import click

from thalweg.commands.named_files import ClusterName

cluster_argument = click.argument("cluster_name", metavar="CLUSTER", type=ClusterName())
output_option = click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Output folder, new or empty.  [default: CLUSTER-rtl]",
)


def folder_of(cluster_name: str, output: Path | None) -> Path:
    return output or Path(re.sub(r"\W+", "-", Path(cluster_name).stem) + "-rtl")
