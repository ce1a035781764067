# SPDX-License-Identifier: Apache-2.0
"""A small ARGOT: sources in an oct-tree ionize hydrogen on a mesh, which nodes of PEACH2 share.

python apps/argot/argot.py [--ranks R] [--cells N] [--sources S] [--by hub|processor] [--plot FILE]

Prints where the ionization front is and should be, and the simulated time of a round by purpose. Exits with 1 if the state
differs from that of one box without hubs, or if the front of a single source is not where it should be.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import chemistry
import front
import numpy as np
from flow import Problem, State, solve
from nodes import RANKS, WAYS, Alone
from thalweg.errors import CheckFailed, InputError

PICTURES = (".pdf", ".png", ".svg")
AGREES = 1e-3  # maximum difference of a cell's neutral part between runs with fp32 and fp64 sums
RADIUS, ROUND = 0.02, 0.03  # maximum relative differences of the front's mean radius and of each direction's
RESOLVED = 32  # cells along an edge from which these hold


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(message)


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ranks", type=int, default=8, choices=RANKS, help="nodes")
    parser.add_argument("--by", default="hub", choices=list(WAYS), help="what exchanges depths and sums over the mesh")
    parser.add_argument("--cells", type=int, default=64, help="along an edge of the mesh")
    parser.add_argument("--sources", type=int, default=1, help="one is in the middle, more are at random")
    parser.add_argument("--seed", type=int, default=1, help="of their places")
    parser.add_argument("--opening", type=float, default=0.7, help="angle in radian below which a group is one point")
    parser.add_argument("--density", type=float, default=chemistry.DENSITY, help="of hydrogen, per cubic cm")
    parser.add_argument("--cluster", default="peach2", help="a preset or a file")
    parser.add_argument("--plot", type=Path, help="picture of the ionized region")
    given = parser.parse_args(arguments)
    if not 8 <= given.cells <= 128 or given.cells % 4:
        raise InputError(f"{given.cells} cells along an edge; they are a multiple of 4 from 8 to 128")
    if not 1 <= given.sources <= 1000:
        raise InputError(f"{given.sources} sources; they are 1 to 1000")
    if given.seed < 0:
        raise InputError(f"seed {given.seed}; it is not negative")
    if not 0 <= given.opening <= 1:
        raise InputError(f"an opening angle of {given.opening}; it is 0 to 1 radian")
    if not 1e-4 <= given.density <= 1e4:
        raise InputError(f"a density of {given.density}; it is 1e-4 to 1e4 per cubic cm")
    if given.plot and (given.plot.suffix not in PICTURES or not given.plot.parent.is_dir()):
        raise InputError(f"{given.plot} is no picture in a folder; its name ends with {', '.join(PICTURES)}")
    return given


def problem(
    cells: int, sources: int, seed: int = 1, opening: float = 0.7, density: float = chemistry.DENSITY
) -> Problem:
    """One source in the middle, or several of different luminosities within the middle three quarters of the box."""
    if sources == 1:
        return Problem(cells, np.full((1, 3), cells // 2), np.ones(1), opening, density)
    draw = np.random.default_rng([seed, sources])
    places = draw.integers(cells // 8, cells - cells // 8, (sources, 3))
    luminosities = draw.uniform(0.5, 1.5, sources)
    return Problem(cells, places, luminosities / luminosities.sum(), opening, density)


def digest(state: State) -> str:
    """Hash of all bits of the mesh and of all sums."""
    return hashlib.sha256(state.neutral.tobytes() + np.array(state.budgets).tobytes()).hexdigest()[:16]


def check(case: Problem, state: State) -> dict[str, str]:
    """Lines on the front of a single source. Raises CheckFailed if it is not where it should be."""
    analytic = front.analytic(case.density)
    sphere = chemistry.stroemgren(case.density)
    found = front.radii(state.neutral, case.places[0]) * case.edge / sphere / analytic.half
    volume = float((1 - state.neutral).sum()) * (case.edge / sphere) ** 3
    lines = {
        "Stroemgren's radius": f"{sphere / chemistry.PARSEC:.5g} pc",
        "analytic front": f"{analytic.half * sphere / chemistry.PARSEC:.5g} pc",
        "mean radius": f"{100 * (found.mean() - 1):+.2f} %",
        "nearest, farthest direction": f"{100 * (found.min() - 1):+.2f} %, {100 * (found.max() - 1):+.2f} %",
        "radius of the volume": f"{100 * ((3 * volume / (4 * np.pi)) ** (1 / 3) / analytic.volume - 1):+.2f} %",
    }
    if case.cells >= RESOLVED:
        if np.abs(found - 1).max() > ROUND:
            raise CheckFailed(f"the front is not round: {found.min():.3f} to {found.max():.3f} of the analytic radius")
        if abs(found.mean() - 1) > RADIUS:
            raise CheckFailed(f"the front's mean radius is {found.mean():.3f} of the analytic one")
    return lines


def draw(file: Path, case: Problem, state: State) -> None:
    """Draws the plane through the brightest source: neutral part, border of the ionized region, and Stroemgren's circle
    for a single source."""
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

    source = case.places[case.luminosities.argmax()]
    size = case.edge / chemistry.PARSEC
    half = case.cells * size / 2
    at = (np.arange(case.cells) + 0.5) * size - half
    plane = state.neutral[:, :, source[2]].T
    figure = Figure(figsize=(5.6, 4.6), layout="constrained")
    axes = figure.subplots()
    extent = (-half, half, -half, half)
    image = axes.imshow(plane, origin="lower", extent=extent, cmap="viridis", norm=LogNorm(1e-5, 1))
    figure.colorbar(image, label="neutral part")
    axes.contour(at, at, plane, [0.5], colors="white", linewidths=1.2)
    axes.plot([], [], color="white", linewidth=1.2, label="half ionized")
    centre = at[source[:2]]
    if len(case.places) == 1:
        turn = np.linspace(0, 2 * np.pi, 200)
        radius = front.analytic(case.density).half * chemistry.stroemgren(case.density) / chemistry.PARSEC
        axes.plot(
            centre[0] + radius * np.cos(turn),
            centre[1] + radius * np.sin(turn),
            color="tab:red",
            linestyle="--",
            linewidth=1.2,
            label="analytic front",
        )
    inside = case.places[case.places[:, 2] == source[2]]
    axes.plot(at[inside[:, 0]], at[inside[:, 1]], "*", color="gold", markersize=9, linestyle="", label="source")
    axes.set(xlabel="x / pc", ylabel="y / pc", title=f"{case.cells} cubed cells, density {case.density:g} per cubic cm")
    figure.legend(loc="outside lower center", ncols=3, facecolor="0.35", labelcolor="white", fontsize=8)
    figure.savefig(file, dpi=130)


def run(given: argparse.Namespace) -> None:
    case = problem(given.cells, given.sources, given.seed, given.opening, given.density)
    nodes = WAYS[given.by](given.ranks, given.cluster)
    state = solve(case, nodes)
    apart = float(np.abs(solve(case, Alone()).neutral - state.neutral).max())
    rounds, times = len(state.budgets), nodes.times
    lines = {
        **(check(case, state) if given.sources == 1 else {}),
        "photons that escape": f"{100 * state.budgets[-1].escaped:.2f} %",
        "rays a cell": f"{state.rays / given.cells**3:.1f}",
        "one box, largest difference": f"{apart:.1e}",
        "bits": digest(state),
        "rounds": str(rounds),
        "time of a round": f"{times.total / rounds:.1f} us",
        "computation": f"{times.computation / rounds:.1f} us",
        "puts": f"{times.puts / rounds:.1f} us",
        "reductions": f"{times.reductions / rounds:.1f} us",
        "communication": f"{100 * times.share:.1f} %",
    }
    ranks = f"{given.ranks} rank{'s' * (given.ranks > 1)}"
    sources = f"{given.sources} source{'s' * (given.sources > 1)}"
    print(f"{sources} in {given.cells} cubed cells, {ranks}, {given.cluster}, by {given.by}s\n")
    for name, value in lines.items():
        print(f"{name:32}{value:>18}")
    if given.plot:
        draw(given.plot, case, state)
    if apart > AGREES:
        raise CheckFailed(f"in one box without hubs, a cell's neutral part differs by {apart:.1e}")


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        run(options(arguments))
    except (InputError, CheckFailed, OSError) as error:
        print(f"argot: {error}", file=sys.stderr)
        return 1 if isinstance(error, CheckFailed) else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
