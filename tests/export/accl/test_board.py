# SPDX-License-Identifier: Apache-2.0
"""Is an exported board of ACCL self-contained, and does it work for a user with the folder alone?"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from thalweg.cli import main
from thalweg.spec import Datatype, Operator
from thalweg.systems.accl import export as accl_export
from thalweg.systems.accl import rtl_engine
from thalweg.systems.accl.cluster import Cluster
from thalweg.systems.accl.export import export

ROOT = Path(__file__).parents[3]
SMALL = f"""
base = "{ROOT}/clusters/accl-u280-udp.toml"
[topology]
size = [4]
[node.board]
packet_bytes = 512
fifo_bytes = 9216
"""
MOVES_ALONE = "arithmetic = false\ncompression = false"
SUM = f"512'h{1 << 16 * Datatype.FLOAT32 + Operator.SUM:x}"  #: the only pair that the test combines
FIFOS = 2  #: between the clocks: packets in each direction
MOVES_TESTS, CALLS_TESTS = 6, 3


def exported_to(folder: Path, more: str = "", *, data_path: bool = False) -> Path:
    """The export of a small cluster, with additional lines about its boards."""
    (folder / "small.toml").write_text(SMALL + more)
    export(Cluster.load(str(folder / "small.toml")), folder / "board", data_path=data_path)
    return folder / "board"


@pytest.mark.sample(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "data_path"),
    [
        pytest.param("", True, marks=pytest.mark.long),
        ("arithmetic = false", True),
        (MOVES_ALONE, True),
        (MOVES_ALONE, False),
        pytest.param("", False, marks=pytest.mark.long),
    ],
)
def test_stands_by_itself(
    more: str, data_path: bool, tmp_path: Path, lint: Callable[[Path], subprocess.CompletedProcess[str]]
) -> None:
    exported = exported_to(tmp_path, more, data_path=data_path)
    done = lint(exported)
    assert done.returncode == 0 and "%Warning" not in done.stdout, done.stdout
    listed = (exported / "files.f").read_text().split()
    assert sorted(listed) == sorted(str(path.relative_to(exported)) for path in (exported / "rtl").iterdir())
    assert not any(str(ROOT) in path.read_text() for path in exported.rglob("*") if path.is_file())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "data_path"),
    [
        pytest.param("", True, marks=pytest.mark.long),
        (MOVES_ALONE, True),
        pytest.param(MOVES_ALONE, False, marks=pytest.mark.long),
    ],
)
def test_crossings(more: str, data_path: bool, tmp_path: Path) -> None:
    """A FIFO's two pointers pass a synchronizer each, and its words are held; the reset passes one synchronizer per
    clock."""
    exported = exported_to(tmp_path, more, data_path=data_path)
    assert main(["rtl", "crossings", str(exported), "--json", str(tmp_path / "found.json")]) == 0
    found = json.loads((tmp_path / "found.json").read_text())
    ways = Counter((crossing["way"], crossing["start_clock"]) for crossing in found["crossings"])
    assert sum(number for (way, _), number in ways.items() if way == "held") == FIFOS
    assert {clock: ways["synchronizer", clock] for clock in ("engine_aclk", "mac_aclk", "none")} == {
        "engine_aclk": FIFOS,
        "mac_aclk": FIFOS,
        "none": 2,
    }


@pytest.mark.long
@pytest.mark.parametrize("pairs", [{"Pairs": SUM}, {}], ids=["sum", "all"])
def test_from_outside(
    pairs: dict[str, str], tmp_path: Path, seed: int, simulate: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the one sum that the test needs, or all pairs that a board combines."""
    monkeypatch.setattr(accl_export, "parameters", lambda *board: {**rtl_engine.parameters(*board), **pairs})
    exported = exported_to(tmp_path, data_path=True)
    found = simulate(exported, "thalweg_board", "board_traffic", seed, beside=["board.vlt"], build_args=["--assert"])
    assert found == MOVES_TESTS


@pytest.mark.long
@pytest.mark.parametrize("pairs", [{"Pairs": SUM}, {}], ids=["sum", "all"])
def test_calls_from_outside(
    pairs: dict[str, str], tmp_path: Path, seed: int, simulate: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same for the whole engine."""
    monkeypatch.setattr(
        accl_export, "engine_parameters", lambda *board: {**rtl_engine.engine_parameters(*board), **pairs}
    )
    exported = exported_to(tmp_path)
    found = simulate(exported, "thalweg_board", "engine_traffic", seed, beside=["board.vlt"], build_args=["--assert"])
    assert found == CALLS_TESTS


def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rtl", "export", "accl-u280-reliable", "--output", str(tmp_path / "board")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "transport is reliable-udp; the RTL supports only udp" in error
