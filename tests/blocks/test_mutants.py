# SPDX-License-Identifier: Apache-2.0
"""Does the equality test detect a bug, on either side, and does it report the place? The mutants of a block are in its
block.toml."""

from __future__ import annotations

import pytest
from fst import Waves
from mutants import MUTANTS, ROOT, hunt
from thalweg.rtl.project import Project

QUICK = ("rtl_fifo_one_short", "rtl_flow_credit_lost", "cpp_arbiter_winner_again", "cpp_flow_stop_late")


def test_every_block_has_a_mutant_on_either_side() -> None:
    """Names are also unique."""
    written = sum(path.read_text().count("[[mutants]]") for path in ROOT.glob("tests/blocks/*/*/block.toml"))
    assert len(MUTANTS) == written
    of = {(mutant.block, mutant.side) for mutant in MUTANTS.values()}
    assert of == {(block.name, side) for block in Project(ROOT).modelled_blocks() for side in ("rtl", "sim")}


def test_every_mutant_fits_the_sources() -> None:
    """A change to a line that a mutant rewrites fails here, in the quick tests; the mutant then needs its new text."""
    counts = {mutant.name: (ROOT / mutant.file).read_text().count(mutant.old) for mutant in MUTANTS.values()}
    assert {name: count for name, count in counts.items() if count != 1} == {}


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, id=f"{mutant.file}-{name}", marks=pytest.mark.slow if name in QUICK else pytest.mark.long)
        for name, mutant in MUTANTS.items()
    ],
)
def test_caught(name: str, seed: int) -> None:
    difference = hunt(MUTANTS[name], seed).difference
    print(difference)
    assert difference is not None, f"{name} survives from seed {seed} on"


@pytest.mark.sample(2)
@pytest.mark.slow
def test_a_difference_is_shrunk_and_shown() -> None:
    """A read pointer that does not advance when a word arrives: one word in, then one in and one out, and the third
    cycle shows it."""
    result = hunt(MUTANTS["rtl_fifo_pointer_stays"], 1, replay=True)
    assert result.difference is not None and result.report is not None
    assert result.difference.port == "out_data_o"
    assert result.difference.expected != result.difference.got
    assert result.difference.shrunk_cycles <= 3
    lines = (result.report / "shrunk.txt").read_text().splitlines()
    assert lines[0].endswith(f"got {lines[-1].split('out_data_o=')[1].split()[0]}")
    assert len(lines) == 1 + result.difference.shrunk_cycles
    for file in ("run.fst", "shrunk.fst"):
        waves = Waves(result.report / file)
        assert any("read_q" in name for name in waves.names)
        assert waves.end >= result.difference.shrunk_cycles


@pytest.mark.slow
def test_an_assertion_is_a_difference() -> None:
    """The leaking count reaches no port; the assertion detects it."""
    result = hunt(MUTANTS["rtl_flow_count_leaks"], 1)
    assert result.difference is not None
    assert result.difference.port == "assertion"
    assert "tw_flow.sv" in result.difference.got
