# SPDX-License-Identifier: Apache-2.0
"""Measured times, compared with values computed by hand from a cluster's constants, and every operation of `thalweg
bench`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from thalweg import measure
from thalweg.accl import Rank, run
from thalweg.errors import InputError
from thalweg.resources import resource
from thalweg.systems import systems
from thalweg.systems.accl import operations
from thalweg.systems.accl.cluster import Cluster

OPERATIONS = sorted(name for name in systems()["accl"].operations if name not in ("ptrans", "linpack"))
# accl-u280-udp: packets of 8,192 bytes of payload with 64 + 8 + 20 bytes of headers, and 14 + 4 + 8 + 12 of Ethernet, at 12.5 GB/s; memory 14 GB/s.
LINE_GB = 12.5 * 8192 / (8192 + 64 + 8 + 20 + 14 + 4 + 8 + 12)
MEMORY_GB = 14


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("by", ["kernel", "host"])
def test_every_operation(operation: str, by: str) -> None:
    options = {} if operation in ("put", "sendrecv", "copy", "combine", "b_eff") else {"ranks": 5}
    sizes = {} if operation == "barrier" else {"sizes": "4,64,4K,60000"}
    rows = measure(operation, "accl-u280-udp", by=by, **options, **sizes)
    assert all(row["verified"] for row in rows)
    assert all(row["time_us"] >= row["bound_us"] for row in rows)
    assert all((row["time_us"] > 30) == (by == "host") for row in rows[:1])


def test_servers_have_no_engine() -> None:
    with pytest.raises(InputError, match="put needs boards with an engine; on noctua2-mpi hosts exchange messages"):
        measure("put", "noctua2-mpi", sizes=64)


def test_streaming_takes_the_whole_line() -> None:
    (row,) = measure("put", "accl-u280-udp", sizes="16M")
    assert row["gb_per_s"] == pytest.approx(LINE_GB, rel=0.01)
    assert row["gb_per_s"] == pytest.approx(12.3, rel=0.03)  # the paper


def test_buffered_messages_are_copied() -> None:
    (row,) = measure("sendrecv", "accl-u280-udp", sizes="16M")
    assert row["gb_per_s"] == pytest.approx(1 / (1 / LINE_GB + 1 / MEMORY_GB), rel=0.01)
    assert row["gb_per_s"] == pytest.approx(6.6, rel=0.03)  # the paper


def test_rendezvous_needs_no_copy() -> None:
    (row,) = measure("sendrecv", "accl-u280-rdma", sizes="16M")
    assert row["gb_per_s"] == pytest.approx(LINE_GB, rel=0.01)


def test_copies_move_what_the_memory_does() -> None:
    for operation in ("copy", "combine"):
        (row,) = measure(operation, "accl-u280-udp", sizes="16M")
        assert row["gb_per_s"] == pytest.approx(MEMORY_GB, rel=0.01)


def test_hosts_take_the_invocation_of_a_kernel() -> None:
    """The paper's Equation 1: l_k is 30 us for calls by a host."""
    for operation in ("put", "sendrecv"):
        times = [measure(operation, "accl-u280-udp", sizes="64", by=by)[0]["time_us"] for by in ("kernel", "host")]
        assert times[1] - times[0] == pytest.approx(30, abs=0.1)
        assert 2.5 < times[0] < 5  # the paper


def test_a_hosts_calls_one_after_the_other_take_what_the_papers_model_says() -> None:
    """Equation 1: 2 l_k + l_m + l_c, with l_k the invocation of a kernel, l_m a copy in the board's memory, l_c the ports, the cables and the switch."""

    def program(rank: Rank) -> float:
        mine, theirs = rank.create_buffer(np.zeros(16, np.float32)), rank.create_buffer(16)
        begin = rank.send(mine, 16, 1 - rank.rank).begun_us
        return rank.recv(theirs, 16, 1 - rank.rank).ended_us - begin

    link, copy = 2 * 0.25 + 2 * 0.015 + 1, 2 * 0.1067
    assert run(program, 2).values == pytest.approx([2 * 30 + copy + link] * 2, rel=0.05)


