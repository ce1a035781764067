# SPDX-License-Identifier: Apache-2.0
"""Do clusters have the values of their sources, and does a bad file give one line with place and reason?"""

from __future__ import annotations

import json
import random
import re
import sys
import time
import xml.etree.ElementTree as ElementTree
from fractions import Fraction
from pathlib import Path

import networkx
import pytest
from thalweg import _core
from thalweg.cli import main
from thalweg.cluster import draw, topology
from thalweg.cluster.file import presets
from thalweg.errors import InputError
from thalweg.systems.mpi_fpga import _sim
from thalweg.systems.mpi_fpga import tables as cluster_file
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.limits import ROUTER_CHANNELS, ROUTER_PORTS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[3]
TORUS = '[topology]\nshape = "torus"\nsize = [4, 4]\n'


def load(tmp_path: Path, text: str) -> Cluster:
    file = tmp_path / "my.toml"
    file.write_text(text)
    return Cluster.load(file)


# ---- presets and shapes in place


@pytest.mark.parametrize(
    "size, nodes, least", [("2x2x2", 8, 24672), ("4x4x2", 32, 31712), ("4x4x4", 64, 35232), ("4x4x8", 128, 38752)]
)
def test_presets_have_the_papers_values(size: str, nodes: int, least: int) -> None:
    """440 ns at 250 MHz are 110 cycles; 48 KB over 4 virtual channels of 32-byte flits are 384 flits of each; the
    margin is the flits of 2 x 110 cycles plus one; Equation 2 with m = 221, d = log2 nodes, q = 2: (m + (d + 2) 110) 32
    bytes."""
    cluster = Cluster.load(f"mpi-fpga-torus-{size}")
    assert cluster.topology.nodes == nodes
    assert len(cluster.topology.links) == 3 * nodes and cluster.topology.link_ports == 6
    assert cluster.cycles_per_second == 250_000_000
    assert cluster.link_latency == 110
    assert cluster.link_rate == 1  # 95.9 Gb/s are more than a port's 64
    assert cluster.buffer_flits == 384
    assert cluster.values.router.margin_flits == cluster.least_margin == 221
    assert cluster.least_port_buffer == least < 48 * 1024
    assert cluster.collective_ports == 6
    assert cluster.values.collective.contexts == 32 and cluster.values.collective.aggregation_units == 6


def test_every_value_of_a_preset_has_its_source_beside_it() -> None:
    for file in [ROOT / "clusters/base/mpi-fpga.toml", ROOT / "clusters/mpi-fpga-torus-4x4x4.toml"]:
        values = [line for line in file.read_text().splitlines() if "=" in line and not line.startswith("#")]
        bare = [line for line in values if "#" not in line]
        assert all(line.startswith(("description", "base", "size")) for line in bare), bare


@pytest.mark.parametrize(
    "name, nodes, links, ports",
    [
        ("line:5", 5, 4, 2),
        ("ring:9", 9, 9, 2),
        ("mesh:4x4", 16, 24, 4),
        ("torus:8x8", 64, 128, 4),
        ("torus:2x2x2", 8, 24, 6),
        ("star:8", 8, 7, 7),
        ("dual-torus:4x4", 16, 64, 8),
        ("dual-ring:5", 5, 10, 4),
        ("fattree:8", 9, 8, 8),
        ("fattree:32", 32 + 6 + 2, 32 + 12, 8),  # six hosts per leaf, two spines
        (
            "fattree:64",
            64 + 11 + 3 * 2 + 2 * 4,
            64 + 22 + 6 * 4,
            8,
        ),  # 11 leaves, in threes of four below 2 switches, 8 spines
    ],
)
def test_shapes_in_place_have_plain_values(name: str, nodes: int, links: int, ports: int) -> None:
    cluster = Cluster.load(name)
    assert (cluster.topology.nodes, len(cluster.topology.links), cluster.topology.link_ports) == (nodes, links, ports)
    assert cluster.link_latency == 1 and cluster.link_rate == 1
    assert cluster.values.router.virtual_channels == 4 and cluster.buffer_flits == 8
    assert cluster.values.router.flow == "credits"
    assert cluster.cycles_per_second == 250_000_000


