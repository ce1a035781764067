# SPDX-License-Identifier: Apache-2.0
"""`thalweg tune`: measures the fastest algorithm of each collective by size."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from thalweg.bench.operation import parse_sizes
from thalweg.commands.named_files import ClusterName, OutputFile
from thalweg.commands.output import json_option, print_table, progress_bar, write_json
from thalweg.errors import InputError
from thalweg.files import write_text
from thalweg.systems.mpi_fpga import bench, tuning
from thalweg.systems.mpi_fpga.cluster import Cluster


def _ranks(text: str | None, hosts: int) -> list[int]:
    """Returns the given numbers, ascending; by default all hosts, and smaller powers of two."""
    if text is None:
        return sorted({hosts, *(1 << k for k in range(1, hosts.bit_length()) if 1 << k <= hosts)})
    words = text.split(",")
    if not all(word.isdecimal() and int(word) > 1 for word in words):
        raise InputError(f"{text!r} is not a list of numbers of ranks such as 8,64; each must be at least 2")
    return sorted({int(word) for word in words})


@click.command()
@click.option(
    "--cluster",
    "cluster_name",
    required=True,
    metavar="C",
    type=ClusterName(),
    help="Preset, cluster file, or shape.",
)
@click.option("--ranks", metavar="N,..", help="Sizes of communicators. [default: powers of two, and all nodes]")
@click.option(
    "--sizes",
    default="8,32,128,512,2K,8K,32K,128K,512K",
    show_default=True,
    metavar="S",
    help="Sizes in bytes: a list, e.g. 8,64,1K, or a range, e.g. 8:1M (doubling).",
)
@click.option("-o", "--output", type=OutputFile(), required=True, metavar="FILE", help="Tuning file to write.")
@json_option
def command(cluster_name: str, ranks: str | None, sizes: str, output: Path, json_file: Path | None) -> None:
    """Measure every algorithm of every collective on the simulator, and write the fastest by size.

    Use the result with `thalweg run --tuning FILE`. Ranks are on the first nodes; times are host to host. Sizes with
    more than 2 MB of data per rank are left out, and named.
    """
    cluster = Cluster.load(cluster_name)
    requested = _ranks(ranks, cluster.topology.hosts)
    plans = tuning.plans(cluster, requested, parse_sizes(sizes))
    with progress_bar("tune") as progress:
        rows = list(tuning.measure(plans, progress))
    how = f"thalweg tune --cluster {cluster_name} --ranks {','.join(map(str, requested))} --sizes {sizes}"
    write_text(output, tuning.text(cluster, rows, how))
    as_json = [{**asdict(row), "times": {a.name.lower(): us for a, us in row.times.items()}} for row in rows]
    write_json(json_file, as_json, cluster, seeds={"data": bench.SEED})
    print_table(
        ["ranks", "collective", "from bytes", "fastest", "us", "next", "us"],
        (
            [
                here.ranks,
                row.operation,
                here.bytes,
                *(cell for a, us in list(row.times.items())[:2] for cell in (a.name.lower(), us)),
            ]
            for here, row in tuning.crossings(rows)
        ),
        left=("collective", "fastest", "next"),
    )
    skipped = [
        [plan.ranks, plan.operation, ",".join(map(str, left)), why]
        for plan in plans
        for why, left in tuning.left_out(plan).items()
    ]
    if skipped:
        click.echo()
        print_table(
            ["ranks", "collective", "bytes left out", "because"],
            skipped,
            left=("collective", "bytes left out", "because"),
        )
