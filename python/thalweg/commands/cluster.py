# SPDX-License-Identifier: Apache-2.0
"""`thalweg cluster`: lists, shows, checks and draws clusters, and prints the schema of cluster files."""

from __future__ import annotations

import json
from pathlib import Path

import click

from thalweg.cluster import Cluster, draw, load, topology
from thalweg.cluster.describe import describe
from thalweg.cluster.file import presets
from thalweg.cluster.header import header
from thalweg.cluster.kinds import Assembled
from thalweg.cluster.overlay import Overlaid
from thalweg.commands.named_files import ClusterName, InputFile, OutputFile, check_written
from thalweg.commands.output import json_option, print_line, print_table, write_json
from thalweg.errors import InputError, one_line
from thalweg.files import write_text
from thalweg.systems import systems

CLUSTER = click.argument("cluster", metavar="CLUSTER", type=ClusterName())


@click.group()
def command() -> None:
    """List, show, check and draw clusters.

    A CLUSTER is a preset (see `list`), a file, or a shape: ring:9, line:5, mesh:4x4, torus:8x8, star:8, each also with
    two planes of links, as in dual-torus:4x4.
    """


@command.command("list")
@json_option
def list_(json_file: Path | None) -> None:
    """List the presets."""
    clusters = [load(name) for name in presets()]
    rows = [{"name": c.name, "nodes": c.topology.nodes, "description": c.about} for c in clusters]
    print_table(["name", "nodes", "description"], [list(row.values()) for row in rows], left=["name", "description"])
    shapes = ", ".join(name for name in topology.SHAPES if name != "edges")
    click.echo()
    print_line(f"Shapes: {shapes}; see `thalweg cluster --help`.")
    write_json(json_file, rows, *clusters)


@command.command()
@CLUSTER
@json_option
def show(cluster: str, json_file: Path | None) -> None:
    """Show the parameters of a cluster.

    Values are in the units of the cluster file and of the hardware.
    """
    found = load(cluster)
    built = found.topology
    print_line(one_line(f"{cluster}: {found.about}" if found.about else cluster))
    rows = [
        ("nodes", str(built.nodes), _shape(found)),
        ("links", str(len(built.links)), f"{built.link_ports} link ports per node"),
        ("diameter", f"{built.diameter}", f"links; {built.average_distance:.3f} on average"),
        *found.shown(),
    ]
    names, values = (2 + max(len(row[column]) for row in rows) for column in (0, 1))
    for name, value, note in rows:
        click.echo(f"  {name:<{names}}{value:<{values}}{note}".rstrip())
    write_json(json_file, found.description, found)


@command.command()
@CLUSTER
@json_option
def check(cluster: str, json_file: Path | None) -> None:
    """Validate a cluster and prove its routes."""
    found = load(cluster)
    what, proof = found.checked()
    click.echo(f"{cluster}: valid; {_shape(found)}, {what}")
    write_json(json_file, {"file": cluster, "proof": proof}, found)


@command.command("draw")
@CLUSTER
@click.option("-o", "--output", type=OutputFile(), metavar="FILE.svg", help="Output file [default: CLUSTER.svg].")
@click.option(
    "--circuits",
    type=InputFile(),
    metavar="FILE",
    help="Also draw the partitions and circuits of this circuit file.",
)
@json_option
def draw_(cluster: str, output: Path | None, circuits: Path | None, json_file: Path | None) -> None:
    """Draw a cluster as SVG."""
    found = load(cluster)
    overlay = None
    if circuits:
        if not isinstance(found, Overlaid):
            raise InputError(f"{found.name} is a cluster of {found.system}, which has no circuits")
        overlay = found.overlay(circuits)
    path = output or Path(Path(cluster).stem.replace(":", "-") + ".svg")
    if str(path) != "-" and path.suffix != ".svg":
        raise InputError(f"{path}: drawings are SVG; give a file that ends in .svg")
    check_written(path)
    write_text(path, draw.svg(found, overlay=overlay))
    if str(path) != "-":
        click.echo(f"{path}: {found.topology.nodes} nodes, {len(found.topology.links)} links")
    links = found.topology.links.tolist()
    write_json(json_file, {"file": str(path), "nodes": found.topology.nodes, "links": links}, found)


@command.command("header")
@CLUSTER
@click.option(
    "-o", "--output", type=OutputFile(), metavar="FILE.hpp", default="-", help="Output file [default: stdout]."
)
def header_(cluster: str, output: Path) -> None:
    """Write a cluster's description as a C++ header.

    The header defines a function that returns the description, for programs that link the simulator's libraries
    (docs/vcsn.md).
    """
    found = load(cluster)
    if not isinstance(found, Assembled):
        raise InputError(
            f"{found.name} has no node and link types, which a header describes; only clusters with [nodes] and [links] tables have them"
        )
    write_text(output, header(found))


@command.command("describe")
@CLUSTER
@click.option("-o", "--output", type=OutputFile(), metavar="FILE", default="-", help="Output file [default: stdout].")
def describe_(cluster: str, output: Path) -> None:
    """Write a cluster's description as text that C++ programs load.

    `thalweg::load_description` reads it (sim/cluster/description_file.hpp), for programs that link the simulator's libraries.
    """
    found = load(cluster)
    if not isinstance(found, Assembled):
        raise InputError(
            f"{found.name} has no node and link types to describe; only clusters with [nodes] and [links] tables have them"
        )
    write_text(output, describe(found))


@command.command()
@click.argument("system", type=click.Choice(list(systems())), default=next(iter(systems())))
@click.option("--circuits", is_flag=True, help="Print the schema of circuit files instead.")
@json_option
def schema(system: str, circuits: bool, json_file: Path | None) -> None:
    """Print the JSON schema of the cluster files of a SYSTEM."""
    clusters = systems()[system].clusters()
    if circuits and not issubclass(clusters, Overlaid):
        raise InputError(f"clusters of {system} have no circuits")
    found = clusters.overlay_schema() if circuits and issubclass(clusters, Overlaid) else clusters.schema()
    click.echo(json.dumps(found, indent=2))
    write_json(json_file, found)


def _shape(cluster: Cluster) -> str:
    built = cluster.topology
    size = "x".join(map(str, built.size))
    planes = f", {built.planes} planes" if built.planes > 1 else ""
    further = f" and {built.added} further node{'s' * (built.added > 1)}" if built.added else ""
    return (f"{built.shape} {size}{planes}" if built.shape != "edges" else f"a list of edges{planes}") + further
