# SPDX-License-Identifier: Apache-2.0
"""Do HLS kernels run beside the engines, with the right data, in the cycles that their pragmas say? Expected cycles are closed forms."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from thalweg.accl import Kernels, Rank, run
from thalweg.cli import main
from thalweg.errors import CheckFailed, FabricStopped, InputError
from thalweg.kernels import compiler

pytest.importorskip("clang.cindex", reason="libclang is not installed")

SOURCES = Path(__file__).parent / "kernels"
ROOT = Path(__file__).resolve().parents[3]
LATENCY = 106.7e-9 * 250e6  # of the memory of a board of accl-u280-udp, in cycles
WORD = 64 / (14e9 / 250e6)  # cycles of 64 bytes at its rate


@pytest.fixture(scope="module")
def loops() -> Kernels:
    return Kernels(SOURCES / "loops.cpp", includes=[SOURCES])


@pytest.fixture(scope="module")
def put() -> Kernels:
    return Kernels(SOURCES / "put.cpp", includes=[SOURCES])


@pytest.fixture(scope="module")
def more() -> Kernels:
    return Kernels(SOURCES / "more.cpp", includes=[SOURCES])


def start_put(rank: Rank, put: Kernels, numbers: Any, **how: Any) -> tuple[Any, Any]:
    mine, other = rank.create_buffer(numbers), rank.create_buffer(len(numbers))
    port = rank.kernel_port(stream=9, **how)
    started = rank.start(
        put,
        "put",
        {"from": mine, "to": other, "in": port.data_out, "out": port.data_in},
        count=len(numbers),
        next=(rank.rank + 1) % rank.size,
        comm=rank.world.address,
        arithmetic=rank.arithmetic(),
        commands=port.commands,
        status=port.status,
    )
    return started, other


@pytest.mark.parametrize(
    "ranks, cluster",
    [(1, "udp"), (2, "udp"), (3, "udp"), (2, "reliable"), (2, "rdma")],
)
@pytest.mark.parametrize("count", [1, 16, 100, 5000])
def test_kernels_of_ranks_exchange_data_through_their_engines(
    put: Kernels, ranks: int, cluster: str, count: int
) -> None:
    def program(rank: Rank) -> int:
        for step in range(2):
            numbers = np.arange(count, dtype=np.float32) * (rank.rank + 1) + step
            started, other = start_put(rank, put, numbers)
            started.wait()
            before = (rank.rank - 1) % ranks
            assert (other.array == np.arange(count, dtype=np.float32) * (before + 1) + step + 1).all()
        return int(started.cycles)

    result = run(program, ranks, f"accl-u280-{cluster}")
    assert len(set(result.values)) == 1  # the ranks do the same
    assert result.values == run(program, ranks, f"accl-u280-{cluster}").values
    assert not result.lost and not result.failed


def test_a_long_exchange_is_bound_by_the_line(put: Kernels) -> None:
    """From 1 MiB to 2 MiB: the kernel first sends all, and then takes what has come, each at the memory's rate; nothing else grows."""

    def program(rank: Rank) -> list[int]:
        cycles = []
        for count in (2**18, 2**19):
            started, _ = start_put(rank, put, np.zeros(count, np.float32))
            started.wait()
            cycles.append(started.cycles)
        return cycles

    first, second = run(program, 2, buffer_bytes=4096).values[0]
    more = 2**20
    line = more / (12.5e9 * 4096 / (4096 + 64 + 42 + 24)) * 250e6  # payload, header, UDP to Ethernet, FCS to gap
    taken = more / 64 * WORD
    assert line + taken == pytest.approx(second - first, rel=0.02)


def line_of(code: str) -> int:
    lines = (SOURCES / "loops.cpp").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if code in line)


