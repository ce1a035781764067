# SPDX-License-Identifier: Apache-2.0
"""ACCL's operations through the library, compared with numpy: types, places of operands, roots, counts, communicators,
requests in any order."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from thalweg.accl import AcclError, Buffer, Cluster, Function, Rank, Result, Stream, run
from thalweg.errors import FabricStopped, InputError
from thalweg.systems.accl.library import _Scenario as Scenario
from thalweg.systems.accl.program_steps import FUNCTIONS, OPERATIONS, TYPES, Array, data_of, expected, start

TRANSPORTS, RANKS = ("udp", "rdma", "reliable"), (1, 2, 3, 5, 8, 16)
COMBINED = [
    pytest.param(RANKS[i], TYPES[k], TRANSPORTS[j], marks=[pytest.mark.long] * bool((i + j + k) % 3))
    for i in range(len(RANKS))
    for k in range(len(TYPES))
    for j in range(len(TRANSPORTS))
]
"""All combinations; all pairs of values in the quick tests."""


@pytest.mark.sample(4)
@pytest.mark.parametrize(("ranks", "dtype", "transport"), COMBINED)
def test_collectives(ranks: int, dtype: str, transport: str, seed: int) -> None:
    """Each, with a random function, root and count, operands and results in either memory."""
    draw = random.Random(f"{seed} {ranks} {dtype} {transport}")
    cases = []
    for operation in OPERATIONS:
        for _ in range(3):
            count = draw.choice([0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 100, 255, 257])
            function = draw.choice([*FUNCTIONS])
            narrow = dtype == "float32" and draw.random() < 0.4
            cases.append(
                (operation, count, draw.randrange(ranks), function, narrow, draw.random() < 0.3, draw.random() < 0.3)
            )

    def program(rank: Rank) -> list[Array]:
        results = []
        for k, (operation, count, root, function, narrow, *hosts) in enumerate(cases):
            send = rank.create_buffer(data_of(seed + k, rank.rank, ranks * count, dtype), host=hosts[0])
            recv = rank.create_buffer(ranks * count, dtype, host=hosts[1])
            recv.array[:] = 99
            recv.sync_to_device()
            start(rank, operation, send, recv, count, root, function, compress_dtype=np.float16 if narrow else None)
            results.append(recv.array)
        rank.barrier()
        return results

    buffer_bytes, flat_bytes = 64 if transport == "rdma" else 1024, draw.choice([0, 64, 32_768])
    cluster = f"accl-u280-{transport}"
    result = run(program, ranks, cluster, buffer_bytes=buffer_bytes, buffers=200, flat_bytes=flat_bytes)
    assert result.lost == []
    for k, (operation, count, root, function, *_) in enumerate(cases):
        inputs = [data_of(seed + k, rank, ranks * count, dtype) for rank in range(ranks)]
        for rank, right in enumerate(expected(operation, inputs, count, root, function)):
            found = result.values[rank][k]
            if right is None or (operation == "bcast" and rank == root):
                assert (found == 99).all()
            else:
                np.testing.assert_array_equal(found[: right.size], right, f"{operation} {cases[k]} at rank {rank}")
                assert (found[right.size :] == 99).all()


def test_large_messages_go_straight_to_their_places() -> None:
    """Larger than all receive buffers, in both directions at once and around a ring."""
    count = 300_000

    def program(rank: Rank) -> float:
        mine, theirs = rank.create_buffer(data_of(1, rank.rank, count, "float32")), rank.create_buffer(count)
        there, back = (rank.rank + 1) % rank.size, (rank.rank - 1) % rank.size
        sent = rank.send(mine, count, there, run_async=True)
        begin = rank.now_us
        rank.recv(theirs, count, back)
        sent.wait()
        np.testing.assert_array_equal(theirs.array, data_of(1, back, count, "float32"))
        took = rank.now_us - begin
        rank.bcast(mine, count, 1)
        np.testing.assert_array_equal(mine.array, data_of(1, 1, count, "float32"))
        return took

    result = run(program, 3, "accl-u280-rdma")
    assert result.lost == []
    line = (
        4096 / (4096 + 64 + 8 + 20 + 14 + 4 + 8 + 12) * 12.5e3
    )  # bytes per microsecond: packets with their headers, FCS, preamble and gap
    assert 4 * count / line < max(result.values) - 30 < 4 * count / line + 7


def test_messages_of_many_segments() -> None:
    """Of all sizes around a receive buffer's, float32 and compressed."""
    sizes = [1, 15, 16, 17, 255, 256, 257, 511, 512, 513, 1000, 3000]

    def program(rank: Rank) -> None:
        for k, count in enumerate(sizes):
            for narrow in (None, np.float16):
                if rank.rank == 0:
                    rank.send(rank.create_buffer(data_of(k, 0, count, "float32")), count, 1, compress_dtype=narrow)
                else:
                    buffer = rank.create_buffer(count)
                    rank.recv(buffer, count, 0, compress_dtype=narrow)
                    np.testing.assert_array_equal(buffer.array, data_of(k, 0, count, "float32"))

    assert run(program, 2).lost == []


