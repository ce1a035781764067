"""Do ten runs beside a busy machine give the same bits, and without computing time the same virtual times?"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from programs import ROOT, Thalweg

PROGRAM = ROOT / "tests/end_to_end/reductions.py"
CLUSTER = "mpi-fpga-torus-2x2x2"


@pytest.fixture
def load() -> Iterator[None]:
    """A processor that is never idle."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    yield
    for process in busy:
        process.kill()
        process.wait()


@pytest.mark.serial
def test_ten_runs_under_load_are_the_same(thalweg: Thalweg, load: None, tmp_path: Path) -> None:
    seen = []
    for attempt in range(10):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        run = thalweg(8, CLUSTER, [sys.executable, PROGRAM, folder, "200", "7"], "--compute", "none")
        assert run.exit_code == 0, run.stderr
        bits = [(folder / f"{rank}.npz").read_bytes() for rank in range(8)]
        seen.append((bits, run.report))
    for bits, report in seen[1:]:
        assert bits == seen[0][0]
        assert report == seen[0][1], "times, counts and links are the same in every run"


@pytest.mark.serial
def test_benchmark_prints_the_same_times(thalweg: Thalweg, osu: Path, load: None) -> None:
    words = [osu, "-m", "4:16K", "-i", "3", "-x", "1", "all"]
    outputs = {thalweg(8, CLUSTER, words, "--compute", "none").stdout for _ in range(3)}
    assert len(outputs) == 1
    assert outputs.pop().count("yes") > 100
