# SPDX-License-Identifier: Apache-2.0
"""Do exported nodes do what they should for somebody who has the folder alone? Built by cocotb's runner, with Verilator."""

from __future__ import annotations

import os
import random
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from cocotb_tools.runner import get_runner
from thalweg.rtl.tools import verilator
from thalweg.spec import Datatype, Operator
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.export import export

HERE = Path(__file__).parent
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
def test_four_nodes(flow: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seed = int(os.environ.get("THALWEG_SEED") or random.randrange(2**31))
    print(f"THALWEG_SEED={seed}")
    file, folder = tmp_path / "ring.toml", tmp_path / "export"
    file.write_text(CLUSTER.format(router=FLOW[flow]))
    export(Cluster.load(file), folder, PAIRS)
    assert (folder / "tables/links.csv").read_text().split()[1:] == [f"{n},0,{(n + 1) % 4},1" for n in range(4)], (
        "ring.sv joins them so"
    )

    program, root = verilator()
    launcher = tmp_path / "bin/verilator"
    launcher.parent.mkdir()
    # ring.vlt says what the test sees; the runner would have all of a node's signals.
    visible = 'for word; do shift; [ "$word" = --public-flat-rw ] || set -- "$@" "$word"; done'
    launcher.write_text(f'#!/bin/sh\n{visible}\nexec {program} "$@"\n')
    launcher.chmod(0o755)
    monkeypatch.setenv("PATH", f"{launcher.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("VERILATOR_ROOT", str(root))
    # What the package itself leaves blank; and a model in one file, which compiles fast and runs for seconds.
    monkeypatch.setenv("MAKEFLAGS", "-- CFG_CXXFLAGS_PCH_I=-include VM_PARALLEL_BUILDS=0 OPT_FAST=-O0 OPT_GLOBAL=-O0")
    width = re.search(r"FrameBytes = (\d+)", (folder / "rtl/tw_cluster_pkg.sv").read_text())
    assert width
    runner = get_runner("verilator")
    runner.build(
        sources=[
            folder / "lint.vlt",
            HERE / "ring.vlt",
            *(folder / name for name in (folder / "files.f").read_text().split()),
            HERE / "ring.sv",
        ],
        hdl_toplevel="ring",
        build_dir=tmp_path / "build",
        parameters={"FrameBits": 8 * int(width[1])},
        build_args=["-Wno-PINMISSING", "-Wno-UNOPTFLAT", "--assert", "--hierarchical"],
        timescale=("1ns", "1ps"),
        log_file=tmp_path / "build.log",
    )
    results = runner.test(  # ends this test where one of those fails
        test_module="ring_traffic",
        test_dir=HERE,
        hdl_toplevel="ring",
        build_dir=tmp_path / "build",
        results_xml=str(tmp_path / "results.xml"),
        seed=seed,
        extra_env={
            "THALWEG_EXPORT": str(folder),
            "COCOTB_LOG_LEVEL": "WARNING",
            "PYTHONWARNINGS": "ignore::DeprecationWarning",
        },
    )
    assert len(list(ElementTree.parse(results).iter("testcase"))) == 4
