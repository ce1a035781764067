# SPDX-License-Identifier: Apache-2.0
"""`thalweg route` of SMI: tables for its send and receive kernels, and the proof that they deliver and cannot deadlock."""

from __future__ import annotations

from pathlib import Path

import click

from thalweg.commands import completion
from thalweg.commands.output import json_option, write_json, writing
from thalweg.errors import InputError
from thalweg.systems.smi import proved
from thalweg.systems.smi.cluster import Cluster
from thalweg.systems.smi.routes_proof import Proof


@click.command()
@click.argument("cluster", metavar="CLUSTER", shell_complete=completion.clusters)
@click.option("--check", is_flag=True, help="Print the proof's figures as well.")
@click.option(
    "--metadata",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help="A program's operations, for receive kernels' tables; can be repeated.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write tables, proof.json and the ranks' names into DIR.",
)
@json_option
def command(cluster: str, check: bool, metadata: tuple[Path, ...], out: Path | None, json_file: Path | None) -> None:
    """Compute the routes of CLUSTER, a cluster of SMI or a topology file of its own (JSON), and prove that they deliver and cannot
    deadlock.

    Tables are files of bytes: cks-rankR-channelC of send kernels, by destination; with --metadata ckr-rankR-channelC of receive kernels,
    by port * 2 + control.
    """
    if out:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot be a directory: {error.strerror}", out) from error
    found = proved.prove(Cluster.load(cluster), metadata=metadata)
    _print(found.proof, check)
    if out:
        files = found.files()
        for name, data in files.items():
            with writing(out / name) as file:
                file.write(data)
        click.echo(f"wrote {len(files)} files into {out}")
    write_json(json_file, found.record(), found.cluster)


def _print(proof: Proof, check: bool) -> None:
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
            f"{proof.uniform_load:.3f} packets a cycle when every rank sends 1, evenly to all others; "
            f"by all shortest paths {proof.even_load:.3f}",
        ),
    ]
    if check:
        lines += [
            ("reached", f"{pairs} of {pairs} pairs, from every send kernel, without loops"),
            ("channels", f"{proof.channels}, links x 2 directions and FIFOs between kernels"),
            ("dependencies", f"{proof.dependencies} between channels, 0 cycles"),
        ]
    lines.append(("proved", "every packet arrives, nothing waits in a circle"))
    for name, text in lines:
        click.echo(f"{name:<15}{text}")
