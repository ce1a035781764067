# SPDX-License-Identifier: Apache-2.0
"""Does `thalweg route` write tables that it can read back, print the proof, and reject bad tables in one line?"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from thalweg.cli import main
from thalweg.route import table as route_table
from thalweg.systems.mpi_fpga.cluster import Cluster

SQUARE = (
    '[topology]\nshape = "edges"\nedges = [[0, 1], [1, 2], [2, 3], [3, 0], [0, 4], [4, 5], [5, 1], [5, 6], [6, 2]]\n'
)


@pytest.fixture
def square(tmp_path: Path) -> str:
    file = tmp_path / "square.toml"
    file.write_text(SQUARE)
    return str(file)


def test_check_prints_the_proof(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["route", "torus:8x8", "--check", "--json", str(tmp_path / "proof.json")]) == 0
    out = capsys.readouterr().out
    for line in (
        "routes         dimension-order, 64 nodes, 128 links",
        "reached        4032 of 4032 pairs, without loops",
        "buffers        1024, links x 2 directions x virtual channels",
    ):
        assert line in out.splitlines()
    proof = json.loads((tmp_path / "proof.json").read_text())
    assert f"dependencies   {proof['dependencies']} between buffers, 0 cycles" in out
    assert proof["cluster"] == "torus:8x8" and proof["longest_path"] == 8 and proof["cycles"] == 0
    assert proof["average_path"] == pytest.approx(4 * 64 / 63)
    # Each node sends 1, half of it over the wraparound half of a ring: k/8 on each link, over the 63 others instead of
    # 64.
    assert proof["uniform_load"] == pytest.approx(8 / 8 * 64 / 63)


def test_without_check_it_is_short(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["route", "ring:5"]) == 0
    out = capsys.readouterr().out
    assert "dependencies" not in out and out.splitlines()[-1].startswith("proved")


@pytest.mark.parametrize("cluster", ["torus:3x4", "mesh:2x2x2", "star:6", "dual-ring:4", "SQUARE"])
def test_a_written_table_is_read_back(cluster: str, square: str, tmp_path: Path) -> None:
    name = square if cluster == "SQUARE" else cluster
    out = tmp_path / "new" / "folder"
    assert main(["route", name, "--out", str(out)]) == 0
    found = Cluster.load(name)
    routes = route_table.read(out / "routes.csv", found.topology, found.max_classes)
    others = ~np.eye(found.topology.nodes, dtype=bool)
    for written, read in ((found.tables.port, routes.port), (found.tables.route_class, routes.route_class)):
        assert (written[others] == read[others]).all()
    assert (found.tables.layer[others] == routes.layer[others]).all()
    assert main(["route", name, "--check", "--table", str(out / "routes.csv")]) == 0
    links = [tuple(map(int, line.split(","))) for line in (out / "links.csv").read_text().splitlines()[1:]]
    assert links == [tuple(row) for row in found.topology.links.tolist()]
    proof = json.loads((out / "proof.json").read_text())
    assert proof == {"cluster": name, **found.proof().as_dict()}


def test_layers_are_in_the_table(square: str, tmp_path: Path) -> None:
    assert main(["route", "ring:9", "--routing", "dfsssp", "--out", str(tmp_path)]) == 0
    rows = [line.split(",") for line in (tmp_path / "routes.csv").read_text().splitlines()[1:]]
    assert {row[3] for row in rows} == {"keep"} and {row[4] for row in rows} == {"0", "1"}


def test_a_table_with_a_cycle_is_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = ["node,destination,port,class,layer"]
    table += [f"{node},{to},0,0,0" for node in range(4) for to in range(4) if to != node]
    file = tmp_path / "cycle.csv"
    file.write_text("\n".join(table))
    assert main(["route", "ring:4", "--check", "--table", str(file)]) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert "a wait-for cycle of 4 buffers" in err
    for node in range(4):
        assert f"node {node} port 0 to node {(node + 1) % 4} vc 0" in err


@pytest.mark.parametrize(
    "change, what",
    [
        (
            ("0,2,0,0,0", "0,2,1,0,0"),
            "node 2 cannot be reached from node 0: packets loop: node 0, node 3, node 0",
        ),
        (("0,2,0,0,0\n", ""), "node 2 cannot be reached from node 0: node 0 has no route to it"),
    ],
)
def test_a_table_that_does_not_reach_is_rejected(
    change: tuple[str, str], what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{node},{to},0,0,0" for node in range(4) for to in range(4) if to != node]
    text = "node,destination,port,class,layer\n" + "\n".join(rows) + "\n"
    file = tmp_path / "lost.csv"
    file.write_text(text.replace(*change))
    assert main(["route", "ring:4", "--table", str(file)]) == 1
    assert capsys.readouterr().err == f"thalweg: {what}\n"


def test_a_port_without_a_link_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "end.csv"
    file.write_text("node,destination,port,class,layer\n0,1,1,0,0\n1,0,1,0,0\n")
    assert main(["route", "line:2", "--table", str(file)]) == 1
    assert "node 0 sends to port 1, which has no link" in capsys.readouterr().err


HEAD = "node,destination,port,class,layer\n"


@pytest.mark.parametrize(
    "text, line, what",
    [
        ("", 1, "the first line should be node,destination,port,class,layer"),
        ("node,port\n", 1, "the first line should be"),
        (HEAD + "0,1,0,0\n", 2, "this one has 4"),
        (HEAD + "0,1,0,0,0\n\n0,2,x,0,0\n", 4, "port is 'x'; it should be a number from 0 to 1"),
        (HEAD + "0,4,0,0,0\n", 2, "destination is '4'; it should be a number from 0 to 3"),
        (HEAD + "0,1,2,0,0\n", 2, "port is '2'"),
        (HEAD + "0,1,0,2,0\n", 2, "class is '2'; it should be a number from 0 to 1 or keep"),
        (HEAD + "0,1,0,0,2\n", 2, "layer is '2'"),
        (HEAD + "0,1,0,0,0\n0,1,1,0,0\n", 3, "node 0 already has a route to node 1, in line 2"),
        (HEAD + "2,2,0,0,0\n", 2, "node 2 must not have a route to itself"),
        (HEAD + "0,1,0,0,-1\n", 2, "layer is '-1'"),
        (HEAD + "0,1,1111111111111111111111,0,0\n", 2, "port is '1111"),
    ],
)
def test_a_malformed_table_is_named_with_its_line(
    text: str, line: int, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(text)
    assert main(["route", "ring:4", "--check", "--table", str(file)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"thalweg: {file}:{line}: ") and what in err and err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments, what",
    [
        (["star:4", "--routing", "dimension-order"], "a star has no dimensions; give it dfsssp or up-down"),
        (["ring:4", "--routing", "shortest"], "'shortest' is not one of 'dimension-order', 'up-down', 'dfsssp'"),
        (["ring:4", "--table", "x.csv", "--routing", "dfsssp"], "are exclusive"),
        (["ring:4", "--table", "/nonexistent.csv"], "cannot be read"),
        (["ring:4", "--out", "/proc/x"], "cannot be a directory"),
        (
            ["torus:8x8x8", "--routing", "dfsssp"],
            "dfsssp needs more than 2 layers; give the router more virtual channels",
        ),
        ([], "Missing argument 'CLUSTER'"),
    ],
)
def test_bad_arguments(arguments: list[str], what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["route", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert what in err and err.startswith("thalweg: ") and err.count("\n") == 1
