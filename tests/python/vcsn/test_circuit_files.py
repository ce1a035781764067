# SPDX-License-Identifier: Apache-2.0
"""Circuit files: the circuits they open, errors of wrong ones, and their appearance in a drawing."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import networkx as nx
import pytest
import thalweg
from thalweg.cli import main
from thalweg.errors import InputError
from thalweg.vcsn import Circuits, Cluster, VirtualPort

PRESET = "vcsn-d5005"
USERS = Path(__file__).parents[3] / "examples/vcsn/users.toml"


def test_a_file_opens_its_partitions_and_circuits() -> None:
    cluster = Cluster.load(PRESET)
    network = cluster.network()
    Circuits.load(USERS, cluster).open(network)
    assert {name: part.nodes for name, part in network.partitions.items()} == {
        "waves": list(range(8)),
        "search": list(range(8, 13)),
        "pair": [13, 14],
    }
    pair = network.partitions["pair"].circuits
    assert (
        pair[VirtualPort(13, 1, 0)] == VirtualPort(14, 1, 1)
        and pair[VirtualPort(14, 0, 0)] == VirtualPort(13, 0, 0)
        and len(pair) == 4
    )
    tree = nx.Graph([(at.node, to.node) for at, to in network.partitions["search"].circuits.items()])
    assert nx.is_tree(tree) and sorted(tree) == list(range(8, 13))
    with pytest.raises(ValueError, match="is in waves, virtual port 0.1 of node 15 is in no partition"):
        network.set_circuit(VirtualPort(0, 0, 0), VirtualPort(15, 0, 1))


def test_what_a_file_opens_carries_transfers() -> None:
    """All rows of a server's two boards are written first, at most eight, whereas a single transfer writes the two of
    its circuit."""
    (own,) = thalweg.measure("transfer", PRESET, source=13, destination=14, sizes="1M")
    (row,) = thalweg.measure("transfer", PRESET, source=13, destination=14, sizes="1M", circuits=str(USERS))
    assert row["verified"] and row["data_us"] == pytest.approx(own["data_us"], rel=0.01)
    assert row["time_us"] > own["time_us"]
    with pytest.raises(
        InputError, match="no circuit connects node 0 and node 9; node 0 is in waves, node 9 is in search"
    ):
        thalweg.measure("transfer", PRESET, source=0, destination=9, circuits=str(USERS))
    rows = thalweg.measure("rewire", PRESET, circuits=str(USERS))
    assert [row["rows"] for row in rows] == [44, 44] and all(row["verified"] for row in rows)
    rows = thalweg.measure("rewire", PRESET, to="ring", circuits=str(USERS), by="registers")
    assert [row["to"] for row in rows] == ["ring", "users.toml"] and all(row["verified"] for row in rows)
    with pytest.raises(InputError, match="nodes is 4, of the topologies of `to`, and there are none"):
        thalweg.measure("rewire", PRESET, circuits=str(USERS), nodes=4)
    with pytest.raises(InputError, match=r"port is 1; the circuit of .* is from virtual port 0.0 of node 13 to"):
        thalweg.measure("transfer", PRESET, source=13, destination=14, port=1, circuits=str(USERS))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[partition.a]\nnodes = [0, 1]\nshape = 'ring'\nsise = [2]\n",
            "4: 'sise' is not a key in [partition.a]; did you mean 'size'?",
        ),
        ("[partition.a]\nshape = 'ring'\n", "1: 'nodes' is missing in [partition.a]"),
        ("description = 'x'\n", "'partition' is missing"),
        ("[partition.a]\nnodes = [true]\nshape = 'ring'\n", "2: partition.a.nodes[0] is true; it should be a valid"),
        ("[partition.'a\\u0007']\nnodes = [0, 1]\nshape = 'ring'\n".replace("'", '"'), "1: partition.a"),
        ("[partition.a]\nnodes = [0, 1]\n", "1: partition a has no circuits; give one of shape, edges, circuits"),
        (
            "[partition.a]\nnodes = [0, 1]\nshape = 'ring'\nedges = []\n",
            "1: partition a has shape and edges; give one of",
        ),
        ("[partition.a]\nnodes = [0, 1]\nshape = 'cube'\n", '3: partition.a.shape is "cube"'),
        ("[partition.a]\nnodes = [0, 1]\nsize = [2]\nedges = [[0, 1]]\n", "3: size is for a shape only"),
        (
            "[partition.a]\nnodes = ['0-3']\nshape = 'torus'\nsize = [2, 3]\n",
            "3: a torus of 2x3 has 6 nodes; there are 4",
        ),
        (
            "[partition.a]\nnodes = [\n 0,\n 16]\nshape = 'ring'\n",
            "4: node 16 is not an FPGA; the FPGAs of vcsn-d5005 are 0 to 15",
        ),
        (
            "[partition.a]\nnodes = ['3-1']\nshape = 'ring'\n",
            "2: nodes has '3-1'; an entry must be a number or \"FIRST-LAST\"",
        ),
        (
            "[partition.a]\nnodes = [0, 1]\nshape = 'ring'\n[partition.b]\nnodes = ['1-2']\nshape = 'ring'\n",
            "5: node 1 is already in partition a",
        ),
        (
            "[partition.a]\nnodes = [0, 1]\nedges = [[0, 2]]\n",
            "3: a circuit connects virtual ports of one partition: virtual port 0.0 of node 0 is in a",
        ),
        (
            "[partition.a]\nnodes = [0, 1]\nedges = [[0, 1], [0, 1], [0, 1], [0, 1], [0, 1]]\n",
            "3: edges: node 0 has 5 circuits; it has 4 virtual ports",
        ),
        (
            "[partition.a]\nnodes = [0, 1, 2]\ncircuits = [\n ['0.0.0', '1.0.0'],\n ['2.0.0', '1.0.0']]\n",
            "5: virtual port 0.0 of node 1 is in two circuits",
        ),
        ("[partition.a]\nnodes = [0, 1]\ncircuits = [['0.0.0', '1.1.0']]\n", "3: no Ethernet leads from"),
        (
            "[partition.a]\nnodes = [0, 1]\ncircuits = [['0.0.7', '1.0.0']]\n",
            "3: virtual port 0.7 of node 0 does not exist",
        ),
        ("[partition.a]\nnodes = [0, 1]\ncircuits = [['0.0', '1.0.0']]\n", '3: partition.a.circuits[0][0] is "0.0"'),
        ("[partition.a\n", "is not TOML"),
    ],
)
def test_wrong_files_are_refused(text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "c.toml"
    file.write_text(text)
    assert main(["cluster", "draw", PRESET, "--circuits", str(file), "-o", str(tmp_path / "x.svg")]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and said in err
    assert str(file) in err and not (tmp_path / "x.svg").exists()


@pytest.mark.parametrize("cluster", ["dcn-d5005", "smi-noctua", "torus:4x4"])
def test_clusters_without_circuits_have_no_circuit_files(cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "draw", cluster, "--circuits", str(USERS)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "circuits" in err


def test_the_drawing_shows_partitions_and_circuits(tmp_path: Path) -> None:
    """Each FPGA of a partition has a halo, each circuit a line with its ends' names, and the legend names both; boxes
    do not overlap."""
    file = tmp_path / "d.svg"
    assert main(["cluster", "draw", PRESET, "--circuits", str(USERS), "-o", str(file)]) == 0
    root = ElementTree.parse(file).getroot()
    space = "{http://www.w3.org/2000/svg}"
    assert sum(each.get("class") == "halo" for each in root.iter(f"{space}rect")) == 8 + 5 + 2
    over = [path for path in root.iter(f"{space}path") if path.get("class", "").startswith("over")]
    assert len(over) == 16 + 4 + 2
    titles = [title.text for path in over for title in path]
    assert "virtual port 1.0 of node 13 - virtual port 1.1 of node 14" in titles
    text = " ".join(element.text or "" for element in root.iter(f"{space}text"))
    assert "partition waves: 8 nodes, 16 circuits" in text and "partition pair: 2 nodes, 2 circuits" in text
    boxes = [e for e in root.iter(f"{space}rect") if e.get("class") == "node" and e.get("height") == "36"]
    places = [(float(e.get("x", 0)), float(e.get("y", 0))) for e in boxes]
    assert len(places) == 26
    for index, (x, y) in enumerate(places):
        assert x > 0 and y > 40
        assert all(abs(x - a) >= 54 or abs(y - b) >= 36 for a, b in places[:index])


def test_a_drawing_is_an_svg(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "draw", PRESET, "-o", str(tmp_path / "x.txt")]) == 2
    assert "drawings are SVG; give a file that ends in .svg" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_schema_is_of_circuit_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "schema", "vcsn", "--circuits"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["properties"]) == {"description", "partition"} and found["additionalProperties"] is False
    assert main(["cluster", "schema", "smi", "--circuits"]) == 2
    assert "clusters of smi have no circuits" in capsys.readouterr().err
