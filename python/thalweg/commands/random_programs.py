# SPDX-License-Identifier: Apache-2.0
"""Shared by commands that run random programs: `thalweg rtl cosim` and `thalweg rtl test`."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from thalweg.arguments import limit
from thalweg.cluster.kinds import Assembled
from thalweg.commands.named_files import ClusterName
from thalweg.commands.output import json_option, print_table, write_json
from thalweg.rtl.tools import BuildError

MAX_SEED = 2**63 - 1


class Seed(click.IntRange):
    """A seed of at most 63 bits."""

    def __init__(self) -> None:
        super().__init__(0, MAX_SEED)

    def _describe_range(self) -> str:
        return f"0<=x<={limit(MAX_SEED)}"


seed_option = click.option("--seed", type=Seed(), help="Seed of the first run; later runs count up. [default: random]")

ClusterOf = TypeVar("ClusterOf", bound=Assembled)
OutcomeOf = TypeVar("OutcomeOf")


def cosim_command(
    load: Callable[[str], ClusterOf],
    compare: Callable[..., OutcomeOf],
    totals: Callable[[ClusterOf, Sequence[OutcomeOf]], Mapping[str, Any]],
    about: str,
    option: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda command: command,
) -> click.Command:
    """Returns the command `thalweg rtl cosim` of a system.

    `compare(cluster, seed)` runs the program of one seed and raises CheckFailed if simulator and hardware differ;
    `totals` summarizes all outcomes. `option`: a further option of the command, passed to `compare` by name.
    """

    @click.command("cosim", help=about)
    @click.option("--cluster", "name", required=True, type=ClusterName(), metavar="C", help="Preset or cluster file.")
    @click.option("--runs", type=click.IntRange(1), default=20, show_default=True, help="Random programs.")
    @seed_option
    @option
    @json_option
    def command(name: str, runs: int, seed: int | None, json_file: Path | None, **chosen: Any) -> None:
        cluster = load(name)
        seed = secrets.randbelow(2**31) if seed is None else seed
        click.echo(f"seed {seed}; {runs} random program{'s' * (runs > 1)} on {cluster.name}")
        outcomes = []
        with click.progressbar(length=runs, label="comparing", show_pos=True) as bar:
            for each in range(seed, seed + runs):
                try:
                    outcomes.append(compare(cluster, each, **chosen))
                except BuildError as error:
                    click.echo(error.text, err=True)
                    raise
                bar.update(1)
        row = {"cluster": cluster.name, "seed": seed, "runs": runs, **totals(cluster, outcomes)}
        print_table(tuple(row), [tuple(row.values())], left=("cluster",))
        write_json(json_file, row, cluster, seeds={"programs": seed})

    return command