@pytest.mark.parametrize("name", [*presets("mpi-fpga"), "torus:4x4", "mesh:3x3", "star:6", "dual-torus:4x4", "line:2"])
@pytest.mark.parametrize("collectives", [True, False])
def test_the_simulator_gets_the_clusters_values(name: str, collectives: bool) -> None:
    cluster = Cluster.load(name)
    config = cluster.fabric_config(collectives)
    topology, routes = cluster.topology, cluster.tables
    assert config.nodes == topology.nodes and config.ticks_per_second == cluster.cycles_per_second
    ends = [(link.node_a, link.port_a, link.node_b, link.port_b) for link in config.links]
    assert ends == [tuple(row) for row in topology.links.tolist()]
    assert {link.latency for link in config.links} == {cluster.link_latency}
    assert config.router.link_ports == topology.link_ports
    masks = config.router.vc_mask
    assert len(masks) == 2 and {len(row) for row in masks} == {routes.classes}
    if collectives:
        assert config.router.local_ports == 1 + cluster.collective_ports > 1
        assert sorted(sum(masks, [])) == [1 << vc for vc in range(2 * routes.classes)]  # one channel each: in order
    else:
        assert config.router.local_ports == 1
        assert masks[0] == masks[1] and sum(masks[0]) == (1 << cluster.values.router.virtual_channels) - 1
    flow = _core.FlowControl.margin if cluster.values.router.flow == "margin" else _core.FlowControl.credits
    assert config.router.flow == flow
    assert config.host.pcie_latency == 65  # 260 ns
    assert config.host.pcie_bytes_per_tick == pytest.approx(103.9 / 8 * 4)  # 4 ns per cycle
    assert config.host.message_overhead == 375
    assert config.collective.lane_latency == 14


def test_ports_and_channels_are_the_routers() -> None:
    def limit(file: str, name: str) -> int:
        (value,) = re.findall(rf"constexpr unsigned {name} = (\d+);", (ROOT / file).read_text())
        return int(value)

    assert limit("sim/switch/vc_router.hpp", "kMaxPorts") == ROUTER_PORTS
    assert limit("sim/link/buffer.hpp", "kMaxChannels") == ROUTER_CHANNELS


def test_too_many_ports_are_said() -> None:
    with pytest.raises(
        InputError, match="31 link ports and 2 local ones; a router of 4 virtual channels has at most 32"
    ):
        Cluster.load("star:32").fabric_config()
    Cluster.load("star:32").fabric_config(collectives=False)


@pytest.mark.parametrize(
    "rate, latency, flits, cycles",
    [(64, 4, Fraction(1), 1), (40, 5, Fraction(5, 8), 2), (35, 4.1, Fraction(35, 64), 2), (16, 0, Fraction(1, 4), 1)],
)
def test_links_in_cycles(tmp_path: Path, rate: float, latency: float, flits: Fraction, cycles: int) -> None:
    cluster = load(tmp_path, TORUS + f"[link]\nrate_gbps = {rate}\nlatency_ns = {latency}\n")
    assert cluster.link_rate == flits
    assert cluster.link_latency == cycles


@pytest.mark.parametrize("rate", [0.1, 0.3, 7.77, 63.99, 12.3456789])
@pytest.mark.parametrize("clock", [1, 250, 10_000])
def test_a_link_never_takes_more_than_its_rate(tmp_path: Path, rate: float, clock: float) -> None:
    cluster = load(tmp_path, TORUS + f"[link]\nrate_gbps = {rate}\n[clock]\nfrequency_mhz = {clock}\n")
    wanted = min(1.0, rate / (0.256 * clock))
    assert wanted * 0.5 < cluster.link_rate <= wanted * (1 + 1e-9)


def test_edges_have_ports_in_their_order(tmp_path: Path) -> None:
    cluster = load(tmp_path, '[topology]\nshape = "edges"\nedges = [[0, 1], [1, 2], [2, 0], [0, 1]]\n')
    assert cluster.topology.links.tolist() == [[0, 0, 1, 0], [1, 1, 2, 0], [2, 1, 0, 1], [0, 2, 1, 2]]
    assert cluster.routes.algorithm == "dfsssp"


def test_routing_is_the_files(tmp_path: Path) -> None:
    assert load(tmp_path, 'routing = "up-down"\n' + TORUS).routes.algorithm == "up-down"
    assert load(tmp_path, TORUS).routes.algorithm == "dimension-order"


