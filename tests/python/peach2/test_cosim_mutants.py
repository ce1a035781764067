# SPDX-License-Identifier: Apache-2.0
"""Would random programs see a bug in the hardware's hub? Each mutant is one small bug; it is caught when cosimulation finds a
difference. All of them are in one library, which is told which one it is to have. What no whole hub can be brought to show, the tests of
its blocks find (tests/blocks/mutants.py)."""

from __future__ import annotations

import ctypes
import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest
from mutants import ROOT, changed, mirror
from thalweg.errors import CheckFailed
from thalweg.launch.locks import alone
from thalweg.rtl.project import Project
from thalweg.systems.peach2 import cosim, rtl_engine
from thalweg.systems.peach2.cluster import Cluster

PROGRAMS = 60
"""Of which one at least has to see a mutant; half of them run on one ring, half on two."""
MUTANTS = {
    "last_window_wins": (
        "windows",
        "if (hits_q[i]) to = to_q[i];",
        "if (hits_q[MUTANT ? Windows - 1 - i : i]) to = to_q[MUTANT ? Windows - 1 - i : i];",
    ),
    "no_busy_check": (
        "calculator",
        " && !busy_q[index.of][index.set][index.place];",
        " && (MUTANT || !busy_q[index.of][index.set][index.place]);",
    ),
    "set_up_clears_one_set": (
        "calculator",
        "touched_q[setup_context_i] <= '0;",
        "touched_q[setup_context_i] <= {MUTANT ? touched_q[setup_context_i][1] : Sums'(0), Sums'(0)};",
    ),
    "missed_not_counted": ("control", "32'(to_start && !starts_ready)", "32'(to_start && !starts_ready && !MUTANT)"),
    "told_bytes_are_free": ("egress", "told_valid_i ? OwedBits'", "told_valid_i && !MUTANT ? OwedBits'"),
    "credit_off_by_one": (
        "egress",
        "units_q >= UnitBits'(MaxDwords / 4)",
        "units_q >= UnitBits'(MaxDwords / 4) + UnitBits'(MUTANT)",
    ),
    "fold_of_neighbours": (
        "calculator",
        "upper = lower + width_q[PlaceBits-1:0];",
        "upper = (lower ^ PlaceBits'(MUTANT)) + width_q[PlaceBits-1:0];",
    ),
    "tree_padding_of_one_byte": (
        "calculator",
        "of_fold_q.tree && 5'(i) >= element",
        "of_fold_q.tree && 5'(i) >= element + 5'(MUTANT)",
    ),
}
NUMBER = 'import "DPI-C" pure function int mutant_number();\n'
SET = """
static int number;
extern "C" int mutant_number() { return number; }
extern "C" void set_mutant(int to) { number = to; }
"""


def file_of(block: str) -> str:
    return f"rtl/peach2/tw_{block}.sv"


def test_every_mutant_fits_the_sources() -> None:
    counts = {name: (ROOT / file_of(block)).read_text().count(old) for name, (block, old, _) in MUTANTS.items()}
    assert {name: count for name, count in counts.items() if count != 1} == {}


def with_mutants(block: str, text: str) -> str:
    for number, (of, old, new) in enumerate(MUTANTS.values(), 1):
        if of == block:
            text = text.replace(old, new.replace("MUTANT", f"(tw_peach2_pkg::mutant_number() == {number})"))
    return text


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hub that has the mutant that it is told to have, by its number; at first none."""
    original = Project(ROOT)
    copy = original.build / "mutants/cosim"
    with alone(copy), ExitStack() as stack:
        mirror(copy)
        for block in {block for block, _, _ in MUTANTS.values()}:
            stack.enter_context(changed(copy / file_of(block), lambda text, block=block: with_mutants(block, text)))
        package, glue = copy / file_of("peach2_pkg"), copy / "rtl/peach2/hub.cpp"
        stack.enter_context(changed(package, lambda text: text.replace("endpackage", f"{NUMBER}endpackage")))
        stack.enter_context(changed(glue, lambda text: text + SET))
        built = rtl_engine.library_of(Project(copy, copy / "build", original), Cluster.load("peach2-ring-4"))
        return Path(shutil.copy(built, tmp_path_factory.mktemp("mutants") / "hub.so"))


@pytest.fixture
def clusters(tmp_path: Path) -> list[Cluster]:
    """A ring of four nodes, and two rings of two."""
    two = tmp_path / "two-rings.toml"
    about = f'description = "two rings of two hubs"\nbase = "{ROOT}/clusters/peach2.toml"'
    two.write_text(f'{about}\n[topology]\nshape = "prism"\nsize = [2]\n')
    return [Cluster.load("peach2-ring-4"), Cluster.load(two)]


@pytest.mark.long
@pytest.mark.parametrize("name", ["", *MUTANTS])
def test_caught(name: str, library: Path, clusters: list[Cluster], monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """And without a name, nothing is."""
    monkeypatch.setattr(rtl_engine, "library", lambda _: library)
    ctypes.CDLL(str(library)).set_mutant(["", *MUTANTS].index(name))
    said = None
    for each in range(seed, seed + (PROGRAMS if name else 6)):
        try:
            cosim.compare(clusters[each % 2], each)
        except CheckFailed as failed:
            said = str(failed)
            break
    print(said)
    assert (said is not None) == (name != ""), f"{name or 'no mutant'}, from seed {seed} on: {said}"
