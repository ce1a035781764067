# SPDX-License-Identifier: Apache-2.0
"""`thalweg bench overload`: how much does each mechanism lose, and are all losses counted?"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import dpkt
import pytest
import thalweg
from thalweg.cli import main
from thalweg.errors import InputError
from thalweg.systems.vcsn import overload
from thalweg.systems.vcsn.cluster import Cluster
from thalweg.systems.vcsn.spec import FrameKind, VcsnHeader

PRESET = "vcsn-d5005"
FILE = Path(__file__).parents[3] / "examples/vcsn/overload.toml"
FRAMES = 459  #: of 4 MiB; two streams to a line deliver twice as many in the time in which it carries as many


def by_way(cluster: str | Cluster, **options: Any) -> dict[str, dict[str, Any]]:
    rows = {row["by"]: row for row in thalweg.measure("overload", cluster, **options)}
    assert all(row["verified"] and row["frames"] == 4 * FRAMES for row in rows.values())
    return rows


def test_a_switch_that_is_full_loses_what_it_cannot_hold() -> None:
    """It holds 400,000 bytes in frames of 9,174. Receivers take all four streams at once."""
    rows = by_way(str(FILE))
    assert rows["nothing"]["lost"] == pytest.approx(2 * (FRAMES - 400_000 // 9_174), abs=4)
    assert rows["nothing"]["share_of_ports"] > 0.99  # the lines are full, but with half of the frames
    for by in ("indications", "credits", "sessions"):
        assert rows[by]["lost"] == 0 and rows[by]["ended"] == 4
        assert rows[by]["share_of_ports"] > (0.6 if by == "indications" else 0.95)
    assert rows["indications"]["indications"] > 0 == rows["credits"]["indications"]


def test_a_stream_that_no_engine_takes_fills_its_receive_buffer() -> None:
    """The buffer has 2,560 words, the last 142 of which cannot hold a frame of the maximum length; some words are in
    flight to the engine."""
    rows = by_way(PRESET)
    for by in (
        "nothing",
        "indications",
    ):  # these react to the line's load, which excludes the frames that find no room
        assert rows[by]["lost"] == pytest.approx(2 * (FRAMES - 2_560 // 143), abs=4)
        assert rows[by]["ended"] == 2
    for by in ("credits", "sessions"):
        assert rows[by]["lost"] == 0 and rows[by]["ended"] == 4
    assert rows["credits"]["share_of_ports"] > 0.95


def test_all_that_is_lost_is_counted(seed: int) -> None:
    """`verified` checks it for any buffers, engines, senders and sizes: all frames arrived or were counted as dropped,
    and memory has the frames in order. A switch may be too small even with credits, which cover receive buffers only.
    """
    draw = random.Random(seed)
    lost = 0
    for _ in range(12):
        fpga = {
            "dmas": draw.randint(1, 5),
            "send_words": draw.choice([256, 4096]),
            "receive_words": draw.choice([143, 400, 2560]),
            "frame_words": draw.choice([1, 20, 143]),
        }
        switch = {"buffer_bytes": draw.choice([10_000, 100_000, 1_000_000])}
        cluster = Cluster.load(PRESET).replace(node={"fpga": fpga, "switch": switch})
        options = {
            "senders": draw.randint(1, 4),
            "destination": draw.randrange(16),
            "sizes": [draw.choice([1, 65, 9_153, *draw.choices(range(1, 1_000_000), k=9)])],
            "seed": draw.randrange(1 << 32),
        }
        rows = thalweg.measure("overload", cluster, **options)
        assert all(row["verified"] for row in rows), (seed, fpga, switch, options, rows)
        lost += sum(row["lost"] for row in rows)
    assert lost > 0


def test_a_row_that_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte that was not sent, and a frame that is not counted."""
    network = overload.Network
    load = network.load
    monkeypatch.setattr(network, "load", lambda self, *where: load(self, *where).replace(b"\0", b"\1", 1))
    with pytest.raises(thalweg.errors.CheckFailed, match="overload returned wrong results at 100000"):
        thalweg.measure("overload", PRESET, sizes=100_000, by="credits")
    monkeypatch.undo()
    monkeypatch.setattr(network, "lost", [])
    (row,) = overload.overload(Cluster.load(PRESET), by="nothing").rows()
    assert not row["verified"]


def test_the_command_prints_draws_and_captures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {
        option: tmp_path / name for option, name in (("plot", "p.svg"), ("trace", "t.pftrace"), ("report", "r.html"))
    }
    words = [word for option, path in files.items() for word in (f"--{option}", str(path))]
    words += ["--pcap", str(tmp_path / "f.pcapng"), "--json", str(tmp_path / "r.json")]
    assert main(["bench", "overload", "--cluster", PRESET, "--by", "credits", "--sizes", "100K", *words]) == 0
    assert "credits  102400" in capsys.readouterr().out
    assert all(path.stat().st_size > 1_000 for path in files.values())
    (row,) = json.loads((tmp_path / "r.json").read_text())["rows"]
    with (tmp_path / "f.pcapng").open("rb") as file:
        data = [
            frame for _, frame in dpkt.pcapng.Reader(file) if VcsnHeader.unpack(frame[14:18]).kind == FrameKind.DATA
        ]
    assert row["frames"] == 4 * 12 and len(data) == 2 * row["frames"]


@pytest.mark.parametrize(
    ("cluster", "options", "said"),
    [
        (PRESET, {"senders": 5}, "senders is 5; vcsn-d5005 has 15 other FPGAs, but one has 4 virtual ports"),
        (PRESET, {"senders": 0}, "senders is 0; it must be an integer of at least 1"),
        (PRESET, {"destination": 16}, "destination is 16; the FPGAs of vcsn-d5005 are 0 to 15"),
        (PRESET, {"by": "luck"}, "unknown way 'luck'; known are nothing, indications, credits, sessions"),
        (PRESET, {"sizes": "1G"}, "4 blocks of 1073741824 bytes; the total must be below 4G"),
        (PRESET, {"pcap": "x"}, "pcap needs a single run; 4 were given"),
        ("dcn-d5005", {}, "dcn-d5005 has serial links"),
    ],
)
def test_wrong_options_are_refused(cluster: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        thalweg.measure("overload", cluster, **options)
