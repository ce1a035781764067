# SPDX-License-Identifier: Apache-2.0
"""Does a run use the parameters in a program's metadata that the hardware would be built with?"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from thalweg.systems.smi import metadata
from thalweg.systems.smi.cluster import Cluster
from thalweg.systems.smi.run import Run

pytestmark = pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")

ELEMENTS = 4000
KERNELS = """
#include <smi.h>
__kernel void sends(const int n, const SMI_Comm comm) {
  SMI_Channel channel = SMI_Open_send_channel(n, TYPE, 1, 0, comm);
  for (int i = 0; i < n; ++i) {
    element data = i;
    SMI_Push(&channel, &data);
  }
}
__kernel void takes(const int n, const SMI_Comm comm) {
  SMI_Channel channel = SMI_Open_receive_channel(n, TYPE, 0, 0, comm);
  for (int i = 0; i < n; ++i) { element got; SMI_Pop(&channel, &got); }
}
"""


def cycles(folder: Path, protocol: str, element: str = "int", **values: object) -> int:
    source = folder / "app.cl"
    source.write_text(f"#define TYPE SMI_{element.upper()}\ntypedef {element} element;\n{KERNELS}")
    operations = [{"type": kind, "port": 0, "data_type": element} for kind in ("push", "pop")]
    program = metadata.of_values({"operations": operations, **values}, "app")
    run = Run(Cluster.load("smi-noctua").with_node(protocol=protocol), 2, program)
    run.kernel(source, "sends", 0, n=ELEMENTS)
    run.kernel(source, "takes", 1, n=ELEMENTS)
    return run.run().cycles


def test_without_rendezvous_no_channel_waits_for_credits(tmp_path: Path) -> None:
    eager = cycles(tmp_path, "eager")
    assert cycles(tmp_path, "degree", p2p_rendezvous=False) == eager
    # A window of 16 packets of 7 elements, a round trip of more than 2 x 731.7 ns of 259.6 MHz for each.
    assert cycles(tmp_path, "degree", p2p_rendezvous=True) > ELEMENTS / (16 * 7) * 2 * 731.7 * 0.2596


def test_reads_on_end_set_how_often_a_packet_leaves(tmp_path: Path) -> None:
    """A send kernel of five inputs, one of which has a packet of 3 doubles in 3 cycles: it gets R of R + 4."""
    assert cycles(tmp_path, "eager", "double", consecutive_reads=1) == pytest.approx(ELEMENTS / 3 * 5, rel=0.05)
    assert cycles(tmp_path, "eager", "double", consecutive_reads=8) == pytest.approx(ELEMENTS, rel=0.06)
