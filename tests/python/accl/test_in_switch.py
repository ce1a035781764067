# SPDX-License-Identifier: Apache-2.0
"""Do collectives in MPI-FPGA's switches give numpy's results, in the documented order of operands, and faster? Are all
other operations executed by the engines, and unsupported ones refused?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from thalweg import measure
from thalweg.accl import Function, Rank, Stream, run
from thalweg.cli import main
from thalweg.errors import InputError
from thalweg.spec import Datatype, Operator
from thalweg.systems.accl.cluster import Cluster
from thalweg.systems.accl.drawn_programs import check
from thalweg.systems.accl.program_steps import FUNCTIONS, OPERATIONS, TYPES, data_of, expected, start
from thalweg.systems.accl.values import AcclError
from thalweg.systems.mpi_fpga import reduction
from thalweg.systems.mpi_fpga.spec import Algorithm

CLUSTER, SWITCHES = "accl-u280-udp", "mpi-fpga-torus-2x2x2"
OPERATORS = {
    Function.SUM: Operator.SUM,
    Function.MAX: Operator.MAX,
    Function.PROD: Operator.PROD,
    Function.MIN: Operator.MIN,
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("transport", ["udp", "rdma"])
@pytest.mark.parametrize("ranks", [2, 3, 5, 8])
def test_random_programs(ranks: int, transport: str, seed: int) -> None:
    """Collectives of all types, functions, roots and sizes on several communicators, from memories and streams, mixed
    with messages and copies."""
    for turn in range(6):
        check(f"{seed} {ranks} {transport} {turn}", ranks, transport, 40, SWITCHES)


@pytest.mark.parametrize("switches", ["mpi-fpga-fattree-8", "torus:4x2", "ring:9"])
def test_whatever_the_switches_are(switches: str, seed: int) -> None:
    for turn in range(3):
        check(f"{seed} {switches} {turn}", 7, "udp", 40, switches)


@pytest.mark.long
@pytest.mark.parametrize("ranks", [2, 3, 5, 8])
def test_a_thousand_random_programs(ranks: int, seed: int) -> None:
    for turn in range(250):
        check(f"{seed} {ranks} {turn}", ranks, ("udp", "rdma")[turn % 2], 150, SWITCHES)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(("ranks", "count"), [(2, 1), (3, 1008), (4, 1009), (7, 3000), (8, 20_001)])
def test_sizes(operation: str, ranks: int, count: int) -> None:
    """Sizes of one piece and around it, and of many; roots and memories differ."""
    root = ranks - 1

    def program(rank: Rank) -> np.ndarray[Any, Any]:
        send = rank.create_buffer(data_of(count, rank.rank, ranks * count, "float32"), host=rank.rank == 1)
        recv = rank.create_buffer(ranks * count, host=rank.rank == 0)
        start(rank, operation, send, recv, count, root, Function.SUM)
        return recv.array

    result = run(program, ranks, CLUSTER, in_switch=SWITCHES)
    inputs = [data_of(count, rank, ranks * count, "float32") for rank in range(ranks)]
    for rank, right in enumerate(expected(operation, inputs, count, root, Function.SUM)):
        if right is not None and not (operation == "bcast" and rank == root):
            assert np.array_equal(result.values[rank][: right.size], right)
    assert result.lost == []


@pytest.mark.sample(4)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(("ranks", "root"), [(2, 1), (7, 0), (8, 3)])
def test_the_documented_order(dtype: str, function: Function, ranks: int, root: int) -> None:
    """To the bit, for numbers whose sums and products depend on the order."""
    rng = np.random.default_rng([ranks, root, function])
    if dtype.startswith("float"):
        given = (rng.standard_normal((ranks, 77)) * 10.0 ** rng.integers(-3, 3, (ranks, 77))).astype(dtype)
    else:
        given = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (ranks, 77), dtype, endpoint=True)

    def program(rank: Rank) -> tuple[bytes, bytes]:
        mine, both = rank.create_buffer(given[rank.rank]), [rank.create_buffer(77, dtype) for _ in range(2)]
        rank.allreduce(mine, both[0], 77, function)
        rank.reduce(mine, both[1], 77, root, function)
        return both[0].array.tobytes(), both[1].array.tobytes()

    values = run(program, ranks, CLUSTER, in_switch=SWITCHES).values
    datatype = next(each for each in Datatype if reduction.DTYPES.get(each) == np.dtype(dtype))
    tree = [
        reduction.evaluate(Algorithm.TREE, OPERATORS[function], datatype, given, top).tobytes() for top in (0, root)
    ]
    assert {total for total, _ in values} == {tree[0]}
    assert values[root][1] == tree[1]


def test_operands_that_only_some_ranks_have_elsewhere() -> None:
    """Streams, memories and stored types are chosen per rank; all take part in the same operation."""

    def program(rank: Rank) -> list[float]:
        own = np.full(50, rank.rank + 1.5, np.float32)
        narrow = rank.create_buffer(own.astype(np.float16)) if rank.rank == 2 else rank.create_buffer(own)
        send: Any = narrow
        if rank.rank == 1:
            rank.push(own)
            send = Stream(np.float32)
        recv = rank.create_buffer(50, host=True)
        rank.reduce(send, recv, 50, 3, Function.SUM)
        total = rank.create_buffer(50, np.float16 if rank.rank == 1 else np.float32)
        rank.allreduce(narrow, total, 50, Function.MAX)
        return [float(recv.array[7]), float(total.array[49])]

    values = run(program, 4, CLUSTER, in_switch=SWITCHES).values
    assert values[3][0] == 12.0
    assert [most for _, most in values] == [4.5] * 4


def durations(in_switch: str | None, compress: Any = None) -> dict[str, float]:
    def program(rank: Rank) -> dict[str, float]:
        caller, n = rank.kernel(), 16_384
        send, recv = rank.create_buffer(np.ones(n, np.float32)), rank.create_buffer(n)
        both = [caller.send(send, 500, rank.rank ^ 1, run_async=True), caller.recv(recv, 500, rank.rank ^ 1)]
        both[0].wait()
        reduced = caller.allreduce(send, recv, n, Function.SUM, compress_dtype=compress)
        return {"allreduce": reduced.duration_us, "send": both[0].duration_us, "recv": both[1].duration_us}

    values: list[dict[str, float]] = run(program, 8, CLUSTER, in_switch=in_switch, buffers=100).values
    return values[0]


def test_messages_and_compressed_calls_stay_with_the_engines() -> None:
    alone, beside = durations(None), durations(SWITCHES)
    assert beside["send"] == pytest.approx(alone["send"], abs=0.01)
    assert beside["recv"] == pytest.approx(alone["recv"], abs=0.01)
    assert beside["allreduce"] < alone["allreduce"] / 2
    compressed = [durations(how, np.float16)["allreduce"] for how in (None, SWITCHES)]
    assert compressed[0] == pytest.approx(compressed[1], abs=0.01)


@pytest.mark.parametrize("operation", ["allreduce", "reduce", "bcast", "barrier", "scatter", "gather", "allgather", "reduce_scatter", "alltoall"])  # fmt: skip
def test_times_are_between_the_bound_and_the_engines(operation: str) -> None:
    sizes = {} if operation == "barrier" else {"sizes": "64,64K"}
    alone, beside = (
        measure(operation, CLUSTER, ranks=8, in_switch=how, **sizes)
        if how
        else measure(operation, CLUSTER, ranks=8, **sizes)
        for how in (None, SWITCHES)
    )
    for one, other in zip(alone, beside, strict=True):
        assert other["verified"]
        assert other["bound_us"] <= other["time_us"]
        if other["bytes"] <= 64 or operation in ("allreduce", "reduce", "bcast"):
            assert other["time_us"] < one["time_us"]
        assert other["in_switch"] == SWITCHES


def test_a_memory_carries_no_more_than_it_can() -> None:
    """Reads and writes of 16 MB by ports of 14 GB/s."""
    (row,) = measure("allreduce", CLUSTER, ranks=2, in_switch=SWITCHES, sizes="4M")
    assert row["time_us"] > 4 * 2**20 / 14e3


def test_a_rank_that_does_not_come() -> None:
    def program(rank: Rank) -> None:
        if rank.rank != 2:
            total = rank.create_buffer(10)
            rank.allreduce(total, total, 10, Function.SUM)

    with pytest.raises(AcclError, match="for rank 2 of its communicator in the switches"):
        run(program, 3, CLUSTER, in_switch=SWITCHES, time_out_us=100)


def test_who_waits_is_reported() -> None:
    def program(rank: Rank) -> None:
        if rank.rank != 2:
            rank.barrier()

    with pytest.raises(Exception, match="rank 2 of its communicator in the switches"):
        run(program, 3, CLUSTER, in_switch=SWITCHES, time_out_us=0)


def test_calls_that_differ() -> None:
    def program(rank: Rank) -> list[str]:
        said = []
        total = rank.create_buffer(10)
        for count in (9 + rank.rank, 5):
            request = rank.allreduce(total, total, count, Function.SUM, run_async=True)
            try:
                request.wait()
            except AcclError as error:
                said.append(str(error))
        rank.send(total, 3, 1 - rank.rank, run_async=True)
        rank.recv(total, 3, 1 - rank.rank)
        return said

    values = run(program, 2, CLUSTER, in_switch=SWITCHES, time_out_us=100).values
    assert "calls allreduce of 9 elements" in values[1][0]
    assert all(
        "out of step in the switches, as a call of rank 1 has failed: rank 0 calls" in said[1] for said in values
    )


def test_types_that_differ() -> None:
    def program(rank: Rank) -> None:
        total = rank.create_buffer(10, np.float16 if rank.rank else np.float32)
        rank.allreduce(total, total, 10, Function.SUM)

    with pytest.raises(
        AcclError, match="elements of float32, in the switches, but this rank of float16, in the switches"
    ):
        run(program, 2, CLUSTER, in_switch=SWITCHES, time_out_us=100)


def test_switches_need_no_arithmetic_of_boards() -> None:
    cluster = Cluster.load(CLUSTER).replace(node={"board": {"arithmetic": False}})

    def program(rank: Rank) -> None:
        mine, total = rank.create_buffer(np.arange(3000, dtype=np.float32)), rank.create_buffer(3000)
        for operation in ("reduce", "allreduce", "reduce_scatter"):
            start(rank, operation, mine, total, 1000, 0, Function.SUM)
            if rank.rank == 0:
                assert (total.array[:1000] == 3 * np.arange(1000)).all()
        for call in (
            lambda: rank.combine(1000, Function.SUM, mine, mine, total),
            lambda: rank.allreduce(mine, total, 1000, Function.SUM, compress_dtype=np.float16),  # by the engines
        ):
            with pytest.raises(AcclError, match="its board has no plug-in for arithmetic"):
                call()

    run(program, 3, cluster, in_switch=SWITCHES)


def test_hardware_has_no_port_to_switches() -> None:
    with pytest.raises(
        InputError, match="in_switch needs boards of the C.. model; the RTL has no port to the switches"
    ):
        run(lambda rank: None, 2, CLUSTER, in_switch=SWITCHES, hardware=[0])


def test_more_ranks_than_nodes() -> None:
    with pytest.raises(InputError, match="8 ranks, but torus:2x2, which executes their collectives, has only 4"):
        run(lambda rank: None, 8, CLUSTER, in_switch="torus:2x2")


def test_no_row_left(tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text('[collective]\ncontexts = 1\n[topology]\nshape = "torus"\nsize = [2, 2, 2]\n')

    def program(rank: Rank) -> None:
        rank.barrier()
        rank.barrier(comm=rank.create_communicator([1, 0]))

    with pytest.raises(InputError, match="no free row for a communicator of 2 ranks"):
        run(program, 2, CLUSTER, in_switch=file)


def test_commands(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--cluster", CLUSTER, "--in-switch", SWITCHES]
    assert main(["bench", "allreduce", *options, "--ranks", "8", "--sizes", "64"]) == 0
    assert f"in the switches of {SWITCHES}" in capsys.readouterr().out
    assert main(["bench", "allreduce", *options, "--sizes", "64"]) == 2
    assert "has only 8" in capsys.readouterr().err
