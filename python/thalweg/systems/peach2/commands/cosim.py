# SPDX-License-Identifier: Apache-2.0
"""`thalweg rtl cosim` of a cluster of hubs."""

from __future__ import annotations

import secrets
from pathlib import Path

import click

from thalweg.commands import completion
from thalweg.commands.output import json_option, print_table, write_json
from thalweg.rtl.tools import BuildError
from thalweg.systems.peach2 import cosim, rtl_engine
from thalweg.systems.peach2.cluster import Cluster


@click.command("cosim")
@click.option(
    "--cluster", "name", required=True, shell_complete=completion.clusters, metavar="C", help="A ring of hubs."
)
@click.option("--runs", type=click.IntRange(1), default=20, show_default=True, help="Random programs.")
@click.option(
    "--seed", type=click.IntRange(0, 2**31), help="Seed of the first run; the others follow. [default: random]"
)
@json_option
def command(name: str, runs: int, seed: int | None, json_file: Path | None) -> None:
    """Hold the hubs of a whole cluster against the simulator's, in every cycle, under random puts, chains and reductions.

    Windows, places, sizes and the phase of the bus's clock are random, too; some addresses are nobody's. Compared are all ports in
    every cycle, when each operation ended, what the hubs counted and all memories. The first difference ends it, with its seed.
    """
    cluster = Cluster.load(name)
    seed = secrets.randbelow(2**31) if seed is None else seed
    click.echo(f"seed {seed}; {runs} random program{'s' * (runs > 1)} on {cluster.name}")
    try:
        rtl_engine.library(cluster)
    except BuildError as error:
        click.echo(error.text, err=True)
        raise
    outcomes = []
    with click.progressbar(length=runs, label="comparing", show_pos=True) as bar:
        for each in range(seed, seed + runs):
            outcomes.append(cosim.compare(cluster, each))
            bar.update(1)
    row = {
        "cluster": cluster.name,
        "seed": seed,
        "runs": runs,
        "operations": sum(len(outcome.times) for outcome in outcomes),
        "hub-cycles": cluster.topology.nodes * sum(max(end for _, end in outcome.times) for outcome in outcomes),
        "refused": sum(outcome.refused for outcome in outcomes),
    }
    print_table(tuple(row), [tuple(row.values())], left=("cluster",))
    write_json(json_file, row, cluster, seeds={"programs": seed})
