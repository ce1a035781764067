# SPDX-License-Identifier: Apache-2.0
"""`thalweg reproduce vcsn`: are the rows behind the paper's numbers within the differences that docs/reproduce.md
states?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from published import lines
from thalweg.cli import main
from thalweg.errors import InputError
from thalweg.systems.vcsn.figures import plot
from thalweg.systems.vcsn.reproduce import Evaluation, reproduce

PAGE = Path(__file__).resolve().parents[3] / "docs/reproduce.md"
CLOSE = {
    "vcsn.peak": 5e-4,
    "dcn.peak": 5e-4,
    "vcsn.payload_efficiency.max": 1e-3,
    "vcsn.payload_efficiency.min": 0.01,
    "dcn.fc_gain": 0.005,
    "vcsn.latency": 0.002,
    "vcsn.p2p.max_throughput": 0.01,
    "dcn.p2p.max_throughput": 0.03,
    "dcn.latency": 0.005,
    "vcsn.p2p.crossover": 0.15,
    "vcsn.gather.efficiency": 0.01,
    "vcsn.gather.32n.16MiB": 0.01,
    "gather.ratio.256MiB": 0.02,
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reproduction's rows and plots."""
    path = tmp_path_factory.mktemp("reproduce")
    words = ["--no-resources", "--largest", "256K", "--plot", str(path), "--json", str(path / "rows.json")]
    assert main(["reproduce", "vcsn", *words]) == 0
    return path


def test_rows_are_as_close_as_said(run: Path) -> None:
    rows = json.loads((run / "rows.json").read_text())["rows"]
    by_id: dict[str, list[dict[str, object]]] = {}
    for row in rows:
        by_id.setdefault(str(row["id"]), []).append(row)
    for id_, difference in CLOSE.items():
        for row in by_id[id_]:
            assert row["ratio"] == pytest.approx(1, abs=difference), row["what"]
    for row in by_id["gather.ratio.64KiB"][-2:]:  # 4,096 and 10,000 nodes
        assert row["ratio"] == pytest.approx(1, abs=0.005)
    assert all(row["measured"] == 0 for row in by_id["vcsn.stages"])
    assert by_id["vcsn.reconfigure"][0]["measured"] < 1  # type: ignore[operator]
    assert by_id["vcsn.errors"][-1]["measured"] < 2  # type: ignore[operator]
    tried = {
        str(row["what"]).partition(": ")[2]: row["measured"] for row in rows if str(row["id"]).startswith("dcn.gather")
    }
    assert len(tried) == 6 and max(tried, key=lambda name: float(str(tried[name]))) == "barriers that are not late"
    assert float(str(tried["one bank, which is read and written at once"])) < float(str(tried["as in the preset"]))
    for row in by_id["vcsn.gather"]:  # starts of engines are not in the equation
        assert 0 < row["measured"] - row["equation_us"] < 33  # type: ignore[operator]


def test_the_page_has_these_lines(run: Path) -> None:
    """All except DCN's efficiency, which the page lists for larger blocks."""
    rows = json.loads((run / "rows.json").read_text())["rows"]
    wanted = set(lines("vcsn", (row for row in rows if row["id"] != "dcn.gather.efficiency")))
    assert len(wanted) > 15 and wanted <= set(PAGE.read_text().splitlines()), "make examples writes them"


def test_energy_is_power_times_time(run: Path) -> None:
    """Of 16 boards, by Table 4."""
    rows = json.loads((run / "rows.json").read_text())["rows"]
    times = {row["bytes"]: row for row in rows if row["id"] == "vcsn.gather" and row["nodes"] == 16}
    energies = [row for row in rows if row["id"] == "vcsn.energy"]
    assert [(row["bytes"], row["network"]) for row in energies] == [
        (size, network) for size in (64 << 10, 256 << 10) for network in ("VCSN", "DCN")
    ]
    for row in energies:
        mw, us = (59632.8, "measured") if row["network"] == "VCSN" else (54666.81, "dcn_us")
        assert row["measured"] == pytest.approx(16 * mw * times[row["bytes"]][us] * 1e-9)
        assert row["what"].startswith("estimate")


@pytest.mark.long
def test_resources_and_power(tmp_path: Path) -> None:
    """All numbers of Tables 2 to 4 have a row. Receive buffers are the preset's, and Table 4's rate of power is that of
    its own two boards."""
    pytest.importorskip("pyosys")
    evaluation = Evaluation(largest=64 << 10)
    all_ = list(evaluation.rows(lambda what, done: None))
    plot(all_, tmp_path)
    rows = {row.id: row for row in all_}
    wanted = {name for name in evaluation.numbers if ".resources." in name or name.endswith((".power", ".resources"))}
    assert wanted <= rows.keys()
    kept = 4 * 2560 * 512 / 1024  # Kbit of data
    assert kept <= rows["vcsn.resources.receiver.kbit"].measured < 1.1 * kept  # type: ignore[operator]
    ours = sum(row.measured for row in rows.values() if row.id.count(".") == 2 and row.published and row.unit == "LUT")  # type: ignore[misc]
    alms = 8144.6 + 1051.3 + 19205.2 + 14071.0
    mw = 59632.8 - (10808.22 - 6642.48) / (149113.3 - 52073.4) * (alms - ours)
    assert rows["vcsn.power"].measured == pytest.approx(mw / 1e3)
    assert len(list(tmp_path.glob("*.png"))) == 4


def test_it_draws(run: Path) -> None:
    assert len(list(run.glob("*.png"))) == 3


@pytest.mark.parametrize("largest", ["1K", "64K,128K", "512M"])
def test_wrong_sizes_are_refused(largest: str) -> None:
    with pytest.raises(InputError, match="largest is"):
        reproduce("vcsn", largest=largest)
