# SPDX-License-Identifier: Apache-2.0
"""Output common to all `thalweg route` commands: figures of proved routes, and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import click

from thalweg.cluster import Cluster
from thalweg.commands.named_files import check_written
from thalweg.commands.output import write_json
from thalweg.errors import InputError
from thalweg.files import writing
from thalweg.route.proof import Proof

Lines = Sequence[tuple[str, str]]

check_option = click.option("--check", is_flag=True, help="Also print the sizes of the proof.")


class ClusterRoutes(Protocol):
    """Proved routes of a cluster."""

    @property
    def cluster(self) -> Cluster: ...
    def record(self) -> dict[str, Any]: ...
    def files(self) -> Mapping[str, str | bytes]: ...


def into(out: Path | None) -> None:
    """Creates the output folder before any computation. Raises InputError."""
    if out:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot be a directory: {error.strerror}", out) from error


def show(found: ClusterRoutes, figures: Lines, out: Path | None, json_file: Path | None) -> None:
    """Prints the figures and the result of the proof, writes the route files into `out`, and the proof as JSON."""
    for name, text in (*figures, ("proved", "every packet arrives, no wait-for cycle")):
        click.echo(f"{name:<15}{text}")
    if out:
        files = found.files()
        for name in files:
            check_written(out / name)
        for name, data in files.items():
            with writing(out / name) as file:
                file.write(data.encode() if isinstance(data, str) else data)
        click.echo(f"wrote {len(files)} files into {out}")
    write_json(json_file, found.record(), found.cluster)


def of_ports(proof: Proof, check: bool) -> Lines:
    """Returns the lines that `thalweg route` prints for tables of output ports; with `check` also the sizes of the proof."""
    pairs = proof.nodes * (proof.nodes - 1)
    lines = [
        ("routes", f"{proof.algorithm}, {proof.nodes} nodes, {proof.links} links"),
        ("longest path", f"{proof.longest_path} links, {proof.average_path:.3f} on average"),
        (
            "busiest link",
            f"{proof.uniform_load:.3f} flits per cycle when every node sends 1 flit per cycle, uniformly to all others",
        ),
        ("route classes", f"{proof.route_classes}; {proof.channels // (2 * proof.links)} virtual channels"),
    ]
    if check:
        lines += [
            ("reached", f"{pairs} of {pairs} pairs, without loops"),
            ("buffers", f"{proof.channels}, links x 2 directions x virtual channels"),
            ("dependencies", f"{proof.dependencies} between buffers, {proof.cycles} cycles"),
        ]
    return lines
