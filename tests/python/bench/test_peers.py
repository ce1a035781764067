# SPDX-License-Identifier: Apache-2.0
"""Does benches/peers.py read BookSim2's statistics, and print its table and its errors? The programs are stand-ins."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import peers
import pytest

BOOKSIM = """\
Injected flit rate average = 0.198083
Accepted flit rate average= 0.197974
Draining all recorded packets ...
Draining remaining packets ...
Time taken is 5111 cycles
====== Overall Traffic Statistics ======
====== Traffic class 0 ======
Injected flit rate average = 0.198083 (1 samples)
Accepted flit rate average = 0.197974 (1 samples)
Hops average = 5.00063 (1 samples)
Total run time 0.6966
"""
"""Recorded: the end of a run on 8 x 8 nodes, without minima and maxima."""
SMPI_MS = 2.0


@pytest.fixture
def stand_in(tmp_path: Path) -> Callable[[str, str], str]:
    """Returns a function that makes a program of Python's text."""

    def made(name: str, text: str) -> str:
        file = tmp_path / name
        file.write_text(f"#!{sys.executable}\nimport resource, sys\n{text}\n")
        file.chmod(0o755)
        return str(file)

    return made


@pytest.fixture
def programs(stand_in: Callable[[str, str], str]) -> dict[str, str]:
    burn = "while resource.getrusage(resource.RUSAGE_SELF).ru_utime < {}: sum(range(10_000))"
    return {
        "booksim": stand_in("booksim", f"{burn.format(0.1)}\nprint({BOOKSIM!r})\nsys.exit(255)  # as BookSim2 does"),
        "smpicc": stand_in("smpicc", "open(sys.argv[sys.argv.index('-o') + 1], 'w').close()"),
        "smpirun": stand_in("smpirun", f"calls = int(sys.argv[-1])\n{burn.format(f'0.1 + calls * {SMPI_MS / 1e3}')}"),
    }


def options(programs: dict[str, str]) -> list[str]:
    words = ["--repeats", "1", "--cycles", "2000", "--seconds", "0.3"]
    return words + [word for name, path in programs.items() for word in (f"--{name}", path)]


def test_flit_hops_are_flits_times_links() -> None:
    """A hop of BookSim2 is a router: its 5.0 are 4 links, the average distance on a torus of 8 x 8."""
    assert peers.booksim_flit_hops(BOOKSIM, 64) == pytest.approx(0.197974 * 64 * 5111 * 4.00063)


def test_an_aborted_run_is_said() -> None:
    with pytest.raises(peers.Failed, match="printed no accepted; the load is beyond its saturation"):
        peers.booksim_flit_hops("Simulation unstable, ending ...\n", 64)


def test_the_table_has_medians_and_ratios(
    programs: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peers, "TRAFFIC", [(4, 4)])
    monkeypatch.setattr(peers, "ALLREDUCE", [((2, 2), 64)])
    peers.main(options(programs))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    speeds, times = (list(map(float, re.findall(r"[0-9.]+", line)[-3:])) for line in (lines[1], lines[4]))
    assert speeds[2] == pytest.approx(speeds[1] / speeds[0], rel=0.02)
    assert speeds[0] == pytest.approx(peers.booksim_flit_hops(BOOKSIM, 16) / 0.1 / 1e6, rel=0.3)
    assert times[0] == pytest.approx(SMPI_MS, rel=0.3)
    assert lines[4].startswith("MPI_Allreduce, 4 ranks, 64 bytes ")
    assert times[2] == pytest.approx(times[0] / times[1], rel=0.1)


def test_peers_and_own_runs_alternate() -> None:
    calls: list[str] = []
    values = iter([3.0, 1.0, 2.0])
    theirs, ours = peers.alternate(lambda: calls.append("peer") or next(values), lambda: calls.append("own") or 7.0, 3)
    assert calls == ["peer", "own"] * 3 and (theirs, ours) == (2.0, 7.0)


@pytest.mark.parametrize("missing", ["booksim", "smpicc", "smpirun"])
def test_a_missing_program_is_said_in_one_line(missing: str, programs: dict[str, str]) -> None:
    with pytest.raises(SystemExit) as found:
        peers.main(options({**programs, missing: "/nowhere/x"}))
    assert found.value.code == f"peers.py: --{missing} /nowhere/x: no such program; give the path of one"


@pytest.mark.parametrize("failing", ["booksim", "smpicc", "smpirun"])
def test_a_failing_program_is_said_in_one_line(
    failing: str,
    programs: dict[str, str],
    stand_in: Callable[[str, str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(peers, "TRAFFIC", [(4, 4)])
    bad = stand_in("bad", "sys.exit('first line\\nno torus')")
    with pytest.raises(SystemExit) as found:
        peers.main(options({**programs, failing: bad}))
    assert found.value.code == "peers.py: bad failed with exit code 1: no torus"
