# SPDX-License-Identifier: Apache-2.0
"""Do loops of HLS kernels take the cycles given by their pragmas and the memory? Expected cycles are closed forms."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from thalweg.accl import Kernels, Rank
from thalweg.errors import CheckFailed, InputError
from thalweg.kernels import compiler

sys.path.insert(0, str(Path(__file__).parent))
from kernel_runs import LATENCY, SOURCES, WORD, alone, cycles

pytest.importorskip("clang.cindex", reason="libclang is not installed")


@pytest.fixture(scope="module")
def loops() -> Kernels:
    return Kernels(SOURCES / "loops.cpp", includes=[SOURCES])


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
    """Without clang: the same cycles."""
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


@pytest.mark.parametrize(
    "pragma, what",
    [
        ("HLS WARP factor=2", r"x.cpp:\d+: #pragma HLS warp is not supported"),
        ("HLS PIPELINE II=0", "interval of 0 cycles"),
    ],
)
def test_pragmas_that_are_wrong(pragma: str, what: str, tmp_path: Path) -> None:
    source = tmp_path / "x.cpp"
    source.write_text(
        f'#include "hls_stream.h"\nvoid k(int n) {{\n for (int i = 0; i < n; ++i) {{\n#pragma {pragma}\n }}\n}}\n'
    )
    with pytest.raises((InputError, CheckFailed), match=what):
        kernels = Kernels(source, includes=[SOURCES])
        alone(lambda rank: rank.start(kernels, "k", n=3).wait())


@pytest.mark.sample(5)
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
    """4 iterations at intervals of 2 cycles, plus the cycles in which the pipeline drains if it belongs to one row: 2
    (4 - 1) + 10."""
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
