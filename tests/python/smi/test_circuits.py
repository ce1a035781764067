# SPDX-License-Identifier: Apache-2.0
"""Do circuits carry every message whole, even if all ranks send to all at once, and at the rate of a link without
headers?"""

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
ONE_LINK = Cluster.load("smi-noctua-bus").with_node(switching="circuit")

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
    """Together with a broadcast; each pair of ranks has ports of its own, and no FIFO holds more than a part of a
    message."""
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


TURNS = """
__kernel void pushes_in_turns(const int n, const SMI_Comm comm) {
  SMI_Channel one = SMI_Open_send_channel(n, SMI_INT, 1, 1, comm), two = SMI_Open_send_channel(n, SMI_INT, 1, 2, comm);
  for (int i = 0; i < n; ++i) {
    int data = i * 3;
    SMI_Push(&one, &data);
    SMI_Push(&two, &data);
  }
}
__kernel void pops_in_turns(const int n, __global int* right, const SMI_Comm comm) {
  SMI_Channel one = SMI_Open_receive_channel(n, SMI_INT, 0, 1, comm), two = SMI_Open_receive_channel(n, SMI_INT, 0, 2, comm);
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    int a, b;
    SMI_Pop(&one, &a);
    SMI_Pop(&two, &b);
    sum += a == i * 3 && b == i * 3;
  }
  *right = sum;
}
"""


@pytest.mark.parametrize(
    ("pushes", "pops"),
    [(["pushes_in_turns"], ["takes_1", "takes_2"]), (["sends_1", "sends_2"], ["pops_in_turns"])],
    ids=["pushes", "pops"],
)
def test_a_kernel_of_two_channels_in_turns_needs_parts(pushes: list[str], pops: list[str], tmp_path: Path) -> None:
    """The circuit of one message holds the link, and the kernel proceeds only after the other message has passed."""
    source = tmp_path / "turns.c"
    pairs = "".join(PAIR.format(port=port) for port in (1, 2))
    for rank in ("SMI_Comm_rank(comm) + 2", "SMI_Comm_size(comm) - 2"):  # of two ranks the other one, at either port
        pairs = pairs.replace(rank, f"{rank[:-1]}1")
    source.write_text(f"#include <smi.h>\n{pairs}{TURNS}")

    def right(most: int) -> list[int]:
        run = Run(ONE_LINK.with_node(circuit_packets=most), ranks=2)
        for kernel in pushes:
            run.kernel(source, kernel, 0, n=1000)
        found = [run.buffer(1, np.zeros(1, np.int32)) for _ in pops]
        for kernel, buffer in zip(pops, found, strict=True):
            run.kernel(source, kernel, 1, n=1000, right=buffer)
        run.run()
        return [int(buffer.array[0]) for buffer in found]

    assert right(15) == [1000] * len(pops)
    with pytest.raises(Stuck, match="port 2"):
        right(0)
