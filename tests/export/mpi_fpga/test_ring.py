# SPDX-License-Identifier: Apache-2.0
"""Do exported nodes work for a user with the folder alone? Built by cocotb's runner, with Verilator."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from thalweg.spec import Datatype, Operator
from thalweg.systems.mpi_fpga import configuration
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.export import export

CLUSTER = """
{routing}
[topology]
shape = "ring"
size = [{nodes}]
[router]
virtual_channels = 4
{router}
[faults]
silence_us = 1
[collective]
ports = 1
trees = "rank"
contexts = 2
operations_in_flight = 2
aggregation_units = 1
slot_packets = 4
packet_flits = 4
lane_latency_cycles = 2
"""
PAIRS = {Datatype.INT64: [Operator.SUM, Operator.MAX]}  # the pairs that ring_traffic.py combines
CREDITS = "port_buffer_bytes = 1024"
RINGS = {
    "credits": (4, "", CREDITS),
    "margin": (4, "", 'flow = "margin"\nmargin_flits = 3\nport_buffer_bytes = 5120'),
    "layers": (5, 'routing = "dfsssp"', CREDITS),  # some packets start in the second layer's channels
}


@pytest.mark.long
@pytest.mark.parametrize("ring", RINGS)
def test_nodes_in_a_ring(ring: str, seed: int, simulate: Callable[..., int], tmp_path: Path) -> None:
    file, folder = tmp_path / "ring.toml", tmp_path / "export"
    nodes, routing, router = RINGS[ring]
    file.write_text(CLUSTER.format(nodes=nodes, routing=routing, router=router))
    cluster = Cluster.load(file)
    assert bool(np.any(configuration.table(cluster) >> 12 & 15)) == (ring == "layers"), "first channels"
    export(cluster, folder, PAIRS)
    assert (folder / "tables/links.csv").read_text().split()[1:] == [
        f"{n},0,{(n + 1) % nodes},1" for n in range(nodes)
    ], "ring.sv joins them so"
    width = re.search(r"FrameBytes = (\d+)", (folder / "rtl/tw_cluster_pkg.sv").read_text())
    assert width
    run = simulate(
        folder,
        "ring",
        "ring_traffic",
        seed,
        beside=["ring.vlt", "ring.sv"],
        parameters={"Nodes": nodes, "FrameBits": 8 * int(width[1])},
        build_args=["-Wno-PINMISSING", "-Wno-UNOPTFLAT", "--assert", "--hierarchical"],
    )
    assert run == 6