def cycles(kernels: Kernels, name: str, rank: Rank, **arguments: Any) -> tuple[int, Any]:
    """Of a kernel, without those of one that does nothing; and what it has left in `out`."""
    out = rank.create_buffer(2, np.int32)
    if "out" in [each.name for each in kernels[name].arguments if each.kind == "memory"]:
        arguments["out"] = out
    started = rank.start(kernels, name, arguments)
    started.wait()
    empty = rank.start(kernels, name, arguments | {"count": 0})
    empty.wait()
    return started.cycles - empty.cycles, out


def alone(program: Any) -> Any:
    return run(program, 1).values[0]


@pytest.mark.parametrize(
    "name, count, more, expected",
    [
        ("plain", 100, {}, 100),
        ("nested", 10, {"inner": 7}, 70),
        ("latency_alone", 100, {}, 700),
        ("unrolled", 100, {}, 0),
        ("unrolled_by_four", 100, {}, 25),
        ("unrolled_by_four", 101, {}, 26),
        ("unrolled_by_a_pipeline", 100, {"inner": 7}, 100),
        ("one_after_the_other", 1000, {}, 3000),
    ],
)
def test_loops(loops: Kernels, name: str, count: int, more: dict[str, int], expected: int) -> None:
    assert alone(lambda rank: cycles(loops, name, rank, count=count, **more)[0]) == expected


@pytest.mark.parametrize("name, interval, latency", [("interval_two", 2, 0), ("interval_and_latency", 3, 10)])
@pytest.mark.parametrize("count", [1, 100])
def test_a_pipeline_takes_its_interval_between_iterations_and_its_latency_for_the_last(
    loops: Kernels, name: str, interval: int, latency: int, count: int
) -> None:
    def program(rank: Rank) -> int:
        return cycles(loops, name, rank, count=count, out=rank.kernel_stream(depth=200))[0]

    assert alone(program) == interval * (count - 1) + max(interval, latency)


