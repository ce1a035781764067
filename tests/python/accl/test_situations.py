# SPDX-License-Identifier: Apache-2.0
"""Situations that users of ACCL have reported as stuck or wrong, each with the number of its report in ACCL's public
tracker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from thalweg.accl import AcclError, Function, Rank, run
from thalweg.resources import resource
from thalweg.systems.accl.engine import make_engine

Array = npt.NDArray[Any]


def data(rank: int, elements: int) -> Array:
    return (np.arange(elements) % 1000 + 1000 * rank).astype(np.float32)


@pytest.mark.parametrize("elements", [383, 384, 385, 1024, 1025])
def test_160_send_and_receive_from_384_elements_on(elements: int) -> None:
    def program(rank: Rank) -> None:
        mine, theirs = rank.create_buffer(data(rank.rank, elements)), rank.create_buffer(elements)
        peer = 1 - rank.rank
        sent = rank.send(mine, elements, peer, run_async=True)
        rank.recv(theirs, elements, peer)
        sent.wait()
        assert (theirs.array == data(peer, elements)).all()

    assert run(program, 2, buffer_bytes=4096).lost == []


def test_139_many_messages_of_a_megabyte_around_a_ring() -> None:
    elements = 1 << 18

    def program(rank: Rank) -> None:
        mine, theirs = rank.create_buffer(data(rank.rank, elements)), rank.create_buffer(elements)
        mine.sync_to_device()
        for _ in range(20):
            sent = rank.send(mine, elements, (rank.rank + 1) % rank.size, from_fpga=True, run_async=True)
            rank.recv(theirs, elements, (rank.rank - 1) % rank.size, to_fpga=True)
            sent.wait()
        theirs.sync_from_device()
        assert (theirs.array == data((rank.rank - 1) % rank.size, elements)).all()

    assert run(program, 3, "accl-u280-rdma").lost == []


@pytest.mark.parametrize("cluster", ["accl-u280-udp", "accl-u280-rdma"])
@pytest.mark.parametrize("root", [0, 1, 3])
def test_129_202_a_large_bcast(root: int, cluster: str) -> None:
    elements = 1 << 20

    def program(rank: Rank) -> None:
        buffer = rank.create_buffer(data(rank.rank, elements))
        rank.bcast(buffer, elements, root)
        assert (buffer.array == data(root, elements)).all()

    assert run(program, 4, cluster, buffers=64, buffer_bytes=8192).lost == []


def test_130_scatter_with_compression() -> None:
    def program(rank: Rank) -> None:
        mine, part = rank.create_buffer(np.arange(400) % 128, np.float32), rank.create_buffer(100)
        rank.scatter(mine, part, 100, 1, compress_dtype=np.float16)
        assert (part.array == (np.arange(400) % 128)[100 * rank.rank :][:100]).all()

    run(program, 4)


def test_58_reduce_on_one_rank() -> None:
    def program(rank: Rank) -> None:
        mine, sums = rank.create_buffer(data(3, 50)), rank.create_buffer(50)
        rank.reduce(mine, sums, 50, 0, Function.SUM)
        assert (sums.array == data(3, 50)).all()

    run(program, 1)


def test_196_12_reductions_one_after_another_at_all_sizes() -> None:
    def program(rank: Rank) -> None:
        for elements in [1, 5, 63, 64, 65, 127, 200, 255, 256, 257, 511, 700, 1500]:
            mine, sums = rank.create_buffer(data(rank.rank, elements)), rank.create_buffer(elements)
            for root in range(rank.size):
                rank.reduce(mine, sums, elements, root, Function.SUM)
                right = sum(data(r, elements) for r in range(rank.size))
                assert rank.rank != root or (sums.array == right).all()
                sums.array[:] = 0
                rank.allreduce(mine, sums, elements, Function.SUM)
                assert (sums.array == right).all()

    assert run(program, 3).lost == []


def test_198_172_gather_keeps_the_order_of_ranks() -> None:
    """Also with 11 ranks and more: messages of rank 1 and rank 10 are not confused."""

    def program(rank: Rank) -> None:
        mine, all_of = rank.create_buffer(data(rank.rank, 20)), rank.create_buffer(20 * rank.size)
        for root in (0, 1, 10):
            rank.gather(mine, all_of, 20, root)
            assert rank.rank != root or (all_of.array == np.concatenate([data(r, 20) for r in range(rank.size)])).all()
        if rank.rank in (1, 10):
            rank.send(mine, 20, 0, tag=4)
        if rank.rank == 0:
            for source in (10, 1):
                rank.recv(all_of, 20, source, tag=4)
                assert (all_of.array[:20] == data(source, 20)).all()

    run(program, 12)


def test_116_commands_from_a_kernel() -> None:
    def program(rank: Rank) -> None:
        kernel, peer = rank.kernel(), 1 - rank.rank
        mine, theirs = rank.create_buffer(data(rank.rank, 30)), rank.create_buffer(30)
        requests = []
        for tag in range(100):
            requests += [
                kernel.send(mine, 30, peer, tag, run_async=True),
                kernel.recv(theirs, 30, peer, tag, run_async=True),
            ]
        for request in requests:
            request.wait()
        assert (theirs.array == data(peer, 30)).all()

    assert run(program, 2).lost == []


def test_113_a_member_that_is_nowhere_is_named() -> None:
    engine = make_engine("accl-u280-udp", 2)
    for k, word in enumerate([2, 0, 0x7F000001, 5500, 0, 0, 0, 1024, 0x7F000009, 5501, 0, 0, 77, 1024]):
        engine.write(0, 0x100 + 4 * k, word)
    with pytest.raises(
        ValueError,
        match=r"rank 1 of the communicator at \w+ \(session 77, 127\.0\.0\.9:5501\) is not a board of this cluster",
    ):
        engine.call(0, 0, [3, 1, 0x100, 1, 0, 0, 0x200, 0, 0, 0, 0, 0, 0, 0, 0])


def test_107_more_than_the_receive_buffers_hold() -> None:
    def program(rank: Rank) -> None:
        buffer = rank.create_buffer(100_000)
        if rank.rank == 0:
            rank.send(buffer, 100_000, 1, tag=1)
        else:
            rank.recv(rank.create_buffer(4), 4, 0, tag=9)

    with pytest.raises(
        AcclError,
        match=r"all 16 receive buffers hold messages that no call has received, packets dropped for lack of one: \d+",
    ) as failed:
        run(program, 2, time_out_us=1000)
    assert str(failed.value).endswith(
        "; warning: rank 0: send: a message of 400000 bytes to rank 1 of its communicator is larger than all 16 receive buffers of 1024 bytes together: "
        "on plain UDP, segments without a free buffer are lost, unless the receiver's call consumes them on arrival"
    )


@pytest.mark.parametrize(("cluster", "kept"), [("udp", 16), ("tcp", 15), ("reliable", 15), ("rdma", 15)])
def test_receive_buffers_that_hold_other_messages_are_named(cluster: str, kept: int) -> None:
    """Of 16 buffers, on connections the last one is reserved for the message that a call waits for. Each message takes
    one."""

    def program(rank: Rank) -> None:
        if rank.rank == 1:
            for tag in range(20, 60):
                rank.send(rank.create_buffer(50), 50, 0, tag=tag, run_async=True)
        else:
            rank.recv(rank.create_buffer(50), 50, 1, tag=59)

    with pytest.raises(AcclError) as failed:
        run(program, 2, f"accl-u280-{cluster}", time_out_us=1000)
    holds = "all 16" if kept == 16 else f"{kept} of 16"
    assert f"with tag 59 for too long; {holds} receive buffers hold messages that no call has received" in str(
        failed.value
    )
    others = kept - 4
    assert f": {kept} messages from rank 1 with tags 20, 21, 22, 23 and {others} others" in str(failed.value)


def test_messages_behind_one_that_is_lost(tmp_path: Path) -> None:
    """Each message is a frame. Those before the first lost one are received; those behind it wait, and the error
    reports their number, and what was lost."""
    cluster = tmp_path / "lossy.toml"
    base = Path(str(resource("clusters"))) / "accl-u280-udp.toml"
    cluster.write_text(f'description = "lossy"\nbase = "{base}"\n[link.cable]\nframes_lost = 0.05\nseed = 3\n')
    messages = 60

    def program(rank: Rank) -> tuple[int, str]:
        if rank.rank == 0:
            for k in range(messages):
                rank.send(rank.create_buffer(16), 16, 1, tag=k)
            return 0, ""
        got, why = 0, ""
        for k in range(messages):
            try:
                rank.recv(rank.create_buffer(16), 16, 0, tag=k)
                got += 1
            except AcclError as error:
                why = str(error)
        return got, why

    result = run(program, 2, cluster, buffers=100, time_out_us=1000)
    got, why = result.values[1]
    lost = sum(count for _, what, count in result.lost if what.startswith("frames lost on the link"))
    later = messages - got - lost
    assert lost > 0 and later > 0
    assert f"a message is missing, and {later} later ones from that rank wait for it" in why
    assert all(f"{count} {what} at node {node}" in why for node, what, count in result.lost)


LARGE = 5000  # floats; the receive buffers hold 4096


@pytest.mark.parametrize(
    ("operation", "cluster", "warned"),
    [
        ("send", "udp", 0),
        ("send to itself", "udp", None),
        ("send what fits", "udp", None),
        ("send compressed", "udp", None),
        ("send", "reliable", None),
        ("send", "rdma", None),
        ("copy", "udp", None),
        ("bcast", "udp", 1),
        ("gather", "udp", 0),
        ("reduce_scatter", "udp", 1),  # on both ranks
        ("allreduce", "udp", None),  # in blocks of half of it
    ],
)
def test_messages_beyond_all_receive_buffers_are_warned_of(operation: str, cluster: str, warned: int | None) -> None:
    def program(rank: Rank) -> None:
        one, all_ = rank.create_buffer(LARGE), rank.create_buffer(2 * LARGE)
        count = 4096 if operation == "send what fits" else LARGE
        narrow = {"compress_dtype": np.float16} if operation == "send compressed" else {}
        rank.barrier()
        if operation == "send to itself":
            rank.send(one, LARGE, rank.rank, run_async=True)
            rank.recv(all_, LARGE, rank.rank)
        elif operation.startswith("send") and rank.rank == 0:
            rank.send(one, count, 1, **narrow)
        elif operation.startswith("send"):
            rank.recv(one, count, 0, **narrow)
        elif operation == "copy":
            rank.copy(one, all_, LARGE)
        elif operation == "bcast":
            rank.bcast(one, LARGE, 0)
        elif operation == "gather":
            rank.gather(one, all_, LARGE, 0)
        elif operation == "reduce_scatter":
            rank.reduce_scatter(all_, one, LARGE, Function.SUM)
        else:
            rank.allreduce(one, all_, LARGE, Function.SUM)

    warnings = run(program, 2, f"accl-u280-{cluster}").warnings
    if warned is None:
        assert warnings == []
    else:
        assert len(warnings) == 1
        assert warnings[0].startswith(f"warning: rank {warned}: {operation}: a message of 20000 bytes")


def test_lost_packets_never_give_wrong_data(tmp_path: Path) -> None:
    """A link that loses 1 % of frames: data that arrive are right, and missing data are named."""
    text = (Path(__file__).parents[3] / "clusters/accl-u280-udp.toml").read_text()
    cluster = text.replace('kind = "ethernet"\n', 'kind = "ethernet"\nframes_lost = 0.01\n')

    def program(rank: Rank) -> tuple[int, list[str]]:
        right, said = 0, []
        mine, theirs = rank.create_buffer(data(rank.rank, 2000)), rank.create_buffer(2000)
        for tag in range(100):
            if rank.rank == 0:
                rank.send(mine, 2000, 1, tag)
            else:
                theirs.array[:] = -1
                try:
                    rank.recv(theirs, 2000, 0, tag)
                except AcclError as error:
                    said.append(str(error))
                    continue
                assert (theirs.array == data(0, 2000)).all()
                right += 1
        return right, said

    file = tmp_path / "lossy.toml"
    file.write_text(cluster)
    result = run(program, 2, file, time_out_us=100, buffers=200)
    right, said = result.values[1]
    assert 0 < right < 100
    assert len(said) == 100 - right
    assert all("waited for a message from rank 0" in line for line in said)
    assert any(what.startswith("frames lost on the link") for _, what, _ in result.lost)


def test_faults_of_a_link_never_give_a_kernel_wrong_data(tmp_path: Path) -> None:
    """Messages of one and of two packets to another board's kernel, on a link that loses, repeats and reorders frames:
    each arrives once and whole or is counted as missing, except for those behind the last one received."""
    text = (Path(__file__).parents[3] / "clusters/accl-u280-udp.toml").read_text()
    faults = "frames_lost = 0.02\nframes_duplicated = 0.05\nframes_reordered = 0.02\n"
    file = tmp_path / "faulty.toml"
    file.write_text(text.replace('kind = "ethernet"\n', 'kind = "ethernet"\n' + faults))
    sizes = [(1000 if k % 2 else 3000) for k in range(300)]

    def program(rank: Rank) -> list[Array]:
        if rank.rank == 0:
            for k, elements in enumerate(sizes):
                rank.kernel().stream_put(rank.create_buffer(data(k, elements)), elements, 1, stream_id=5)
        rank.pause(5000)
        return [packet.data for packet in rank.pull()]

    result = run(program, 2, file, time_out_us=100, buffer_bytes=8192)
    come = [int(found[0]) // 1000 for found in result.values[1]]
    assert len(set(come)) == len(come)
    for k, found in zip(come, result.values[1], strict=True):
        assert (found[: sizes[k]] == data(k, sizes[k])).all()
        assert found.size == -(-sizes[k] // 16) * 16
    counts = {what: count for node, what, count in result.lost if node == 1}
    behind = len(sizes) - 1 - max(come)
    missing = counts["messages to kernels with a missing part"]
    assert 0 < len(sizes) - len(come) - behind <= missing <= len(sizes) - len(come)
    assert counts["packets received again"] > 0
