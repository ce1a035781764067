# SPDX-License-Identifier: Apache-2.0
"""Do HLS kernels run beside the engines, with the right data, within the limits of the engines' hardware?"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from thalweg.accl import Kernels, Rank, run
from thalweg.cli import main
from thalweg.errors import CheckFailed, FabricStopped, InputError

sys.path.insert(0, str(Path(__file__).parent))
from kernel_runs import LATENCY, SOURCES, WORD, alone

pytest.importorskip("clang.cindex", reason="libclang is not installed")

ROOT = Path(__file__).resolve().parents[3]


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
    assert len(set(result.values)) == 1  # all ranks do the same
    assert result.values == run(program, ranks, f"accl-u280-{cluster}").values
    assert not result.lost and not result.failed


def test_a_long_exchange_is_bound_by_the_line(put: Kernels) -> None:
    """From 1 MiB to 2 MiB: the kernel first sends everything, and then takes the received data, each at the memory's
    rate; nothing else grows."""

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
        ("throws_something", "throw 5", "throws an exception that nothing catches"),
        ("never_ends", "while (true)", "has not ended after 1000 cycles, its limit"),
        (
            "follows_a_wild_pointer",
            "*reinterpret_cast<int*>",
            "uses address 0x600000000000, which is outside of its memory",
        ),
        ("divides", "100 / (count - 3)", "divides an integer by zero"),
        ("calls_itself", "here[depth % 1000] = depth", "stack overflow"),
        ("aborts", "abort()", "aborts"),
        ("exits", "exit(3)", "calls exit(3); a kernel must end by return"),
        ("reads_outside", "in[1 << 20]", "of the board's memory of node 0, which are not allocated"),
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


def test_streams_have_the_words_of_their_kernels(loops: Kernels) -> None:
    def program(rank: Rank) -> None:
        rank.start(loops, "interval_two", count=1, out=rank.kernel_port().data_in).wait()

    with pytest.raises(CheckFailed, match="words of 105 bytes including sideband, but this kernel uses 4"):
        alone(program)


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
        InputError,
        match="a command of a kernel to the engine of node 0: send: the exchange memory has no communicator with this rank at 0x4",
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
    """The program may refill it while the kernel runs; calls then write it, and the kernel's end does not read it."""

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
        == """/x.cpp:3: kernel k, restarts at its end
  from: memory at port memory, const float *
  count: number, int
  to: stream, hls::stream<float> &
/x.cpp:6: loop: 2 * 4 cycles per iteration, pipelined with latency 20
/x.cpp:9: loop: 0 cycles per iteration, unrolled
/x.cpp:12: loop: 1 cycle per iteration, unrolled by 4
"""
    )
    assert [each["name"] for each in json.loads(made.read_text())["kernels"]] == ["k"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"includes": ["nowhere"]}, "nowhere is not a folder of headers"),
        ({"defines": ["A", "TWO WORDS=1"]}, "'TWO WORDS=1' is not a macro; must be NAME or NAME=VALUE"),
        ({"defines": ["-O3"]}, "'-O3' is not a macro; must be NAME or NAME=VALUE"),
    ],
)
def test_folders_and_macros_that_are_none(options: dict[str, list[str]], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Kernels(Path(__file__).parent / "kernels/loops.cpp", **options)


def test_a_source_without_kernels(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = tmp_path / "x.cpp"
    source.write_text("struct pair { int a, b; };\nstatic void helps(int) {}\nvoid takes(pair) {}\n")
    assert main(["accl", "kernels", str(source), "-I", str(SOURCES)]) == 0
    assert capsys.readouterr().out.startswith(f"{source} has no kernel: ")


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.parametrize("compilers", ["clang", pytest.param("gcc", marks=pytest.mark.long)])
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
