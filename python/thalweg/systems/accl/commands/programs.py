# SPDX-License-Identifier: Apache-2.0
"""`thalweg accl programs`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from thalweg.commands.output import json_option, print_line, write_json
from thalweg.systems.accl._sim import programs

PROGRAMS = programs()


@click.command()
@click.argument("name", required=False, type=click.Choice(sorted(PROGRAMS)), metavar="[NAME]")
@json_option
def command(name: str | None, json_file: Path | None) -> None:
    """Print the sequencer's programs of moves, or that of one operation: copy, send, bcast, ..."""
    chosen = [name] if name else list(PROGRAMS)
    texts = {each: list(_lines(PROGRAMS[each])) for each in chosen}
    for number, (each, lines) in enumerate(texts.items()):
        for line in [""] * (number > 0) + [f"{each}:", *lines]:
            print_line(line)
    write_json(json_file, {"programs": texts})


def _lines(instructions: list[tuple[str, int | None]]) -> Iterator[str]:
    """Yields instructions, each after its labels, which are the last words of jumps."""
    labels: dict[int, dict[str, None]] = {}
    for text, target in instructions:
        if target is not None:
            labels.setdefault(target, {})[text.split()[-1]] = None
    for number, (text, _) in enumerate(instructions):
        yield from labels.get(number, {})
        yield f"    {text}"
