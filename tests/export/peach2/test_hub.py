# SPDX-License-Identifier: Apache-2.0
"""Is an exported hub self-contained, and does it work for a user with the folder alone?"""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from thalweg import cli
from thalweg.systems.peach2.cluster import Cluster
from thalweg.systems.peach2.export import export

ROOT = Path(__file__).parents[3]
SMALL = f"""
base = "{ROOT}/clusters/peach2.toml"
[topology]
size = [3]
[node.hub]
windows = 8
packets = 3
units = 20
reads = 3
bus_reads = 1
ram_bits = 9
contexts = 2
sums = 4
records = 2
latency = 5
pairs = ["max int32", "sum float32"]
starts = 2
"""
PAGE, NODE_PAGES = 4096, 1 << 23


@pytest.fixture(params=[pytest.param("peach2-ring-4", marks=pytest.mark.long), "small"])
def exported(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(SMALL)
    name = str(tmp_path / "small.toml") if request.param == "small" else request.param
    export(Cluster.load(name), tmp_path / "hub")
    return tmp_path / "hub"


@pytest.mark.slow
def test_stands_by_itself(exported: Path, lint: Callable[[Path], subprocess.CompletedProcess[str]]) -> None:
    done = lint(exported)
    assert done.returncode == 0 and "%Warning" not in done.stdout, done.stdout
    listed = (exported / "files.f").read_text().split()
    assert sorted(listed) == sorted(str(path.relative_to(exported)) for path in (exported / "rtl").iterdir())
    assert not any(str(ROOT) in path.read_text() for path in exported.rglob("*") if path.is_file())


@pytest.mark.parametrize("cluster", ["peach2-ring-4", "peach2"])
def test_windows_lead_every_packet_to_its_node(cluster: str, tmp_path: Path) -> None:
    """Followed link by link, with registers as documented in README.md."""
    export(Cluster.load(cluster), tmp_path / "hub")
    with (tmp_path / "hub/tables/links.csv").open() as file:
        ends = list(csv.reader(file))[1:]
    peer = {(a, out): b for a, out, b, _ in ends} | {(b, out): a for a, _, b, out in ends}
    windows: dict[str, list[int]] = {}
    with (tmp_path / "hub/tables/windows.csv").open() as file:
        for row in csv.DictReader(file):
            place, gbyte = len(windows.setdefault(row["node"], [])), 32 * int(row["node"]) + 31
            assert int(row["address"], 16) == (gbyte << 30) + 0x38000000 + 16 * place
            windows[row["node"]].append(int(row["value"], 16))
    ports = ("north", "east", "west", "south")
    for start in windows:
        for destination in windows:
            for page in (0, NODE_PAGES - 1):
                node, hops = start, 0
                while True:
                    at = int(destination) * NODE_PAGES + page
                    fits = (
                        value
                        for value in windows[node]
                        if value & 0xFFFFFFFF <= at & value >> 64 & 0xFFFFFFFF <= value >> 32 & 0xFFFFFFFF
                    )
                    to = ports[next(fits) >> 96 & 7]
                    if to == "north":
                        break
                    node, hops = peer[node, to], hops + 1
                    assert hops < len(windows)
                assert node == destination


@pytest.mark.long
def test_from_outside(exported: Path, seed: int, simulate: Callable[..., int]) -> None:
    assert simulate(exported, "thalweg_hub", "hub_traffic", seed, beside=["hub.vlt"], build_args=["--assert"]) == 4


@pytest.mark.sample(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("modules", "tests", "transactions"),
    [("hub_root,hub_random", 4, 100), pytest.param("hub_random", 1, 10_000, marks=pytest.mark.long)],
)
def test_behind_the_root_complex_of_another_author(
    tmp_path: Path,
    seed: int,
    simulate: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
    modules: str,
    tests: int,
    transactions: int,
) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    export(Cluster.load(str(tmp_path / "small.toml")), tmp_path / "hub")
    monkeypatch.setenv("THALWEG_TRANSACTIONS", str(transactions))
    made = simulate(tmp_path / "hub", "thalweg_hub", modules, seed, beside=["hub.vlt"], build_args=["--assert"])
    assert made == tests


def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert cli.main(["rtl", "export", "peach2", "--output", str(tmp_path)]) == 2
    assert (
        capsys.readouterr().err == f"thalweg: {str(tmp_path)!r} exists already; give --output a new or empty folder\n"
    )
