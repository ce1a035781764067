# SPDX-License-Identifier: Apache-2.0
"""Does a command refuse, before it works, to overwrite a file that it reads?"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from thalweg.cli import main
from thalweg.resources import resource

CLUSTERS = {
    "vcsn": "vcsn-d5005",
    "mpi": "mpi-fpga-torus-2x2x2",
    "smi": "smi-noctua",
    "hub": "peach2",
    "eth": "ethernet-16",
}
COMMANDS = [
    ("bench transfer --cluster {vcsn} --json {vcsn}", "--cluster"),
    ("bench transfer --trace {vcsn} --cluster={vcsn}", "--trace"),
    ("bench gather --cluster {vcsn} --pcap {vcsn}", "--cluster"),
    ("bench overload --plot {vcsn} --cluster {vcsn}", "--plot"),
    ("bench rewire --cluster vcsn-d5005 --circuits {file} --report {file}", "--circuits"),
    ("bench allreduce --cluster {mpi} --json {mpi}", "--cluster"),
    ("bench jobs --cluster {mpi} --share sub-channels:1:3 --json {mpi}", "--cluster"),
    ("bench put --cluster {hub} --report {hub}", "--cluster"),
    ("bench push --cluster {smi} --plot {smi}", "--cluster"),
    ("bench flows --cluster {eth} --pcap {eth}", "--cluster"),
    ("bench transfer --cluster {above} --json {vcsn}", "--cluster"),
    ("cluster show {vcsn} --json {vcsn}", "--json"),
    ("cluster check {vcsn} --json {vcsn}", "--json"),
    ("cluster draw -o {vcsn} {vcsn}", "-o"),
    ("cluster draw {drawn}", "CLUSTER"),
    ("cluster header {vcsn} -o {vcsn}", "-o"),
    ("route {mpi} --json {mpi}", "--json"),
    ("route mpi-fpga-torus-2x2x2 --table {file} --json {file}", "--table"),
    ("route {hub} --json {hub}", "--json"),
    ("route {smi} --json {smi}", "--json"),
    ("route smi-noctua --metadata {file} --json {file}", "--metadata"),
    ("run --cluster {mpi} --json {mpi} -- true", "--cluster"),
    ("run --trace {file} -- {file} {vcsn}", "--trace"),
    ("run --tuning {file} --json {file} -- true", "--tuning"),
    ("run --operators {file} --json {file} -- true", "--operators"),
    ("jobs --cluster {mpi} --share sub-channels:1:3 --json {file} -- true : {file}", "--json"),
    ("tune --cluster {mpi} -o {mpi}", "--cluster"),
    ("rtl cosim --cluster {mpi} --json {mpi}", "--cluster"),
    ("rtl cosim --cluster {vcsn} --json {vcsn}", "--cluster"),
    ("attach --cluster {vcsn} --node 0 --tap lo --to 1.0.0 --receive {vcsn}", "--cluster"),
    ("smi run --cluster {smi} --json {smi} {file}", "--cluster"),
    ("smi run --cluster smi-noctua {file} --trace {file}", "--trace"),
    ("smi run --cluster smi-noctua --host {file} --json {file}", "--host"),
    ("smi run --cluster smi-noctua --metadata {file} --json {file}", "--metadata"),
    ("smi extract {file} -o {file}", "-o"),
]


@pytest.mark.parametrize(("command", "of"), COMMANDS)
def test_an_input_is_never_overwritten(
    command: str, of: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {}
    for name, preset in CLUSTERS.items():
        files[name] = tmp_path / f"{name}.toml"
        files[name].write_text(f'base = "{resource("clusters") / preset}.toml"\n')
    files |= {"above": tmp_path / "above.toml", "file": tmp_path / "x.txt", "drawn": tmp_path / "drawn.svg"}
    files["above"].write_text('base = "vcsn.toml"\n')
    files["file"].write_text("x")
    files["drawn"].write_text(files["vcsn"].read_text())
    before = {file: file.read_text() for file in files.values()}
    monkeypatch.chdir(tmp_path)
    refused = main(shlex.split(command.format(**files)))
    err = capsys.readouterr().err
    assert refused == (125 if command.startswith(("run", "jobs")) else 2), err
    assert f"is also the file of {of}" in err and "would be overwritten" in err and err.count("\n") == 1, err
    assert {file: file.read_text() for file in files.values()} == before


def test_a_table_of_routes_is_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["route", "mpi-fpga-torus-2x2x2", "--out", str(tmp_path)]) == 0
    (table := tmp_path / "routes.csv").write_bytes(
        text := (tmp_path / "routes.csv").read_bytes().replace(b"\n", b"\r\n")
    )
    capsys.readouterr()
    assert main(["route", "mpi-fpga-torus-2x2x2", "--table", str(table), "--out", str(tmp_path)]) == 2
    assert "would be overwritten" in capsys.readouterr().err and table.read_bytes() == text
