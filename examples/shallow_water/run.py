# SPDX-License-Identifier: Apache-2.0
"""The tide in a bay, on simulated FPGAs that exchange the borders of their partitions by ACCL: prints what a step takes beside the paper's model, and draws it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click
from bay import boards, mesh, model, partition, timing
from thalweg.errors import InputError


@click.command()
@click.option("--elements", default=6760, show_default=True, help="Number of triangles; the closest there is.")
@click.option("--partitions", default=4, show_default=True, type=click.IntRange(1, 48), help="Number of boards.")
@click.option("--steps", default=200, show_default=True, type=click.IntRange(1), help="Time steps.")
@click.option(
    "--start", type=click.Choice(["rest", "hill"]), default="rest", show_default=True, help="Water at the begin."
)
@click.option(
    "--by",
    type=click.Choice(list(boards.DESIGNS)),
    default="udp",
    show_default=True,
    help="Who exchanges the halo: ACCL's engine over UDP or TCP, or hosts by MPI and PCIe.",
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
    by: boards.By,
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
        cut = partition.cut(bay, partitions, boards.DESIGNS[by].elements)
    except ValueError as error:
        raise InputError(str(error)) from None
    parameters = model.Parameters.of(bay)
    state = model.hill(bay) if start == "hill" else model.at_rest(bay)
    every = max(1, steps // (frames - 1)) if film else 0
    with click.progressbar(length=steps, label="steps", file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        result = boards.simulate(
            cut, parameters, state, steps, every=every, by=by, tell=lambda done: bar.update(done - bar.pos)
        )
    if result.lost:
        raise InputError(
            "the network has lost packets: " + ", ".join(f"{count} {what}" for _, what, count in result.lost)
        )
    print_table(cut, parameters, steps, by, result)

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


def print_table(
    cut: partition.Cut, parameters: model.Parameters, steps: int, by: boards.By, result: boards.Result
) -> None:
    parts, design, cycles, count = cut.partitions, boards.DESIGNS[by], result.cycles_a_step, len(cut.mesh)
    expected = timing.hosts_model(cut, design) if by == "hosts" else timing.model(cut, design)
    latency, equation = expected.communication, expected.equation_2

    def rate(of: float) -> float:
        return count * design.clock_mhz * 1e6 / of

    hidden = "hidden by" if latency <= expected.core else "more than the"
    for name, value in (
        ("steps", f"{steps:,} of {parameters.step_s:.3f} s"),
        ("elements", f"{count:,}; a board has {max(len(each.elements) for each in parts):,} at most"),
        ("boards", f"{len(parts)} at {design.clock_mhz:g} MHz, with {cut.most_neighbours} neighbours at most"),
        ("sent, received", f"{expected.sent:,}, {expected.received:,} elements at most"),
        ("L_comm", f"{latency:,.0f} cycles, {hidden} {expected.core:,} core elements"),
        ("cycles a step", f"{cycles:,.1f}; Equation 2: {equation:,.0f}"),
        ("elements a second", f"{rate(cycles) / 1e9:.3f} x 10^9; Equation 2: {rate(equation) / 1e9:.3f}"),
        ("arithmetic", f"{rate(cycles) * model.OPERATIONS / 1e12:.3f} TFLOP/s"),
        ("stalled", f"{result.stalled_share:.1%} of the pipelines' cycles"),
    ):
        click.echo(f"{name:19}{value}")


WEAK = (1, 6760), (2, 12_484), (4, 27_040), (8, 49_936), (16, 108_160), (32, 202_800), (48, 312_100)
STRONG = tuple(
    (count, size) for size, counts in ((27_040, (4, 8, 16, 32, 48)), (108_160, (16, 24, 32, 48))) for count in counts
)


def measure_scaling(path: Path, steps: int = 10) -> None:
    """Figures 9 and 10 of the paper."""
    from bay import pictures as drawn

    click.echo("boards  elements  neighbours  cycles a step  Equation 2  stalled  stalled by hosts")
    drawn.scaling(list(rows(WEAK, steps, hosts=True)), list(rows(STRONG, steps)), path)


def rows(sizes: tuple[tuple[int, int], ...], steps: int, hosts: bool = False) -> Iterator[dict[str, float]]:
    for count, size in sizes:
        bay = mesh.bay(size)
        cut, parameters, state = partition.cut(bay, count), model.Parameters.of(bay), model.at_rest(bay)
        result = boards.simulate(cut, parameters, state, steps)
        expected = timing.model(cut, boards.DESIGNS["udp"])
        made: dict[str, float] = {
            "boards": count,
            "elements": len(bay),
            "neighbours": cut.most_neighbours,
            "cycles": result.cycles_a_step,
            "equation_2": expected.equation_2,
            "hertz": boards.DESIGNS["udp"].clock_mhz * 1e6,
        }
        line = f"{count:6}{len(bay):10,}{cut.most_neighbours:12}{result.cycles_a_step:15,.1f}"
        line += f"{expected.equation_2:12,.0f}{result.stalled_share:9.1%}"
        if hosts:
            by_hosts = boards.simulate(cut, parameters, state, steps, by="hosts")
            made |= {"by_hosts": by_hosts.cycles_a_step, "hosts_hertz": boards.DESIGNS["hosts"].clock_mhz * 1e6}
            line += f"{by_hosts.stalled_share:18.1%}"
        click.echo(line)
        yield made


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        click.echo(f"run.py: {error}", err=True)
        sys.exit(2)