def test_with_gcc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no clang: the same cycles."""
    monkeypatch.setattr(compiler, "clang", lambda cplusplus=False: None)
    kernels = Kernels(SOURCES / "loops.cpp", includes=[SOURCES])

    def program(rank: Rank) -> list[int]:
        data = rank.create_buffer(np.arange(16 * 1024, dtype=np.int32))
        return [
            cycles(kernels, "nested", rank, count=10, inner=7)[0],
            cycles(kernels, "side_by_side", rank, count=1000)[0],
            cycles(kernels, "reads_in_order", rank, **{"count": 1024, "in": data})[0],
        ]

    nested, side_by_side, reads = alone(program)
    assert (nested, side_by_side) == (70, pytest.approx(1000, abs=2))
    assert reads == pytest.approx(LATENCY + 1024 * WORD, abs=2)


def test_a_stream_holds_the_faster_kernel_back(loops: Kernels) -> None:
    def program(rank: Rank) -> list[int]:
        between, out = rank.kernel_stream(depth=2), rank.create_buffer(2, np.int32)
        both = [
            rank.start(loops, "interval_two", count=1000, out=between),
            rank.start(loops, "takes", {"in": between}, count=1000, out=out),
        ]
        for each in both:
            each.wait()
        assert out.array[0] == 499500
        return [each.cycles for each in both]

    gives, takes = alone(program)
    assert gives == 2000 + 1
    assert 2000 <= takes <= 2000 + LATENCY + 5  # its result goes to memory


def test_processes_of_a_dataflow_region_run_at_the_same_time(loops: Kernels) -> None:
    def program(rank: Rank) -> int:
        took, out = cycles(loops, "side_by_side", rank, count=1000)
        return took

    assert alone(program) == pytest.approx(1000, abs=2)


def test_reads_in_order_are_a_burst_at_the_rate_of_the_memory(loops: Kernels) -> None:
    def program(rank: Rank) -> int:
        data = rank.create_buffer(np.arange(16 * 1024, dtype=np.int32))
        took, _ = cycles(loops, "reads_in_order", rank, count=1024, **{"in": data})
        return took

    assert alone(program) == pytest.approx(LATENCY + 1024 * WORD, abs=2)


def test_reads_far_apart_wait_for_the_memory_each_or_once_in_a_pipeline(loops: Kernels) -> None:
    def program(rank: Rank) -> list[int]:
        data = rank.create_buffer(np.arange(64 * 100, dtype=np.int32))
        names = "reads_far_apart", "reads_far_apart_in_a_pipeline"
        return [cycles(loops, name, rank, count=100, **{"in": data})[0] for name in names]

    each, once = alone(program)
    assert each == 100 * (math.ceil(LATENCY + WORD) + 1)
    assert once == pytest.approx(LATENCY + 100 * (math.ceil(WORD) + 1), abs=2)


def test_polls_take_a_cycle_each(loops: Kernels) -> None:
    def program(rank: Rank) -> list[int]:
        between, out = rank.kernel_stream(depth=4), rank.create_buffer(2, np.int32)
        rank.start(loops, "interval_two", count=50, out=between)
        rank.start(loops, "polls", {"in": between}, count=50, out=out).wait()
        return [int(each) for each in out.array]

    assert alone(program) == [50, 50]  # every second cycle has a number


def test_a_full_stream_is_seen(loops: Kernels) -> None:
    def program(rank: Rank) -> int:
        refused = rank.create_buffer(1, np.int32)
        rank.start(
            loops, "writes_where_there_is_room", count=50, out=rank.kernel_stream(depth=4), refused=refused
        ).wait()
        return int(refused.array[0])

    assert alone(program) == 46


@pytest.mark.parametrize(
    "name, code, what",
    [
        ("throws_something", "throw 5", "throws what nothing catches"),
        ("never_ends", "while (true)", "has not ended after 1000 cycles, its limit"),
        ("follows_a_wild_pointer", "*reinterpret_cast<int*>", "uses address 0x600000000000, which is no memory"),
        ("divides", "100 / (count - 3)", "divides an integer by zero"),
        ("calls_itself", "here[depth % 1000] = depth", "its stack is full"),
        ("aborts", "abort()", "aborts"),
        ("exits", "exit(3)", "calls exit(3); a kernel ends by return"),
        ("reads_outside", "in[1 << 20]", "of the board's memory of node 0, which were not allocated"),
    ],
)
def test_what_a_kernel_must_not_do_is_a_line(loops: Kernels, name: str, code: str, what: str) -> None:
    def program(rank: Rank) -> None:
        out = rank.create_buffer(2, np.int32)
        given = {each.name: out if each.kind == "memory" else 3 for each in loops[name].arguments}
        rank.start(loops, name, given, max_cycles=1000).wait()

    with pytest.raises(CheckFailed) as raised:
        alone(program)
    text = str(raised.value)
    assert f"loops.cpp:{line_of(code)}: kernel {name} of rank 0: " in text and what in text and "\n" not in text


def test_an_endless_loop_without_streams_ends(loops: Kernels) -> None:
    def program(rank: Rank) -> None:
        rank.start(loops, "spins", out=rank.create_buffer(1, np.int32), patience=0.3).wait()

    with pytest.raises(CheckFailed, match="kernel spins of rank 0: has run for .* processor time"):
        alone(program)


def test_kernels_that_wait_for_one_another_are_named(loops: Kernels) -> None:
    def program(rank: Rank) -> None:
        one, other = rank.kernel_stream("one"), rank.kernel_stream("other")
        rank.start(loops, "waits_for_a_second", {"in": one, "out": other})
        rank.start(loops, "waits_for_a_second", {"in": other, "out": one}).wait()

    with pytest.raises(FabricStopped) as raised:
        alone(program)
    assert str(raised.value).count("kernel waits_for_a_second of rank 0 waits to pop from stream o") == 2
    assert [each.where.rsplit("/", 1)[-1] for each in raised.value.blocked] == [
        f"loops.cpp:{line_of('const int value = in.read()')}"
    ] * 2


def test_data_that_no_command_takes_fill_the_stream(put: Kernels) -> None:
    """A kernel that pushes all its data before its command, as on a board."""

    def program(rank: Rank) -> None:
        port = rank.kernel_port(depth=4)
        data = rank.create_buffer(np.zeros(16 * 10, np.float32))
        rank.start(
            put,
            "first_the_data",
            {"from": data, "out": port.data_in},
            count=160,
        ).wait()

    with pytest.raises(FabricStopped, match=r"waits to push into the data stream to the engine of node 0"):
        run(program, 1)


@pytest.mark.parametrize(
    "arguments, what",
    [
        ({}, "argument count, int, is not given"),
        ({"count": 1, "more": 2}, "has no argument more; it has count, out"),
        ({"count": 1, "out": 3}, "argument out is memory: give a buffer"),
        ({"count": "1"}, "argument count, int, is '1'; wanted is a number"),
    ],
)
def test_arguments(loops: Kernels, arguments: dict[str, Any], what: str) -> None:
    with pytest.raises(InputError, match=what):
        alone(lambda rank: rank.start(loops, "plain", arguments))


@pytest.fixture(scope="module")
def types() -> Kernels:
    pytest.importorskip("da4ml", reason="no headers of arbitrary-precision types are installed")
    return Kernels(SOURCES / "arguments.cpp")


@pytest.mark.parametrize(
    "kernel, dtype, least, most",
    [
        (
            "whole",
            np.int64,
            {"a": -128, "b": 0, "c": -(2**31), "d": 0, "e": -(2**63), "f": 0, "g": 0, "h": -(2**32), "i": 0},
            {"a": 127, "b": 65535, "c": 2**31 - 1, "d": 2**32 - 1, "e": 2**63 - 1, "f": 1, "g": 31, "h": 2**32 - 1, "i": 255},
        ),
        ("real", np.float64, {"a": -(2.0**127), "b": -(2**63), "c": -8, "d": 0}, {"a": 0.25, "b": 2**63, "c": 7.9375, "d": 63}),
    ],
)  # fmt: skip
def test_a_number_arrives_as_it_is_or_is_refused(
    types: Kernels, kernel: str, dtype: Any, least: dict[str, float], most: dict[str, float]
) -> None:
    """The limits of C's types of 64-bit Linux, and of the vendor's: W bits, I of them before the point, are up to 2^(I-1) - 2^(I-W)."""

    def program(rank: Rank, numbers: dict[str, float]) -> Any:
        out = rank.create_buffer(len(numbers), np.int64)
        rank.start(types, kernel, numbers | {"out": out}).wait()
        return out.array.view(dtype).tolist()

    for numbers in least, most:
        assert alone(lambda rank, numbers=numbers: program(rank, numbers)) == list(numbers.values())
    beyond = {name: value - 1 for name, value in least.items()}, {name: value + 1 for name, value in most.items()}
    for good, wrong in zip((least, most), beyond, strict=True):
        for name, value in wrong.items():
            if name in "ab" and dtype is np.float64:
                continue
            what = f"kernel {kernel}: argument {name}, .*, is {value}; wanted is .*{least[name]}.* to {most[name]}"
            with pytest.raises(InputError, match=what):
                alone(lambda rank, numbers=good | {name: value}: program(rank, numbers))


def test_large_numbers_arrive(types: Kernels) -> None:
    def program(rank: Rank, **numbers: int) -> Any:
        out = rank.create_buffer(4, np.int64)
        rank.start(types, "large", numbers, out=out).wait()
        return out.array.view(np.uint64).tolist()

    last = 2**64 - 1
    assert alone(lambda rank: program(rank, a=last, b=last, c=2**63 - 1)) == [last, last, 2**63 - 1, 0]
    for name, value in {"a": -1, "b": 2**64, "c": 2**63}.items():
        with pytest.raises(InputError, match=f"argument {name}, .*, is {value}; wanted is a whole number from 0 to"):
            alone(lambda rank, name=name, value=value: program(rank, **{"a": 0, "b": 0, "c": 0} | {name: value}))


@pytest.mark.parametrize(
    "name, value, what",
    [
        ("a", 1e39, "wanted is -3.4028.*e[+]38 to 3.4028.*e[+]38"),
        pytest.param("a", 10**400, "wanted is -3.4028", id="10^400"),
        ("c", float("nan"), "argument c, ap_fixed<8, 4>, is nan; wanted is -8.0 to 7.9375"),
        ("d", float("inf"), "argument d, ap_ufixed<6, 6>, is inf; wanted is 0.0 to 63.0"),
    ],
)
def test_real_numbers_beyond_their_type(types: Kernels, name: str, value: float, what: str) -> None:
    numbers = {"a": float("-inf"), "b": float("inf"), "c": 0, "d": 0} | {name: value}
    with pytest.raises(InputError, match=what):
        alone(lambda rank: rank.start(types, "real", numbers, out=rank.create_buffer(4, np.float64)))


@pytest.mark.parametrize("value", [3.7, float("nan"), "3"])
def test_no_whole_number(types: Kernels, value: Any) -> None:
    numbers = dict.fromkeys("abcdefghi", 0) | {"b": value}
    with pytest.raises(InputError, match="argument b, unsigned short, is .*; wanted is a"):
        alone(lambda rank: rank.start(types, "whole", numbers, out=rank.create_buffer(9, np.int64)))


def test_streams_have_the_words_of_their_kernels(loops: Kernels) -> None:
    def program(rank: Rank) -> None:
        rank.start(loops, "interval_two", count=1, out=rank.kernel_port().data_in).wait()

    with pytest.raises(CheckFailed, match="words of 105 bytes, sideband included, and this kernel's have 4"):
        alone(program)


@pytest.mark.parametrize(
    "pragma, what",
    [("HLS WARP factor=2", r"x.cpp:\d+: #pragma HLS warp is not known"), ("HLS PIPELINE II=0", "interval of 0 cycles")],
)
def test_pragmas_that_are_wrong(pragma: str, what: str, tmp_path: Path) -> None:
    source = tmp_path / "x.cpp"
    source.write_text(
        f'#include "hls_stream.h"\nvoid k(int n) {{\n for (int i = 0; i < n; ++i) {{\n#pragma {pragma}\n }}\n}}\n'
    )
    with pytest.raises((InputError, CheckFailed), match=what):
        kernels = Kernels(source, includes=[SOURCES])
        alone(lambda rank: rank.start(kernels, "k", n=3).wait())


@pytest.mark.parametrize(
    "outer, bound, off, each",
    [
        ("", "4", "", 8),
        ("again:", "four", "", 8),
        ("", "4", "#pragma HLS LOOP_FLATTEN off", 16),
        ("", "columns", "", 16),
        ("sum += r;", "4", "", 16),
    ],
)
def test_nested_loops_are_one_pipeline(outer: str, bound: str, off: str, each: int, tmp_path: Path) -> None:
    """4 iterations at intervals of 2 cycles, and those that the pipeline drains in where it is a row's own: 2 (4 - 1) + 10."""
    source = tmp_path / "x.cpp"
    source.write_text(
        f"""#include "hls_stream.h"
void k(int rows, int columns, int* to) {{
  const int four = 2 * 2;
  int sum = 0;
  for (int r = 0; r < rows; ++r) {{
    {outer} for (int c = 0; c < {bound}; ++c) {{
#pragma HLS PIPELINE II=2
#pragma HLS LATENCY min=10
{off}
      sum += c;
    }}
  }}
  *to = sum;
}}
"""
    )
    kernels = Kernels(source, includes=[SOURCES])

    def program(rank: Rank) -> list[int]:
        to = rank.create_buffer(1, np.int32)
        started = [rank.start(kernels, "k", rows=rows, columns=4, to=to) for rows in (8, 9)]
        for one in started:
            one.wait()
        return [one.cycles for one in started]

    first, second = alone(program)
    assert second - first == each