@pytest.mark.parametrize("transport", ["udp", "rdma", "reliable"])
def test_messages_to_oneself(transport: str) -> None:
    def program(rank: Rank) -> None:
        mine, theirs = rank.create_buffer(np.arange(5000)), rank.create_buffer(5000, "int64")
        sent = rank.send(mine, 5000, rank.rank, tag=3, run_async=True)
        rank.recv(theirs, 5000, rank.rank, tag=3)
        sent.wait()
        np.testing.assert_array_equal(theirs.array, np.arange(5000))
        rank.stream_put(mine, 8, rank.rank, stream_id=4)
        rank.barrier()
        assert [(stream, [*found]) for stream, found, _ in rank.pull("int64")] == [(4, [*range(8)])]

    assert run(program, 2, f"accl-u280-{transport}", buffers=64).lost == []


def test_streams() -> None:
    """Operands from a kernel's stream, results to it, and into the stream of another rank's kernels."""

    def program(rank: Rank) -> None:
        data = np.arange(100, dtype=np.float32) + rank.rank
        if rank.rank == 0:
            rank.push(data)
            rank.send(Stream(), 100, 1)
            rank.stream_put(rank.create_buffer(data), 100, 1, stream_id=9)
            rank.push(data)
            rank.stream_put(Stream(), 100, 1, stream_id=12)
        else:
            rank.recv(Stream(), 100, 0)
        rank.barrier()
        if rank.rank == 1:
            packets = rank.pull()
            assert [packet.stream for packet in packets] == [0, 9, 12]
            for _, found, _ in packets:
                np.testing.assert_array_equal(found, [*range(100), *[0] * 12])
        sum_ = rank.reduce(Stream(), result := rank.create_buffer(100), 100, 0, Function.SUM, run_async=True)
        assert not sum_.wait(50)  # for the kernels
        rank.push(data)
        sum_.wait()
        if rank.rank == 0:
            np.testing.assert_array_equal(result.array, 2 * np.arange(100) + 1)

    run(program, 2)


def test_elements_on_the_wire_may_be_wider_or_narrower() -> None:
    """1 + 2^-12 is 1 in float16. A kernel's stream gets the elements as they are on the wire."""

    def program(rank: Rank) -> None:
        wide, narrow = rank.create_buffer(np.full(5, 1 + 2.0**-12, np.float32)), rank.create_buffer(5, "f2")
        if rank.rank == 0:
            rank.copy(wide, narrow, 5)
            rank.send(narrow, 5, 1, compress_dtype=np.float32)
            rank.stream_put(wide, 5, 1, 3, compress_dtype=np.float16)
        else:
            rank.recv(wide, 5, 0)
            np.testing.assert_array_equal(wide.array, 1)
        rank.barrier()
        for stream, data, _ in rank.pull(np.float16):
            assert (rank.rank, stream) == (1, 3)
            np.testing.assert_array_equal(data, [1] * 5 + [0] * 27)

    run(program, 2)


def test_streams_are_for_operands_that_are_used_once() -> None:
    def program(rank: Rank) -> None:
        with pytest.raises(AcclError, match="allreduce cannot write its result to a kernel's stream"):
            rank.allreduce(rank.create_buffer(10), Stream(), 10, Function.SUM)
        with pytest.raises(AcclError, match="scatter cannot read an operand from a kernel's stream"):
            rank.scatter(Stream(), rank.create_buffer(10), 10, 0)

    run(program, 2)


def test_a_call_passes_one_that_waits_unless_it_uses_the_same_data() -> None:
    def program(rank: Rank) -> None:
        one, other = rank.create_buffer(64), rank.create_buffer(64)
        if rank.rank == 0:
            waits = rank.recv(one, 64, 1, tag=1, run_async=True)
            passes = rank.recv(other, 64, 2, run_async=True)
            follows = rank.send(one, 64, 2, from_fpga=True, run_async=True)  # data received by the first one
            passes.wait()
            assert not waits.done
            assert not follows.done
            rank.send(other, 64, 1)
            waits.wait()
            follows.wait()
        elif rank.rank == 1:
            rank.recv(other, 64, 0)
            rank.send(rank.create_buffer(np.full(64, 7, np.float32)), 64, 0, tag=1)
        else:
            rank.send(one, 64, 0)
            rank.recv(other, 64, 0)
            assert (other.array == 7).all()

    run(program, 3)


