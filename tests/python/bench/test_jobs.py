# SPDX-License-Identifier: Apache-2.0
"""Do jobs that share a fabric get the results that they get alone, and their promised share of the rate?"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from thalweg.cli import main
from thalweg.errors import InputError
from thalweg.systems.mpi_fpga import bench_jobs
from thalweg.systems.mpi_fpga.sharing import Share

Rows = list[dict[str, Any]]
Jobs = Callable[..., Rows]

CLUSTER = "mpi-fpga-torus-2x2x2"


@pytest.fixture
def jobs(tmp_path: Path) -> Jobs:
    def run(*words: str) -> Rows:
        assert main(["bench", "jobs", *words, "--json", str(tmp_path / "rows.json")]) == 0
        rows: Rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
        return rows

    return run


@pytest.mark.parametrize("mode", ["sub-channels:1:3", "time-slots:1:3"])
def test_alone_is_together_and_links_are_divided_by_weight(jobs: Jobs, mode: str) -> None:
    rows = jobs("--cluster", CLUSTER, "--share", mode, "--sizes", "8,128K")
    assert [row["part"] for row in rows] == [0.25, 0.75] * 2 and all(row["verified"] for row in rows)
    assert all(row["time_alone_us"] == row["time_us"] >= row["time_whole_us"] for row in rows)
    for row in rows[2:]:
        # At most its share of a link, and most of it: packets have gaps of two cycles, headers, a descriptor.
        assert 0.6 * row["part"] < row["link"] <= row["part"]


def test_a_narrow_flit_goes_on_when_it_is_whole(jobs: Jobs) -> None:
    """A barrier by exchange of 4 neighbouring ranks: two rounds of one flit over wires of one cycle."""
    rows = jobs(
        *("--cluster", "torus:2x2x2", "--placement", "blocks", "--operations", "barrier,barrier"),
        *("--algorithm", "exchange", "--share", "sub-channels:1:2"),
    )
    # Each round has a unit and two wires (into the router, and the link, where it is ejected bit by bit), then follow a
    # unit and the path into memory: eight places where a flit's last bits arrive 3 cycles later at a quarter of the
    # width, 1 at a half; 4 ns each.
    assert [round((row["time_alone_us"] - row["time_whole_us"]) * 250) for row in rows] == [8 * 3, 8 * 1]


def test_without_a_share_the_others_cost_time_and_no_bits(jobs: Jobs) -> None:
    rows = jobs("--cluster", "torus:4x4", "--share", "none", "--sizes", "64K")
    assert all(row["verified"] and row["time_us"] > 1.5 * row["time_alone_us"] for row in rows)


def test_any_two_collectives(jobs: Jobs) -> None:
    rows = jobs(
        *("--cluster", "torus:3x3", "--operations", "alltoall,scan,broadcast", "--sizes", "8,2K"),
        *("--share", "sub-channels:2:1:1", "--share", "time-slots:3:2:1"),
    )
    assert len(rows) == 12 and all(row["verified"] for row in rows)


def test_a_result_that_the_others_change_is_seen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    honest = bench_jobs._run

    def disturbed(*words: Any) -> dict[int, Any]:
        done = honest(*words)
        if len(done) > 1:
            done[1].ticks += 1
        return done

    monkeypatch.setattr(bench_jobs, "_run", disturbed)
    assert main(["bench", "jobs", "--cluster", "torus:4x2", "--share", "sub-channels:2:2", "--sizes", "8"]) == 1
    captured = capsys.readouterr()
    assert "NO" in captured.out
    assert captured.err == "thalweg: different from the job alone: job 1, 8 bytes, sub-channels:2:2\n"


def test_a_picture(tmp_path: Path) -> None:
    picture = tmp_path / "jobs.svg"
    words = ["bench", "jobs", "--cluster", "torus:4x2", "--sizes", "8,1K", "--share", "time-slots:1:1"]
    assert main([*words, "--plot", str(picture)]) == 0 and picture.stat().st_size > 1000


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (
            ["--share", "halves:1:1"],
            "'halves:1:1' is not a share; write, for example, sub-channels:1:3 or time-slots:1:1",
        ),
        (["--share", "time-slots:1"], "time-slots:1 has 1 weights; there are 2 jobs"),
        (["--share", "sub-channels:3:2"], "the jobs have 5 sub-channels; there are 4 of 64 bits"),
        (["--operations", "allreduce,dance"], "unknown collective 'dance'; known are"),
        (["--operations", ",".join(["scan"] * 5)], "5 jobs of at least two ranks do not fit on the 8 hosts"),
    ],
)
def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str], words: list[str], what: str) -> None:
    assert main(["bench", "jobs", "--cluster", CLUSTER, "--sizes", "8", *words]) == 2
    error = capsys.readouterr().err
    assert what in error and error.count("\n") == 1


def test_a_share_is_written_as_it_is_read() -> None:
    assert str(Share.parse("sub-channels:1:3")) == "sub-channels:1:3"
    assert (Share.parse("sub-channels:1:3").parts, Share.parse("time-slots:2:1").parts) == (4, 3)
    with pytest.raises(InputError):
        Share.parse("sub-channels")
