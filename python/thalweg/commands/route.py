"""thalweg route: routing tables of a cluster, and the proof that they deliver and cannot deadlock."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from thalweg.commands import completion
from thalweg.commands.output import json_option, write_json, write_text
from thalweg.errors import InputError
from thalweg.route import table as route_table
from thalweg.route.proof import Proof
from thalweg.route.routing import ALGORITHMS, Routes
from thalweg.systems.mpi_fpga.cluster import Cluster


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
    if table and routing:
        raise click.UsageError("--table and --routing exclude each other: routes come from the one or the other")
    if out:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot be a directory: {error.strerror}", out) from error
    found = Cluster.load(cluster)
    if routing:
        found = found.with_routing(routing)
    routes = route_table.read(table, found.topology, found.max_classes) if table else found.routes
    proof = found.prove(routes)
    _print(found, proof, check)
    if out:
        _write(out, found, routes, proof)
    write_json(json_file, _record(found, proof), found)


def _print(cluster: Cluster, proof: Proof, check: bool) -> None:
    pairs = proof.nodes * (proof.nodes - 1)
    lines = [
        ("routes", f"{proof.algorithm}, {proof.nodes} nodes, {proof.links} links"),
        ("longest path", f"{proof.longest_path} links, {proof.average_path:.3f} on average"),
        ("busiest link", f"{proof.uniform_load:.3f} flits a cycle when every node sends 1, evenly to all others"),
        ("route classes", f"{proof.route_classes}; {cluster.values.router.virtual_channels} virtual channels"),
    ]
    if check:
        lines += [
            ("reached", f"{pairs} of {pairs} pairs, without loops"),
            ("buffers", f"{proof.buffers}, links x 2 directions x virtual channels"),
            ("dependencies", f"{proof.dependencies} between buffers, {proof.cycles} cycles"),
            ("slots", f"{proof.slots} of tree and exchange edges, {proof.slot_dependencies} dependencies, 0 cycles"),
        ]
    lines.append(("proved", "every packet arrives, nothing waits in a circle"))
    for name, text in lines:
        click.echo(f"{name:<15}{text}")


def _write(directory: Path, cluster: Cluster, routes: Routes, proof: Proof) -> None:
    links = ["node,port,node,port", *(",".join(map(str, ends)) for ends in cluster.topology.links.tolist())]
    files = {
        "routes.csv": route_table.write(routes),
        "links.csv": "\n".join(links) + "\n",
        "proof.json": json.dumps(_record(cluster, proof), indent=2) + "\n",
    }
    for name, text in files.items():
        write_text(directory / name, text)
        click.echo(f"wrote {directory / name}")


def _record(cluster: Cluster, proof: Proof) -> dict[str, Any]:
    return {"cluster": cluster.name, **proof.as_dict()}
