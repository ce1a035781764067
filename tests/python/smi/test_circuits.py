# SPDX-License-Identifier: Apache-2.0
"""Do circuits carry every message whole, also where all ranks send to all at once, and at the rate of a link without headers?"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from thalweg.systems.smi.cluster import Cluster
from thalweg.systems.smi.run import Buffer, Run, Stuck

pytest.importorskip("clang.cindex", reason="libclang is not installed")
pytestmark = pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")

NOCTUA = Cluster.load("smi-noctua")
RANKS = NOCTUA.topology.nodes
CIRCUITS = NOCTUA.with_node(switching="circuit")

PAIR = """
__kernel void sends_{port}(const int n, const SMI_Comm comm) {{
  const int peer = (SMI_Comm_rank(comm) + {port}) % SMI_Comm_size(comm);
  SMI_Channel channel = SMI_Open_send_channel(n, SMI_INT, peer, {port}, comm);
  for (int i = 0; i < n; ++i) {{
    int data = i * 3 + SMI_Comm_rank(comm);
    SMI_Push(&channel, &data);
  }}
}}
__kernel void takes_{port}(const int n, __global int* right, const SMI_Comm comm) {{
  const int peer = (SMI_Comm_rank(comm) + SMI_Comm_size(comm) - {port}) % SMI_Comm_size(comm);
  SMI_Channel channel = SMI_Open_receive_channel(n, SMI_INT, peer, {port}, comm);
  int sum = 0;
  for (int i = 0; i < n; ++i) {{
    int data;
    SMI_Pop(&channel, &data);
    sum += data == i * 3 + peer;
  }}
  *right = sum;
}}
"""
BROADCAST = """
__kernel void broadcasts(const int n, const int root, __global int* right, const SMI_Comm comm) {
  SMI_BChannel channel = SMI_Open_bcast_channel(n, SMI_INT, 0, root, comm);
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    int data = SMI_Comm_rank(comm) == root ? i * 7 : 0;
    SMI_Bcast(&channel, &data);
    sum += data == i * 7;
  }
  *right = sum;
}
"""


@pytest.mark.parametrize(("count", "depth", "most"), [(500, 16, 0), (500, 16, 15), (1000, 2, 0), (1000, 4, 7)])
def test_all_ranks_of_a_torus_send_to_all_at_once(count: int, depth: int, most: int, tmp_path: Path) -> None:
    """Beside a broadcast; each pair of ranks has ports of its own, and no FIFO holds more than a part of a message."""
    source = tmp_path / "all.c"
    source.write_text("#include <smi.h>\n" + BROADCAST + "".join(PAIR.format(port=port) for port in range(1, RANKS)))
    run = Run(CIRCUITS.with_node(depth=depth, circuit_packets=most))
    right: list[Buffer] = []
    for rank in range(RANKS):
        for port in range(1, RANKS):
            run.kernel(source, f"sends_{port}", rank, n=count)
        for kernel, more in [("broadcasts", {"root": 3}), *((f"takes_{port}", {}) for port in range(1, RANKS))]:
            right.append(run.buffer(rank, np.zeros(1, np.int32)))
            run.kernel(source, kernel, rank, n=count, right=right[-1], **more)
    run.run()
    assert [int(buffer.array[0]) for buffer in right] == [count] * (RANKS * RANKS)


def test_a_kernel_that_pushes_in_turns_needs_parts(tmp_path: Path) -> None:
    """The circuit of its first message has the link, and its second one's has to get through before the kernel goes on."""
    source = tmp_path / "turns.c"
    source.write_text(
        "#include <smi.h>\n"
        + "".join(PAIR.format(port=port) for port in (1, 2)).replace(
            "SMI_Comm_size(comm) - 2", "SMI_Comm_size(comm) - 1"
        )
        + """
__kernel void turns(const int n, const SMI_Comm comm) {
  SMI_Channel one = SMI_Open_send_channel(n, SMI_INT, 1, 1, comm), two = SMI_Open_send_channel(n, SMI_INT, 1, 2, comm);
  for (int i = 0; i < n; ++i) {
    int data = i * 3;
    SMI_Push(&one, &data);
    SMI_Push(&two, &data);
  }
}
"""
    )

    def right(most: int) -> list[int]:
        run = Run(CIRCUITS.with_node(circuit_packets=most), ranks=2)
        run.kernel(source, "turns", 0, n=1000)
        found = [run.buffer(1, np.zeros(1, np.int32)) for _ in range(2)]
        for port, buffer in enumerate(found, 1):
            run.kernel(source, f"takes_{port}", 1, n=1000, right=buffer)
        run.run()
        return [int(buffer.array[0]) for buffer in found]

    assert right(15) == [1000, 1000]
    with pytest.raises(Stuck, match="port 2"):
        right(0)
