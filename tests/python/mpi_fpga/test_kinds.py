# SPDX-License-Identifier: Apache-2.0
"""Files of MPI-FPGA with [node.*] and [link.*]: the same fabric as from a file without them, and a part of larger
clusters."""

from __future__ import annotations

from pathlib import Path

import pytest
import thalweg
from thalweg.cli import main
from thalweg.errors import InputError
from thalweg.systems.mpi_fpga.cluster import Cluster

LONG = """[clock.fabric]
frequency_mhz = 200
[node.fpga]
kind = "mpi-fpga"
clock = "fabric"
link_ports = 8
router = { virtual_channels = 8, port_buffer_bytes = 4096 }
collective = { packet_flits = 8 }
[node.switch]
kind = "mpi-fpga-switch"
clock = "fabric"
link_ports = 8
[link.cable]
kind = "mpi-fpga"
latency_ns = 100
[link.flaky]
kind = "mpi-fpga"
latency_ns = 100
faults = { seed = 7, frames_lost = 0.01 }
[topology]
node = "fpga"
link = "cable"
"""
SHORT = """[clock]
frequency_mhz = 200
[router]
virtual_channels = 8
port_buffer_bytes = 4096
[collective]
packet_flits = 8
[link]
latency_ns = 100
"""
FATTREE = 'shape = "fattree"\nsize = [8]\nradix = 6\noversubscription = 2\n'


def written(folder: Path, text: str) -> Path:
    file = folder / f"c{len(list(folder.iterdir()))}.toml"
    file.write_text(text)
    return file


def times(cluster: object) -> list[object]:
    return [row["time_us"] for row in thalweg.measure("allreduce", cluster, sizes=[64, 4096])]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shape", "long"), [('shape = "torus"\nsize = [3, 3]\n', ""), (FATTREE, 'switch = "switch"\n')]
)
def test_both_forms_are_one_fabric(tmp_path: Path, shape: str, long: str) -> None:
    one = thalweg.load(written(tmp_path, LONG + shape + long))
    other = thalweg.load(written(tmp_path, SHORT + "[topology]\n" + shape))
    assert (one.system, other.system) == ("mpi-fpga", "mpi-fpga")
    assert one.topology.links.tolist() == other.topology.links.tolist()
    assert {**one.description, "name": ""} == {**other.description, "name": ""}
    assert times(one) == times(other)
    slower = one.replace(node={"fpga": {"collective": {"lane_latency_cycles": 100}}})
    assert slower.name.endswith(" with node.fpga.collective.lane_latency_cycles = 100")
    assert times(slower) == times(other.replace(collective={"lane_latency_cycles": 100})) != times(one)


def test_faults_are_those_of_a_kind_of_link(tmp_path: Path) -> None:
    shape = 'shape = "edges"\nedges = [[0, 1], [1, 2]]\n'
    one = thalweg.load(written(tmp_path, LONG + shape + 'join = [{ link = "flaky", ends = ["2.1", "0.1"] }]\n'))
    entry = "seed = 7\n[[faults.links]]\nnodes = [2, 0]\nframes_lost = 0.01\n"
    edges = shape.replace("[1, 2]", "[1, 2], [2, 0]")
    other = thalweg.load(written(tmp_path, SHORT + "[topology]\n" + edges + "[faults]\n" + entry))
    assert one.seeds == {"faults": 7}
    assert times(one) == times(other)


def test_faults_and_routing_that_are_chosen_stay(tmp_path: Path) -> None:
    shape = 'shape = "torus"\nsize = [2, 2]\n'
    one, other = (written(tmp_path, text) for text in (LONG + shape, SHORT + "[topology]\n" + shape))
    faults = "bit_error_rate=1e-5,seed=3"
    both = [Cluster.load(file, faults).with_routing("dfsssp") for file in (one, other)]
    assert times(both[0]) == times(both[1])
    both = [both[0].replace(clock={"fabric": {"frequency_mhz": 250}}), both[1].replace(clock={"frequency_mhz": 250})]
    assert [each.seeds for each in both] == [{"faults": 3}] * 2
    assert [each.routes.algorithm for each in both] == ["dfsssp"] * 2
    assert times(both[0]) == times(both[1])


