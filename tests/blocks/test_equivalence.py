# SPDX-License-Identifier: Apache-2.0
"""Is a change to the RTL proved equivalent when it is, and never when it is not?"""

from __future__ import annotations

from pathlib import Path

import pytest
from mutants import MUTANTS, Mutant, mirror
from thalweg.rtl.equivalence import equivalent
from thalweg.rtl.project import Project

ROOT = Path(__file__).parents[2]
FIFO, ARBITER, ROUTE = "rtl/common/tw_fifo.sv", "rtl/common/tw_arbiter.sv", "rtl/switch/tw_route.sv"
SMALL = [
    mutant
    for mutant in MUTANTS.values()
    if mutant.side == "rtl" and (mutant.block.startswith("common/") or mutant.block in ("link/flow", "link/rate"))
]
SLOW = ("common/crc32", "common/credited_fifo", "common/fifo", "common/ram_fifo")


def proved(folder: Path, block: str, name: str, file: str, old: str, new: str) -> bool:
    original = Project(ROOT)
    mirror(folder)
    text = (folder / file).read_text()
    assert text.count(old) == 1
    (folder / file).write_text(text.replace(old, new))
    chosen = original.block(block)
    (parameters,) = (parameters for parameters in chosen.sets if parameters.name == name)
    return equivalent(original, Project(folder, folder / "build", original), chosen, parameters)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("block", "name", "file", "old", "new"),
    [
        ("arbiter", "seven", ARBITER, "(~candidates + Inputs'(1))", "-candidates"),
        ("arbiter", "four", ARBITER, "else if (served_i)", "else if (served_i && winner_valid_o)"),  # as asserted
        (
            "fifo",
            "flit8",
            FIFO,
            "= words_q[read_q]",
            "= out_valid_o ? words_q[read_q] : '0",
        ),  # counts only if valid
    ],
)
def test_no_difference(block: str, name: str, file: str, old: str, new: str, tmp_path: Path) -> None:
    assert proved(tmp_path, block, name, file, old, new)


@pytest.mark.sample(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    "mutant",
    [pytest.param(m, id=m.name, marks=[pytest.mark.long] * (m.block in SLOW)) for m in SMALL],
)
def test_known_bugs(mutant: Mutant, tmp_path: Path) -> None:
    assert not proved(tmp_path, mutant.block, mutant.set, mutant.file, mutant.old, mutant.new)


@pytest.mark.slow
def test_what_is_left_open(tmp_path: Path) -> None:
    assert not proved(tmp_path, "route", "torus", ROUTE, "    class_of = '0;\n", "")
