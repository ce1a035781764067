# SPDX-License-Identifier: Apache-2.0
"""The tide in a bay, on simulated FPGAs that exchange the borders of their partitions by ACCL: prints what a step takes beside the paper's model, and draws it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click
from bay import boards, mesh, model, partition, timing
from thalweg.errors import InputError

HERTZ = boards.CLOCK_MHZ * 1e6


@click.command()
@click.option("--elements", default=6760, show_default=True, help="Number of triangles; the closest there is.")
@click.option("--partitions", default=4, show_default=True, type=click.IntRange(1, 48), help="Number of boards.")
@click.option("--steps", default=200, show_default=True, type=click.IntRange(1), help="Time steps.")
@click.option(
    "--start", type=click.Choice(["rest", "hill"]), default="rest", show_default=True, help="Water at the begin."
)
@click.option("--pictures", type=click.Path(path_type=Path), help="Folder for pictures of water, partitions and depth.")
@click.option("--film", type=click.Path(path_type=Path), help="Write a GIF.")
@click.option("--frames", default=60, show_default=True, type=click.IntRange(2), help="Frames of the film.")
@click.option(
    "--scaling", type=click.Path(path_type=Path), help="Measure 1 to 48 boards, and draw this picture, instead."
)
def main(
    elements: int,
    partitions: int,
    steps: int,
    start: str,
    pictures: Path | None,
    film: Path | None,
    frames: int,
    scaling: Path | None,
) -> None:
    """Simulates the tide in a bay on FPGAs."""
    if scaling:
        measure_scaling(scaling)
        return
    try:
        bay = mesh.bay(elements)
        cut = partition.cut(bay, partitions)
    except ValueError as error:
        raise InputError(str(error)) from None
    parameters = model.Parameters.of(bay)
    state = model.hill(bay) if start == "hill" else model.at_rest(bay)
    every = max(1, steps // (frames - 1)) if film else 0
    with click.progressbar(length=steps, label="steps", file=sys.stderr) as bar:
        result = boards.simulate(
            cut, parameters, state, steps, every=every, tell=lambda done: bar.update(done - bar.pos)
        )
    print_table(cut, parameters, steps, result)

    def title(step: int) -> str:
        minutes = round(step * parameters.step_s / 60)
        return (
            f"{len(bay):,} triangles, {partitions} board{'s' * (partitions > 1)}, {minutes // 60}:{minutes % 60:02} h"
        )

    if pictures or film:
        from bay import pictures as drawn

        if pictures:
            pictures.mkdir(parents=True, exist_ok=True)
            drawn.water(bay, result.states[-1], title(steps), pictures / "water.png")
            drawn.partitions(cut, pictures / "partitions.png")
            drawn.floor(bay if len(bay) < 12_000 else mesh.base(), pictures / "depth.png")
        if film:
            drawn.film(bay, result.states, lambda number: title(min(number * every, steps)), film)


def print_table(cut: partition.Cut, parameters: model.Parameters, steps: int, result: boards.Result) -> None:
    parts, expected, cycles = cut.partitions, timing.model(cut, boards.cluster()), result.cycles_a_step
    count = len(cut.mesh)

    def rate(of: float) -> str:
        return f"{count * HERTZ / of / 1e9:.3f}"

    hidden = "hidden by" if expected.communication <= expected.core else "more than"
    rows = [
        ("steps", f"{steps:,} of {parameters.step_s:.3f} s"),
        ("elements", f"{count:,}, a board has {max(len(each.elements) for each in parts):,} at most"),
        ("boards", f"{len(parts)}, with {cut.most_neighbours} neighbours at most"),
        ("elements sent, received", f"{expected.sent:,}, {expected.received:,} at most"),
        ("L_comm x f", f"{expected.communication:,.0f} cycles, {hidden} {expected.core:,} core elements"),
        ("cycles a step", f"{cycles:,.1f}; Equation 2: {expected.equation_2:,.0f}"),
        ("10^9 elements a second", f"{rate(cycles)}; Equation 2: {rate(expected.equation_2)}"),
        (
            "TFLOP/s",
            f"{count * model.OPERATIONS * HERTZ / cycles / 1e12:.3f}, {model.OPERATIONS} operations an element",
        ),
        ("pipelines stalled", f"{100 * result.stalled_share:.1f} % of their cycles"),
        ("same by MPI and PCIe", f"{100 * timing.mpi_stalled_share(cut):.1f} %, a model"),
    ]
    for name, value in rows:
        click.echo(f"{name:24}{value}")


WEAK = (1, 6760), (2, 12_484), (4, 27_040), (8, 49_936), (16, 108_160), (32, 202_800), (48, 312_100)
STRONG = tuple(
    (count, size) for size, counts in ((27_040, (4, 8, 16, 32, 48)), (108_160, (16, 24, 32, 48))) for count in counts
)


def measure_scaling(path: Path, steps: int = 10) -> None:
    """Figures 9 and 10 of the paper."""
    from bay import pictures as drawn

    click.echo("boards  elements  neighbours  cycles a step  Equation 2  stalled")
    drawn.scaling(list(rows(WEAK, steps)), list(rows(STRONG, steps)), path)


def rows(sizes: tuple[tuple[int, int], ...], steps: int) -> Iterator[dict[str, float]]:
    for count, size in sizes:
        bay = mesh.bay(size)
        cut = partition.cut(bay, count)
        result = boards.simulate(cut, model.Parameters.of(bay), model.at_rest(bay), steps)
        expected = timing.model(cut, boards.cluster())
        click.echo(
            f"{count:6}{len(bay):10,}{cut.most_neighbours:12}{result.cycles_a_step:15,.1f}{expected.equation_2:12,.0f}{result.stalled_share:9.1%}"
        )
        yield {
            "boards": count,
            "elements": len(bay),
            "neighbours": cut.most_neighbours,
            "cycles": result.cycles_a_step,
            "equation_2": expected.equation_2,
            "hertz": HERTZ,
            "mpi": timing.mpi_cycles(cut),
            "mpi_hertz": timing.MPI_CLOCK_MHZ * 1e6,
        }


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        click.echo(f"run.py: {error}", err=True)
        sys.exit(2)
