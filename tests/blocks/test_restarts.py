# SPDX-License-Identifier: Apache-2.0
"""May each RTL end of a link be reset alone, at any time, under traffic and faults? Two ends of tw_link_end and a port
at each, with the rules of tests/sim/link/restarted_link.hpp: no word is lost or repeated unless both ends report it,
and the link recovers. A failure names its seed; THALWEG_SEED=<seed> repeats it."""

from __future__ import annotations

import ctypes
import shutil
from pathlib import Path

import pytest
from thalweg.rtl.project import Project

ROOT = Path(__file__).parents[2]
FLOWS = {"credits": {"Credits": 1, "FrameBits": 320}, "margin": {"Credits": 0, "FrameBits": 317}}
COMMON = {"Vcs": 3, "Window": 32, "DownCycles": 1024, "CountBits": 4}
FIGURES = ("resets", "together", "power", "words", "cut", "reported")


def restart(project: Project, flow: str, both: bool, resets: int, seed: int) -> dict[str, int]:
    """Performs at least `resets` resets and returns the statistics. Raises AssertionError."""
    glue = project.root / "tests/blocks/link/link_end/restarts.cpp"
    library = ctypes.CDLL(str(project.build_library("tw_link_end", glue, {**COMMON, **FLOWS[flow]})))
    library.restarts.restype = ctypes.c_char_p
    figures = (ctypes.c_uint64 * len(FIGURES))()
    wrong = library.restarts(ctypes.c_uint64(seed), resets, both, figures)
    assert wrong is None, f"seed {seed}: {wrong.decode()}"
    return dict(zip(FIGURES, figures, strict=True))


def check(flow: str, both: bool, resets: int, seed: int) -> None:
    seen = restart(Project(ROOT), flow, both, resets, seed)
    print(seen)
    assert seen["resets"] >= resets
    assert seen["words"] > resets and seen["reported"] > resets / 4
    assert min(seen["cut"], seen["power"], seen["together"]) > 0


@pytest.mark.sample(4)
@pytest.mark.slow
@pytest.mark.parametrize("both", [False, True], ids=["one", "both"])
@pytest.mark.parametrize("flow", FLOWS)
def test_some_restarts(flow: str, both: bool, seed: int) -> None:
    check(flow, both, 250, seed)


@pytest.mark.long
@pytest.mark.parametrize("both", [False, True], ids=["one", "both"])
@pytest.mark.parametrize("flow", FLOWS)
def test_a_thousand_restarts(flow: str, both: bool, seed: int) -> None:
    check(flow, both, 1000, seed)


@pytest.mark.long
@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("session", "next_d         = !session_q.number", "next_d         = session_q.number"),
        ("session", "'{lost: 1'b1, number: next_q, default: '0}", "'{number: next_q, default: '0}"),
        ("link_end", ".rst_i(begins),", ".rst_i,"),
        ("replay_codec", "if (rst_i || flush_i) begin", "if (rst_i) begin"),
    ],
)
def test_a_bug_is_noticed(module: str, old: str, new: str, tmp_path: Path, seed: int) -> None:
    for folder in ("rtl", "spec/generated", "sim", "tests/bisim", "tests/blocks/link", "tests/sim/link"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    shutil.copy(ROOT / "tests/seed.hpp", tmp_path / "tests")
    file = tmp_path / f"rtl/link/tw_{module}.sv"
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))
    project = Project(tmp_path, tmp_path / "build", Project(ROOT))
    with pytest.raises(AssertionError, match="seed"):
        restart(project, "credits", False, 1000, seed)
