# SPDX-License-Identifier: Apache-2.0
"""Is every number and every name complete, however narrow the terminal?"""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from programs import ROOT
from terminal import lines, shown
from thalweg.cluster import load
from thalweg.cluster.file import presets
from thalweg.commands import output
from thalweg.commands.output import print_line, print_table

THALWEG = [sys.executable, "-m", "thalweg"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@contextlib.contextmanager
def of_width(columns: int) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        patch.setenv("NO_COLOR", "1")
        patch.setattr(output.click, "style", lambda text, **_: text)
        yield Terminal()


words = st.text("abcdefgh_-/:.0123456789", min_size=1, max_size=12)
texts = st.lists(words, min_size=1, max_size=12).map(" ".join)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is not an error of the tables
@given(
    rows=st.integers(1, 7).flatmap(lambda n: st.lists(st.lists(texts, min_size=n, max_size=n), min_size=1, max_size=5)),
    lefts=st.lists(st.booleans(), min_size=7, max_size=7),
    columns=st.integers(60, 130),
)
def test_no_word_is_cut(rows: list[list[str]], lefts: list[bool], columns: int) -> None:
    names = [f"c{index}" for index in range(len(rows[0]))]
    with of_width(columns) as terminal:
        print_table(names, rows, [name for name, left in zip(names, lefts, strict=False) if left], terminal)
    printed = terminal.getvalue()
    given_words = sorted(word for row in [names, *rows] for cell in row for word in cell.split())
    assert sorted(printed.split()) == given_words
    at_left = lefts[: len(names)]
    if all(len(cell) <= columns - 4 for row in rows for cell in row) or all(at_left):
        assert max(map(len, printed.splitlines())) <= columns


@settings(deadline=None)
@given(texts, st.integers(20, 100))
def test_a_line_breaks_between_words(text: str, columns: int) -> None:
    with of_width(columns) as terminal:
        print_line(text, terminal)
    assert terminal.getvalue().split() == text.split()
    assert max(map(len, terminal.getvalue().splitlines())) <= columns


def test_a_row_that_does_not_fit_goes_on_below() -> None:
    with of_width(40) as terminal:
        print_table(
            ["name", "left", "n", "us"],
            [["a" * 20, "b" * 12, 3, 1.5], ["c", "d", 10, 2.25]],
            ["name", "left"],
            terminal,
        )
    assert terminal.getvalue().splitlines() == [
        "name",
        "    left           n    us",
        "a" * 20,
        "    " + "b" * 12 + "   3   1.5",
        "c",
        "    d             10  2.25",
    ]


def test_long_text_goes_on_below_itself() -> None:
    with of_width(44) as terminal:
        print_table(
            ["name", "n", "text"], [["x", 1, "a text that is longer than what is left"]], ["name", "text"], terminal
        )
    assert terminal.getvalue().splitlines() == [
        "name  n  text",
        "x     1  a text that is longer than what is",
        "         left",
    ]


def _check(command: Sequence[str | Path], columns: int, cells: Sequence[str], folder: Path | None = None) -> list[str]:
    """Checks that the cells appear in a command's output, in this order, and that no line is too long."""
    code, text = shown([*THALWEG, *command], columns, folder)
    without_status = re.sub("\x1b7.*?\x1b8|\x1bD", "", text, flags=re.DOTALL)
    printed = lines(without_status)
    assert code == 0 and "…" not in text, text
    assert [line for line in printed if len(line) > columns] == []
    words = iter(" ".join(printed).split())
    assert all(word in words for cell in cells for word in cell.split()), text
    return printed


@pytest.mark.parametrize("columns", [80, 120])
def test_the_presets(columns: int) -> None:
    clusters = [(name, load(name)) for name in presets()]
    cells = [(name, str(c.topology.nodes), c.about) for name, c in clusters]
    printed = _check(["cluster", "list"], columns, [])
    for name, nodes, description in cells:
        first = next(index for index, line in enumerate(printed) if line.startswith(f"{name} "))
        assert " ".join("\n".join(printed[first : first + 2]).split()).startswith(f"{name} {nodes} {description}")


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 120])
def test_benches(columns: int) -> None:
    header = ["bytes", "time", "bound", "share", "kernel", "bound", "share", "algorithm", "verified"]
    _check(
        ["bench", "allreduce", "--cluster", "torus:4x4", "--sizes", "4,1M"], columns, [*header, "4", "1048576", "yes"]
    )
    header = ["load", "bytes", "time", "bound", "share", "accepted", "latency", "hops", "verified"]
    _check(["bench", "traffic", "--cluster", "torus:4x4", "--cycles", "1000"], columns, [*header, "0.2", "yes"])


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 120])
def test_the_report_of_a_run(columns: int, tmp_path: Path) -> None:
    mpicc = Path(sys.executable).with_name("mpicc")
    subprocess.run([mpicc, "-g", "-O2", *(ROOT / "apps").glob("c[go]*/*.c"), "-o", tmp_path / "cg", "-lm"], check=True)
    file = tmp_path / "report.json"
    options = ["-n", "8", "--compute", "none", "--instances", "--json", file]
    printed = _check(
        ["run", *options, "--", tmp_path / "cg", "-n", "4"],
        columns,
        ["MPI_Allreduce", "MPI_COMM_WORLD", "8", "network", "exchange"],
    )
    text = " ".join(word for line in printed for word in line.split())
    report = json.loads(file.read_text())
    for row in report["instances"]:
        numbers = (row["operations"], row["software_us"], row["fabric_us"], row["speedup"])
        cells = [row["place"], row["function"], row["communicator"], row["bytes"], *numbers]
        assert " ".join(f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in cells) in text
