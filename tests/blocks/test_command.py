# SPDX-License-Identifier: Apache-2.0
"""Are the reports and exit codes of `thalweg rtl lint` and `thalweg rtl test` correct?"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from thalweg.cli import main
from thalweg.launch.descendants import descendants

SKID = Path(__file__).parents[2] / "rtl/common/tw_skid.sv"


def test_lint(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rtl", "lint", "skid", "common/arbiter"]) == 0
    assert "no warning" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["test", "prove", "synth"])
def test_a_system_without_hardware(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a checkout of another package, whose rtl/ has no folder of the system."""
    for folder in ("rtl", "tests/bisim"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert main(["rtl", command, "--system", "accl"]) == 2
    assert capsys.readouterr().err == "thalweg: accl has no hardware blocks of its own\n"


@pytest.mark.parametrize("arguments", [["lint", "fifi"], ["test", "fifi"], ["test", "fifo", "--runs", "0"]])
def test_bad_input_is_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rtl", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and ("fifi" in error or "--runs" in error)


@pytest.mark.slow
def test_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["rtl", "test", "skid", "--runs", "2", "--cycles", "500", "--seed", "9", "--json", f"{tmp_path}/r.json"])
        == 0
    )
    assert "seed 9" in capsys.readouterr().out
    rows = json.loads((tmp_path / "r.json").read_text())["rows"]
    assert [row["set"] for row in rows] == ["bit", "flit"]
    for row in rows:
        assert row["total_cycles"] == 1000 and row["seed"] == 9 and row["difference"] is None
        assert row["ports"]["out_data_o"]["activity"] > 0


@pytest.mark.sample(4)
@pytest.mark.slow
def test_coverage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A single cycle moves nothing, and never fills the second register; a few thousand reach everything."""
    arguments = ["rtl", "test", "skid", "--coverage", "--seed", "9", "--json", f"{tmp_path}/c.json"]
    assert main([*arguments, "--runs", "1", "--cycles", "1"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "2 of 2 variants transferred no data" in error
    (short,) = json.loads((tmp_path / "c.json").read_text())["rows"]
    spare = next(i for i, line in enumerate(SKID.read_text().splitlines(), 1) if "spare_q <= in_data_i;" in line)
    assert f"rtl/common/tw_skid.sv:{spare}" in short["missed_lines"]
    assert short["line_percent"] < 100 and short["toggle_percent"] < 100
    assert main([*arguments, "--runs", "5", "--cycles", "2000"]) == 0
    (long,) = json.loads((tmp_path / "c.json").read_text())["rows"]
    assert long["missed_lines"] == long["missed_toggles"] == []
    assert long["lines"] == short["lines"]
    # Ten signals of one bit and four words, each bit up and down; signals used only by assertions do not count.
    assert long["toggles"] == short["toggles"] == 2 * (10 + 4 * 262)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_outlives_a_command_that_is_stopped(number: signal.Signals) -> None:
    """The command does not wait for Yosys either, which handles no signal before a pass ends. The signal goes to the
    command alone."""
    command = [sys.executable, "-c", "import sys; from thalweg.cli import main; sys.exit(main())", "rtl", "prove"]
    with subprocess.Popen([*command, "vc_router", "slots"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while process.poll() is None and len(below := descendants(process.pid)) < 2:
            time.sleep(0.01)
        assert process.poll() is None
        process.send_signal(number)
        process.communicate()
        assert process.returncode == 128 + number
    deadline = time.monotonic() + 5
    while any(map(runs, below)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(runs, below))


def runs(process: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False
