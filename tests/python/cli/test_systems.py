# SPDX-License-Identifier: Apache-2.0
"""Is a system in a folder of its own included without any change? And does the cluster determine which system's command
is used?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from programs import installed

SYSTEM = """
from thalweg.systems import Loaded, System

SYSTEM = System(
    name="toy-ring",
    about="a ring that echoes",
    package=__name__,
    node_kinds=frozenset({"toy"}),
    operations={
        "echo": Loaded("commands:TABLE", "What was said."),
        "allreduce": Loaded("commands:TABLE", "All toys' numbers."),
    },
    commands={"rtl cosim": Loaded("commands:cosim", "Toys against toys.")},
)
"""
COMMANDS = """
import click

def _command(name):
    @click.command(name)
    @click.option("--cluster", required=True)
    def command(cluster):
        click.echo(f"toy {name} on {cluster}")
    return command

TABLE = {name: _command(name) for name in ("echo", "allreduce")}
cosim = _command("cosim")
"""


@pytest.fixture(scope="session")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("systems")
    (folder / "toy_ring").mkdir()
    (folder / "toy_ring/__init__.py").write_text(SYSTEM)
    (folder / "toy_ring/commands.py").write_text(COMMANDS)
    (folder / "toys.toml").write_text('[node.hub]\nkind = "toy"\n')
    return folder


def thalweg(toys: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = installed(toys, "toy-ring", "toy_ring:SYSTEM")
    command = [sys.executable, "-m", "thalweg", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=toys, env=environment, check=False)


def test_its_operation_is_among_all(toys: Path) -> None:
    listed = thalweg(toys, "bench", "--help").stdout
    assert [line.split()[1:] for line in listed.splitlines() if line.split()[:1] == ["echo"]] == [
        ["What", "was", "said."]
    ]
    assert [line.split()[0] for line in listed.splitlines() if "allreduce" in line.split()[:1]] == ["allreduce"]
    assert thalweg(toys, "bench", "echo", "--cluster", "toys.toml").stdout == "toy echo on toys.toml\n"


@pytest.mark.parametrize("words", [["--cluster", "toys.toml"], ["--cluster=toys.toml"]])
def test_where_two_have_an_operation_the_cluster_says_whose(toys: Path, words: list[str]) -> None:
    assert thalweg(toys, "bench", "allreduce", *words).stdout == "toy allreduce on toys.toml\n"
    ours = thalweg(toys, "bench", "allreduce", "--cluster", "ring:3", "--sizes", "8")
    assert ours.stdout.startswith("allreduce of 3 ranks on ring:3"), ours.stderr


def test_help_says_who_else_has_an_operation(toys: Path) -> None:
    said = " ".join(thalweg(toys, "bench", "allreduce", "--help").stdout.split())
    assert said.endswith("This is the help for mpi-fpga. For accl and toy-ring: give one of its clusters, then --help.")
    theirs = thalweg(toys, "bench", "allreduce", "--cluster", "toys.toml", "--help").stdout
    assert "mpi-fpga" not in theirs and "--cluster" in theirs


def test_what_a_system_does_not_have_is_said(toys: Path) -> None:
    wrong = thalweg(toys, "bench", "gather", "--cluster", "toys.toml")
    assert (wrong.returncode, wrong.stderr) == (2, "thalweg: toy-ring has no gather; it has echo, allreduce\n")
    wrong = thalweg(toys, "bench", "echo", "--cluster", "ring:3")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("thalweg: mpi-fpga has no echo; it has barrier, broadcast")
    wrong = thalweg(toys, "run", "--cluster", "toys.toml", "--", "true")
    assert (wrong.returncode, wrong.stderr) == (125, "thalweg: toy-ring has no run; it has rtl cosim\n")


def test_a_misspelt_cluster_is_not_a_system_that_lacks_the_command(toys: Path) -> None:
    wrong = thalweg(toys, "bench", "echo", "--cluster", "smi-noctuo")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("thalweg: 'smi-noctuo' is neither a preset") and "'smi-noctua'" in wrong.stderr


def test_its_cosim_is_that_of_its_clusters(toys: Path) -> None:
    assert thalweg(toys, "rtl", "cosim", "--cluster", "toys.toml").stdout == "toy cosim on toys.toml\n"


@pytest.mark.parametrize(
    ("target", "says"),
    [
        (
            "toy_ring:SISTEM",
            "system toy-ring (toy_ring:SISTEM) cannot be loaded: module 'toy_ring' has no attribute 'SISTEM'",
        ),
        ("toy_rung:SYSTEM", "system toy-ring (toy_rung:SYSTEM) cannot be loaded: No module named 'toy_rung'"),
        ("toy_ring:Loaded", "system toy-ring (toy_ring:Loaded) is not a thalweg.systems.System"),
    ],
)
def test_a_system_that_can_not_be_loaded_is_a_line(toys: Path, target: str, says: str) -> None:
    command = [sys.executable, "-m", "thalweg", "cluster", "list"]
    wrong = subprocess.run(
        command, capture_output=True, text=True, env=installed(toys, "toy-ring", target), check=False
    )
    assert (wrong.returncode, wrong.stderr) == (2, f"thalweg: {says}\n")
