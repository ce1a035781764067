# SPDX-License-Identifier: Apache-2.0
"""The flow around a cylinder, by a lattice-Boltzmann method on rings of FPGAs, over virtual circuits and over serial links.

python apps/lattice/lattice.py [--cluster NAME ...] [--fpgas N ...] [--picture FILE] [--plot FILE]

Prints the rate in simulated time, in million cell updates per second (MLUPS). Exits with 1 if any bit differs from
plain numpy's result.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import NoReturn

import numpy as np
from d2q9 import SOLID, Flow, Populations, cylinder, moments, plain
from stream import Outcome, Ring
from thalweg.errors import CheckFailed, FabricStopped, InputError
from thalweg.vcsn import Cluster

PICTURES = (".pdf", ".png", ".svg")


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(message)


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cluster", nargs="+", default=["vcsn-d5005", "dcn-d5005"], help="presets or files")
    parser.add_argument("--fpgas", nargs="+", type=int, default=[4], help="numbers of FPGAs in the ring")
    parser.add_argument("--steps", type=int, default=4, help="of time that each FPGA computes in a pass")
    parser.add_argument("--passes", type=int, default=1, help="of the lattice through all FPGAs")
    parser.add_argument("--columns", nargs="+", type=int, default=[320], help="of cells, along the flow")
    parser.add_argument("--rows", type=int, default=128, help="of cells, across it; a multiple of 8")
    parser.add_argument("--reynolds", type=float, default=100, help="number of the cylinder")
    parser.add_argument("--picture", type=Path, help="of the vorticity behind the last run")
    parser.add_argument("--plot", type=Path, help="of the MLUPS over the number of FPGAs")
    given = parser.parse_args(arguments)
    for what in ("steps", "passes"):
        if getattr(given, what) < 1:
            raise InputError(f"{getattr(given, what)} {what}; at least 1")
    if (least := min(given.rows, *given.columns)) < 16:
        raise InputError(f"{least} rows or columns of cells; at least 16")
    if not 1 <= given.reynolds <= 200:
        raise InputError(f"a Reynolds number of {given.reynolds:g}; it is 1 to 200")
    for file in (given.picture, given.plot):
        if file and (file.suffix not in PICTURES or not file.parent.is_dir()):
            raise InputError(f"{file} is no picture in a folder; its name ends with {', '.join(PICTURES)}")
    return given


@dataclass(frozen=True)
class Result:
    columns: int
    cluster: str
    fpgas: int
    outcome: Outcome
    mlups: float
    """Million cell updates per second."""
    bound: float


def draw(file: Path, flow: Flow, f: Populations, title: str) -> None:
    """Draws the vorticity: blue is clockwise, red counter-clockwise."""
    from matplotlib.figure import Figure

    _, ux, uy = moments(f)
    vorticity = np.gradient(uy, axis=0) - np.gradient(ux, axis=1)
    columns, rows = flow.kinds.shape
    figure = Figure(figsize=(9, 0.6 + 9 * rows / columns), layout="constrained")
    axes = figure.subplots()
    around = 0.015 * 128 / rows
    axes.imshow(vorticity.T, origin="lower", cmap="RdBu_r", vmin=-around, vmax=around, interpolation="bilinear")
    solid = np.ma.masked_where(flow.kinds != SOLID, flow.kinds)
    axes.imshow(solid.T, origin="lower", cmap="gray", vmin=SOLID, vmax=SOLID + 2)
    axes.set(xticks=[], yticks=[], title=title)
    figure.savefig(file, dpi=130)


def plot(file: Path, results: Sequence[Result], rows: int, steps: int) -> None:
    from matplotlib.figure import Figure

    lengths = list(dict.fromkeys(result.columns for result in results))
    figure = Figure(figsize=(1 + 4.6 * len(lengths), 4.2), layout="constrained")
    for axes, columns in zip(figure.subplots(1, len(lengths), sharey=True, squeeze=False)[0], lengths, strict=True):
        for name, marker in zip(dict.fromkeys(result.cluster for result in results), "osD^v" * 9, strict=False):
            own = [result for result in results if (result.columns, result.cluster) == (columns, name)]
            fpgas = [result.fpgas for result in own]
            (line,) = axes.plot(fpgas, [result.mlups for result in own], f"{marker}-", ms=5, label=name)
            bounds = [result.bound for result in own]
            axes.plot(fpgas, bounds, "--", lw=0.9, color=line.get_color(), label=f"{name}, bound")
        axes.set(xlabel="FPGAs", title=f"{columns} x {rows} cells")
        axes.set_xticks(sorted({result.fpgas for result in results}))
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        if columns == lengths[0]:
            axes.set_ylabel("MLUPS")
            axes.legend(frameon=False)
    figure.suptitle(f"Lattice-Boltzmann method, {steps} steps of time in each FPGA")
    figure.savefig(file, dpi=130)


def run(given: argparse.Namespace) -> None:
    flows = {columns: cylinder(columns, given.rows, given.reynolds) for columns in given.columns}
    rings = [
        (name, Ring(Cluster.load(name), fpgas, given.steps)) for name, fpgas in product(given.cluster, given.fpgas)
    ]
    print(
        f"flow around a cylinder, {given.rows} rows of cells, {given.steps} step{'s' * (given.steps > 1)} in each FPGA"
    )
    print("times in us, until the server has the last interrupt; MLUPS: million cells updated in a second")
    print(
        f"{'columns':>7}  {'cluster':<12}{'fpgas':>5}{'steps':>7}{'time':>9}{'MLUPS':>9}{'bound':>7}{'share':>7}  same bits"
    )
    results: list[Result] = []
    for columns, flow in flows.items():
        right: dict[int, Populations] = {}
        for name, ring in rings:
            outcome = ring.run(flow, flow.start(), given.passes)
            if outcome.steps not in right:
                right[outcome.steps] = plain(flow, flow.start(), outcome.steps)
            apart = int((outcome.f.view(np.uint32) != right[outcome.steps].view(np.uint32)).sum())
            result = Result(columns, name, len(ring.nodes), outcome, outcome.mlups(flow), ring.bound())
            results.append(result)
            print(
                f"{columns:>7}  {name:<12}{result.fpgas:>5}{outcome.steps:>7}{outcome.us:>9.1f}{result.mlups:>9.0f}"
                f"{result.bound:>7.0f}{result.mlups / result.bound:>7.1%}  {'no' if apart else 'yes'}",
                flush=True,
            )
            if apart:
                raise CheckFailed(f"{apart} populations differ from those of numpy on {name}")
    if given.picture:
        last = results[-1]
        size = f"{last.columns} x {given.rows} cells"
        title = f"{last.outcome.steps} steps of {size} on {last.fpgas} FPGAs of {last.cluster}, Re = {given.reynolds:g}"
        draw(given.picture, flows[last.columns], last.outcome.f, title)
    if given.plot:
        plot(given.plot, results, given.rows, given.steps)


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        run(options(arguments))
    except (InputError, CheckFailed, FabricStopped, OSError) as error:
        print(f"lattice: {error}", file=sys.stderr)
        return 2 if isinstance(error, InputError | OSError) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
