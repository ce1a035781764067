# SPDX-License-Identifier: Apache-2.0
"""Boards on a network that loses, repeats and reorders frames: with sessions everything arrives, or an error names the
sender."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from thalweg import measure
from thalweg.accl import AcclError, Function, Rank, Request, run
from thalweg.resources import resource

Array = npt.NDArray[Any]
FAULTS = "frames_lost = 0.02\nframes_duplicated = 0.02\nframes_reordered = 0.02\n"
LINE_GB = 12.5 * 8192 / (8192 + 64 + 8 + 20 + 14 + 4 + 8 + 12)


def cluster(folder: Path, transport: str, faults: str = FAULTS, board: str = "") -> str:
    file = folder / f"{transport}.toml"
    reorder = "" if transport.startswith("tcp") else "reorder_packets = 2\n"
    file.write_text(
        f'description = "faults"\nbase = "{resource(f"clusters/accl-u280-{transport}.toml")}"\n'
        f"[link.cable]\n{faults}[node.board]\n{reorder}{board}"
    )
    return str(file)


def data_of(key: int, rank: int, count: int) -> Array:
    return np.random.default_rng([key, rank]).integers(-1000, 1000, count).astype(np.int32)


@pytest.mark.sample(4)
@pytest.mark.parametrize("transport", ["reliable", "rdma", "tcp", "tcp-untuned"])
@pytest.mark.parametrize("ranks", [2, 3, 5, 8])
@pytest.mark.parametrize("buffers", [1, 2, 16])
def test_everything_arrives(ranks: int, buffers: int, transport: str, tmp_path: Path, seed: int) -> None:
    """Consecutive collectives, larger than the receive buffers, with several messages in flight."""
    draw = random.Random(f"{seed} {ranks} {buffers} {transport}")
    steps = [
        (
            draw.choice(
                ["bcast", "scatter", "gather", "reduce", "allgather", "allreduce", "reduce_scatter", "alltoall"]
            ),
            draw.choice([1, 100, 2_000, 40_000 // ranks]),
            draw.randrange(ranks),
        )
        for _ in range(12)
    ]

    def program(rank: Rank) -> list[Array]:
        results = []
        for key, (operation, count, root) in enumerate(steps):
            send = rank.create_buffer(data_of(key, rank.rank, count * rank.size))
            recv = rank.create_buffer(count * rank.size, "int32")
            there, back = (rank.rank + 1) % rank.size, (rank.rank - 1) % rank.size
            theirs = rank.create_buffer(count, "int32")
            arguments = [root] if operation in ("bcast", "scatter", "gather", "reduce") else []
            if operation in ("reduce", "allreduce", "reduce_scatter"):
                arguments.append(Function.SUM)
            if operation == "bcast":
                rank.bcast(send, count, root)
                results.append(send.array[:count])
            else:
                getattr(rank, operation)(send, recv, count, *arguments)
                results.append(recv.array)
            own = rank.create_buffer(data_of(key, rank.rank, count))
            requests = [
                rank.send(own, count, there, key, run_async=True),
                rank.recv(theirs, count, back, key, run_async=True),
            ]
            for request in requests:
                request.wait()
            results.append(theirs.array)
        return results

    result = run(
        program,
        ranks,
        cluster(tmp_path, transport),
        buffers=buffers,
        buffer_bytes=1024,
        flat_bytes=draw.choice([0, 512, 32_768]),
    )
    assert any("link" in what for _, what, _ in result.lost)
    for rank in range(ranks):
        for key, (operation, count, root) in enumerate(steps):
            every = np.array([data_of(key, other, count * ranks) for other in range(ranks)])
            found, message = result.values[rank][2 * key : 2 * key + 2]
            own = slice(rank * count, (rank + 1) * count)
            right = {
                "bcast": every[root][:count],
                "scatter": every[root][own],
                "gather": every[:, :count].reshape(-1) if rank == root else every[0][:0],
                "reduce": every[:, :count].sum(0) if rank == root else every[0][:0],
                "allgather": every[:, :count].reshape(-1),
                "allreduce": every[:, :count].sum(0),
                "reduce_scatter": every[:, own].sum(0),
                "alltoall": every[:, own].reshape(-1),
            }[operation]
            np.testing.assert_array_equal(found[: right.size], right, f"{operation} {count} at rank {rank}")
            np.testing.assert_array_equal(message, data_of(key, (rank - 1) % ranks, count))


@pytest.mark.parametrize("transport", ["reliable", "rdma", "tcp", "tcp-untuned"])
def test_streams_of_kernels_keep_their_order(transport: str, tmp_path: Path) -> None:
    def program(rank: Rank) -> Any:
        if rank.rank == 0:
            for part in range(50):
                buffer = rank.create_buffer(data_of(part, 0, 700))
                rank.kernel().stream_put(buffer, 700, 1, stream_id=9)
        rank.barrier()
        return [packet.data for packet in rank.pull("int32")]

    result = run(program, 2, cluster(tmp_path, transport))
    assert len(result.values[1]) == 50
    for part, found in enumerate(result.values[1]):
        np.testing.assert_array_equal(found[:700], data_of(part, 0, 700))


def test_large_messages_pass_those_that_nobody_takes(tmp_path: Path) -> None:
    """More small messages than receive buffers and windows hold are in flight when a large one is taken."""

    def program(rank: Rank) -> None:
        small = [rank.create_buffer(data_of(k, 0, 64)) for k in range(100)]
        large = rank.create_buffer(data_of(1000, 0, 50_000))
        requests: list[Request] = []
        if rank.rank == 0:
            requests = [rank.send(buffer, 64, 1, tag, run_async=True) for tag, buffer in enumerate(small)]
            rank.send(large, 50_000, 1, 1000)
        else:
            large.array[:] = 0
            large.sync_to_device()
            rank.recv(large, 50_000, 0, 1000)
            np.testing.assert_array_equal(large.array, data_of(1000, 0, 50_000))
            for tag in reversed(range(100)):
                rank.recv(small[tag], 64, 0, tag)
                np.testing.assert_array_equal(small[tag].array, data_of(tag, 0, 64))
        for request in requests:
            request.wait()

    run(program, 2, cluster(tmp_path, "rdma"), buffers=120, buffer_bytes=1024, time_out_us=0)


@pytest.mark.parametrize("operation", ["put", "sendrecv"])
def test_goodput(operation: str, tmp_path: Path) -> None:
    """Each of the two links loses every hundredth frame; nearly all other frames carry new data."""
    (row,) = measure(operation, cluster(tmp_path, "rdma", "frames_lost = 0.01\n"), sizes="16M")
    assert row["verified"]
    assert 0.98 < row["gb_per_s"] / (LINE_GB * 0.99**2) < 1


def test_a_board_that_does_not_answer(tmp_path: Path) -> None:
    file = cluster(tmp_path, "reliable", "frames_lost = 0.999999\n", "resend_us = 5\ntries = 4\n")

    def program(rank: Rank) -> None:
        rank.pause(100)
        buffer = rank.create_buffer(100)
        if rank.rank == 0:
            rank.send(buffer, 100, 1)

    with pytest.raises(AcclError, match="rank 0: send: receive time-out .*rank 1 has not answered 4 attempts"):
        run(program, 2, file)
