# SPDX-License-Identifier: Apache-2.0
"""Does a board in hardware accept the full rate of a line? The senders are the simulator's: they keep the board's line
busy for longer than its FIFO could compensate. Memory, kernels and lines are those of boards in the simulator."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from thalweg.accl import Cluster, Rank, run

ELEMENTS = 1 << 17  #: of all messages together: 512 KiB, and the FIFO has 64


def data(rank: int, elements: int) -> npt.NDArray[np.int32]:
    return (np.arange(elements) * 7 + rank).astype(np.int32)


def cluster_of(packet_bytes: int) -> Cluster:
    """Boards that neither combine nor convert, as they take less time to build."""
    cluster = Cluster.load("accl-u280-udp")
    values = {"packet_bytes": packet_bytes, "arithmetic": False, "compression": False}
    return cluster.replace(node={cluster.node_names[cluster.boards[0]]: values})


CASES = [
    pytest.param(1024, 8192, 1, marks=pytest.mark.long),
    pytest.param(1024, 8192, 3, marks=pytest.mark.slow),
    pytest.param(1024, 4096, 1, marks=pytest.mark.slow),
    pytest.param(512, 8192, 1, marks=pytest.mark.long),
    pytest.param(512, 16384, 3, marks=pytest.mark.long),
    pytest.param(4096, 4096, 1, marks=pytest.mark.long),
]


@pytest.mark.sample(2)
@pytest.mark.parametrize(("packet_bytes", "buffer_bytes", "senders"), CASES)
def test_messages(packet_bytes: int, buffer_bytes: int, senders: int) -> None:
    count = ELEMENTS // senders

    def program(rank: Rank) -> None:
        if rank.rank < senders:
            mine = rank.create_buffer(data(rank.rank, count))
            rank.pause(20)  # until the other rank's calls wait
            rank.kernel().send(mine, count, senders, tag=rank.rank)
            return
        places = [rank.create_buffer(count, np.int32) for _ in range(senders)]
        calls = [rank.kernel().recv(place, count, k, tag=k, run_async=True) for k, place in enumerate(places)]
        for k, call in enumerate(calls):
            call.wait()
            assert (places[k].array == data(k, count)).all()

    result = run(
        program,
        ranks=senders + 1,
        cluster=cluster_of(packet_bytes),
        hardware=[senders],
        buffers=16,
        buffer_bytes=buffer_bytes,
    )
    assert result.lost == []


@pytest.mark.parametrize(
    "packet_bytes", [pytest.param(1024, marks=pytest.mark.slow), pytest.param(256, marks=pytest.mark.long)]
)
def test_streams_to_kernels(packet_bytes: int) -> None:
    senders = 3
    count = ELEMENTS // senders // 64 * 64

    def program(rank: Rank) -> list[int]:
        if rank.rank < senders:
            mine = rank.create_buffer(data(rank.rank, count))
            rank.kernel().stream_put(mine, count, senders, 8 * rank.rank + 3)
            return []
        rank.pause(200)
        found = sorted((number, words.tobytes()) for number, words, _ in rank.pull())
        assert found == [(8 * k + 3, data(k, count).tobytes()) for k in range(senders)]
        return [number for number, _ in found]

    result = run(program, ranks=senders + 1, cluster=cluster_of(packet_bytes), hardware=[senders])
    assert result.values[senders] == [3, 11, 19] and result.lost == []
