# SPDX-License-Identifier: Apache-2.0
"""Is an exported node of VCSN or DCN self-contained, and does it work for a user with the folder alone?"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from thalweg.cli import main
from thalweg.systems.vcsn.cluster import Cluster
from thalweg.systems.vcsn.export import export

ROOT = Path(__file__).parents[3]
SMALL = """
base = "{root}/clusters/{base}.toml"
[node.fpga]
send_words = 32
send_frames = 4
receive_words = {words}
frame_words = 20
"""
#: For two external ports: commands of each, words of each virtual port in each direction; words of each, in each
#: direction.
FIFOS = {"mac_aclk": 2 * (1 + 2 * 2), "link_aclk": 2 * 2}


VCSN, DCN = ("vcsn-d5005", 40), ("dcn-d5005", 32)


@pytest.fixture(params=[VCSN, DCN], ids=["vcsn", "dcn"])
def exported(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    base, words = request.param
    (tmp_path / "small.toml").write_text(SMALL.format(root=ROOT, base=base, words=words))
    export(Cluster.load(str(tmp_path / "small.toml")), tmp_path / "node")
    return tmp_path / "node"


@pytest.mark.slow
def test_stands_by_itself(exported: Path, lint: Callable[[Path], subprocess.CompletedProcess[str]]) -> None:
    done = lint(exported)
    assert done.returncode == 0 and "%Warning" not in done.stdout, done.stdout
    listed = (exported / "files.f").read_text().split()
    assert sorted(listed) == sorted(str(path.relative_to(exported)) for path in (exported / "rtl").iterdir())
    assert not any(str(ROOT) in path.read_text() for path in exported.rglob("*") if path.is_file())


@pytest.mark.sample(2)
@pytest.mark.slow
def test_crossings(exported: Path, tmp_path: Path) -> None:
    """A FIFO's two pointers pass a synchronizer each, and its words are held; the reset passes one synchronizer per
    clock."""
    assert main(["rtl", "crossings", str(exported), "--json", str(tmp_path / "found.json")]) == 0
    found = json.loads((tmp_path / "found.json").read_text())
    ways = Counter((crossing["way"], crossing["start_clock"]) for crossing in found["crossings"])
    (line,) = {domain["clock"] for domain in found["domains"]} - {"shell_aclk"}
    fifos = FIFOS[line]
    assert sum(number for (way, _), number in ways.items() if way == "held") == fifos
    assert {clock: ways["synchronizer", clock] for clock in ("shell_aclk", line, "none")} == {
        "shell_aclk": fifos,
        line: fifos,
        "none": 2,
    }


@pytest.mark.long
@pytest.mark.parametrize(
    "exported",
    [pytest.param(VCSN, id="vcsn"), pytest.param(DCN, id="dcn", marks=pytest.mark.long)],
    indirect=True,
)
def test_from_outside(exported: Path, seed: int, simulate: Callable[..., int]) -> None:
    assert simulate(exported, "thalweg_node", "node_traffic", seed, beside=["node.vlt"], build_args=["--assert"]) == 1


def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "many.toml").write_text(
        f'base = "{ROOT}/clusters/vcsn-d5005.toml"\n[node.fpga]\nvirtual_ports = 9\n',
    )
    assert main(["rtl", "export", str(tmp_path / "many.toml"), "--output", str(tmp_path / "node")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "at most 8 virtual ports per external port, not 9" in error