def engine(rank: Rank) -> dict[str, Any]:
    port = rank.kernel_port()
    return {
        "comm": rank.world.address,
        "arithmetic": rank.arithmetic(),
        "commands": port.commands,
        "status": port.status,
    }


@pytest.mark.parametrize("count", [10, 3000])
def test_a_kernels_pointers_are_addresses_of_its_board(more: Kernels, count: int) -> None:
    def program(rank: Rank) -> float:
        buffer = rank.create_buffer(np.arange(count, dtype=np.float32) if rank.rank == 0 else count)
        what = {"count": count, "peer": 1 - rank.rank} | engine(rank)
        if rank.rank == 0:
            rank.start(more, "sends_from_memory", {"from": buffer} | what).wait()
            return 0.0
        total = rank.create_buffer(1)
        rank.start(more, "receives_into_memory", {"to": buffer, "sum": total} | what).wait()
        assert (buffer.array == np.arange(count)).all()
        return float(total.array[0])

    assert run(program, 2, most_eager_bytes=2**20).values[1] == np.arange(count, dtype=np.float32).sum()


def test_the_status_of_a_call_has_its_return_code(more: Kernels) -> None:
    def program(rank: Rank) -> int:
        code = rank.create_buffer(1, np.int32)
        rank.start(more, "asks_for_data", {"code": code} | engine(rank)).wait()
        return int(code.array[0])

    result = run(program, 1, time_out_us=100)
    assert result.values == [1 << 11]
    why = "receive time-out (0x800): waited for data from its kernel's stream for too long"
    assert result.failed == [f"send of node 0, called by a kernel: {why}"]


