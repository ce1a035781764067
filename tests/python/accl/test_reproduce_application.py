# SPDX-License-Identifier: Apache-2.0
"""`thalweg reproduce accl`: are the results of section 4 as in docs/reproduce.md, and are our changes faster?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from thalweg.cli import main
from thalweg.errors import CheckFailed
from thalweg.papers import NOTABLE, published
from thalweg.systems.accl import reproduce_application as application
from thalweg.systems.accl import shallow_water

pytest.importorskip("clang.cindex", reason="libclang is not installed")
pytest.importorskip("pymetis", reason="pymetis is not installed")
pytest.importorskip("matplotlib")

PICTURES = "figure-9", "figure-10", "improved", "time-steps"
Rows = list[dict[str, Any]]


def reproduced(folder: Path, subject: str = "application") -> Rows:
    words = ["--only", subject, "--json", str(folder / "rows.json"), "--plot", str(folder)]
    assert main(["reproduce", "accl", *words]) == 0
    found: Rows = json.loads((folder / "rows.json").read_text())["rows"]
    return found


def of(rows: Rows, id_: str, **about: Any) -> Rows:
    return [row for row in rows if row["id"] == id_ and about.items() <= row.items()]


def rates(rows: Rows) -> list[float]:
    return [row["measured"] for row in rows]


def check(rows: Rows, folder: Path) -> None:
    """Checks that hold for all sizes."""
    numbers = published("accl")
    for row in rows:
        if row["id"] in numbers:
            assert row["published"] == numbers[row["id"]]["value"]
            assert row["unit"] == numbers[row["id"]]["unit"]
            assert row["note"] or abs(row["ratio"] - 1) <= NOTABLE, row["what"]
        else:
            assert row["published"] is None
    wanted = {id_ for id_, number in numbers.items() if number["use"] == "check"}
    section_4 = {id_ for id_ in wanted if id_.startswith(("accl.shallow_water", "accl.circuit_switched"))}
    assert section_4 <= {row["id"] for row in rows}
    model = of(rows, "accl.shallow_water.model")
    assert rates(model) == pytest.approx([1] * len(model), abs=0.05)
    for row in of(rows, "accl.figure9"):  # a step's time, in cycles, for the elements of all boards
        clock = {"UDP": 274e6, "TCP": 252e6, "host MPI": 256e6}[row["series"]]
        assert row["measured"] == pytest.approx(row["elements"] * clock / row["cycles"] / 1e9)
        assert row["tflop_per_s"] == pytest.approx(row["measured"] * 217e-3)
    for name in PICTURES:
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.sample(4)
@pytest.mark.slow
def test_a_small_reproduction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If commands dominate, steps without receives take half the time, and those of hardware less."""
    monkeypatch.setattr(application, "WEAK", ((1, 1690), (2, 3121), (3, 6760)))
    monkeypatch.setattr(application, "WEAK_TCP", ((1, 1690), (2, 3121)))
    monkeypatch.setattr(application, "STRONG", {1690: (4, 9), 6760: (16,)})
    monkeypatch.setattr(application, "STEPPED", 1690)
    monkeypatch.setattr(application, "MESHES", (1690,))
    rows = reproduced(tmp_path)
    check(rows, tmp_path)
    for elements, boards in ((1690, 9), (6760, 16)):
        at = {"elements": elements, "boards": boards}
        (papers,) = rates(of(rows, "accl.improved", series="the paper's", **at))
        (reordered,) = rates(of(rows, "accl.improved", series="reordered", **at))
        (both,) = rates(of(rows, "accl.improved", series="reordered, commands by hardware", **at))
        assert 1.5 * papers < reordered < both
    for boards in (4, 9):
        engines, switches, _ = rates(of(rows, "accl.time_step", boards=boards))
        assert engines < switches


@pytest.mark.long
def test_section_4(tmp_path: Path) -> None:
    rows = reproduced(tmp_path)
    check(rows, tmp_path)
    assert len(of(rows, "accl.shallow_water.model")) >= 10
    (linear,) = rates(of(rows, "accl.shallow_water.linear"))
    assert 0.9 * 48 < linear <= 48
    (tera,) = of(rows, "accl.shallow_water.48")
    assert tera["flop"] == 217 and tera["measured"] < 48 * 274e6 * 217 / 1e12
    for id_ in ("accl.shallow_water.host_stall", "accl.shallow_water.host_stall.bound"):
        (row,) = of(rows, id_)
        assert 0.72 <= row["measured"][0] <= row["measured"][1] <= 0.81
    for elements, counts in application.STRONG.items():
        (drops,) = of(rows, "accl.figure10.drops", elements=elements)
        assert drops["measured"] >= 1
        points = of(rows, "accl.figure10", elements=elements)
        for before, behind in zip(
            points, points[1:], strict=False
        ):  # with more boards, only those with more neighbours are slower
            assert behind["measured"] > 0.98 * before["measured"] or behind["neighbours"] > before["neighbours"]
        for name in application.WAYS:
            ours = of(rows, "accl.improved", series=name, elements=elements)
            assert len(ours) == len(counts) and all(row["times"] > 0.995 for row in ours)
    at = {"elements": 27_040, "boards": 48}
    assert of(rows, "accl.improved", series="reordered", **at)[0]["times"] > 1.7
    assert of(rows, "accl.improved", series="reordered, commands by hardware", **at)[0]["times"] > 2.4
    assert of(rows, "accl.improved", series="buffers on chip", **at)[0]["times"] < 1.05
    for row in of(rows, "accl.time_step", series="switches"):
        assert row["times"] > 1.05


@pytest.mark.long
def test_resources() -> None:
    """Without plug-ins, half of the logic and 83 % of the DSPs are saved, as in the paper."""
    pytest.importorskip("pyosys")
    from thalweg.systems.accl.reproduce import reproduce

    rows = reproduce("accl", only=["resources"])
    for id_ in ("accl.minimal.logic", "accl.minimal.dsp"):
        (row,) = of(rows, id_)
        assert row["ratio"] == 1
    total = {kind: of(rows, f"accl.resources.udp.{kind}")[0]["measured"] for kind in ("lut", "ff", "bram", "dsp")}
    parts = [row for row in of(rows, "accl.figure3") if not row["part"].startswith("plug-ins")]
    for kind, sum_ in total.items():
        assert sum_ == sum(row[kind] for row in parts)


@pytest.mark.long
def test_a_wrong_bit_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shallow_water, "_expected", lambda elements, adaptive: b"another state")
    with pytest.raises(CheckFailed, match="shallow water with 1690 elements on 2 boards by udp gave a wrong result"):
        shallow_water.measured(1690, 2)
