"""thalweg cluster: list, show, check and draw clusters, and the schema of their files."""

from __future__ import annotations

import json
from pathlib import Path

import click

from thalweg.cluster import draw, topology
from thalweg.cluster import file as cluster_file
from thalweg.cluster.cluster import Cluster, presets
from thalweg.commands import completion
from thalweg.commands.output import OutputFile, json_option, print_line, print_table, write_json, write_text
from thalweg.errors import one_line

CLUSTER = click.argument("cluster", metavar="CLUSTER", shell_complete=completion.clusters)


@click.group()
def command() -> None:
    """List, show, check and draw clusters.

    A CLUSTER is a preset (see `list`), a file, or a shape in place: ring:9, line:5, mesh:4x4, torus:8x8, star:8, each also
    with two planes of links, as in dual-torus:4x4.
    """


@command.command("list")
@json_option
def list_(json_file: Path | None) -> None:
    """List the presets."""
    clusters = [Cluster.load(name) for name in presets()]
    rows = [{"name": c.name, "nodes": c.topology.nodes, "description": c.values.description} for c in clusters]
    print_table(["name", "nodes", "description"], [list(row.values()) for row in rows], left=["name", "description"])
    shapes = ", ".join(name for name in topology.SHAPES if name != "edges")
    click.echo()
    print_line(f"Shapes in place: {shapes}; see `thalweg cluster --help`.")
    write_json(json_file, rows, *clusters)


@command.command()
@CLUSTER
@json_option
def show(cluster: str, json_file: Path | None) -> None:
    """Show values, in the units of files and of the hardware."""
    found = Cluster.load(cluster)
    values, built = found.values, found.topology
    print_line(one_line(f"{cluster}: {values.description}" if values.description else cluster))
    rows: list[tuple[str, str, str]] = [
        ("nodes", str(built.nodes), _shape(found)),
        ("links", str(len(built.links)), f"{built.link_ports} link ports a node"),
        ("diameter", f"{built.diameter}", f"links; {built.average_distance:.3f} on average"),
        ("clock", f"{values.clock.frequency_mhz:g} MHz", f"a cycle is {1e3 / values.clock.frequency_mhz:g} ns"),
        ("link latency", f"{values.link.latency_ns:g} ns", f"{found.link_latency} cycles"),
        ("link rate", f"{values.link.rate_gbps:g} Gb/s", f"{found.link_rate} flit a cycle; a port does 1, {found.port_gbps:g} Gb/s"),
        ("virtual channels", f"{values.router.virtual_channels}", f"of {found.buffer_flits} flits at a link port"),
        ("port buffer", f"{values.router.port_buffer_bytes} bytes", _equation(found)),
        ("flow control", values.router.flow, _flow(found)),
        ("local ports", f"{1 + found.collective_ports}", f"host, and {found.collective_ports} of the collective unit"),
        ("PCIe latency", f"{values.host.pcie_latency_ns:g} ns", f"{found.cycles(values.host.pcie_latency_ns)} cycles, one way"),
        ("PCIe rate", f"{values.host.pcie_rate_gbps:g} Gb/s", "each way"),
        ("DMA", f"{values.host.dma_flits_per_cycle} flits", "a cycle"),
        ("software", f"{values.host.message_overhead_ns:g} ns", "a message, of a collective that falls back"),
        ("host memory", f"{values.host.memory_overhead_ns:g} ns", f"a message between ranks of one node, {values.host.memory_rate_gbps:g} Gb/s"),
        ("contexts", f"{values.collective.contexts}", f"{values.collective.operations_in_flight} operations of each in flight"),
        ("aggregation", f"{values.collective.aggregation_units} units", f"{values.collective.lane_latency_cycles} cycles a step"),
        ("slots", f"{values.collective.slot_packets} packets", f"of {values.collective.packet_flits} flits, a tree edge"),
    ]  # fmt: skip
    for name, value, note in rows:
        click.echo(f"  {name:<17}{value:<13}{note}".rstrip())
    write_json(json_file, found.description, found)


@command.command()
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def check(file: Path, json_file: Path | None) -> None:
    """Check a cluster file and prove its routes."""
    found = Cluster.load_file(file)
    found.fabric_config()
    click.echo(f"{file}: right; {_shape(found)}, {found.routes.algorithm} routes proved")
    write_json(json_file, {"file": str(file), "proof": found.proof().as_dict()}, found)


@command.command("draw")
@CLUSTER
@click.option("-o", "--output", type=OutputFile(), metavar="FILE.svg", help="Where to draw; by default CLUSTER.svg.")
@json_option
def draw_(cluster: str, output: Path | None, json_file: Path | None) -> None:
    """Draw a cluster as SVG."""
    found = Cluster.load(cluster)
    path = output or Path(Path(cluster).stem.replace(":", "-") + ".svg")
    write_text(path, draw.svg(found))
    if str(path) != "-":
        click.echo(f"{path}: {found.topology.nodes} nodes, {len(found.topology.links)} links")
    links = found.topology.links.tolist()
    write_json(json_file, {"file": str(path), "nodes": found.topology.nodes, "links": links}, found)


@command.command()
@json_option
def schema(json_file: Path | None) -> None:
    """Print the JSON schema of cluster files."""
    click.echo(json.dumps(cluster_file.schema(), indent=2))
    write_json(json_file, cluster_file.schema())


def _shape(cluster: Cluster) -> str:
    built = cluster.topology
    size = "x".join(map(str, built.size))
    planes = f", {built.planes} planes" if built.planes > 1 else ""
    return f"{built.shape} {size}{planes}" if built.shape != "edges" else f"a list of edges{planes}"


def _equation(cluster: Cluster) -> str:
    if cluster.values.router.flow != "margin":
        return "of a link port"
    return f"of a link port; Equation 2 asks for {cluster.least_port_buffer}"


def _flow(cluster: Cluster) -> str:
    if cluster.values.router.flow == "credits":
        return "one a flit"
    return f"stop at {cluster.values.router.margin_flits} free flits; {cluster.least_margin} may be in flight"