def test_the_engines_processor_takes_its_time(tmp_path: Path) -> None:
    """Times per command until its first move, and per result; for consecutive ones, results of active calls come before
    waiting commands."""

    def last(calls: int, command: int, result: int) -> float:
        file = tmp_path / "board.toml"
        file.write_text(
            f'description = "x"\nbase = "{resource("clusters/accl-u280-udp.toml")}"\n'
            f"[node.board.processor]\ncopy = [{command}, {result}]\n"
        )

        def program(rank: Rank) -> float:
            pairs = [(rank.create_buffer(16), rank.create_buffer(16)) for _ in range(calls)]
            requests = [rank.kernel().copy(*pair, 16, run_async=True) for pair in pairs]
            for request in requests:
                request.wait()
            return max(request.ended_us for request in requests) - requests[0].begun_us

        took: float = run(program, 1, str(file)).values[0]
        return took

    hardware = last(1, 0, 0)
    assert last(1, 40, 6) == hardware
    assert last(1, 290, 0) == pytest.approx(hardware + 1)
    assert last(1, 0, 256) == pytest.approx(hardware + 1)
    assert last(1, 290, 256) == pytest.approx(hardware + 2)
    assert last(3, 290, 0) == pytest.approx(hardware + 1 + 2 * 1.160, abs=0.05)
    assert last(3, 0, 256) == pytest.approx(hardware + 3, abs=0.1)
    # The third command waits for the first result, which arrives while the second one is handled.
    assert last(3, 290, 256) == pytest.approx(hardware + 1 + 2 * 1.160 + 1 + 1 + 1, abs=0.5)


@pytest.mark.parametrize(
    ("operation", "options", "text"),
    [
        ("put", {"sizes": "6"}, "a size of 6 bytes; must be a positive multiple of 4"),
        ("allreduce", {"ranks": 1, "sizes": "4"}, "ranks is 1; must be 2 to 48 for allreduce"),
        ("allreduce", {"ranks": 49, "sizes": "4"}, "ranks is 49"),
        ("bcast", {"ranks": 3, "root": 3, "sizes": "4"}, "root is 3; must be 0 to 2"),
        ("put", {"by": "nobody", "sizes": "4"}, "unknown by 'nobody'"),
        ("put", {"ranks": 2, "sizes": "4"}, "put has no option 'ranks'"),
        ("put", {"sizes": "64,4G"}, "a size of 4294967296 bytes needs .* accl-u280-udp has memory_bytes = 8589934592"),
        ("scan", {}, "accl has no scan"),
    ],
)
def test_wrong_options_are_refused(operation: str, options: dict[str, object], text: str) -> None:
    with pytest.raises(InputError, match=text):
        measure(operation, "accl-u280-udp", **options)


def test_a_barrier_has_no_bytes() -> None:
    (row,) = measure("barrier", "accl-u280-udp", ranks=3)
    assert (row["bytes"], row["gb_per_s"]) == (0, 0)


@pytest.mark.parametrize(("operation", "options"), [("sendrecv", {}), ("allreduce", {"ranks": 4})])
def test_a_single_size_says_how_far_it_is(operation: str, options: dict[str, int]) -> None:
    heard: list[float] = []
    plan = operations.OPERATIONS[operation].plan(Cluster.load("accl-u280-udp"), sizes="1M", **options)
    plan.rows(heard.append)
    assert heard == sorted(heard) and heard[-1] == 1
    assert len({round(fraction, 2) for fraction in heard}) > 20


def test_a_size_for_which_there_is_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("thalweg.systems.accl.operations.prepared", full)
    with pytest.raises(InputError, match="a size of 64 bytes on 2 ranks needs more memory than this computer has"):
        measure("put", "accl-u280-udp", sizes="64")


def test_short_blocks_take_few_latencies() -> None:
    """A message of 64 bytes takes less than 2.95 us after its command (test_64_bytes_take_what_the_paper_measured):
    with 16 ranks a ring would take 15 of them, and allreduce 30. The sequencer takes some 45 cycles for each of 15
    messages."""
    for operation, ways in [("gather", 3), ("allgather", 3), ("alltoall", 3), ("reduce", 3), ("allreduce", 4)]:
        (row,) = measure(operation, "accl-u280-udp", ranks=16, sizes="64")
        assert row["verified"] and row["time_us"] < 2.95 * ways + 0.55 + 15 * 45 * 0.004
