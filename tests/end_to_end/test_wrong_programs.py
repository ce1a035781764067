# SPDX-License-Identifier: Apache-2.0
"""Does `thalweg run` report in time the error of a command line or a program, with the right exit code, and clean up?

Every run of these tests checks that no process is left, see programs.execute.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from programs import ROOT, Mpi, Thalweg, execute

pytestmark = pytest.mark.slow

CLUSTER = "mpi-fpga-torus-2x2x2"


@pytest.fixture(scope="session")
def misbehave(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mpi.build([ROOT / "tests/end_to_end/misbehave.c"], tmp_path_factory.mktemp("misbehave") / "misbehave")


@pytest.mark.parametrize(("what", "code"), [("nothing", 0), ("exit-code", 7), ("abort", 5)])
def test_the_programs_own_status_is_returned(thalweg: Thalweg, misbehave: Path, what: str, code: int) -> None:
    run = thalweg(4, CLUSTER, [misbehave, what])
    assert run.exit_code == code, run.stderr
    assert run.report["exit_code"] == code
    assert "Traceback" not in run.stderr


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("killed", ["rank 3 was killed"]),
        ("crash", ["rank 3 was killed"]),
        ("leaves", ["rank 3"]),
        ("skips-collective", ["MPI_Allreduce", "rank 3"]),
        ("receive-receive", ["MPI_Recv", "rank 0", "rank 1"]),
        ("wrong-tag", ["MPI_Recv", "rank 1", "rank 0"]),
        ("other-order", ["MPI_B"]),
        ("other-root", ["disagree", "root"]),
        ("other-count", ["disagree", "MPI_Allreduce"]),
        ("other-operation", ["disagree", "MPI_Allreduce"]),
    ],
)
def test_what_cannot_go_on_is_named(thalweg: Thalweg, misbehave: Path, what: str, words: list[str]) -> None:
    start = time.monotonic()
    run = thalweg(4, CLUSTER, [misbehave, what])
    assert run.exit_code == 124, run.stderr
    assert time.monotonic() - start < 30
    assert "Traceback" not in run.stderr
    for word in words:
        assert word in run.stderr, f"{word!r} is missing in: {run.stderr}"


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], "PROGRAM"),
        (["--", "/nowhere/program"], "/nowhere/program"),
        (["-n", "9", "--cluster", CLUSTER, "--", "true"], "9 ranks do not fit"),
        (["-n", "0", "--", "true"], "0"),
        (["-n", "2", "--cluster", "mpi-fpga-tours-2x2x2", "--", "true"], "mpi-fpga-torus-2x2x2"),
        (["-n", "2", "--compute", "slow", "--", "true"], "'slow'"),
        (["-n", "2", "--compute", "scale:-1", "--", "true"], "'scale:-1'"),
        (["-n", "2", "--engine", "magic", "--", "true"], "'magic'"),
        (["-n", "2", "--mpi", "/nowhere", "--", "true"], "/nowhere"),
        (["-n", "2", "--json", "/nowhere/x.json", "--", "true"], "/nowhere"),
        (["--unknown", "--", "true"], "--unknown"),
    ],
)
def test_wrong_command_lines(words: list[str], line: str) -> None:
    done = execute([sys.executable, "-m", "thalweg", "run", *words])
    assert done.returncode == 125
    assert done.stdout == ""
    assert line in done.stderr and done.stderr.count("\n") == 1 and done.stderr.startswith("thalweg: ")


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


@pytest.mark.sample(2)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(option=st.sampled_from(["-n", "--cluster", "--compute", "--engine", "--mpi", "--timeout"]), value=WORDS)
def test_any_value_of_an_option_gets_at_most_one_line(option: str, value: str) -> None:
    done = execute([sys.executable, "-m", "thalweg", "run", option, value, "--", "/nowhere/program"])
    assert done.returncode == 125
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("thalweg: "), repr(done.stderr)


@pytest.mark.parametrize("command", [["true"], ["MISBEHAVE", "no-init"]])
def test_a_program_that_never_calls_mpi_is_refused(thalweg: Thalweg, misbehave: Path, command: list[str]) -> None:
    run = thalweg(2, CLUSTER, [misbehave if word == "MISBEHAVE" else word for word in command])
    assert run.exit_code == 125
    assert "MPI_Init" in run.stderr and run.stderr.count("\n") == 1
