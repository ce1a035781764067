# SPDX-License-Identifier: Apache-2.0
"""thalweg route: routing tables of a cluster, and the proof that they deliver and cannot deadlock."""

from __future__ import annotations

from pathlib import Path

import click

from thalweg.cluster import load
from thalweg.commands import completion
from thalweg.commands.output import json_option, write_json, write_text
from thalweg.errors import InputError
from thalweg.route import proved
from thalweg.route.routing import ALGORITHMS
from thalweg.systems.mpi_fpga.slots import Proof


@click.command()
@click.argument("cluster", metavar="CLUSTER", shell_complete=completion.clusters)
@click.option("--check", is_flag=True, help="Print the proof's figures as well.")
@click.option("--routing", type=click.Choice(list(ALGORITHMS)), help="The algorithm, in place of the cluster's own.")
@click.option("--table", type=click.Path(path_type=Path), metavar="FILE", help="Prove the table in FILE instead.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Write routes.csv, links.csv and proof.json into DIR."
)
@json_option
def command(
    cluster: str, check: bool, routing: str | None, table: Path | None, out: Path | None, json_file: Path | None
) -> None:
    """Compute the routes of CLUSTER and prove that they deliver and cannot deadlock.

    A table that fails is named with the cycle or the pair that it fails on; the exit code is 1.
    """
    if out:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot be a directory: {error.strerror}", out) from error
    found = proved.prove(load(cluster), routing, table)
    assert isinstance(found.proof, Proof)
    _print(found.proof, check)
    if out:
        for name, text in found.files().items():
            write_text(out / name, text)
            click.echo(f"wrote {out / name}")
    write_json(json_file, found.record(), found.cluster)


def _print(proof: Proof, check: bool) -> None:
    pairs = proof.nodes * (proof.nodes - 1)
    lines = [
        ("routes", f"{proof.algorithm}, {proof.nodes} nodes, {proof.links} links"),
        ("longest path", f"{proof.longest_path} links, {proof.average_path:.3f} on average"),
        ("busiest link", f"{proof.uniform_load:.3f} flits a cycle when every node sends 1, evenly to all others"),
        ("route classes", f"{proof.route_classes}; {proof.channels // (2 * proof.links)} virtual channels"),
    ]
    if check:
        lines += [
            ("reached", f"{pairs} of {pairs} pairs, without loops"),
            ("buffers", f"{proof.channels}, links x 2 directions x virtual channels"),
            ("dependencies", f"{proof.dependencies} between buffers, {proof.cycles} cycles"),
            ("slots", f"{proof.slots} of tree and exchange edges, {proof.slot_dependencies} dependencies, 0 cycles"),
        ]
    lines.append(("proved", "every packet arrives, nothing waits in a circle"))
    for name, text in lines:
        click.echo(f"{name:<15}{text}")
