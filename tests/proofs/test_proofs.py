# SPDX-License-Identifier: Apache-2.0
"""Do all proofs of the hardware's properties succeed, and does each detect a bug? See docs/proofs.md for the method."""

from __future__ import annotations

import json
import shutil
from fnmatch import fnmatch
from pathlib import Path

import pytest
from thalweg.cli import main
from thalweg.rtl import proof as rtl_proof
from thalweg.rtl.proof import Mutant, Proof, ProofSet, Prover

PROVER = Prover(Path(__file__).parents[2])
PROOFS = PROVER.proofs()
MUTANTS = [(proof, mutant) for proof in PROOFS for mutant in proof.mutants]
QUICK = ("fifo_never_full", "arbiter_lowest_first", "flow_credit_lost", "rate_sends_too_soon", "route_not_reset")


@pytest.mark.sample(5)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("proof", "parameters"),
    [
        pytest.param(
            proof, parameters, id=f"{proof.name}-{parameters.name}", marks=[pytest.mark.long] * parameters.long
        )
        for proof in PROOFS
        for parameters in proof.sets
    ],
)
def test_proved(proof: Proof, parameters: ProofSet) -> None:
    results = PROVER.prove(proof, parameters)
    assert [result for result in results if not result.right] == []
    assert results


@pytest.mark.sample(5)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("proof", "mutant"),
    [
        pytest.param(
            proof, mutant, id=f"{proof.name}-{mutant.name}", marks=[pytest.mark.long] * (mutant.name not in QUICK)
        )
        for proof, mutant in MUTANTS
    ],
)
def test_killed(proof: Proof, mutant: Mutant) -> None:
    results = PROVER.hunt(proof, mutant)
    assert [result.name for result in results] == mutant.kills
    assert [result for result in results if not result.right] == []


def test_every_mutant_fits_the_sources() -> None:
    """A change to a line that a mutant rewrites fails here, in the quick tests; the mutant then needs its new text."""
    counts = {mutant.name: (PROVER.root / mutant.file).read_text().count(mutant.old) for _, mutant in MUTANTS}
    assert {name: count for name, count in counts.items() if count != 1} == {}
    assert len(counts) == len(MUTANTS), "two mutants have one name"
    assert set(QUICK) <= set(counts)


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.name)
def test_every_property_has_a_mutant(proof: Proof) -> None:
    """Except for covers, which only have to be reached."""
    source = (PROVER.root / "tests/proofs" / proof.name / "proof.sv").read_text()
    shared = "".join(path.read_text() for path in (PROVER.root / "tests/proofs").glob("*.sv"))
    killed = {name for mutant in proof.mutants for name in mutant.kills}
    for name in proof.properties:
        covered = f" {name.split('.')[-1].strip('*')} : cover" in source + shared
        assert covered or any(fnmatch(name, kills) for kills in killed), f"no mutant kills {name}"


@pytest.mark.slow
def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rtl", "prove", "skid", "--json", f"{tmp_path}/r.json"]) == 0
    assert "queue.in_order" in capsys.readouterr().out
    rows = json.loads((tmp_path / "r.json").read_text())["rows"]
    assert {(row["name"], row["method"], row["outcome"]) for row in rows if row["set"] == "bit"} >= {
        ("queue.in_order", "invariant", "proved"),
        ("queue.full", "example", "reached"),
    }


@pytest.mark.slow
def test_a_property_that_is_wrong_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("rtl", "spec/generated/sv", "tests/proofs/common/skid"):
        shutil.copytree(PROVER.root / folder, tmp_path / folder)
    for path in (PROVER.root / "tests/proofs").glob("*.sv"):
        shutil.copy(path, tmp_path / "tests/proofs")
    (tmp_path / "tests/bisim").mkdir()
    skid = tmp_path / "rtl/common/tw_skid.sv"
    skid.write_text(skid.read_text().replace("= !spare_valid_q;", "= 1'b1;"))
    monkeypatch.chdir(tmp_path)
    assert main(["rtl", "prove", "skid"]) == 1
    printed = capsys.readouterr()
    assert "wrong" in printed.out
    assert printed.err.count("\n") == 1 and "properties are not proved" in printed.err


@pytest.mark.sample(4)
@pytest.mark.slow
def test_a_property_that_takes_too_long_is_undecided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = tmp_path / "abc"
    endless.write_text("#!/bin/sh\nwhile :; do :; done\n")
    endless.chmod(0o755)
    prover = Prover(PROVER.root, tmp_path)
    prover.abc = endless
    monkeypatch.setattr(rtl_proof, "TIME_LIMIT", 1)
    proof = prover.proof("rate")
    (result,) = prover.hunt(proof, proof.mutants[0])[:1]
    assert result.outcome == "undecided" and 0.5 < result.seconds < 5
    wrong = [result for result in prover.prove(proof, proof.sets[0]) if not result.right]
    assert wrong and {result.outcome for result in wrong} == {"undecided"}


def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rtl", "prove", "fifi"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "fifi" in error
