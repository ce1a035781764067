# SPDX-License-Identifier: Apache-2.0
"""Clusters of several systems' nodes and of external hosts: loaded, shown, drawn, and each system's part checked by the
system."""

from __future__ import annotations

from pathlib import Path

import pytest
import thalweg
from thalweg.cli import main
from thalweg.cluster import draw, load_file
from thalweg.cluster.mixed import Cluster
from thalweg.errors import InputError

FILE = Path(__file__).with_name("two-systems.toml")


def changed(folder: Path, *pairs: tuple[str, str]) -> Path:
    text = FILE.read_text()
    for right, wrong in pairs:
        assert right in text
        text = text.replace(right, wrong)
    file = folder / "c.toml"
    file.write_text(text)
    return file


def test_two_systems_nodes_and_a_host_are_one_cluster() -> None:
    cluster = load_file(FILE)
    assert isinstance(cluster, Cluster)
    assert cluster.kinds == ["hub"] * 4 + ["board"] * 3 + ["server"]
    assert cluster.link_kinds == ["ring"] * 4 + ["qsfp"] * 3 + ["slot"] * 2
    # Ports by their numbers: E, W, S, N of a hub; L0 to L3 and host of a board; slot0, slot1, nic of the server.
    assert cluster.topology.links[4:].tolist() == [
        [4, 0, 5, 1],
        [5, 0, 6, 1],
        [6, 0, 4, 1],
        [7, 0, 0, 3],
        [7, 1, 4, 4],
    ]
    assert cluster.topology.distances[2, 5] == 2 + 2 + 1  # along the ring, through the server, along the boards
    hubs, boards = cluster.parts["peach2"].topology, cluster.parts["smi"].topology
    assert (hubs.shape, hubs.size, hubs.links.tolist()) == (
        "ring",
        (4,),
        [[0, 0, 1, 1], [1, 0, 2, 1], [2, 0, 3, 1], [3, 0, 0, 1]],
    )
    assert (boards.shape, boards.links.tolist()) == ("edges", [[0, 0, 1, 1], [1, 0, 2, 1], [2, 0, 0, 1]])


def test_it_is_shown_checked_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "check", str(FILE)]) == 0
    clocks = "3 clocks in ticks of 486.75 GHz"  # 250, 150, 259.6 MHz: 5, 3, 649 / 125 times 50 MHz
    assert capsys.readouterr().out == (
        f"{FILE}: valid; ring 4 and 4 further nodes, {clocks}; 4 nodes of peach2, routes proved; 3 nodes of smi, routes proved\n"
    )
    assert main(["cluster", "show", str(FILE)]) == 0
    assert "slot0 PCIe, slot1 PCIe, nic Ethernet" in capsys.readouterr().out
    assert main(["cluster", "draw", str(FILE), "-o", str(tmp_path / "c.svg")]) == 0
    drawn = (tmp_path / "c.svg").read_text()
    assert [drawn.count(f'style="fill:{fill}"') for fill in draw.FILLS[:4]] == [4 + 1, 3 + 1, 1 + 1, 0]
    assert drawn.count('class="id"') == 8
    assert "node server: host, ports slot0 (PCIe), slot1 (PCIe), nic (Ethernet)" in drawn