def test_a_file_lies_over_its_base(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text("[link]\nlatency_ns = 100\nrate_gbps = 32\n")
    cluster = load(tmp_path, 'base = "base.toml"\n' + TORUS + "[link]\nrate_gbps = 16\n")
    assert (cluster.values.link.latency_ns, cluster.values.link.rate_gbps) == (100, 16)
    assert cluster.values.clock.frequency_mhz == 250


def test_the_schema_is_not_stale() -> None:
    committed = (ROOT / "clusters/schema.json").read_text()
    assert json.loads(committed) == cluster_file.schema(), "run thalweg cluster schema > clusters/schema.json"


# ---- bad files


EDGES = '[topology]\nshape = "edges"\nedges = [[0, 1],\n  [1, 2],\n'


@pytest.mark.parametrize(
    "text, line, what",
    [
        (TORUS + "[router]\nvirtual_chanels = 4\n", 5, "'virtual_chanels' is not a key in [router]; did you mean 'virtual_channels'?"),
        (TORUS + "[roter]\nvirtual_channels = 4\n", 4, "'roter' is not a key in a cluster file; did you mean 'router'?"),
        (TORUS + "[link.speed]\nx = 1\n", 4, "'speed' is not a key in [link]; the keys are latency_ns, rate_gbps"),
        (TORUS + "link.latency = 440\n", 4, "'link' is not a key in [topology]"),
        ('[topology]\nshape = "trous"\nsize = [4, 4]\n', 2, "it should be 'line', 'ring', 'mesh', 'torus', 'prism', 'star', 'fattree' or 'edges'"),
        ('[topology]\nshape = "torus"\nsize = [4,\n 1]\n', 4, "topology.size[1] is 1; it should be greater than or equal to 2"),
        ('[topology]\nshape = "torus"\nsize = 4\n', 3, "topology.size is 4; write [4]"),
        (f'base = "{ROOT}/clusters/accl-u280-udp.toml"\n[node.board.processor]\nsend = 1\n', 3, "node.board.processor.send is 1; it should be an array (cycles per operation, as a pair"),
        ('[topology]\nshape = "ring"\nsize = [4, 4]\n', 3, "a ring takes one size, its number of nodes"),
        ('[topology]\nshape = "torus"\nsize = [4096, 4096]\n', 3, "16777216 nodes; the maximum is 1048576"),
        ('[topology]\nshape = "star"\nsize = [400]\n', 3, "399 link ports; the maximum is 128"),
        ("[topology]\nsize = [4, 4]\n", 1, "'shape' is missing in [topology]"),
        ('[topology]\nshape = "torus"\n', 1, "'size' is missing in [topology]"),
        ('[topology]\nshape = "edges"\n', 1, "'edges' is missing in [topology]"),
        (TORUS + "edges = [[0, 1]]\n", 4, "edges is for the shape edges only"),
        (EDGES + "  [2, 2]]\n", 5, "links node 2 to itself"),
        (EDGES + "  [2]]\n", 5, "topology.edges[2] is [2]; it should have at least 2 items"),
        (EDGES + "  [3, 4]]\n", 3, "no path from node 0 to node 3"),
        (EDGES + "  [0, -1]]\n", 5, "topology.edges[2][1] is -1"),
        ("topology = 3\n", 1, "topology is 3; it should be a table"),
        (TORUS + '[link]\nlatency_ns = "fast"\n', 5, 'link.latency_ns is "fast"; it should be a valid number'),
        (TORUS + "[link]\nlatency_ns = nan\n", 5, "it should be a finite number"),
        (TORUS + "[link]\nlatency_ns = -1\n", 5, "it should be greater than or equal to 0"),
        (TORUS + "[router]\nvirtual_channels = true\n", 5, "virtual_channels is true; it should be a valid integer"),
        (TORUS + "[router]\nvirtual_channels = 3.5\n", 5, "virtual_channels is 3.5; it should be a valid integer"),
        (TORUS + "[router]\nflit_bits = 512\n", 5, "flit_bits is 512; it should be 256"),
        (TORUS + "[router]\nport_buffer_bytes = 100\n", 5, "needs at least 128"),
        (TORUS + "[link]\nlatency_ns = 1e9\n", 5, "250000000 cycles; the maximum is 65532 cycles"),
        (TORUS + '[router]\nflow = "margin"\n', 4, "margin_flits is 0; flits in flight need at least 3"),
        (TORUS + '[router]\nflow = "margin"\nmargin_flits = 8\n', 6, "port_buffer_bytes must be at least 1152"),
        (TORUS + "[collective]\npacket_flits = 3\n", 5, "it should be 1, 2, 4, 8, 16, 32 or 64"),
        (TORUS + "[collective]\nslot_packets = 5000\n", 5, "has 80000 flits; the maximum is 65535 flits"),
        (TORUS + "[collective]\nlong_packet_flits = 8\n", 5, "a longest packet of 8 flits; packet_flits is 16"),
        (TORUS + "[collective]\nlong_packet_flits = 64\nslot_packets = 2\n", 5, "and a slot has 32"),
        ('description = "a\\u0007"\n' + TORUS, 1, "it should be printable"),
        ('routing = "xy"\n' + TORUS, 1, "it should be 'dimension-order', 'up-down' or 'dfsssp'"),
        ('base = "nowhere.toml"\n' + TORUS, 1, "there is no such file relative to this one"),
        ('base = "my.toml"\n' + TORUS, 1, "base forms a cycle through 'my.toml'"),
        ('base = "\\u0000"\n' + TORUS, 1, "there is no such file relative to this one"),
        ("base = 7\n" + TORUS, 1, "base is 7; it should be a valid string"),
        (TORUS + "[link\nlatency_ns = 1\n", 4, "is not TOML"),
        (TORUS + "[link]\nlatency_ns =\n", 5, "is not TOML"),
        (TORUS + "[link]\nlatency_ns = 1\nlatency_ns = 2\n", 6, "is not TOML"),
        (TORUS + "x = [1,\n", 4, "is not TOML"),
    ],
)  # fmt: skip
def test_a_bad_file_is_named_with_its_line(
    text: str, line: int, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "my.toml"
    file.write_text(text)
    assert main(["cluster", "show", str(file)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"thalweg: {file}:{line}: ") and err.count("\n") == 1
    assert what in err


def test_the_longest_link_and_the_largest_buffers_can_be_simulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first refused value is one more than the largest that the simulator builds."""
    file = tmp_path / "my.toml"
    file.write_text(TORUS + f"[link]\nlatency_ns = {4 * 65532}\n")
    assert main(["bench", "barrier", "--cluster", str(file)]) == 0
    file.write_text(TORUS + "[router]\nport_buffer_bytes = 1048576\n")
    assert main(["bench", "barrier", "--cluster", str(file)]) == 2
    found = re.fullmatch(
        rf"thalweg: {file}:5: port_buffer_bytes is 1048576; with 4 links .* is at most (\d+)\n", capsys.readouterr().err
    )
    assert found
    file.write_text(TORUS + f"[router]\nport_buffer_bytes = {found[1]}\n")
    assert main(["bench", "barrier", "--cluster", str(file)]) == 0
    fabric = Cluster.load(file).fabric_config()
    router = fabric.router
    router.buffer_flits += 1
    with pytest.raises(ValueError, match="at most 65535 flits"):
        _sim.Fabric(fabric)


@pytest.mark.slow
def test_many_edges_are_read_in_time_that_is_linear(tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    edges = [(node, (node + step) % 4000) for node in range(4000) for step in range(1, 11)]
    file.write_text('[topology]\nshape = "edges"\nedges = [\n' + "".join(f"  [{a}, {b}],\n" for a, b in edges) + "]\n")
    start = time.process_time()
    tomllib.loads(file.read_text())
    parsed = time.process_time() - start
    cluster = Cluster.load_file(file)
    assert len(cluster.topology.links) == 40_000
    assert time.process_time() - start < 10 * parsed


@pytest.mark.parametrize("seed", range(20))
def test_what_cannot_be_reached_is_found(seed: int) -> None:
    dice = random.Random(seed)
    edges = [(dice.randrange(n), n) if dice.random() < 0.9 else (n, (n + 1) % 40) for n in range(1, 40)]
    graph = networkx.Graph(edges)
    graph.add_nodes_from(range(40))
    found = topology.build("edges", [40], edges).unreachable
    if networkx.is_connected(graph):
        assert found is None
    else:
        assert found is not None and not networkx.has_path(graph, *found)


def test_an_error_in_a_base_is_named_there(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text("# first\n[link]\nlatency_ns = -5\n")
    with pytest.raises(InputError) as found:
        load(tmp_path, 'base = "base.toml"\n' + TORUS)
    assert str(found.value).startswith(f"{tmp_path / 'base.toml'}:3: link.latency_ns is -5")


@pytest.mark.parametrize(
    "name, what",
    [
        ("mpi-fpga-torus-4x4x5", "did you mean 'mpi-fpga-torus-4x4x"),
        ("torus:", "is neither a preset, a file nor a shape"),
        ("torus:4x", "is neither a preset"),
        ("torus:1x4", "topology.size[0] is 1; it should be greater than or equal to 2"),
        ("ring:4x4", "a ring takes one size"),
        ("ring:5000", "less than or equal to 4096"),
        ("edges:4", "is neither a preset"),
        ("", "is neither a preset"),
        ("/", "is not a file"),
        ("a\nb\x1b[31m", "is neither a preset"),
    ],
)
def test_a_bad_name_is_said_in_one_line(name: str, what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "show", name]) == 2
    err = capsys.readouterr().err
    assert what in err and err.count("\n") == 1 and "\x1b" not in err


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"[topology]\nshape = '\x80'\n", bytes(range(256)), b"\x00" * 10])
def test_binary_junk_is_no_cluster(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "junk"
    file.write_bytes(content)
    assert main(["cluster", "check", str(file)]) == 2
    assert capsys.readouterr().err.startswith(f"thalweg: {file}:")


# ---- commands


def test_list_names_the_presets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "list", "--json", str(tmp_path / "list.json")]) == 0
    out = capsys.readouterr().out
    rows = json.loads((tmp_path / "list.json").read_text())["rows"]
    assert [row["name"] for row in rows] == presets()
    assert {row["name"]: row["nodes"] for row in rows}["mpi-fpga-torus-4x4x8"] == 128
    assert all(row["name"] in out for row in rows)


@pytest.mark.parametrize("name", [*presets("mpi-fpga"), "star:5", "ring:9"])
def test_show_has_values_and_units(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "show", name, "--json", str(tmp_path / "show.json")]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    shown = json.loads((tmp_path / "show.json").read_text())
    assert shown["values"]["router"]["virtual_channels"] == (2 if "fattree" in name else 4)
    if name.startswith("mpi-fpga"):
        assert f"Equation 2 requires {shown['least_port_buffer_bytes']}" in out


@pytest.mark.parametrize("name", presets())
def test_show_keeps_columns_apart(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "show", name]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    _, *columns = (gap.end() for gap in re.finditer("  +", lines[0]))
    assert len(columns) == 2
    for line in lines:
        assert all(
            line[at - 2 : at].isspace() and not line[at : at + 1].isspace() for at in columns if at < len(line)
        ), line


def test_check_says_what_is_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = ROOT / "clusters/mpi-fpga-torus-4x4x4.toml"
    assert main(["cluster", "check", str(file), "--json", str(tmp_path / "check.json")]) == 0
    assert capsys.readouterr().out == f"{file}: valid; torus 4x4x4, dimension-order routes proved\n"
    assert json.loads((tmp_path / "check.json").read_text())["proof"]["cycles"] == 0
    capsys.readouterr()
    for path, what in (("none.toml", "no such file"), ("", "is not a file")):
        assert main(["cluster", "check", str(tmp_path / path)]) == 2
        assert capsys.readouterr().err == f"thalweg: {tmp_path / path}: {what}\n"
    assert main(["cluster", "check", "smi-noctua"]) == 0
    assert capsys.readouterr().out == "smi-noctua: valid; torus 2x4, routes proved\n"


@pytest.mark.parametrize(
    "name, lines",
    [
        (
            "mpi-fpga-torus-4x4x4",
            2 * 64 + 2 * 64 + 3,
        ),  # the third dimension's links are two stubs each; 3 in the legend
        ("torus:8x8", 128 + 2),
        ("ring:9", 9 + 1),
        ("star:8", 7 + 1),
        ("dual-mesh:3x3", 24 + 4),
        ("line:5", 4 + 1),
        ("fattree:32", 32 + 12 + 2),
    ],
)
def test_a_drawing_has_every_node_and_link(name: str, lines: int, tmp_path: Path) -> None:
    file = tmp_path / "drawing.svg"
    assert main(["cluster", "draw", name, "-o", str(file)]) == 0
    root = ElementTree.parse(file).getroot()
    space = "{http://www.w3.org/2000/svg}"
    nodes = Cluster.load(name).topology.nodes
    ids = [element.text for element in root.iter(f"{space}text") if element.get("class") == "id"]
    assert ids == [str(node) for node in range(nodes)]
    assert len([path for path in root.iter(f"{space}path") if path.get("class", "").startswith("link")]) == lines
    text = " ".join(element.text or "" for element in root.iter(f"{space}text"))
    assert "port: 64 Gb/s" in text and f"{nodes} nodes" in text


def test_nodes_of_a_drawing_do_not_overlap(tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text('[topology]\nshape = "edges"\nedges = [[0,1],[1,2],[2,3],[3,0],[0,4],[4,5],[5,6],[6,1],[2,7]]\n')
    for name in [str(file), "ring:3", "ring:100", "star:30", "torus:3x3x3x3", "mesh:5x2", "fattree:32", "fattree:100"]:
        root = ElementTree.fromstring(draw.svg(Cluster.load(name)))
        boxes = [e for e in root.iter("{http://www.w3.org/2000/svg}rect") if e.get("class") == "node"]
        places = [(float(e.get("x", 0)), float(e.get("y", 0))) for e in boxes]
        for index, (x, y) in enumerate(places):
            for other_x, other_y in places[:index]:
                assert abs(x - other_x) >= draw.BOX_WIDTH or abs(y - other_y) >= draw.BOX_HEIGHT, name