def test_a_receive_without_a_message_says_what_is_missing() -> None:
    def program(rank: Rank) -> None:
        if rank.rank == 0:
            rank.recv(rank.create_buffer(10), 10, 1, tag=3)

    with pytest.raises(
        AcclError, match="rank 0: recv: receive time-out .*waited for a message from rank 1 .* with tag 3"
    ):
        run(program, 2, time_out_us=1000)
    with pytest.raises(FabricStopped, match="recv of node 0 waits for a message from rank 1 .* with tag 3"):
        run(program, 2, time_out_us=0)


def test_sizes_that_differ_end_both_calls() -> None:
    def program(rank: Rank) -> None:
        buffer = rank.create_buffer(20)
        if rank.rank == 0:
            rank.send(buffer, 20, 1)
        else:
            rank.recv(buffer, 10, 0)

    with pytest.raises(AcclError, match="rank 0 has sent 80 bytes, but this rank has 40"):
        run(program, 2)


def test_more_than_receive_buffers_hold_is_counted() -> None:
    """Plain UDP cannot make a sender wait: data without a free buffer are dropped and counted, and the receiver reports
    the missing message."""
    count = 200_000

    def program(rank: Rank) -> str:
        buffer = rank.create_buffer(count)
        if rank.rank == 0:
            rank.send(buffer, count, 1, tag=1)
            rank.send(buffer, 10, 1, tag=2)
        else:
            with pytest.raises(AcclError) as error:
                rank.recv(buffer, 10, 0, tag=2)
            return str(error.value)
        return ""

    result = run(program, 2, time_out_us=5000)
    assert "with tag 2 for too long; all 16 receive buffers hold messages that no call has received" in result.values[1]
    frame = 14 + 20 + 8 + 64
    segments, rest = divmod(4 * count, 1024)
    waiting, room = divmod(65_536, frame + 1024)
    assert rest + frame + 40 + frame < room  # the rest of the first message, and the second one, still find buffers
    assert result.lost == [
        (1, "packets without a receive buffer", segments - 16 - waiting),
        (1, "messages that no call has received", 1),
    ]


def test_chains() -> None:
    """A call with `waitfor` begins when the named calls have ended."""

    def program(rank: Rank) -> Any:
        buffers = [rank.create_buffer(np.full(10, k, np.float32)) for k in range(4)]
        first = rank.copy(buffers[0], buffers[1], 10, run_async=True)
        second = rank.copy(buffers[1], buffers[2], 10, from_fpga=True, run_async=True, waitfor=[first])
        third = rank.copy(buffers[2], buffers[3], 10, from_fpga=True, run_async=True, waitfor=[second])
        third.wait()
        assert (buffers[3].array == 0).all()
        return first.ended_us < second.ended_us < third.ended_us and third.wait(0.0)

    assert run(program, 1).values == [True]


def test_a_wait_has_a_limit() -> None:
    def program(rank: Rank) -> float:
        buffer = rank.create_buffer(10)
        if rank.rank == 0:
            request = rank.recv(buffer, 10, 1, run_async=True)
            begin = rank.now_us
            assert not request.wait(50)
            late = rank.now_us - begin
            rank.barrier()
            assert request.wait()
            return late
        rank.barrier()
        rank.send(buffer, 10, 0)
        return 50

    assert run(program, 2).values == pytest.approx([50, 50], abs=1e-3)