def test_a_command_without_a_communicator_is_refused(more: Kernels) -> None:
    def program(rank: Rank) -> None:
        code = rank.create_buffer(1, np.int32)
        rank.start(more, "asks_for_data", {"code": code} | engine(rank) | {"comm": 4}).wait()

    with pytest.raises(
        InputError, match="a command of a kernel to the engine of node 0: send: there is no communicator at 0x4"
    ):
        alone(program)


def test_a_kernel_without_control_begins_again(more: Kernels) -> None:
    def program(rank: Rank) -> Any:
        asked, doubled = rank.kernel_stream("asked"), rank.kernel_stream("doubled")
        to = rank.create_buffer(20, np.int32)
        rank.start(more, "doubles", {"in": asked, "out": doubled})
        rank.start(more, "asks_for_doubles", {"count": 20, "out": asked, "in": doubled, "to": to}).wait()
        return to.array

    assert (alone(program) == 2 * np.arange(20)).all()


@pytest.mark.parametrize("by", ["a call", "a kernel", "a slice"])
@pytest.mark.parametrize("pause", [0.05, 1000.0])
def test_what_a_kernel_that_nobody_has_waited_for_writes_is_newer_than_the_array(
    more: Kernels, loops: Kernels, by: str, pause: float
) -> None:
    """The second number, 2, is in the memory after a while, and none of the program's -1."""

    def program(rank: Rank) -> Any:
        asked, doubled = rank.kernel_stream("asked"), rank.kernel_stream("doubled")
        to, other = (rank.create_buffer(np.full(200, -1, np.int32)) for _ in range(2))
        rank.start(more, "doubles", {"in": asked, "out": doubled})
        filled = rank.start(more, "asks_for_doubles", {"count": 200, "out": asked, "in": doubled, "to": to})
        rank.pause(pause)
        if by == "a kernel":
            rank.start(loops, "reads_far_apart", {"count": 4, "in": to, "out": other[:1]}).wait()
        elif by == "a slice":
            rank.copy(to[1:2], other[1:2], 1)
        else:
            rank.copy(to, other, 200)
        filled.wait()
        assert (to.array == 2 * np.arange(200)).all()
        return other.array

    found = alone(program)
    if by == "a kernel":
        assert pause < 1 or found[0] == sum(2 * 64 * i for i in range(4))
    elif by == "a slice":
        assert pause < 1 or found[1] == 2
    elif pause > 1:
        assert (found == 2 * np.arange(200)).all()