@pytest.mark.parametrize("command", [["bench", "put"], ["bench", "push"], ["bench", "allreduce"], ["rtl", "cosim"]])
def test_an_operation_says_that_it_takes_one_system(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--cluster", str(FILE)]) == 2
    name = command[1] if command[0] == "bench" else "rtl cosim"
    what = (
        "needs a cluster of one system; this one has nodes of peach2 and smi, and can only be shown, drawn and checked"
    )
    assert capsys.readouterr().err == f"thalweg: {name} {what}\n"


def test_python_says_the_same() -> None:
    with pytest.raises(InputError, match="operations needs a cluster of one system; this one has nodes of peach2 and"):
        thalweg.operations(FILE)
    with pytest.raises(InputError, match="put needs a cluster of one system; this one has nodes of peach2 and smi"):
        thalweg.measure("put", FILE)


def test_its_values_may_vary() -> None:
    far = thalweg.load(FILE).replace(link={"qsfp": {"latency_ns": 1000}}, node={"board": {"banks": 2}})
    assert far.name == f"{FILE} with link.qsfp.latency_ns = 1000 and node.board.banks = 2"
    with pytest.raises(InputError, match="did you mean 'latency_ns'"):
        far.replace(link={"slot": {"latncy_ns": 1}})
    spare = {"kind": "wire", "latency_ns": 140, "gbit_s": 32}
    with pytest.raises(InputError, match=r"link.spare is not used in .*; it has qsfp, ring, slot$"):
        far.replace(link={"spare": spare})
    with pytest.raises(InputError, match=r"clock.slow is not used in .*; it has bus, kernel, net$"):
        far.replace(clock={"slow": {"frequency_mhz": 100}})
    joined = [{"link": "spare", "ends": ["7.slot0", "0.N"]}, {"link": "qsfp", "ends": ["4.L0", "5.L1"]}]
    joined += [{"link": "qsfp", "ends": ["5.L0", "6.L1"]}, {"link": "slot", "ends": ["7.slot1", "4.host"]}]
    assert "spare" in far.replace(link={"spare": spare}, topology={"join": joined}).link_kinds


def test_one_systems_nodes_may_have_hosts(tmp_path: Path) -> None:
    file = changed(tmp_path, ('"4-6" = "board", "7"', '"4"'))
    file.write_text(
        file.read_text().partition("join = [")[0] + 'join = [{ link = "slot", ends = ["4.slot0", "0.N"] }]\n'
    )
    cluster = load_file(file)
    assert isinstance(cluster, Cluster)
    assert list(cluster.parts) == ["peach2"]
    with pytest.raises(
        InputError, match="put needs a cluster of one system; this one has nodes of peach2 and no system"
    ):
        thalweg.measure("put", file)


NODES = '{ "4-6" = "board", "7" = "server" }'


@pytest.mark.parametrize(
    ("right", "wrong", "line", "says"),
    [
        ('kind = "smi"', 'kind = "smy"', 30, "node.board.kind 'smy' is unknown; did you mean 'smi'?"),
        ('kind = "serial"', 'kind = "serail"', 44, "link.qsfp.kind 'serail' is unknown; did you mean 'serial'?"),
        ('kind = "host"', 'kind = "hosts"', 37, "node.server.kind 'hosts' is unknown; did you mean 'host'?"),
        ('nic = "Ethernet"', 'nic = ""', 38, 'node.server.ports.nic is ""; it should have at least 1 character'),
        ("slot0 =", "slot0.x =", 38, "node.server.ports.slot0 is "),
        ("bank_gb = 19.2\n", "", 29, "'bank_gb' is missing in [node.board]: GB/s per memory bank"),
        (NODES, '{ "4-5" = "board", "7" = "server" }', 57, "topology.nodes has node 7 but no node 6; added nodes are "),
        (NODES, '{ "4-7" = "board", "7" = "server" }', 57, "topology.nodes has node 7 twice, as board and server"),
        (NODES, '{ "6-4" = "board", "7" = "server" }', 57, "topology.nodes has '6-4'; a key is a node number or "),
        (NODES, '{ "4-6" = "bord", "7" = "server" }', 57, "topology.nodes.4-6 is 'bord', which is not defined; the nodes are hub, board, "),
        (NODES, '{ "4-5000" = "board" }', 57, "topology.nodes has node 4096; the maximum number of nodes is 4096"),
        (NODES, '{ "2" = "board", "4-6" = "board", "7" = "server" }', 57, "link ring (pcie) cannot connect end point of node 1"),
        (NODES, '{ "4-7" = "server" }', 59, "node 4 (server) has no port 'L0'; it has slot0, slot1, nic"),
        ('["7.slot1", "4.host"]', '["7.nic", "4.host"]', 63, "link slot (wire) cannot connect Ethernet of node 7 to PCIe "),
        ('  { link = "slot", ends = ["7.slot1", "4.host"] },\n', "", 57, "no link leads to node 4 (board)"),
        ("link_buffer = 512", "link_buffer = 512\nlinks = 1", 33, "the topology uses ports up to L1, "),
        ("memory_commands = 8", "memory_commands = 8\nrecords = 3", 28, "records is 3; it must be a power of two from 2 to 8"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, right: str, wrong: str, line: int, says: str) -> None:
    file = changed(tmp_path, (right, wrong))
    with pytest.raises(InputError) as error:
        load_file(file)
    assert str(error.value).startswith(f"{file}:{line}: {says}")
