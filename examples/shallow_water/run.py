# SPDX-License-Identifier: Apache-2.0
"""Simulates the tide in a bay on FPGAs that exchange the halos of their partitions by ACCL. Prints the cycles per step
next to the paper's model, and draws pictures."""

from __future__ import annotations

import signal
import sys
from importlib.util import find_spec
from pathlib import Path

import click
from bay import boards, mesh, model, operations, partition, timing
from thalweg.errors import InputError, ThalwegError


@click.command()
@click.option(
    "--elements",
    default=6760,
    show_default=True,
    type=click.IntRange(1),
    help="Number of triangles; the closest available mesh is used.",
)
@click.option("--partitions", default=4, show_default=True, type=click.IntRange(1, 48), help="Number of boards.")
@click.option("--steps", default=200, show_default=True, type=click.IntRange(1), help="Time steps.")
@click.option(
    "--start",
    type=click.Choice(["rest", "hill"]),
    default="rest",
    show_default=True,
    help="Initial state of the water.",
)
@click.option(
    "--by",
    type=click.Choice(list(boards.DESIGNS)),
    default="udp",
    show_default=True,
    help="Exchange of the halo: ACCL's engine over UDP or TCP, or hosts with MPI and PCIe.",
)
@click.option(
    "--halo",
    type=click.Choice(["buffered", "on-chip", "reordered"]),
    default="buffered",
    show_default=True,
    help="Destination of messages: receive buffers in the board's memory, as in the paper, or on chip; or kernels, which reorder them.",
)
@click.option(
    "--step",
    type=click.Choice(["nominal", "engine", "in-switch"]),
    default="nominal",
    show_default=True,
    help="Time steps: nominal, as in the paper, or adapted to the fastest wave, by an allreduce on ACCL's engines or in switches.",
)
@click.option(
    "--sequencer",
    type=click.Choice(["processor", "hardware"]),
    default="processor",
    show_default=True,
    help="Sequencer of the engine: its processor, as in the paper, or hardware.",
)
@click.option(
    "--pictures",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for pictures of water, partitions and depth.",
)
@click.option("--film", type=click.Path(path_type=Path), help="Write a GIF.")
@click.option("--frames", default=60, show_default=True, type=click.IntRange(2), help="Frames of the film.")
def main(
    elements: int,
    partitions: int,
    steps: int,
    start: str,
    by: boards.By,
    halo: boards.Halo,
    step: boards.Step,
    sequencer: boards.Sequencer,
    pictures: Path | None,
    film: Path | None,
    frames: int,
) -> None:
    """Simulates the tide in a bay on FPGAs."""
    if film and film.suffix != ".gif":
        raise InputError(f"--film {film}: must be a .gif file")
    if film and not film.parent.is_dir():
        raise InputError(f"--film {film}: folder {film.parent} does not exist")
    if (film or pictures) and find_spec("matplotlib") is None:
        raise InputError(
            f"--pictures and --film need matplotlib: {sys.executable} -m pip install 'thalweg[shallow-water]'"
        )
    try:
        design = boards.DESIGNS[by].changed(halo, step, sequencer)
        bay = mesh.bay(elements)
        cut = partition.cut(bay, partitions, design.elements)
    except ValueError as error:
        raise InputError(str(error)) from None
    parameters = model.Parameters.of(bay)
    state = model.hill(bay) if start == "hill" else model.at_rest(bay)
    every = max(1, steps // (frames - 1)) if film else 0
    with click.progressbar(length=steps, label="steps", file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        result = boards.simulate(
            cut, parameters, state, steps, every=every, by=design, tell=lambda done: bar.update(done - bar.pos)
        )
    if result.lost:
        raise InputError("the network lost packets: " + ", ".join(f"{count} {what}" for _, what, count in result.lost))
    print_table(cut, parameters, steps, design, result)

    def title(step: int) -> str:
        minutes = round(step / steps * result.time * parameters.step_s / 60)
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
    cut: partition.Cut, parameters: model.Parameters, steps: int, design: boards.Design, result: boards.Result
) -> None:
    parts, cycles, count = cut.partitions, result.cycles_a_step, len(cut.mesh)
    expected = timing.model(cut, design)
    latency, equation = expected.communication, expected.equation_2

    def rate(of: float) -> float:
        return count * design.clock_mhz * 1e6 / of

    hidden = "hidden by" if latency <= expected.core else "more than the"
    for name, value in (
        ("steps", f"{steps:,} of {parameters.step_s * result.time / steps:.3f} s"),
        ("elements", f"{count:,}; at most {max(len(each.elements) for each in parts):,} per board"),
        (
            "boards",
            f"{len(parts)} at {design.clock_mhz:g} MHz, with at most {cut.most_neighbours} neighbour{'s' * (cut.most_neighbours != 1)}",
        ),
        ("sent, received", f"at most {expected.sent:,}, {expected.received:,} elements"),
        (
            "L_comm",
            f"{expected.communication_us:.2f} us, {latency:,.0f} cycles, {hidden} {expected.core:,} core elements",
        ),
        ("cycles per step", f"{cycles:,.1f}; Equation 2: {equation:,.0f}"),
        ("elements per second", f"{rate(cycles) / 1e9:.3f} x 10^9; Equation 2: {rate(equation) / 1e9:.3f}"),
        ("arithmetic", f"{rate(cycles) * operations.flop() / 1e12:.3f} TFLOP/s"),
        ("stalled", f"{result.stalled_share:.1%} of the pipelines' cycles"),
    ):
        click.echo(f"{name:21}{value}")


def status() -> int:
    """Runs the command and returns its exit status."""
    try:
        main(standalone_mode=False)
    except click.Abort:
        return 128 + signal.SIGINT
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except ThalwegError as error:
        click.echo(f"run.py: {error}", err=True)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(status())
