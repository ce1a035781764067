# SPDX-License-Identifier: Apache-2.0
"""Are all possible random faults of the RTL found, do they leave everything else unchanged, and are they detected?"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import whole_units
from faults import Fault, faults
from random_mutants import FILES, Hunt, Mutant, Outcome, hunt, owner
from thalweg.rtl.project import Project

ROOT = Path(__file__).parents[2]
SEED = 20261121

TINY = """\
// a + b is no fault's place
module tiny #(
    parameter int unsigned Width = 4
) (
    input  logic             clk_i,
    input  logic [Width-1:0] a_i,
    output logic             z_o
);
  for (genvar i = 0; i < 2; i++) begin : check
    if (Width < 1) begin : check_width
      $error("tiny: Width must be at least 1");
    end
  end
  assign z_o = 1'(a_i) /* || b */ != 3;
`ifndef SYNTHESIS
  always_ff @(posedge clk_i) small : assert (a_i < 9);
`endif
endmodule
"""


def test_where_faults_are(tmp_path: Path) -> None:
    file = tmp_path / "tiny.sv"
    file.write_text(TINY)
    found = faults(file)
    right = "1'(a_i) /* || b */ != 3"
    assert {(fault.kind, fault.old, fault.new) for fault in found} == {
        ("operator", "!=", "=="),
        ("constant", "3", "4"),
        ("constant", "3", "2"),
        ("stuck", right, f"({right}) | ($bits(z_o))'(1)"),
        ("stuck", right, f"({right}) & ~(($bits(z_o))'(1) << ($bits(z_o) - 1))"),
    }
    assert {fault.line(TINY) for fault in found} == {14}
    (operator,) = (fault for fault in found if fault.kind == "operator")
    assert operator.applied(TINY) == TINY.replace("!=", "==")


STATEMENTS = """\
module tiny (
    input  logic       clk_i,
    input  logic       rst_i,
    input  logic [3:0] a_i,
    input  logic [1:0] index_i,
    output logic       z_o
);
  always_ff @(posedge clk_i)
    if (rst_i) z_o <= '0;
    else
      z_o <= a_i[index_i]
          ? !clk_i : rst_i;
endmodule
"""


def test_kinds(tmp_path: Path) -> None:
    file = tmp_path / "tiny.sv"
    file.write_text(STATEMENTS)
    changes = {(fault.kind, fault.applied(STATEMENTS)) for fault in faults(file)}

    def changed(old: str, new: str) -> str:
        assert STATEMENTS.count(old) == 1
        return STATEMENTS.replace(old, new)

    taken = "a_i[index_i]\n          ? !clk_i : rst_i"
    for kind, text in [
        ("condition", changed("(rst_i)", "(!(rst_i))")),
        ("condition", changed("!clk_i", "clk_i")),
        ("condition", changed("a_i[index_i]", "!(a_i[index_i])")),
        ("constant", changed("'0", "'1")),
        ("statement", changed("z_o <= '0;", ";")),
        ("statement", changed(f"z_o <= {taken};", ";\n")),
        ("branches", changed(taken, "a_i[index_i] ? rst_i : !clk_i\n")),
        ("index", changed("[index_i]", "[(index_i) ^ 1]")),
    ]:
        assert (kind, text) in changes
    assert {kind for kind, _ in changes} == {"condition", "constant", "statement", "branches", "index", "stuck"}
    assert len(changes) == 8 + 4  # and two stuck bits in either assignment


@pytest.mark.sample(3)
@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_places_in_the_rtl(file: Path) -> None:
    text = file.read_text()
    lines = text.splitlines()
    for fault in faults(file):
        assert text[fault.start : fault.end] == fault.old != fault.new
        assert len(fault.applied(text).splitlines()) == len(lines)
        line = lines[fault.line(text) - 1]
        assert not any(word in line for word in (" assert ", "$error", "parameter ", "input ", "output "))


@pytest.mark.parametrize(
    ("file", "block"),
    [
        ("reduce/tw_join", "reduce/join"),
        ("reduce/parts/tw_fp_round", "reduce/lane"),
        ("reduce/tw_reduce_pkg", "reduce/lane"),
        ("switch/tw_vc_router", "switch/vc_router"),
    ],
)
def test_whose_test_must_notice(file: str, block: str) -> None:
    assert owner(ROOT / "rtl" / f"{file}.sv", Project(ROOT).blocks()) == block


def test_only_packages_of_types_have_none() -> None:
    assert all("function" not in file.read_text() and file.stem.endswith("_pkg") for file in FILES if not faults(file))


def _killed(outcomes: dict[object, Outcome]) -> int:
    return sum(outcome.name == "killed" for outcome in outcomes.values())


@pytest.mark.long
def test_two_of_three_are_killed() -> None:
    assert _killed(dict(hunt(["common/fifo", "common/skid"], 3, SEED))) >= 2


@pytest.mark.long
def test_28_of_30_are_killed() -> None:
    assert _killed(dict(hunt([], 30, int(os.environ.get("THALWEG_SEED") or SEED)))) >= 28


UNIT = "mpi_fpga/collective_unit"


@pytest.mark.long
@pytest.mark.parametrize("name", [UNIT])
def test_a_bug_in_a_whole_unit_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(whole_units, "CLUSTERS", ("one-switch",))
    monkeypatch.setattr(whole_units, "PROGRAMS", 2)
    hunt = Hunt(of_unit=True)
    unit = hunt.project.block(name)
    hunt.originals(unit)  # builds it
    assert not any(hunt.project.difference(unit, parameters, SEED) for parameters in unit.sets)
    file = Path("rtl/mpi_fpga/parts/tw_collective_unit_step.sv")
    old, new = "descriptor_i ? TimeBits'(2)", "descriptor_i ? TimeBits'(3)"  # it is tried again too late
    start = (ROOT / file).read_text().index(old)
    mutant = Mutant(unit.name, file, Fault("constant", start, start + len(old), old, new))
    outcome = hunt.outcome(mutant, SEED)
    named = r"one-switch: seed \d+: cycle \d+, collective_unit of node \d, [\w\[\]]+: the simulator has .*, the RTL "
    assert outcome.name == "killed" and re.match(named, outcome.text), outcome


@pytest.mark.long
@pytest.mark.parametrize("name", [UNIT])
def test_two_of_three_whole_units_are_killed(name: str) -> None:
    assert _killed(dict(hunt([name], 3, int(os.environ.get("THALWEG_SEED") or SEED)))) >= 2