def test_runs_are_the_same() -> None:
    def program(rank: Rank) -> float:
        buffer, result = rank.create_buffer(1000), rank.create_buffer(1000)
        for _ in range(5):
            rank.allreduce(buffer, result, 1000, Function.SUM)
        return rank.now_us

    def once() -> Result:
        return run(program, 5)

    assert once() == once()


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda rank: rank.create_buffer(4, "uint8"), "elements of type uint8"),
        (lambda rank: rank.send(rank.create_buffer(4), 5, 0), "a buffer of 4 elements; must have at least 5"),
        (
            lambda rank: rank.send(rank.create_buffer(4), 4, 7),
            "destination 7 does not exist; the communicator has 2 ranks",
        ),
        (lambda rank: rank.create_communicator([0, 0]), "a communicator of ranks"),
        (lambda rank: rank.stream_put(rank.create_buffer(4), 4, 0, 300), "stream 300"),
        (lambda rank: [rank.create_communicator([0, 1]) for _ in range(200)], "the exchange memory is full"),
        (lambda rank: rank.create_buffer(4 * 10**9), "memory of node"),
        (lambda rank: rank.copy(rank.create_buffer(4), rank.create_buffer(4, "int32"), 4), "operands of types"),
        (lambda rank: rank.send(rank.create_buffer(4, "f8"), 4, 0, compress_dtype="f2"), "float64 sent as float16"),
    ],
)
def test_wrong_calls_are_refused(wrong: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        run(wrong, 2)


@pytest.mark.parametrize("hardware", [(), pytest.param((0, 1), marks=pytest.mark.long)])
def test_a_board_without_plug_ins_moves_and_says_what_it_lacks(hardware: tuple[int, ...]) -> None:
    cluster = Cluster.load("accl-u280-udp").replace(node={"board": {"arithmetic": False, "compression": False}})

    def program(rank: Rank) -> list[str]:
        data, place = rank.create_buffer(np.arange(100, dtype=np.float32) + rank.rank), rank.create_buffer(100)
        rank.bcast(data if rank.rank == 0 else place, 100, 0)
        if rank.rank == 1:
            assert (place.array == np.arange(100)).all()
        said = []
        for call in (
            lambda: rank.combine(100, Function.SUM, data, data, place),
            lambda: rank.allreduce(data, place, 100, Function.SUM),
            lambda: rank.bcast(place, 100, 0, compress_dtype=np.float16),
        ):
            with pytest.raises(AcclError) as found:
                call()
            said.append(str(found.value))
        return said

    for said in run(program, 2, cluster, hardware=hardware).values:
        assert "no plug-in for arithmetic" in said[0] and "no plug-in for arithmetic" in said[1]
        assert "no plug-in for compression" in said[2]


@pytest.mark.parametrize("transport", ["udp", "rdma", "reliable"])
@pytest.mark.parametrize("count", [60_000, 60_001, 65_023])
def test_a_long_bcast_is_handed_on_whatever_holds_a_ranks_result(count: int, transport: str) -> None:
    """In parts of 512 elements, to the memory of a board or a host, a kernel's stream, and an array of narrower
    elements; rank 2 has the data. Some ranks call late, when a rank's receive buffers could not hold the data sent by
    the others."""
    data = data_of(1, 2, count, "float32") + np.float32(1 / 3)

    def program(rank: Rank) -> Array | None:
        rank.pause(200 * ((rank.rank + 1) % 3))
        result: Buffer = rank.create_buffer(count, np.float16 if rank.rank == 4 else np.float32, host=rank.rank == 1)
        if rank.rank == 2:
            rank.bcast(rank.create_buffer(data), count, 2)
        elif rank.rank == 3:
            rank.bcast(Stream(), count, 2)
        else:  # float32 on the wire
            places = (rank.create_buffer(1), None, result)
            rank.call(Scenario.BCAST, places, count=count, root=2, needs=(0, 0, count))
        rank.barrier()
        return rank.pull()[0].data[:count] if rank.rank == 3 else result.array

    result = run(program, 6, f"accl-u280-{transport}", buffers=40, buffer_bytes=1024, flat_bytes=4096)
    assert result.lost == [] and result.warnings == []
    for rank in (0, 1, 3, 4, 5):
        np.testing.assert_array_equal(result.values[rank], data.astype(np.float16) if rank == 4 else data)


def test_streams_of_other_ranks_do_not_change_how_a_long_bcast_goes() -> None:
    """Compressed on the wire, with results of all ranks but one in kernels' streams; several consecutive ones."""
    count = 10_000

    def program(rank: Rank) -> list[Array]:
        buffers = [rank.create_buffer(data_of(k, rank.rank, count, "float32")) for k in range(3)]
        for root, buffer in enumerate(buffers):
            place = buffer if rank.rank in (root, 4) else Stream()
            rank.bcast(place, count, root, compress_dtype=np.float16)
        rank.barrier()
        if rank.rank == 4:
            return [buffer.array for buffer in buffers]
        return [packet.data[:count] for packet in rank.pull()]

    result = run(program, 5, buffers=64, flat_bytes=4096)
    assert result.lost == []
    for rank, found in enumerate(result.values):
        right = [data_of(k, k, count, "float32") for k in range(3) if k != rank]
        np.testing.assert_array_equal(found, right)


def test_a_bcast_to_boards_with_few_receive_buffers_goes_straight_to_each() -> None:
    """Nothing is lost, as each rank takes data on arrival."""
    count = 200_000

    def program(rank: Rank) -> Array:
        buffer = rank.create_buffer(data_of(1, rank.rank, count, "int32"))
        rank.bcast(buffer, count, 1)
        return buffer.array

    result = run(program, 5)
    assert result.lost == []
    for found in result.values:
        np.testing.assert_array_equal(found, data_of(1, 1, count, "int32"))