def test_an_array_behind_a_const_pointer_stays_the_programs(loops: Kernels) -> None:
    """The program may fill it anew while the kernel runs; calls write it then, and the kernel's end does not read it."""

    def program(rank: Rank) -> tuple[list[int], int]:
        data, other = rank.create_buffer(np.ones(64 * 100, np.int32)), rank.create_buffer(2, np.int32)
        out = rank.create_buffer(1, np.int32)
        read = rank.start(loops, "reads_far_apart", {"count": 100, "in": data, "out": out})
        rank.pause(0.1)
        data.array[:2] = [7, 8]
        rank.copy(data, other, 2)
        read.wait()
        assert data.array[0] == 7
        return other.array.tolist(), int(out.array[0])

    assert alone(program) == ([7, 8], 100)


def test_words_keep_their_sideband(more: Kernels) -> None:
    def program(rank: Rank) -> Any:
        wrong = rank.create_buffer(np.full(3, -1, np.int32))
        rank.start(more, "words_keep_their_sideband", {"count": 100, "wrong": wrong}).wait()
        return wrong.array

    assert (alone(program) == 0).all()


def test_the_command_shows_what_was_found(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source, made = tmp_path / "x.cpp", tmp_path / "x.json"
    source.write_text(
        """#include "hls_stream.h"
#define FOUR 4
void k(const float* from, int count, hls::stream<float>& to) {
#pragma HLS INTERFACE m_axi port=from bundle=memory
#pragma HLS INTERFACE ap_ctrl_none port=return
  all: for (int i = 0; i < count; ++i) {
#pragma HLS PIPELINE II=2*FOUR
#pragma HLS LATENCY min=20
    for (int n = 0; n < 2; ++n) to << from[i];
  }
  int n = 0;
  do {
#pragma HLS UNROLL factor=FOUR
  } while (++n < count);
}
static void helps() {}
template <class T> void of(T) {}
"""
    )
    assert main(["accl", "kernels", str(source), "-I", str(SOURCES), "--json", str(made)]) == 0
    assert (
        capsys.readouterr().out.replace(str(tmp_path), "")
        == """/x.cpp:3: kernel k, which begins again
  from: memory by port memory, const float *
  count: number, int
  to: stream, hls::stream<float> &
/x.cpp:6: an iteration takes 2 * 4 cycles, in a pipeline of 20
/x.cpp:9: an iteration takes no cycle: unrolled
/x.cpp:12: an iteration takes a cycle, 4 at once
"""
    )
    assert [each["name"] for each in json.loads(made.read_text())["kernels"]] == ["k"]


def test_a_source_without_kernels(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = tmp_path / "x.cpp"
    source.write_text("struct pair { int a, b; };\nstatic void helps(int) {}\nvoid takes(pair) {}\n")
    assert main(["accl", "kernels", str(source), "-I", str(SOURCES)]) == 0
    assert capsys.readouterr().out.startswith(f"{source} has no kernel: ")


@pytest.mark.slow
@pytest.mark.parametrize("compilers", ["clang", "gcc"])
def test_the_documentations_example_prints_what_stands_there(compilers: str) -> None:
    """With the vendor's open headers."""
    pytest.importorskip("da4ml", reason="the package with ap_int.h is not installed")
    first = (
        ""
        if compilers == "clang"
        else "from thalweg.kernels import compiler; compiler.clang = lambda cplusplus=False: None; "
    )
    code = f"{first}import runpy; runpy.run_path('examples/accl/kernels.py')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 3
    assert done.stdout in (ROOT / "docs/accl-kernels.md").read_text()