MIXED = """[clock.net]
frequency_mhz = 250
[clock.bus]
frequency_mhz = 150
[node.hub]
kind = "peach2"
clock = "net"
bus_clock = "bus"
host_link_ns = 140
processor_read_ns = 240
processor_read_gb = 8
landing_ns = 120
gpu_landing_ns = 350
store_ns = 120
poll_ns = 12
gpu_read_ns = 240
gpu_read_gb = 2.8
copy_start_ns = 10000
copy_gb = 6.0
sum_gb = 12.8
memory_ns = 110
memory_gb = 8.528
memory_commands = 8
[node.server]
kind = "host"
ports = { slot = "PCIe", nic = "flits" }
[link.ring]
kind = "pcie"
latency_ns = 140
[link.slot]
kind = "wire"
latency_ns = 140
gbit_s = 32
"""


def test_it_stands_beside_other_systems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = LONG.partition("[topology]")[0]
    topology = """[topology]
shape = "ring"
size = [4]
node = "hub"
link = "ring"
nodes = { "4-6" = "fpga", "7" = "server" }
join = [
  { link = "cable", ends = ["4.0", "5.1"] },
  { link = "cable", ends = ["5.0", "6.1"] },
  { link = "slot", ends = ["7.slot", "0.N"] },
  { link = "slot", ends = ["7.nic", "4.7"] },
]
"""
    file = written(tmp_path, MIXED + own + topology)
    assert main(["cluster", "check", str(file)]) == 0
    said = capsys.readouterr().out
    assert "3 nodes of mpi-fpga, dfsssp routes proved; 4 nodes of peach2, " in said and said.count("proved") == 2
    assert main(["cluster", "draw", str(file), "-o", str(tmp_path / "c.svg")]) == 0
    assert (tmp_path / "c.svg").read_text().count('class="id"') == 8
    file.write_text(file.read_text().replace("port_buffer_bytes = 4096", "port_buffer_bytes = 128"))
    assert main(["cluster", "check", str(file)]) == 2
    line = file.read_text().split("\n").index("router = { virtual_channels = 8, port_buffer_bytes = 128 }") + 1
    assert capsys.readouterr().err.startswith(f"thalweg: {file}:{line}: port_buffer_bytes is 128; ")


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ('node = "fpga"\n', 'node = "switch"\n', "no node of kind mpi-fpga is used"),
        ("size = [3]", 'size = [3]\nnodes = { "2" = "switch" }', "node 2 (switch) is mpi-fpga-switch, and is at a position for a host"),
        ("size = [3]", 'size = [3]\nnodes = { "2" = "other" }', "nodes fpga and other differ in router; all nodes of a fabric must be equal"),
        ("flits = 8", "flits = 9", "node.fpga.collective.packet_flits is 9; it should be 1, 2, 4, 8, 16, 32 or 64"),
        ('"mpi-fpga-switch"\nclock = "fabric"', '"mpi-fpga-switch"\nclock = "fabrik"', "node.switch.clock is 'fabrik', which is not defined"),
        ("link_ports = 8\nrouter", "link_ports = 1\nrouter", "a ring takes 2 ports of each node; fpga has 1 (0)"),
        ("latency_ns = 100\n[link.flaky]", "latncy_ns = 100\n[link.flaky]", "did you mean 'latency_ns'?"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(tmp_path: Path, right: str, wrong: str, says: str) -> None:
    other = '[node.other]\nkind = "mpi-fpga"\nclock = "fabric"\nlink_ports = 8\n'
    text = other + LONG + 'shape = "ring"\nsize = [3]\n'
    assert text.count(right) == 1
    with pytest.raises(InputError) as error:
        thalweg.load(written(tmp_path, text.replace(right, wrong)))
    assert says in str(error.value)


def test_a_ring_with_an_added_node_has_routes(tmp_path: Path) -> None:
    """Dimension order does not lead to a node outside of the grid."""
    file = written(
        tmp_path,
        LONG
        + 'shape = "ring"\nsize = [4]\nnodes = { "4" = "fpga" }\njoin = [{ link = "cable", ends = ["0.2", "4.0"] }]\n',
    )
    cluster = Cluster.load(str(file))
    assert cluster.proof().algorithm == "dfsssp" and cluster.proof().longest_path == 3
    assert all(row["verified"] for row in thalweg.measure("allreduce", cluster, sizes=[64]))
