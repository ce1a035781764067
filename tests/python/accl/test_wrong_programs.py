# SPDX-License-Identifier: Apache-2.0
"""Does a program that uses the library wrongly get a line that names the mistake, instead of wrong data, an endless
wait or another error?"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from thalweg.accl import AcclError, Buffer, Function, Rank, Stream, run
from thalweg.errors import InputError
from thalweg.systems.accl.program_steps import Array, expected


def four(rank: Rank) -> Buffer:
    return rank.create_buffer(4)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda rank: rank.copy(four(rank), four(rank), -1), "copy: count is -1; must be 0 to"),
        (lambda rank: rank.copy(four(rank), four(rank), 1.5), "copy: count is 1.5; must be an integer"),
        (lambda rank: rank.bcast(four(rank), 4, 1 << 32), "bcast: the other rank or root is 4294967296"),
        (lambda rank: rank.send(four(rank), 4, 1, tag=-1), "send: tag is -1"),
        (lambda rank: rank.allreduce(four(rank), four(rank), 4, "sum"), "allreduce: function is 'sum'"),
        (lambda rank: rank.copy(None, four(rank), 4), "copy: operand 0 is missing"),
        (lambda rank: rank.bcast(None, 4, 0), "bcast: (operand 0|result) is missing"),
        (lambda rank: rank.stream_put(None, 4, 0, 1), "send: operand 0 is missing"),
        (lambda rank: rank.copy(np.zeros(4), four(rank), 4), "copy: ndarray instead of a Buffer or a Stream"),
        (lambda rank: rank.barrier(comm="world"), "barrier: str instead of a Communicator"),
        (lambda rank: rank.nop(waitfor=rank.nop()), "nop: waitfor must be a sequence of requests"),
        (lambda rank: rank.create_communicator([]), "a communicator of ranks"),
        (lambda rank: rank.create_communicator([0.0]), "a communicator: a rank is 0.0"),
        (lambda rank: rank.create_buffer(-1), "a buffer: its length is -1"),
        (lambda rank: rank.create_buffer(3.5), "a buffer: its length is 3.5"),
        (lambda rank: rank.create_buffer(4, "nonsense"), "'nonsense' is not an element type"),
        (lambda rank: rank.create_buffer(["a"], "float32"), "not an array of elements"),
        (
            lambda rank: rank.create_buffer(np.array([1, 300]), "int8"),
            "int64 elements are outside the range of int8, -128 to 127",
        ),
        (lambda rank: rank.create_buffer([float("nan")], "int32"), "float64 elements are outside|not an array"),
        (lambda rank: four(rank)[2], r"buffer\[2\]: the index of a buffer must be a slice"),
        (
            lambda rank: setattr(four(rank), "array", np.zeros(5)),
            r"cannot assign an array of shape \(5,\) to a buffer of 4",
        ),
        (lambda rank: rank.copy(four(rank), four(rank), 4, compress_dtype="nonsense"), "is not an element type"),
        (lambda rank: rank.push("abc"), "not an array of elements"),
        (lambda rank: rank.pause(-1), "time of -1 us"),
        (lambda rank: rank.pause(float("inf")), "time of inf us"),
    ],
)
def test_wrong_arguments(wrong: Any, text: str) -> None:
    with pytest.raises(InputError, match=text) as error:
        run(wrong, 2)
    assert "\n" not in str(error.value)


def test_an_unknown_keyword_ends_all_ranks_and_names_the_rank() -> None:
    ended = []

    def program(rank: Rank) -> None:
        try:
            rank.barrier()
            if rank.rank == 1:
                rank.send(four(rank), 4, 0, bogus=1)
            rank.recv(four(rank), 4, 1)
        finally:
            ended.append(rank.rank)

    with pytest.raises(TypeError, match=r"^send\(\) got an unexpected keyword argument 'bogus'") as error:
        run(program, 3)
    assert error.value.__notes__ == ["in the program of rank 1"]
    assert sorted(ended) == [0, 1, 2]


def test_a_capture_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "none" / "frames.pcapng"
    for switches in None, "mpi-fpga-torus-2x2x2":
        with pytest.raises(InputError, match=f"{file}: the capture file cannot be written"):
            run(lambda rank: None, 2, pcap=str(file), in_switch=switches)


def test_an_unknown_option_of_a_run() -> None:
    with pytest.raises(
        TypeError, match=r"^run\(\) got an unexpected keyword argument 'bogus'; its options are buffers"
    ):
        run(four, 2, bogus=1)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"buffers": 0}, "buffers is 0; must be 1 to"),
        ({"buffers": 1000}, "the exchange memory is full"),
        ({"buffer_bytes": 7}, "buffer_bytes is 7; must be 8 to"),
        ({"time_out_us": -1}, "time_out_us is -1"),
        ({"time_out_us": 1.5}, "time_out_us is 1.5"),
        ({"most_eager_bytes": 10}, "most_eager_bytes is 10; must be 0 or at least buffer_bytes, 1024"),
        ({"ranks": 1.5}, "ranks is 1.5"),
    ],
)
def test_wrong_options(options: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        run(four, **{"ranks": 2, **options})


def test_what_another_rank_has_made_is_refused() -> None:
    made: dict[int, Any] = {}

    def program(rank: Rank, of: int, what: str) -> None:
        made[rank.rank] = four(rank), rank.create_communicator([0, 1]), rank.nop(run_async=True)
        rank.barrier()
        buffer, comm, request = made[of]
        if what == "buffer":
            rank.kernel().copy(buffer, four(rank), 4)
        elif what == "communicator":
            rank.barrier(comm=comm)
        else:
            rank.nop(waitfor=[request])

    for what, text in (
        ("buffer", "copy: the buffer belongs to rank 0, not to rank"),
        ("communicator", "barrier: the communicator belongs to rank 0, not to rank"),
        ("request", "nop: waitfor has a request of rank 0"),
    ):
        with pytest.raises(InputError, match=text):
            run(lambda rank, what=what: program(rank, 0, what), 2)  # type: ignore[misc]
        run(lambda rank, what=what: program(rank, rank.rank, what), 2)  # type: ignore[misc]


def test_what_another_run_has_made_is_refused() -> None:
    """Its address may be that of another object."""
    made: list[Any] = []
    run(lambda rank: made.extend([four(rank), rank.create_communicator([0]), rank.nop(run_async=True)]), 1)
    buffer, comm, request = made
    uses: dict[str, Callable[[Rank], object]] = {
        "copy: the buffer belongs to another run": lambda rank: rank.copy(four(rank), buffer, 4),
        "barrier: the communicator belongs to another run": lambda rank: rank.barrier(comm=comm),
        "nop: the request in waitfor belongs to another run": lambda rank: rank.nop(waitfor=[request]),
    }
    for text, use in uses.items():
        with pytest.raises(InputError, match=text):
            run(use, 1)


def test_a_rank_outside_of_a_communicator_does_not_call_on_that_of_all_ranks() -> None:
    with pytest.raises(InputError, match="barrier: comm is None, as this rank is not a member of that communicator"):
        run(lambda rank: rank.barrier(comm=rank.create_communicator([0])), 2)


def test_communicators_of_kernels_and_hosts_are_different() -> None:
    """Each has memory of its own, whoever creates it: blocks arrive in the order of its ranks."""
    orders = [1, 0, 2], [2, 1, 0], [0, 2, 1]

    def program(rank: Rank) -> list[list[int]]:
        made = [(rank.kernel() if k % 2 == 0 else rank).create_communicator(order) for k, order in enumerate(orders)]
        mine, found = rank.create_buffer(np.array([rank.rank], np.int32)), rank.create_buffer(3, np.int32)
        results = []
        for comm in made:
            rank.allgather(mine, found, 1, comm=comm)
            results.append(found.array.tolist())
        return results

    assert run(program, 3).values == [[list(order) for order in orders]] * 3


def test_another_call_does_not_read_results() -> None:
    """The array belongs to the program until it waits."""

    def program(rank: Rank) -> list[list[float]]:
        source, found, other = rank.create_buffer(np.arange(4, dtype=np.float32)), four(rank), four(rank)
        request = rank.copy(source, found, 4, run_async=True)
        rank.pause(200)
        rank.copy(source, other, 4)
        before = found.array.tolist()
        request.wait()
        return [before, found.array.tolist()]

    assert run(program, 1).values == [[[0.0] * 4, [0.0, 1.0, 2.0, 3.0]]]


def test_a_failed_call_has_no_results() -> None:
    """The next call sends the values that the program writes into the array afterwards."""

    def program(rank: Rank) -> float:
        data = four(rank)
        if rank.rank == 0:
            request = rank.recv(data, 4, 1, run_async=True)
            rank.pause(1000)
            data.array[:] = 7
            rank.send(data, 4, 1)
            with pytest.raises(AcclError, match="time-out"):
                request.wait()
        else:
            rank.pause(900)
            rank.recv(data, 4, 0)
        return float(data.array[0])

    assert run(program, 2, time_out_us=500).values == [7.0, 7.0]


def test_a_refused_call_does_not_count_as_one_that_is_open() -> None:
    def program(rank: Rank) -> list[float]:
        buffer = rank.create_buffer(4)
        with pytest.raises(InputError):
            rank.send(buffer, 4, 9)
        rank.allreduce(rank.create_buffer(np.ones(4, np.float32)), buffer, 4, Function.SUM)
        return list(buffer.array)

    assert run(program, 2).values == [[2.0] * 4] * 2


def test_a_rank_whose_run_has_ended() -> None:
    kept: list[Rank] = []
    run(kept.append, 1)
    for call in (kept[0].barrier, lambda: kept[0].pause(1)):
        with pytest.raises(InputError, match="the run of this rank has ended"):
            call()


def test_lengths_and_orders_of_bytes_of_numpy() -> None:
    def program(rank: Rank) -> None:
        assert len(rank.create_buffer(np.int64(5))) == 5
        big = rank.create_buffer(np.arange(4, dtype=">f4"))
        rank.allreduce(big, result := four(rank), 4, Function.SUM)
        np.testing.assert_array_equal(result.array, 2 * np.arange(4))
        rank.push([1.5, 2.5])
        rank.push(np.array([3, 4], ">f4"))
        rank.copy(Stream(), result, 2)
        np.testing.assert_array_equal(result.array[:2], [1.5, 2.5])
        rank.copy(Stream(">f4"), result, 2)
        np.testing.assert_array_equal(result.array[:2], [3, 4])
        result.array = [5, 6, 7, 8]
        rank.copy(result, big, 4)
        np.testing.assert_array_equal(big.array, [5, 6, 7, 8])

    run(program, 2)


@pytest.mark.parametrize("waits", ["twice", "not at all"])
def test_a_call_that_fails_is_never_overlooked(waits: str) -> None:
    def program(rank: Rank) -> None:
        request = rank.recv(four(rank), 4, 1 - rank.rank, run_async=True)
        if waits == "twice":
            with pytest.raises(AcclError):
                request.wait()
            request.wait()

    with pytest.raises(AcclError, match="rank 0: recv: receive time-out"):
        run(program, 2, time_out_us=100)


def test_a_call_behind_one_that_failed_fails() -> None:
    def program(rank: Rank) -> None:
        came, result = four(rank), four(rank)
        chain = [rank.recv(came, 4, 1 - rank.rank, run_async=True)]
        for _ in range(2):
            chain.append(rank.copy(came, result, 4, from_fpga=True, run_async=True, waitfor=chain[-1:]))
        with pytest.raises(AcclError, match="copy: receive time-out .*: the recv before it failed: waited for"):
            chain[-1].wait()
        for request in chain[:-1]:
            with pytest.raises(AcclError):
                request.wait()

    run(program, 2, time_out_us=100)


@pytest.mark.parametrize("before", ["open", "ended"])
def test_a_call_that_is_refused_behind_others_can_be_caught(before: str) -> None:
    """Each wait for it, or for a call behind it, reports the refusal; other calls proceed."""

    def program(rank: Rank) -> list[float]:
        source, total = rank.create_buffer(np.ones(4, np.float32)), four(rank)
        first = rank.nop(run_async=before == "open")
        if before == "ended":
            with pytest.raises(InputError, match="send: destination 99 does not exist; the communicator has 2 ranks"):
                rank.send(source, 4, 99, run_async=True, waitfor=[first])
        else:
            wrong = rank.send(source, 4, 99, run_async=True, waitfor=[first])
            behind = rank.copy(source, total, 4, run_async=True, waitfor=[wrong])
            for request in 2 * [wrong]:
                with pytest.raises(
                    InputError, match="rank [01]: send: destination 99 does not exist; the communicator has 2 ranks"
                ):
                    request.wait()
            for later in (behind, rank.nop(run_async=True, waitfor=[wrong])):
                with pytest.raises(
                    InputError, match="(copy|nop): the send before it failed: destination 99 does not exist"
                ):
                    later.wait()
        rank.allreduce(source, total, 4, Function.SUM)
        return total.array.tolist()

    assert run(program, 2).values == [[2.0] * 4] * 2


def test_a_refused_call_that_nobody_waits_for_ends_the_run() -> None:
    def program(rank: Rank) -> None:
        rank.send(four(rank), 4, 99, run_async=True, waitfor=[rank.nop(run_async=True)])

    with pytest.raises(InputError, match="rank 0: send: destination 99 does not exist; the communicator has 2 ranks"):
        run(program, 2)


def test_a_call_behind_one_that_has_failed_fails_whenever_it_is_made() -> None:
    def program(rank: Rank) -> None:
        request = rank.recv(four(rank), 4, 1 - rank.rank, run_async=True)
        with pytest.raises(AcclError):
            request.wait()
        with pytest.raises(AcclError, match="copy: receive time-out .*: the recv before it failed: waited for"):
            rank.copy(four(rank), four(rank), 4, waitfor=[request])

    run(program, 2, time_out_us=100)


LAYOUTS = {
    "same": lambda whole, k, n: (whole[:], whole[:]),
    "own block of the result": lambda whole, k, n: (whole[k * n : (k + 1) * n], whole[:]),
    "own block of the operand": lambda whole, k, n: (whole[:], whole[k * n : (k + 1) * n]),
    "ahead": lambda whole, k, n: (whole[:n], whole[16 : 16 + n]),
    "behind": lambda whole, k, n: (whole[16 : 16 + n], whole[:n]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_operand_and_a_result_that_overlap_are_right_or_refused(layout: str) -> None:
    ranks, count, root = 3, 400, 2
    inputs = [np.arange(ranks * count, dtype=np.float32) + 1000 * rank for rank in range(ranks)]
    extra = {"scatter": (root,), "gather": (root,), "reduce": (root, 0), "allreduce": (0,), "reduce_scatter": (0,)}
    right = set()
    for operation in ("scatter", "gather", "reduce", "allgather", "allreduce", "reduce_scatter", "alltoall"):

        def program(rank: Rank, operation: str = operation) -> Array:
            whole = rank.create_buffer(inputs[rank.rank])
            send, recv = LAYOUTS[layout](whole, rank.rank, count)
            getattr(rank, operation)(send, recv, count, *extra.get(operation, ()))
            return recv.array

        try:
            found = run(program, ranks).values
        except InputError as error:
            assert "overlap" in str(error) or "a buffer of 400 elements" in str(error)
            continue
        given = [LAYOUTS[layout](whole, rank, count)[0] for rank, whole in enumerate(inputs)]
        for one, wanted in zip(found, expected(operation, given, count, root, Function.SUM), strict=True):
            assert wanted is None or (one[: wanted.size] == wanted).all(), operation
        right.add(operation)
    assert right == {
        "same": {"gather", "reduce", "allgather", "allreduce", "reduce_scatter"},
        "own block of the result": {"gather", "allgather", "reduce", "allreduce"},
        "own block of the operand": {"scatter", "reduce_scatter", "reduce", "allreduce"},
    }.get(layout, set())


def test_collectives_that_differ_between_ranks() -> None:
    """Even if their messages have the same sizes."""

    def program(rank: Rank, what: str) -> None:
        dtype = "int32" if what == "types" and rank.rank else "float32"
        one, other = rank.create_buffer(8, dtype), rank.create_buffer(8, dtype)
        if what == "operations":
            call: Any = rank.alltoall if rank.rank else rank.allgather
            call(one, other, 4)
        elif what == "functions":
            rank.allreduce(one, other, 8, Function.MAX if rank.rank else Function.SUM)
        elif what == "roots":
            rank.bcast(one, 8, rank.rank)
        elif what == "types":
            rank.bcast(one, 8, 0)
        else:
            rank.barrier()
            rank.reduce(one, other, 8 - rank.rank, 0, Function.SUM)

    for what, text in {
        "operations": "rank 0 calls allgather of 4 elements, but this rank calls alltoall of 4 elements",
        "functions": "rank 0 calls allreduce of 8 elements, function 0, but this rank calls .* function 1",
        "roots": "rank 0 calls bcast of 8 elements, root 0, but this rank calls .* root 1",
        "types": "rank 0 has elements of floating point, but this rank of integers of 4 bytes",
        "counts": "rank 1 calls reduce of 7 elements, root 0, .*, but this rank calls reduce of 8 elements",
    }.items():
        with pytest.raises(AcclError, match=text):
            run(lambda rank, what=what: program(rank, what), 2)  # type: ignore[misc]


def test_what_a_call_has_left_in_the_memory_is_newer_than_an_array() -> None:
    """Results of calls that the program has not waited for, as operands of others."""

    def program(rank: Rank, pause: float) -> list[list[float]]:
        source, between, last = (rank.create_buffer(np.arange(4) + first, np.float32) for first in (1, 50, 70))
        first = rank.copy(source, between[1:3], 2, run_async=True)
        rank.pause(pause)
        rank.copy(between, last, 4, waitfor=[first])
        return [last.array.tolist(), between.array.tolist()]

    for pause in (0.0, 1000.0):
        (found,) = run(lambda rank, pause=pause: program(rank, pause), ranks=1).values
        assert found[0] == [50, 1, 2, 53]


def test_a_call_writes_no_more_than_its_operands_elements() -> None:
    def program(rank: Rank) -> list[float]:
        place = rank.create_buffer(20)
        got = rank.recv(place[10:20], 10, 1 - rank.rank, run_async=True)
        rank.send(rank.create_buffer(np.arange(10), np.float32), 10, 1 - rank.rank)
        rank.pause(1000)
        rank.send(place, 3, 1 - rank.rank, tag=2)
        rank.recv(rank.create_buffer(3), 3, 1 - rank.rank, tag=2)
        got.wait()
        return place.array[10:].tolist()

    assert run(program, ranks=2).values == [list(range(10))] * 2


def test_a_call_by_a_thread_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: said.append(str(args.exc_value)))

    def program(rank: Rank) -> None:
        other = threading.Thread(target=lambda: rank.barrier())
        other.start()
        other.join()

    run(program, ranks=2)
    assert len(said) == 2 and all("only the thread of a rank's function may make calls" in line for line in said)


@pytest.mark.parametrize("how", ["finally", "except"])
def test_ranks_end_when_another_fails(how: str) -> None:
    def program(rank: Rank) -> None:
        if rank.rank == 1:
            rank.pause(5)
            raise RuntimeError("its own")
        try:
            rank.recv(rank.create_buffer(10), 10, 1)
        except BaseException:
            if how == "except":
                rank.barrier()
        finally:
            rank.barrier()

    with pytest.raises(RuntimeError, match="its own"):
        run(program, ranks=2)


def test_a_time_out_is_one_whatever_the_others_do() -> None:
    def program(rank: Rank) -> float:
        if rank.rank == 0:
            rank.pause(5e6)
            return 0.0
        begin = rank.now_us
        with pytest.raises(AcclError, match="for too long"):
            rank.recv(rank.create_buffer(4), 4, 0)
        return rank.now_us - begin

    assert run(program, ranks=2, time_out_us=1000).values[1] == pytest.approx(1000, rel=0.05)
