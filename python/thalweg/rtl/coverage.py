# SPDX-License-Identifier: Apache-2.0
"""Line and toggle coverage of the RTL by the equivalence tests, from Verilator's counts (docs/equality.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from thalweg.errors import CheckFailed
from thalweg.rtl.project import Block, Project


@dataclass(frozen=True)
class Coverage:
    """Coverage of one block, over all its parameter sets.

    A line is covered if every branch on it was taken; a toggle is a rise or a fall of one bit of a signal.
    """

    block: str
    lines: int
    toggles: int
    missed_lines: list[str]  #: file:line
    missed_toggles: list[str]  #: file:line signal[bit]:0->1

    @property
    def line_percent(self) -> float:
        return _percent(self.lines, len(self.missed_lines))

    @property
    def toggle_percent(self) -> float:
        return _percent(self.toggles, len(self.missed_toggles))


def _percent(all_of_them: int, missed: int) -> float:
    return 100 * (all_of_them - missed) / all_of_them


def coverage(project: Project, block: Block) -> Coverage:
    """Returns the coverage of a block's last runs with `Project.cover`, over all parameter sets.

    Counts the block's own module, and the parts and packages of its folder; other blocks in it have their own tests.
    Raises CheckFailed if there are no counts.
    """
    own = project.own_files(block)
    files = [project.folder(block, parameters) / "coverage" for parameters in block.sets]
    lines: Counter[tuple[str, int, str]] = Counter()
    toggles: Counter[tuple[str, int, str]] = Counter()
    for fields, count in _points(path for each in files for path in sorted(each.glob("*.dat"))):
        path = Path(fields["f"])
        if path not in own:
            continue
        file, line = str(path.relative_to(project.root)), int(fields["l"])
        if fields["t"] == "toggle":
            toggles[file, line, fields["o"]] += count
        else:
            for number in {line, *_numbers(fields.get("S", ""))}:
                lines[file, number, f"{line} {fields['n']} {fields['o']}"] += count
    if not lines or not toggles:
        raise CheckFailed(f"{block.name}: no coverage counts were written; another run may be using this folder")
    missed_lines = sorted({(file, line) for (file, line, _), count in lines.items() if count == 0})
    return Coverage(
        block.name,
        len({(file, line) for file, line, _ in lines}),
        len(toggles),
        [f"{file}:{line}" for file, line in missed_lines],
        [f"{file}:{line} {name}" for (file, line, name), count in sorted(toggles.items()) if count == 0],
    )


def _points(files: Iterable[Path]) -> Iterable[tuple[dict[str, str], int]]:
    """Yields Verilator's coverage points: their fields (f file, l line, n column, t type, o comment, S lines), and total
    counts."""
    counts: Counter[str] = Counter()
    for path in files:
        for text in path.read_text().splitlines():
            if text.startswith("C '"):
                name, count = text[3:].rsplit("' ", 1)
                counts[name] += int(count)
    for name, total in counts.items():
        yield dict(field.split("\x02", 1) for field in name.split("\x01") if field), total


def _numbers(ranges: str) -> list[int]:
    """Expands "3,5-7" to 3, 5, 6, 7."""
    numbers: list[int] = []
    for text in filter(None, ranges.split(",")):
        first, _, last = text.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers
