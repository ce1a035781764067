# SPDX-License-Identifier: Apache-2.0
"""Do exported nodes do what they should for somebody who has the folder alone? Built by cocotb's runner, with Verilator."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from thalweg.spec import Datatype, Operator
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.export import export

CLUSTER = """
[topology]
shape = "ring"
size = [4]
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
PAIRS = {Datatype.INT64: [Operator.SUM, Operator.MAX]}  # what ring_traffic.py combines
FLOW = {
    "credits": "port_buffer_bytes = 1024",
    "margin": 'flow = "margin"\nmargin_flits = 3\nport_buffer_bytes = 5120',
}


@pytest.mark.long
@pytest.mark.parametrize("flow", FLOW)
def test_four_nodes(flow: str, seed: int, simulate: Callable[..., int], tmp_path: Path) -> None:
    file, folder = tmp_path / "ring.toml", tmp_path / "export"
    file.write_text(CLUSTER.format(router=FLOW[flow]))
    export(Cluster.load(file), folder, PAIRS)
    assert (folder / "tables/links.csv").read_text().split()[1:] == [f"{n},0,{(n + 1) % 4},1" for n in range(4)], (
        "ring.sv joins them so"
    )
    width = re.search(r"FrameBytes = (\d+)", (folder / "rtl/tw_cluster_pkg.sv").read_text())
    assert width
    run = simulate(
        folder,
        "ring",
        "ring_traffic",
        seed,
        beside=["ring.vlt", "ring.sv"],
        parameters={"FrameBits": 8 * int(width[1])},
        build_args=["-Wno-PINMISSING", "-Wno-UNOPTFLAT", "--assert", "--hierarchical"],
    )
    assert run == 5
