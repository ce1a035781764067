# SPDX-License-Identifier: Apache-2.0
"""`thalweg route` of SMI: tables of send and receive kernels, and their proof."""

from __future__ import annotations

from pathlib import Path

import click

from thalweg.commands.named_files import ClusterName, InputFile
from thalweg.commands.output import json_option
from thalweg.commands.routes import Lines, check_option, into, show
from thalweg.systems.smi import proved
from thalweg.systems.smi.cluster import Cluster
from thalweg.systems.smi.routes_proof import Proof


@click.command()
@click.argument("cluster", metavar="CLUSTER", type=ClusterName())
@check_option
@click.option(
    "--metadata",
    type=InputFile(),
    multiple=True,
    metavar="FILE",
    help="Metadata of a program, for the tables of receive kernels; may be repeated.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder for tables, proof.json and names of ranks.",
)
@json_option
def command(cluster: str, check: bool, metadata: tuple[Path, ...], out: Path | None, json_file: Path | None) -> None:
    """Compute the routes of CLUSTER, an SMI cluster or topology file (JSON), and prove delivery and absence of deadlock.

    Tables are binary files: cks-rankR-channelC of send kernels, by destination; with --metadata ckr-rankR-channelC of
    receive kernels, by port * 2 + control.
    """
    into(out)
    found = proved.prove(Cluster.load(cluster), metadata=metadata)
    show(found, _figures(found.proof, check), out, json_file)


def _figures(proof: Proof, check: bool) -> Lines:
    pairs = proof.nodes * (proof.nodes - 1)
    longer = proof.average_path / proof.average_shortest - 1
    lines = [
        ("routes", f"{proof.nodes} ranks, {proof.links} links, no virtual channels"),
        (
            "average path",
            f"{proof.average_path:.3f} links; by shortest paths {proof.average_shortest:.3f}, {longer:+.1%}",
        ),
        ("longest path", f"{proof.longest_path} links; by shortest paths {proof.longest_shortest}"),
        ("longer", f"{proof.longer_pairs} of {pairs} pairs"),
        (
            "busiest link",
            f"{proof.uniform_load:.3f} packets per cycle when every rank sends 1 packet per cycle, uniformly to all others; "
            f"by all shortest paths {proof.even_load:.3f}",
        ),
    ]
    if check:
        lines += [
            ("reached", f"{pairs} of {pairs} pairs, from every send kernel, without loops"),
            ("channels", f"{proof.channels}, links x 2 directions and FIFOs between kernels"),
            ("dependencies", f"{proof.dependencies} between channels, 0 cycles"),
        ]
    return lines
