# SPDX-License-Identifier: Apache-2.0
"""Clusters of kinds: files that name them, errors of wrong ones, the description for the simulator, and the drawing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

import pytest
import thalweg
from pydantic import Field
from thalweg.cluster import draw
from thalweg.cluster.kinds import Assembled, LinkTable, NodeTable
from thalweg.errors import InputError


class Hub(NodeTable):
    kind: Literal["hub"]
    clock: str = Field(description="of its router")
    host_clock: str = Field(description="of its host's side")
    buffer_words: int = Field(16, ge=1, le=1024, description="words of each input")
    PORTS: ClassVar[Mapping[str, str]] = {"E": "PCIe root", "W": "PCIe endpoint", "S": "PCIe side"}


class Leaf(NodeTable):
    kind: Literal["leaf"]
    clock: str = Field(description="of all of it")
    PORTS: ClassVar[Mapping[str, str]] = {"up": "PCIe side"}


class Cable(LinkTable):
    kind: Literal["cable"]
    latency_ns: float = Field(ge=0, description="from end to end")

    def refuses(self, one: str, other: str) -> bool:
        return {one, other} not in ({"PCIe root", "PCIe endpoint"}, {"PCIe side"})


class Strange(Cable):
    kind: Literal["strange"]


class Cluster(Assembled):
    system = "test"
    NODES = {"hub": Hub, "leaf": Leaf}
    LINKS = {"cable": Cable, "strange": Strange}


class Wide(NodeTable):
    kind: Literal["wide"]
    clock: str = Field(description="of all of it")
    PORTS: ClassVar[Mapping[str, str]] = dict.fromkeys("ABC", "PCIe side")


class Mixed(Assembled):
    system = "test"
    NODES = {"hub": Hub, "leaf": Leaf, "wide": Wide}
    LINKS = Cluster.LINKS


FILE = """description = "two rings"
[clock.net]
frequency_mhz = 250
[clock.host]
frequency_mhz = 322.265625
phase_ns = 1.5
[node.hub]
kind = "hub"
clock = "net"
host_clock = "host"
[link.ring]
kind = "cable"
latency_ns = 20
[link.side]
kind = "cable"
latency_ns = 300
[topology]
shape = "ring"
size = [4]
node = "hub"
link = "ring"
join = [{ link = "side", ends = ["0.S", "2.S"] }]
"""


def load(folder: Path, text: str) -> Assembled:
    file = folder / "c.toml"
    file.write_text(text)
    return Cluster.load_file(file)


def test_a_file_is_put_together_as_it_says(tmp_path: Path) -> None:
    cluster = load(tmp_path, FILE)
    assert cluster.topology.links.tolist() == [[0, 0, 1, 1], [1, 0, 2, 1], [2, 0, 3, 1], [3, 0, 0, 1], [0, 2, 2, 2]]
    assert cluster.topology.diameter == 2
    assert cluster.topology.average_distance == pytest.approx(
        (4 * (1 + 1) + 2 * 1 + 2 * 2) / 12
    )  # 1 and 3 alone are 2 apart
    assert cluster.kinds == ["hub"] * 4
    assert cluster.link_kinds == ["ring"] * 4 + ["side"]
    assembly = cluster.assembly
    assert assembly["ticks_per_second"] == 165 * 250_000_000
    assert assembly["clocks"] == [
        {"name": "net", "period": 165, "phase": 0},
        {"name": "host", "period": 128, "phase": 62},
    ]
    assert assembly["nodes"][3] == {
        "kind": "hub",
        "of": "node 3 (hub)",
        "values": {"clock": "net", "host_clock": "host", "buffer_words": 16},
    }
    assert assembly["links"][4] == {
        "kind": "cable",
        "of": "link 4 (side)",
        "values": {"latency_ns": 300.0},
        "ends": [0, 2, 2, 2],
    }
    assert cluster.checked()[0] == "2 clocks in ticks of 41.25 GHz"


@pytest.mark.parametrize(
    ("net", "host", "ticks", "periods"),
    [
        ("274", "322.265625", 274 * 20625 * 10**6, (20625, 17536)),
        ("256", "322.265625", 256 * 20625 * 10**6, (20625, 16384)),
        ("322.265625", "161.1328125", 322_265_625, (1, 2)),
        ("333.3333333333333", "250", 10**9, (3, 4)),
        ("0.3333333333333333", "0.001", 10**6, (3, 1000)),
    ],
)
def test_ticks_are_exact(tmp_path: Path, net: str, host: str, ticks: int, periods: tuple[int, int]) -> None:
    """Also for frequencies that are no whole number of Hz: 161.1328125 MHz is half of 322.265625, 333.33... a third of
    a GHz."""
    text = FILE.replace("mhz = 322.265625", f"mhz = {host}").replace("mhz = 250", f"mhz = {net}", 1)
    assembly = load(tmp_path, text).assembly
    assert assembly["ticks_per_second"] == ticks
    assert tuple(clock["period"] for clock in assembly["clocks"]) == periods


WRONG = {
    'kind = "hub"': {
        'kind = "huhb"': (8, "node.hub.kind 'huhb' is unknown; did you mean 'hub'?"),
        "": (7, "'kind' is missing in [node.hub]; the kinds are hub, leaf"),
        'kind = "leaf"': (10, "'host_clock' is not a key in [node.hub]; did you mean 'clock'?"),
    },
    'host_clock = "host"': {
        'host_clock = "hots"': (10, "node.hub.host_clock is 'hots', which is not defined; the clocks are net, host"),
        'host_clok = "host"': (10, "'host_clok' is not a key in [node.hub]; did you mean 'host_clock'? (and 1 more)"),
        'host_clock = "host"\nbuffer_words = 0': (
            11,
            "node.hub.buffer_words is 0; it should be greater than or equal to 1 (words of each input)",
        ),
    },
    "latency_ns = 20\n": {"": (11, "'latency_ns' is missing in [link.ring]: from end to end")},
    "frequency_mhz = 250": {
        "frequency_mhz = -1": (
            3,
            "clock.net.frequency_mhz is -1; it should be greater than or equal to 0.001 (edges a microsecond)",
        )
    },
    "frequency_mhz = 322.265625": {
        "frequency_mhz = 322.265627": (
            2,
            "the common tick of the clocks has 80566.4 THz, of which 64 bits do not hold an hour",
        ),
    },
    "[clock.net]\nfrequency_mhz = 250": {"[clock]\nnet = 250": (3, "clock.net is 250; it should be a table (a table)")},
    'node = "hub"': {'node = "hup"': (20, "topology.node is 'hup', which is not defined; the nodes are hub")},
    'link = "ring"\n': {
        'link = "rung"\n': (21, "topology.link is 'rung', which is not defined; the links are ring, side")
    },
    'link = "side", ends': {
        'link = "aside", ends': (22, "topology.join.0 is 'aside', which is not defined; the links are ring, side")
    },
    '"0.S", "2.S"': {
        '"0.N", "2.S"': (22, "node 0 (hub) has no port 'N'; it has E, W, S"),
        '"0.S", "4.S"': (22, "topology.join.0 names node 4; the last one is 3"),
        '"0.S", "2.E"': (22, "port E of node 2 has two links, ring and side"),
        '"0.S", "0.S"': (22, "port S of node 0 has two links, side and side"),
        '"0.S"': (22, 'topology.join[0].ends is ["0.S"]; it should have at least 2 items'),
    },
    'shape = "ring"\nsize = [4]': {
        'shape = "torus"\nsize = [2, 2]': (20, "a torus takes 4 ports of each node; hub has 3 (E, W, S)"),
    },
}


@pytest.mark.parametrize(("right", "wrong"), [(right, wrong) for right, wrongs in WRONG.items() for wrong in wrongs])
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, right: str, wrong: str) -> None:
    assert right in FILE
    line, message = WRONG[right][wrong]
    with pytest.raises(InputError) as error:
        load(tmp_path, FILE.replace(right, wrong))
    assert str(error.value).startswith(f"{tmp_path}/c.toml:{line}: {message}")


def test_a_link_refuses_unlike_ports(tmp_path: Path) -> None:
    star = re.sub(r"shape = .*\nsize = .*\n", 'shape = "line"\nsize = [3]\n', FILE)
    with pytest.raises(
        InputError, match=r"link side \(cable\) cannot connect PCIe root of node 2 to PCIe side of node 0"
    ):
        load(tmp_path, star.replace('"0.S", "2.S"', '"2.E", "0.S"'))


def test_switches_may_be_of_a_kind_of_their_own(tmp_path: Path) -> None:
    text = FILE.replace('shape = "ring"\nsize = [4]', 'shape = "fattree"\nsize = [2]\nradix = 3\noversubscription = 2')
    text = re.sub(r"join = .*\n", 'switch = "hub"\n', text).replace('node = "hub"', 'node = "leaf"')
    text += '[node.leaf]\nkind = "leaf"\nclock = "host"\n'
    with pytest.raises(
        InputError, match=r"link ring \(cable\) cannot connect PCIe side of node 0 to PCIe root of node 2"
    ):
        load(tmp_path, text)


def test_the_drawing_shows_kinds(tmp_path: Path) -> None:
    drawn = draw.svg(load(tmp_path, FILE))
    assert "link ring: ports 0" in drawn
    assert "link side, additional" in drawn
    assert drawn.count('class="link"') == 5 + 2
    assert "node hub: hub, ports E (PCIe root), W (PCIe endpoint), S (PCIe side)" in drawn


def test_nodes_of_several_kinds_are_told_apart(tmp_path: Path) -> None:
    text = FILE.replace('shape = "ring"\nsize = [4]', 'shape = "fattree"\nsize = [2]\nradix = 3\noversubscription = 2')
    text = re.sub(r"join = .*\n", 'switch = "wide"\n', text).replace('node = "hub"', 'node = "leaf"')
    text += '[node.leaf]\nkind = "leaf"\nclock = "host"\n[node.wide]\nkind = "wide"\nclock = "net"\n'
    file = tmp_path / "c.toml"
    file.write_text(text)
    drawn = draw.svg(Mixed.load_file(file))
    assert [drawn.count(f'style="fill:{fill}"') for fill in draw.FILLS[:3]] == [2 + 1, 1 + 1, 0]
    assert ">node leaf</text>" in drawn
    assert ">node wide</text>" in drawn


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ('kind = "smy"', "2: node.board.kind 'smy' is unknown; did you mean 'smi'?"),
        ('kind = "gpu"', "2: node.board.kind 'gpu' is unknown; the kinds are "),
        ("kind = [1]", "2: node.board.kind [1] is unknown; the kinds are "),
        ("links = 4", "1: 'kind' is missing in [node.board]; the kinds are "),
    ],
)
def test_a_kind_of_no_system_is_said(tmp_path: Path, kind: str, says: str) -> None:
    file = tmp_path / "c.toml"
    file.write_text(f"[node.board]\n{kind}\n")
    with pytest.raises(InputError) as wrong:
        thalweg.load(file)
    assert str(wrong.value).startswith(f"{file}:{says}")
