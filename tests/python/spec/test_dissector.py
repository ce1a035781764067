# SPDX-License-Identifier: Apache-2.0
"""Does Wireshark show the fields of a frame with the values of the shared vectors?"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path

import dpkt
import pytest
from model import Format, Part, load

ROOT = Path(__file__).resolve().parents[3]
SPEC = load(ROOT / "spec")
VECTORS = json.loads((ROOT / "spec/generated/vectors.json").read_text())["formats"]
ON_ETHERNET = [part for part in SPEC.parts if part.frames]

pytestmark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")


def bytes_of(fmt: Format, vector: dict[str, list[str]]) -> bytes:
    return b"".join(int(word, 16).to_bytes(8, "little") for word in vector["words"])[: fmt.bits // 8]


def dissected(file: Path, part: Part, fields: list[str]) -> list[list[str]]:
    """The fields of each frame; empty if a frame has none."""
    script = ROOT / f"spec/generated/wireshark/{part.system}.lua"
    command = ["tshark", "-X", f"lua_script:{script}", "-r", file, "-T", "fields", "-E", "separator=|"]
    command += [word for field in fields for word in ("-e", field)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Lua" not in done.stderr, done.stderr
    return [line.split("|") for line in done.stdout.splitlines()]


@pytest.mark.parametrize("part", ON_ETHERNET, ids=lambda part: part.system)
def test_wireshark_shows_what_was_sent(part: Part, tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    assert part.frames
    names = [f.name for stacked in part.frames.stack for f in stacked.format.members]
    sent = []
    with (tmp_path / "frames.pcap").open("wb") as file:
        capture = dpkt.pcap.Writer(file)
        for _ in range(600):
            values: dict[str, int] = {}
            frame = draw.randbytes(12) + part.frames.type.to_bytes(2, "big")
            for stacked in part.frames.stack:
                if all(values.get(f.name) == value for f, value in stacked.when):
                    vector = draw.choice(VECTORS[stacked.format.name])
                    values |= vector["fields"]
                    frame += bytes_of(stacked.format, vector)
            data = draw.randbytes(draw.choice([0, 1, 64, 9152]))
            capture.writepkt(frame + data)
            sent.append(([str(values[name]) if name in values else "" for name in names], data.hex()))
    shown = dissected(tmp_path / "frames.pcap", part, [f"{part.system}.{name}" for name in [*names, "data"]])
    assert [(row[:-1], row[-1]) for row in shown] == sent
    for stacked in part.frames.stack:  # all of it was drawn
        assert any(row[names.index(stacked.format.members[0].name)] for row, _ in sent)


@pytest.mark.parametrize("part", ON_ETHERNET, ids=lambda part: part.system)
def test_wireshark_takes_frames_that_end_early(part: Part, tmp_path: Path) -> None:
    """Truncated after each byte."""
    assert part.frames
    whole = b"".join(bytes_of(stacked.format, VECTORS[stacked.format.name][1]) for stacked in part.frames.stack)
    with (tmp_path / "frames.pcap").open("wb") as file:
        capture = dpkt.pcap.Writer(file)
        for end in range(len(whole)):
            capture.writepkt(bytes(12) + part.frames.type.to_bytes(2, "big") + whole[:end])
    first = part.frames.stack[0].format
    shown = dissected(tmp_path / "frames.pcap", part, [f"{part.system}.{first.members[0].name}", "_ws.malformed"])
    assert [bool(row[0]) for row in shown] == [end >= first.bits // 8 for end in range(len(whole))]
    assert not any(row[1] for row in shown)
