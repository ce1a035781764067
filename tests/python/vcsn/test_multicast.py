# SPDX-License-Identifier: Apache-2.0
"""Circuits from one end to several: each gets every frame once, over any switches, and no other end gets one."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import thalweg
from thalweg._core import NEVER
from thalweg.errors import InputError
from thalweg.resources import resource
from thalweg.systems.vcsn._sim import VirtualPort
from thalweg.systems.vcsn.cluster import Cluster

TREE = """
[topology]
shape = "fattree"
size = [16]
radix = 4
levels = 3
planes = 2
plane_switches = true
node = "fpga"
switch = "switch"
link = "cable"
"""


@pytest.fixture
def fat_tree(tmp_path: Path) -> Cluster:
    """16 FPGAs on two fat trees of three levels, whose switches are connected in loops."""
    file = tmp_path / "tree.toml"
    file.write_text((resource("clusters") / "vcsn-64.toml").read_text().partition("[topology]")[0] + TREE)
    return Cluster.load(str(file))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("tree", [False, True])
def test_members_get_all_once_and_others_nothing(tree: bool, seed: int, fat_tree: Cluster) -> None:
    draw = random.Random(seed)
    network = (fat_tree if tree else Cluster.load("vcsn-d5005")).network()
    nodes = draw.sample(range(16), 12)
    handle, expected = 0, {}
    for port, source, members in ((0, nodes[0], nodes[1:6]), (1, nodes[6], nodes[7:12])):
        virtual = draw.randrange(2)
        network.multicast(
            VirtualPort(source, port, 1 - virtual), [VirtualPort(node, port, virtual) for node in members]
        )
        network.connect(source, network.place(source, port, 1 - virtual), 0)
        for _ in range(3):
            data = draw.randbytes(draw.choice([64, 9_152, 30_000]))
            handle += 1
            network.store(source, handle << 20, data)
            network.read(source, 0, [(handle << 20, len(data))])
            for node in members:
                network.connect(node, 0, network.place(node, port, virtual))
                network.write(1000 * handle + node, node, 0, [(handle << 20, len(data))])
                expected[1000 * handle + node] = node, handle << 20, data
    done: set[int] = set()
    while completions := network.advance(NEVER):
        done |= {one.handle for one in completions}
    assert done == expected.keys() and network.lost == [], seed
    assert all(network.load(node, at, len(data)) == data for node, at, data in expected.values())
    for node in nodes:
        for port in (0, 1):
            received = network.received(node, port)
            assert received["strays"] == 0, (seed, node)


def test_one_that_has_joined_another_circuit_gets_nothing() -> None:
    network = Cluster.load("vcsn-d5005").network()
    network.multicast(VirtualPort(0, 0, 0), [VirtualPort(node, 0, 0) for node in (1, 2)])
    network.set_circuit(VirtualPort(2, 0, 0), VirtualPort(3, 0, 0))
    network.connect(0, network.place(0, 0, 0), 0)
    network.read(0, 0, [(0, 64)])
    network.write(1, 1, 0, [(0, 64)])
    network.connect(1, 0, network.place(1, 0, 0))
    assert [one.handle for one in network.advance(NEVER)] == [1]
    assert network.received(2, 0)["strays"] == 1 and network.received(2, 0)["taken"] == 0


def test_a_row_of_several_ends_is_closed_by_a_rewiring() -> None:
    network = Cluster.load("vcsn-d5005").network()
    network.multicast(VirtualPort(0, 0, 0), [VirtualPort(1, 0, 0)])
    assert network.circuit(VirtualPort(0, 0, 0)) is None and network.circuit(VirtualPort(1, 0, 0)) == VirtualPort(
        0, 0, 0
    )
    assert {at for at, _ in network.rewire({}).rows} == {VirtualPort(0, 0, 0), VirtualPort(1, 0, 0)}


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ([VirtualPort(99, 0, 0)], "node 99 is not an FPGA"),
        ([], "at least one member, and at most one per external port"),
        ([VirtualPort(1, 0, 0), VirtualPort(1, 0, 1)], "at most one per external port"),
        ([VirtualPort(1, 0, 0), VirtualPort(2, 0, 1)], "the same virtual port"),
        ([VirtualPort(1, 1, 0)], "no multicast frames go from port 0 of node 0 to port 1 of node 1"),
        ([VirtualPort(0, 0, 1)], "no multicast frames go from port 0 of node 0 to port 0 of node 0"),
    ],
)
def test_what_cannot_be_is_refused(members: list[VirtualPort], said: str) -> None:
    network = Cluster.load("vcsn-d5005").network()
    with pytest.raises(InputError, match=said):
        network.multicast(VirtualPort(0, 0, 0), members)


def test_partitions_hold() -> None:
    network = Cluster.load("vcsn-d5005").network()
    network.partition("one", [0, 1])
    with pytest.raises(InputError, match="a circuit connects virtual ports of one partition"):
        network.multicast(VirtualPort(0, 0, 0), [VirtualPort(1, 0, 0), VirtualPort(2, 0, 0)])


def test_allgather_by_broadcast_is_right(seed: int = 1) -> None:
    draw = random.Random(seed)
    for _ in range(4):
        nodes = draw.randint(2, 16)
        (row,) = thalweg.measure(
            "allgather", "vcsn-d5005", by="broadcast", nodes=nodes, sizes=str(draw.choice([1, 64, 20_000]))
        )
        assert row["verified"] and row["lost"] == 0, (seed, nodes)


def test_an_allgather_of_64_by_broadcast() -> None:
    """More blocks than an engine holds segments are stored consecutively."""
    (row,) = thalweg.measure("allgather", "vcsn-64", by="broadcast", sizes="63")
    assert row["verified"] and row["lost"] == 0


def test_a_bank_that_is_too_small_for_a_gather_is_refused() -> None:
    cluster = Cluster.load("vcsn-d5005").replace(node={"fpga": {"bank_bytes": 4_096}})
    with pytest.raises(InputError, match="^allgather of 9153 bytes puts [0-9]+ bytes into a bank; it has 4096$"):
        thalweg.measure("allgather", cluster, by="broadcast", sizes="9153")
