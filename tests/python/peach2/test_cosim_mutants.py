# SPDX-License-Identifier: Apache-2.0
"""Do random programs detect a bug in the hardware's hub? Each mutant is one small bug; it is killed when cosimulation
finds a difference. One library contains all of them, and activates one on request. KINDS lists for each kind of bug the
mutants of a block (tests/blocks/peach2/*/block.toml) and of whole clusters that must be killed."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from mutants import MUTANTS as OF_BLOCKS
from mutants import ROOT, changed, mirror
from thalweg.errors import CheckFailed
from thalweg.launch.locks import alone
from thalweg.rtl.project import Project
from thalweg.systems.peach2 import cosim, rtl_engine
from thalweg.systems.peach2.cluster import Cluster

PROGRAMS = 60
"""At least one of these must detect a mutant, on one ring, and on two."""
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
    "set_released_early": (
        "calculator",
        "if (state_q == Copy && copied) begin",
        "if (state_q == Copy && (MUTANT ? at_q == '0 : copied)) begin",
    ),
    "set_up_clears_one_set": (
        "calculator",
        "touched_q[setup_context_i] <= '0;",
        "touched_q[setup_context_i] <= {MUTANT ? touched_q[setup_context_i][1] : Sums'(0), Sums'(0)};",
    ),
    "missed_not_counted": ("control", "32'(to_start && !starts_ready)", "32'(to_start && !starts_ready && !MUTANT)"),
    "notice_bytes_are_free": ("egress", "notice_valid_i ? OwedBits'", "notice_valid_i && !MUTANT ? OwedBits'"),
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
    "page_end_ignored": (
        "dma_reader",
        "11'(to_boundary) < to_page ?",
        "MUTANT || 11'(to_boundary) < to_page ?",
    ),
    "tree_padding_of_one_byte": (
        "calculator",
        "of_fold_q.tree && 5'(i) >= element",
        "of_fold_q.tree && 5'(i) >= element + 5'(MUTANT)",
    ),
}
KINDS = {
    "the last window wins": (("rtl_windows_last_decides",), "last_window_wins"),
    "no check of what is busy": (("rtl_calculator_no_busy_check", "rtl_calculator_busy_too_short"), "no_busy_check"),
    "a partial sum is released early": (("rtl_calculator_set_released_early",), "set_released_early"),
    "a set-up clears one set": (("rtl_calculator_set_up_clears_one_set",), "set_up_clears_one_set"),
    "missed starts are not counted": (
        ("rtl_control_missed_not_counted", "cpp_control_missed_not_counted"),
        "missed_not_counted",
    ),
    "acknowledged bytes are free": (("rtl_egress_acknowledged_bytes_dropped",), "notice_bytes_are_free"),
    "a credit more or less": (("rtl_egress_credit_off_by_one",), "credit_off_by_one"),
    "another order of the fold": (("rtl_calculator_fold_order",), "fold_of_neighbours"),
    "a page's end compared wrongly": (
        ("rtl_ingress_page_crossed_by_one", "rtl_dma_reader_boundary_ignored"),
        "page_end_ignored",
    ),
    "a tree's padding": (("rtl_calculator_tree_padding",), "tree_padding_of_one_byte"),
}
"""For each kind: the mutants that the test of a block kills (tests/blocks/test_mutants.py), and the one that random
programs kill here."""
ENDS = """
import gc, sys
from thalweg.systems.peach2 import rtl_engine
from thalweg.systems.peach2.hubs import Hubs
rtl_engine.library = lambda _: sys.argv[1]
first, second = Hubs("peach2-ring-4", "rtl"), Hubs("peach2-ring-4", "rtl")
for which in ("second", "first"):
    del globals()[which]
    gc.collect()
"""
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


def test_every_kind_is_killed_in_a_block_and_in_clusters() -> None:
    for kind, (of_blocks, of_clusters) in KINDS.items():
        assert of_blocks and set(of_blocks) <= set(OF_BLOCKS), kind
        assert all(OF_BLOCKS[name].block.startswith("peach2/") for name in of_blocks), kind
        assert of_clusters in MUTANTS, kind
    assert len(KINDS) == 10 and [of_clusters for _, of_clusters in KINDS.values()] == list(MUTANTS)


def with_mutants(block: str, text: str) -> str:
    for number, (of, old, new) in enumerate(MUTANTS.values(), 1):
        if of == block:
            text = text.replace(old, new.replace("MUTANT", f"(tw_peach2_pkg::mutant_number() == {number})"))
    return text


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hub with all mutants, of which one is activated by its number; initially none."""
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


@pytest.fixture(params=["one ring", "two rings"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Cluster:
    """A ring of four nodes, or two rings of two."""
    if request.param == "one ring":
        return Cluster.load("peach2-ring-4")
    two = tmp_path / "two-rings.toml"
    about = f'description = "two rings of two hubs"\nbase = "{ROOT}/clusters/peach2.toml"'
    two.write_text(f'{about}\n[topology]\nshape = "prism"\nsize = [2]\n')
    return Cluster.load(two)


@pytest.mark.long
@pytest.mark.parametrize("name", ["", *MUTANTS])
def test_caught(name: str, library: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Without a name, no mutant is active and no difference may be found."""
    monkeypatch.setattr(rtl_engine, "library", lambda _: library)
    ctypes.CDLL(str(library)).set_mutant(["", *MUTANTS].index(name))
    said = None
    each = seed
    for each in range(seed, seed + (PROGRAMS if name else 3)):
        try:
            cosim.compare(cluster, each)
        except CheckFailed as failed:
            said = str(failed)
            break
    print(f"after {each - seed + 1} programs: {said}")
    assert (said is not None) == (name != ""), f"{name or 'no mutant'}, from seed {seed} on: {said}"


@pytest.mark.long
def test_clusters_end_in_any_order(library: Path) -> None:
    """A model whose module calls C has scopes, which end in a context: in its own, not in that of a destroyed cluster."""
    ended = subprocess.run([sys.executable, "-c", ENDS, str(library)], capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
