# SPDX-License-Identifier: Apache-2.0
"""Are SMI's cluster files and its own topology files loaded correctly, and are errors in them named?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import thalweg
from thalweg.cli import main
from thalweg.cluster import load
from thalweg.cluster.file import presets
from thalweg.errors import InputError
from thalweg.resources import resource
from thalweg.systems.smi.cluster import Cluster

TORUS = Path(__file__).with_name("torus-2x4.json")
PAIR: dict[str, Any] = {"fpgas": {"b:acl0": "two", "a:acl1": "one"}, "connections": {"b:acl0:ch3": "a:acl1:ch1"}}


def published(what: str) -> float:
    import tomllib

    numbers = tomllib.loads(resource("reproduce/smi/published.toml").read_text())["number"]
    return float(next(number["value"] for number in numbers if number["id"] == what))


@pytest.mark.parametrize("name", presets("smi"))
def test_presets_are_proved(name: str) -> None:
    cluster = load(name)
    assert cluster.checked()[0] == "routes proved"
    assert cluster.about.startswith("SMI: ")


def test_the_preset_is_the_paper_s() -> None:
    cluster = Cluster.load("smi-noctua")
    assert (cluster.topology.nodes, cluster.topology.diameter, cluster.node.links) == (8, 3, published("smi.links"))
    assert (cluster.node.packet_bytes, cluster.node.reads) == (published("smi.packet"), published("smi.reads"))
    assert cluster.link.gbit_s == published("smi.link") and cluster.payload_gbit == 35
    # 18 cycles of a hop are not the link's.
    assert cluster.link.latency_ns == pytest.approx(published("smi.latency.1") * 1e3 - 18e3 / cluster.mhz, abs=0.1)
    assert cluster.node.link_buffer > cluster.round_trip_packets
    bus = Cluster.load("smi-noctua-bus")
    assert (bus.topology.nodes, bus.topology.diameter, bus.node) == (8, 7, cluster.node)


def test_the_simulator_gets_all_values() -> None:
    made = Cluster.load("smi-noctua-bus").assembly
    assert made["ticks_per_second"] == 259_600_000 and [clock["period"] for clock in made["clocks"]] == [1]
    assert [link["ends"] for link in made["links"]] == [[rank, 0, rank + 1, 1] for rank in range(7)]
    assert made["links"][0]["values"] == {"latency_ns": 731.7, "gbit_s": 40.0}
    assert made["nodes"][7]["values"] == {
        "clock": "kernel",
        "links": 4,
        "packet_bytes": 32,
        "reads": 8,
        "depth": 16,
        "link_buffer": 512,
        "latency": 8,
        "tile": 32,
        "children": 15,
        "protocol": "eager",
        "switching": "packet",
        "circuit_packets": 0,
        "arity": 0,
        "any_order": False,
        "banks": 4,
        "bank_gb": 19.2,
        "bank_ns": 102.0,
        "dram_burst_bytes": 64,
        "dram_row_bytes": 8192,
        "dram_groups": 4,
        "dram_banks": 4,
        "dram_trcd_ns": 14.16,
        "dram_trp_ns": 14.16,
        "dram_tras_ns": 32.0,
        "dram_trtp_ns": 7.5,
        "dram_twr_ns": 15.0,
        "dram_tcl_ns": 14.16,
        "dram_tcwl_ns": 10.0,
        "dram_twtr_ns": 2.5,
        "dram_trtw_ns": 1.67,
        "dram_tccd_l_ns": 5.0,
        "dram_trrd_ns": 3.33,
        "dram_tfaw_ns": 21.0,
        "dram_trefi_ns": 7800.0,
        "dram_trfc_ns": 350.0,
        "dram_starvation": 10,
    }


def test_a_topology_file_is_a_cluster_of_noctua_s_boards() -> None:
    cluster = Cluster.load(str(TORUS))
    assert cluster.fpgas is not None and cluster.fpgas.programs == ("app",) * 8
    assert cluster.node == Cluster.load("smi-noctua").node
    # Rank 0, node-1:acl0: channel 2 to the other device, 3 from it, 1 to the next host, 0 to the previous one.
    assert {tuple(ends) for ends in cluster.topology.links.tolist() if ends[0] == 0 or ends[2] == 0} == {
        (0, 2, 1, 3),
        (0, 3, 1, 2),
        (0, 1, 2, 0),
        (6, 1, 0, 0),
    }
    assert cluster.assembly["links"][0]["ends"] == cluster.topology.links[0].tolist()


def test_a_cluster_file_can_name_a_topology_file(tmp_path: Path) -> None:
    (tmp_path / "pair.json").write_text(json.dumps(PAIR))
    noctua = resource("clusters/smi-noctua.toml").read_text().split("[topology]")[0].replace("reads = 8", "reads = 4")
    file = tmp_path / "pair.toml"
    file.write_text(noctua + '[topology]\nconnections = "pair.json"\nnode = "board"\nlink = "qsfp"\n')
    cluster = Cluster.load(str(file))
    assert cluster.node.reads == 4
    assert cluster.fpgas is not None and cluster.fpgas.names == ("a:acl1", "b:acl0")
    assert cluster.topology.links.tolist() == [[1, 3, 0, 1]]
    above = tmp_path / "above.toml"
    above.write_text('base = "pair.toml"\n[node.board]\nreads = 2\n')
    assert Cluster.load(str(above)).topology.links.tolist() == [[1, 3, 0, 1]]
    file.write_text(noctua + '[topology]\nconnections = "none.json"\nnode = "board"\nlink = "qsfp"\n')
    with pytest.raises(InputError, match=r"pair.toml:\d+: connections is 'none.json', but there is no such file"):
        Cluster.load(str(file))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ('{"fpgas":', r"torus.json:1: is not JSON: "),
        ("[]", "'fpgas' is missing"),
        ({"fpgas": {"a:0": 1, "b:0": "p"}}, "'fpgas' is missing or not an object of strings"),
        ({"connections": {}}, "there is no path from a:acl1 to b:acl0"),
        ({"fpgas": {"a": "p", "b:acl0": "p"}}, "'a' is not an FPGA"),
        ({"fpgas": {"b:acl0": "p"}}, "1 FPGAs; the number must be 2 to 256"),
        ({"connections": {"b:acl0:ch3": "a:acl1"}}, "'a:acl1' is not a channel"),
        ({"connections": {"b:acl0:ch3": "c:acl1:ch0"}}, "c:acl1 is not among the fpgas"),
        ({"connections": {"b:acl0:ch4": "a:acl1:ch0"}}, "channels are ch0 to ch3"),
        ({"connections": {"b:acl0:ch0": "b:acl0:ch1"}}, "belong to the same FPGA"),
        (
            {"connections": {"b:acl0:ch0": "a:acl1:ch1", "a:acl1:ch1": "b:acl0:ch2"}},
            "a:acl1:ch1 is connected twice, in b:acl0:ch0 and in a:acl1:ch1",
        ),
        ('{"fpgas": {"a:0": "p", "a:0": "p"}, "connections": {}}', "'a:0' occurs twice"),
    ],
)
def test_wrong_topology_files_are_named(change: str | dict[str, Any], what: str, tmp_path: Path) -> None:
    file = tmp_path / "torus.json"
    file.write_text(change if isinstance(change, str) else json.dumps(PAIR | change))
    with pytest.raises(InputError, match=what):
        Cluster.load(str(file))


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('shape = "torus"', 'shape = "star"', "a star takes 7 ports of each node; board has 5"),
        ("links = 4 ", "links = 3 ", "the topology uses ports up to L3, but a node has 3 links"),
        ("packet_bytes = 32 ", "packet_bytes = 30 ", "packet_bytes is 30; it must be a multiple of 8"),
        ("reads = 8 ", "reads = 0 ", "node.board.reads is 0"),
        ('protocol = "eager"', 'protocol = "lazy"', "node.board.protocol is"),
        ("banks = 4\n", "banks = 4\ndram_groups = 3\n", "dram_groups is 3; it must be a power of two"),
        (
            "banks = 4\n",
            "banks = 4\ndram_row_bytes = 64\ndram_burst_bytes = 128\n",
            "it must be at least dram_burst_bytes, 128",
        ),
        (
            "banks = 4\n",
            "banks = 4\ndram_trefi_ns = 300\n",
            "it must exceed the time of a refresh with tRP and tRCD, 378.32 ns",
        ),
        ("size = [2, 4]", "size = [16, 32]", "512 nodes; the maximum is 256, as a rank is a byte"),
    ],
)
def test_wrong_cluster_files_are_named(old: str, new: str, what: str, tmp_path: Path) -> None:
    text = resource("clusters/smi-noctua.toml").read_text()
    assert old in text
    text = text.replace(old, new)
    if "star" in new:
        text = text.replace("size = [2, 4]", "size = [8]")
    file = tmp_path / "cluster.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=what):
        Cluster.load(str(file))


# ---------------------------------------------------------------- thalweg route


def test_route_prints_what_longer_paths_cost(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["route", str(TORUS), "--check", "--json", str(tmp_path / "proof.json")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "average path   1.714 links; by shortest paths 1.714, +0.0%" in lines
    assert "reached        56 of 56 pairs, from every send kernel, without loops" in lines
    assert lines[-1].startswith("proved ")
    assert json.loads((tmp_path / "proof.json").read_text())["longer_pairs"] == 0
    ring = tmp_path / "ring.toml"
    ring.write_text(resource("clusters/smi-noctua-bus.toml").read_text().replace('"line"', '"ring"'))
    (tmp_path / "smi-noctua.toml").write_text(resource("clusters/smi-noctua.toml").read_text())
    assert main(["route", str(ring)]) == 0
    # 16/7, with one turn unused in each direction: one pair takes 4 links more, and two take 2, 16 in all over 56 pairs.
    assert "average path   2.571 links; by shortest paths 2.286, +12.5%" in capsys.readouterr().out


def test_route_writes_the_tables_that_host_code_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    programs = {
        "one": {"operations": [{"type": "push", "port": 0}, {"type": "push", "port": 3}]},
        "two": {"operations": [{"type": "pop", "port": 3, "data_type": "double"}, {"type": "pop", "port": 0}]},
    }
    (tmp_path / "pair.json").write_text(json.dumps(PAIR))
    metadata = []
    for name, program in programs.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(program))
        metadata += ["--metadata", str(tmp_path / f"{name}.json")]
    assert main(["route", str(tmp_path / "pair.json"), *metadata, "--out", str(tmp_path / "out")]) == 0
    out = tmp_path / "out"
    assert len(list(out.glob("ck[sr]-rank*-channel*"))) == 16
    assert (out / "ranks").read_text() == "0 a:acl1\n1 b:acl0\n"
    # From a:acl1 to b:acl0 by channel 1, which is output 0 of its own kernel, 2 of kernel 0, and 3 of kernels 2 and 3.
    assert [(out / f"cks-rank0-channel{link}").read_bytes()[:2] for link in range(4)] == [
        bytes([1, 2]),
        bytes([1, 0]),
        bytes([1, 3]),
        bytes([1, 3]),
    ]
    # Program two has port 0 at kernel 0, and port 3 at kernel 1: data for it are output 4 there and 1 at kernel 0.
    tables = [(out / f"ckr-rank1-channel{link}").read_bytes() for link in range(4)]
    assert [(len(table), table[0], table[1], table[6]) for table in tables] == [
        (512, 4, 0, 1),
        (512, 1, 0, 4),
        (512, 1, 0, 2),
        (512, 1, 0, 2),
    ]
    # Program one receives credits alone.
    table = (out / "ckr-rank0-channel1").read_bytes()
    assert (table[0], table[1], table[6], table[7]) == (0, 1, 0, 5)


def test_a_program_without_metadata_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pair.json").write_text(json.dumps(PAIR))
    (tmp_path / "one.json").write_text('{"operations": []}')
    assert main(["route", str(tmp_path / "pair.json"), "--metadata", str(tmp_path / "one.json")]) == 2
    assert "program 'two' has no metadata; known are one" in capsys.readouterr().err
    (tmp_path / "one.json").write_text('{"operations": [{"type": "push", "port": 300}]}')
    assert main(["route", str(tmp_path / "pair.json"), "--metadata", str(tmp_path / "one.json")]) == 2
    assert "one.json: operations[0].port: input should be less than or equal to 255" in capsys.readouterr().err


def test_routes_in_python_are_those_of_the_command() -> None:
    found = thalweg.routes(str(TORUS))
    assert found.proof.longer_pairs == 0
    with pytest.raises(InputError, match="route has no option 'routing'; it has metadata"):
        thalweg.routes(str(TORUS), routing="up-down")


def test_show_check_and_draw(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "show", str(TORUS)]) == 0
    assert "35 Gb/s" in capsys.readouterr().out
    assert main(["cluster", "check", str(TORUS)]) == 0
    assert "routes proved" in capsys.readouterr().out
    assert main(["cluster", "draw", str(TORUS), "-o", str(tmp_path / "torus.svg")]) == 0
    assert (tmp_path / "torus.svg").read_text().count('class="link"') >= 16
