# SPDX-License-Identifier: Apache-2.0
"""Is every early end of a command reported in one line with the right exit code?"""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path

import click
import pytest
from thalweg import cli
from thalweg.commands.output import json_option, print_table, write_json
from thalweg.errors import CheckFailed, FabricStopped, InputError
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.tables import ClusterTable


@click.command()
@click.option("--fail", type=click.Choice(["input", "check", "fabric", "interrupt", "pipe", "missing"]))
@click.option("--count", type=int)
@json_option
def command(fail: str | None, count: int | None, json_file: Path | None) -> None:
    match fail:
        case "input":
            raise InputError("'clok' is not a key; did you mean 'clock'?\nsecond \x1b[31mline", Path("my.toml"), 3)
        case "check":
            raise CheckFailed("a cycle")
        case "fabric":
            raise FabricStopped("nobody moves")
        case "interrupt":
            raise KeyboardInterrupt
        case "pipe":
            raise BrokenPipeError
        case "missing":
            Path("/nonexistent/file").read_text()
    write_json(json_file, {"count": count})


@pytest.fixture(params=["bench", "run"])
def name(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    chosen: str = request.param
    monkeypatch.setattr(cli.LazyGroup, "list_commands", lambda *_: [chosen])
    monkeypatch.setattr(cli.LazyGroup, "get_command", lambda _, ctx, wanted: command if wanted == chosen else None)
    return chosen


@pytest.mark.parametrize(
    "arguments, code, run_code",
    [
        (["--fail", "input"], 2, 125),
        (["--fail", "check"], 1, 1),
        (["--fail", "fabric"], 3, 124),
        (["--fail", "missing"], 2, 125),
        (["--fail", "nothing"], 2, 125),
        (["--count", "three"], 2, 125),
        (["--cuont", "3"], 2, 125),
        (["--json", "/nonexistent/x.json"], 2, 125),
        (["--json", "/"], 2, 125),
        (["surplus"], 2, 125),
    ],
)
def test_an_error_is_one_line(
    name: str, arguments: list[str], code: int, run_code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([name, *arguments]) == (run_code if name == "run" else code)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("thalweg: ") and err.endswith("\n") and err.count("\n") == 1
    assert "\x1b" not in err


def test_an_input_error_names_file_and_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main([name, "--fail", "input"])
    assert capsys.readouterr().err.startswith("thalweg: my.toml:3: 'clok' is not a key; did you mean 'clock'? second")


@pytest.mark.parametrize("how, code", [("interrupt", 130)])
def test_interrupted_is_quiet(name: str, how: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([name, "--fail", how]) == code
    assert capsys.readouterr() == ("", "")


def test_no_reader_is_quiet() -> None:
    shell = f"{sys.executable} -m thalweg --help | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", f"for i in 1 2 3; do {shell}; done"], capture_output=True, text=True, check=False
    )
    assert done.stderr == "" and done.returncode in (0, 141)


@pytest.mark.parametrize("closed", [">&-", "<&- >&-", "<&- >&- 2>&-"])
def test_closed_streams_are_empty_ones(closed: str, tmp_path: Path) -> None:
    """Nothing is printed, and no newly opened file receives the output."""
    file = tmp_path / "list.json"
    shell = f"{sys.executable} -m thalweg cluster list --json {file} {closed}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert file.read_text().startswith(("[", "{"))


def test_a_full_disk_is_one_line() -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m thalweg cluster list > /dev/full"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, "thalweg: No space left on device\n")


def test_an_unknown_command_names_the_nearest(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([name[:-1] + "z"]) == 2
    assert f"Did you mean '{name}'" in capsys.readouterr().err


@pytest.mark.parametrize("group", [[], ["bench"], ["cluster"], ["rtl"], ["smi"]])
def test_a_list_of_commands_is_not_cut(group: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*group, "--help"]) == 0
    assert not [line for line in capsys.readouterr().out.splitlines()[1:] if line.endswith("...")]


def test_without_arguments_it_helps(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    assert "Usage: thalweg" in capsys.readouterr().out


def test_json_is_written_whole(name: str, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    assert cli.main([name, "--count", "3", "--json", str(file)]) == 0
    result = json.loads(file.read_text())
    assert result.pop("thalweg")["command"] == ["thalweg", name, "--count", "3", "--json", str(file)]
    assert result == {"count": 3}
    assert list(tmp_path.iterdir()) == [file]


def test_json_says_where_it_comes_from(tmp_path: Path) -> None:
    """The measurement can be repeated from the seeds and the clusters that it names, without a cluster file."""
    cluster, file = tmp_path / "my.toml", tmp_path / "rows.json"
    cluster.write_text('[topology]\nshape = "ring"\nsize = [4]\n[link]\nlatency_ns = 40\n[faults]\nseed = 9\n')
    words = ["bench", "allreduce", "--cluster", str(cluster), "--sizes", "8", "--seed", "7", "--reproducible"]
    words += ["--placement", "random:5", "--faults", "bit_error_rate=1e-6", "--json", str(file)]
    assert cli.main(words) == 0
    result = json.loads(file.read_text())
    about = result["thalweg"]
    assert about["command"] == ["thalweg", *words]
    assert about["seeds"] == {"data": 7, "placement": 5, "faults": 9}
    assert about["version"] in (None, importlib.metadata.version("thalweg"))
    (described,) = about["clusters"]
    loaded = Cluster.load(cluster, "bit_error_rate=1e-6").by_rank()
    assert ClusterTable.model_validate(described["values"]) == loaded.values
    assert (described["nodes"], described["link_latency_cycles"], described["engine"]) == (4, 10, "sim")
    assert [row["bytes"] for row in result["rows"]] == [8]


def test_json_on_stdout_stands_alone(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert cli.main(["bench", "allreduce", "--cluster", "ring:4", "--sizes", "8", "--json", "-"]) == 0
    out, err = capfdbinary.readouterr()
    (row,) = json.loads(out)["rows"]
    assert row["bytes"] == 8
    assert b"bytes" in err


def test_only_one_file_is_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bench", "allreduce", "--cluster", "ring:4", "--sizes", "8", "--trace", "-", "--json", "-"]
    assert cli.main(words) == 2
    assert "--trace is written to stdout already; give a file" in capsys.readouterr().err


@pytest.mark.slow
def test_json_of_a_run_says_where_it_comes_from(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text("#include <mpi.h>\nint main() { MPI_Init(0, 0); return MPI_Finalize(); }\n")
    mpicc = Path(sys.executable).with_name("mpicc")
    subprocess.run([mpicc, "-o", tmp_path / "p", tmp_path / "p.c"], check=True)
    file = tmp_path / "r.json"
    words = [
        "run",
        "-n",
        "2",
        "--skew",
        "uniform:1:8",
        "--placement",
        "random:3",
        "--json",
        str(file),
        str(tmp_path / "p"),
    ]
    with pytest.raises(SystemExit, match="^0$"):
        cli.main(words)
    result = json.loads(file.read_text())
    assert result["thalweg"]["command"] == ["thalweg", *words]
    assert result["thalweg"]["seeds"] == {"placement": 3, "skew": 8}
    assert result["thalweg"]["clusters"][0]["name"] == result["cluster"] == "mpi-fpga-torus-2x2x2"


def test_a_table_is_aligned_and_plain(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["name", "hops"], [["[a]", 3], ["longer" * 30, 1234]], left=["name"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and lines[1].startswith("[a] ") and len(set(map(len, lines))) == 1
