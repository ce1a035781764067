# SPDX-License-Identifier: Apache-2.0
"""Do kernels in OpenCL C, C and C++ behave as written, in the cycles of their loops, and is wrong use reported by line?"""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from listings import HEAD, RECEIVE, SEND
from thalweg.cli import main
from thalweg.errors import InputError
from thalweg.kernels import compiler
from thalweg.systems.smi.cluster import Cluster
from thalweg.systems.smi.routes import NO_ROUTE
from thalweg.systems.smi.run import Result, Run, Stuck, WrongUse

pytest.importorskip("clang.cindex", reason="libclang is not installed")
pytestmark = pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")

CLANG = (compiler.clang(), compiler.clang(True))


def alone(tmp_path: Path, text: str, suffix: str = ".cl", **arguments: Any) -> tuple[Result, dict[str, Any]]:
    """Kernel `app` on a rank, whose array arguments become buffers, by the number of the bank."""
    source = tmp_path / f"app{suffix}"
    source.write_text(text)
    run = Run("smi-noctua", ranks=1)
    buffers = {
        name: run.buffer(0, value, bank, name)
        for bank, (name, value) in enumerate(arguments.items())
        if isinstance(value, np.ndarray)
    }
    run.kernel(source, "app", 0, **{**arguments, **buffers})
    result = run.run()
    return result, {name: buffer.array for name, buffer in buffers.items()}


def test_a_turn_takes_a_cycle(tmp_path: Path) -> None:
    """However the compiler transforms a loop: it could remove the first, and unroll the second."""
    text = """
    __kernel void app(const int N, __global int* out) {
      int sum = 0;
      for (int i = 0; i < N; ++i) sum += i;
      for (int i = 0; i < 4; ++i) sum += i;
      out[0] = sum;
    }"""
    result, arrays = alone(tmp_path, text, N=1000, out=np.zeros(1, np.int32))
    assert arrays["out"][0] == 1000 * 999 // 2 + 6
    assert 1000 <= result.cycles <= 1010


def test_nested_unrolled_and_slow_loops(tmp_path: Path) -> None:
    text = """
    __kernel void app(__global int* out) {
      int sum = 0;
      for (int i = 0; i < 100; ++i) for (int j = 0; j < 10; ++j) sum++;
      #pragma unroll
      for (int i = 0; i < 5000; ++i) sum++;
      #pragma unroll 4
      for (int i = 0; i < 400; ++i) sum++;
      #pragma ii 3
      for (int i = 0; i < 50; ++i) sum++;
      #pragma smi interval(2) depth(30)
      for (int i = 0; i < 100; ++i) sum++;
      out[0] = sum;
    }"""
    result, arrays = alone(tmp_path, text, out=np.zeros(1, np.int32))
    assert arrays["out"][0] == 1000 + 5000 + 400 + 50 + 100
    expected = 1000 + 100 + 3 * 50 + 2 * 100 + 30
    assert expected - 10 <= result.cycles <= expected + 10


def test_memory_takes_the_banks_time(tmp_path: Path) -> None:
    text = """
    __kernel void app(const int N, __global volatile const float16* restrict in, __global float16* out) {
      for (int i = 0; i < N; ++i) out[i] = 2 * in[i];
    }"""
    numbers = np.arange(16 * 4000, dtype=np.float32)
    result, arrays = alone(tmp_path, text, N=4000, **{"in": numbers, "out": np.zeros_like(numbers)})
    assert np.array_equal(arrays["out"], 2 * numbers)
    per_cycle = 19.2e9 / 259.6e6  # of each of two banks; 64 bytes per turn fit
    refresh = (350 + 2 * 14.16) * 0.2596  # twice in this time; units that hold 64 cycles bridge the rest
    assert 4000 <= result.cycles <= 4000 + 2 * refresh + 27 + 64 + 10
    one_bank = text.replace("out[i] = 2 * in[i]", "out[i] = 2 * in[i] + in[N - 1 - i]")
    result, _ = alone(tmp_path, one_bank, N=4000, **{"in": numbers, "out": np.zeros_like(numbers)})
    assert result.cycles == pytest.approx(4000 * 128 / per_cycle / (1 - refresh / 7800 / 0.2596), rel=0.03)


@pytest.mark.parametrize(
    ("turns", "strides", "nanoseconds"),
    [
        (100, (48, 192, 768), 64 / 19.2),  # other bursts of the same rows: the data bus
        (100, (64, 256, 1024), 5.0),  # of one bank group: tCCD_L
        (100, (16, 8192, 32768), 21 / 4),  # another row each, over all banks: four in tFAW
        (16, (32768, 131072, 524288), 32 + 14.16),  # of one bank: tRC
    ],
    ids=["bus", "group", "activates", "rows"],
)
def test_scattered_loads_take_whole_bursts(
    turns: int, strides: tuple[int, int, int], nanoseconds: float, tmp_path: Path
) -> None:
    """16 loads of 4 bytes per turn, which would need less than a cycle of the bank's bandwidth."""
    text = """
    __kernel void app(const int N, const int a, const int b, const int c, __global volatile const int* in, __global int* out) {
      int sum = 0;
      for (int i = 0; i < N; ++i) {
        #pragma unroll
        for (int j = 0; j < 16; ++j) sum += in[j % 4 * a + j / 4 * b + i * c];
      }
      out[0] = sum;
    }"""
    first, second, turn = strides
    numbers = np.arange(turns * turn + 4 * second, dtype=np.int32)
    memory = {"in": numbers, "out": np.zeros(1, np.int32)}
    result, arrays = alone(tmp_path, text, **memory, N=turns, a=first, b=second, c=turn)
    at = np.arange(4) * first + (np.arange(4) * second)[:, None]
    assert arrays["out"][0] == np.sum(numbers[at[None] + (np.arange(turns) * turn)[:, None, None]], dtype=np.int32)
    refresh = 350 + 2 * 14.16
    least = turns * 16 * nanoseconds
    least = (least + least // (7800 - refresh) * refresh) * 0.2596
    assert least - 13 <= result.cycles <= 1.01 * least + 50


def test_the_same_accesses_take_the_same_time_in_each_language(tmp_path: Path) -> None:
    """A stream that is read and written, and scattered loads; longer than a refresh."""
    text = """#include <smi.h>
    __kernel void app(const int N, __global volatile const int* in, __global int* out) {
      for (int i = 0; i < N; ++i) out[i] = in[i] + in[(i * 8191) % N];
    }"""
    numbers = np.arange(4096, dtype=np.int32)
    cycles = set()
    for suffix in (".cl", ".c", ".cpp"):
        (tmp_path / suffix[1:]).mkdir()
        memory = {"in": numbers, "out": np.zeros_like(numbers)}
        result, arrays = alone(tmp_path / suffix[1:], text, suffix, N=4096, **memory)
        assert np.array_equal(arrays["out"], numbers + np.arange(4096) * 8191 % 4096)
        cycles.add(result.cycles)
    assert len(cycles) == 1 and min(cycles) > 4096


def test_channels_between_kernels(tmp_path: Path) -> None:
    text = """
    channel float4 wide[2] __attribute__((depth(16)));
    channel char narrow;
    channel float many __attribute__((depth(8)));
    __kernel void reads(const int N, __global const float4* in) {
      for (int i = 0; i < N; ++i) {
        #pragma unroll
        for (int b = 0; b < 2; ++b) write_channel_intel(wide[b], in[2 * i + b]);
        write_channel_intel(narrow, (char)i);
        #pragma unroll
        for (int k = 0; k < 8; ++k) write_channel_intel(many, (float)k);
      }
    }
    __kernel void writes(const int N, __global float4* out) {
      for (int i = 0; i < N; ++i) {
        float4 sum = read_channel_intel(wide[0]) + read_channel_intel(wide[1]);
        float more = 0;
        #pragma unroll
        for (int k = 0; k < 8; ++k) more += read_channel_intel(many);
        out[i] = sum + more * read_channel_intel(narrow);
      }
    }"""
    source = tmp_path / "app.cl"
    source.write_text(text)
    numbers = np.random.default_rng(1).random((500, 2, 4), dtype=np.float32)
    run = Run("smi-noctua", ranks=1)
    out = run.buffer(0, np.zeros((500, 4), np.float32), 1)
    run.kernel(source, "reads", 0, N=500, **{"in": run.buffer(0, numbers, 0)})
    run.kernel(source, "writes", 0, N=500, out=out)
    result = run.run()
    factor = np.arange(500).astype(np.int8).astype(np.float32)
    assert np.array_equal(out.array, numbers[:, 0] + numbers[:, 1] + np.float32(28) * factor[:, None])
    assert 500 <= result.cycles <= 550


def lossy(tmp_path: Path, popped: int) -> Run:
    """Rank 0 pushes 70 elements to rank 1, to which its tables have no route."""
    cluster = dataclasses.replace(Cluster.load("smi-noctua"))
    tables = cluster.send_tables.copy()
    tables[0, :, 1] = NO_ROUTE
    cluster.__dict__["send_tables"] = tables
    run = Run(cluster, ranks=2)
    send, receive = tmp_path / "send.cl", tmp_path / "receive.cl"
    send.write_text(SEND)
    receive.write_text(RECEIVE)
    run.kernel(send, "app", 0, N=70)
    run.kernel(receive, "app", 1, N=popped, out=run.buffer(1, np.zeros(70, np.int32)))
    return run


def test_packets_without_a_route_are_reported(tmp_path: Path) -> None:
    """Packets of seven elements each; also if the receiver waits for them. Packets in flight at the end are not
    counted."""
    lost = "packets to a rank without a route in its send tables"
    warnings = lossy(tmp_path, popped=0).run().warnings
    assert sum(bool(re.fullmatch(f"rank 0 dropped ([5-9]|10) {lost}", warning)) for warning in warnings) == 1, warnings
    with pytest.raises(Stuck, match="kernel app of rank 1 has waited") as stuck:
        lossy(tmp_path, popped=70).run()
    assert stuck.value.lines[-1] == f"  rank 0 dropped 10 {lost}"


@pytest.mark.parametrize("suffixes", [(".cl", ".cl"), (".cpp", ".c"), (".c", ".cpp")])
def test_the_papers_first_listing(suffixes: tuple[str, str], tmp_path: Path) -> None:
    one, two = tmp_path / f"one{suffixes[0]}", tmp_path / f"two{suffixes[1]}"
    one.write_text(SEND)
    two.write_text(RECEIVE)
    run = Run("smi-noctua", ranks=2)
    out = run.buffer(1, np.zeros(3000, np.int32))
    run.kernel(one, "app", 0, N=3000)
    run.kernel(two, "app", 1, N=3000, out=out)
    result = run.run()
    assert np.array_equal(out.array, np.arange(3000, dtype=np.int32) ** 2)
    assert result.cycle(0, "app") == pytest.approx(3000, abs=5)
    assert result.elements == 6000
    assert not result.warnings


@pytest.mark.parametrize("suffixes", [(".c", ".cpp"), (".cpp", ".c")])
def test_with_gcc(suffixes: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without clang: the same data in the same cycles, and the line of an error."""
    memory = RECEIVE.replace("out[i] = data", "out[i] = data + scale[i % 4]").replace(
        "int* out", "int* out, __global int* scale"
    )
    results = []
    for used in ("clang", "gcc"):
        monkeypatch.setattr(
            compiler, "clang", lambda cplusplus=False, on=used == "clang": CLANG[cplusplus] if on else None
        )
        folder = tmp_path / used
        folder.mkdir()
        one, two = folder / f"one{suffixes[0]}", folder / f"two{suffixes[1]}"
        one.write_text(SEND)
        two.write_text(memory)
        run = Run("smi-noctua", ranks=2)
        out, scale = run.buffer(1, np.zeros(3000, np.int32)), run.buffer(1, np.arange(4, dtype=np.int32), 1)
        run.kernel(one, "app", 0, N=3000)
        run.kernel(two, "app", 1, N=3000, out=out, scale=scale)
        results.append((run.run(), out.array.tolist()))
    assert results[0] == results[1]
    one.write_text("__kernel void app(__global volatile int* out) {\n  out[5] = 1;\n}\n")
    run = Run("smi-noctua", ranks=1)
    run.kernel(one, "app", 0, out=run.buffer(0, np.zeros(5, np.int32), name="out"))
    with pytest.raises(WrongUse, match=rf"one\{suffixes[0]}:2: rank 0, kernel app: writes 4 bytes at 20 of buffer out"):
        run.run()


def test_vectors_in_memory(tmp_path: Path) -> None:
    text = """
    __kernel void app(__global const float* in, __global float* out, __global char* small) {
      float4 four = vload4(1, in);
      float3 three = vload3(2, in);
      vstore4(four * 2, 0, out);
      vstore3(three, 2, out);
      vstore2(three.yz, 6, out);
      vstore16(convert_char16(vload16(0, in)), 0, small);
      float8 kept[2];
      vstore8(vload8(1, in), 1, (float*)kept);
      vstore8(vload8(1, (float*)kept), 2, out);
    }"""
    numbers = np.arange(16, dtype=np.float32)
    arrays = {"in": numbers, "out": np.zeros(24, np.float32), "small": np.zeros(16, np.int8)}
    _, arrays = alone(tmp_path, text, **arrays)
    expected = [*2 * numbers[4:8], 0, 0, *numbers[6:9], 0, 0, 0, *numbers[7:9], 0, 0, *numbers[8:16]]
    assert arrays["out"].tolist() == expected
    assert arrays["small"].tolist() == list(range(16))


def test_within_a_rank(tmp_path: Path) -> None:
    text = SEND.replace("app", "gives").replace("SMI_INT, 1", "SMI_INT, 0") + RECEIVE.replace("app", "takes")
    source = tmp_path / "app.cl"
    source.write_text(text)
    run = Run("smi-noctua", ranks=1)
    out = run.buffer(0, np.zeros(100, np.int32))
    run.kernel(source, "gives", 0, N=100)
    run.kernel(source, "takes", 0, N=100, out=out)
    run.run()
    assert np.array_equal(out.array, np.arange(100, dtype=np.int32) ** 2)


def test_a_buffer_of_another_run(tmp_path: Path) -> None:
    source = tmp_path / "app.cl"
    source.write_text("__kernel void app(__global int* out) { out[0] = 1; }")
    first, second = Run("smi-noctua", ranks=1), Run("smi-noctua", ranks=1)
    own = first.buffer(0, np.zeros(1, np.int32), name="own")
    second.buffer(0, np.zeros(1, np.int32))
    with pytest.raises(InputError, match="argument out is buffer own of another run"):
        second.kernel(source, "app", 0, out=own)
        second.run()
    first.kernel(source, "app", 0, out=own)
    first.run()
    assert own.array[0] == 1
    with pytest.raises(InputError, match="cannot hold Python objects"):
        first.buffer(0, np.array([None]))


def test_a_buffer_has_the_elements_of_its_pointer(tmp_path: Path) -> None:
    """Bytes are taken as they are, and other byte orders as values."""
    source = tmp_path / "app.cl"
    source.write_text("__kernel void app(__global volatile int* restrict out) { out[0] = out[0] + 1; }")
    for array in (np.zeros(1), np.zeros(2, np.float32), np.zeros(4, np.int16), np.zeros(1, np.int64)):
        run = Run("smi-noctua", ranks=1)
        out = run.buffer(0, array, name="sums")
        with pytest.raises(InputError, match=f"out is a pointer to int, but buffer sums is an array of {array.dtype}"):
            run.kernel(source, "app", 0, out=out)
    for array in (np.array([41], np.uint32), np.array([41], ">i4"), np.array([41], "<i4").view(np.uint8)):
        run = Run("smi-noctua", ranks=1)
        out = run.buffer(0, array)
        run.kernel(source, "app", 0, out=out)
        run.run()
        assert out.array[0] == 42


def test_same_run_twice(tmp_path: Path) -> None:
    results = [alone(tmp_path, "__kernel void app(int N) { for (int i = 0; i < N; ++i); }", N=77)[0] for _ in range(2)]
    assert results[0] == results[1]


@pytest.mark.parametrize(
    "text, says",
    [
        (
            "SMI_Push(&c, &v); SMI_Push(&c, &v); SMI_Push(&c, &v);",
            "app.cl:4: rank 0, kernel app: the channel has 2 elements",
        ),
        ("SMI_Push(&c, &v);", "app.cl:3: rank 0, kernel app: the kernel has ended, .* only 1 of 2"),
        ("out[3] = v;", "app.cl:4: rank 0, kernel app: writes 4 bytes at 12 of buffer out .* which has 12"),
        ("v = out[-1];  out[0] = v;", "app.cl:4: rank 0, kernel app: reads 4 bytes of memory outside of all buffers"),
        ("out[-2000000000] = v;", "app.cl:4: rank 0, kernel app: writes 4 bytes of memory outside of all buffers"),
        ("out[2000000000] = v;", "app.cl:4: rank 0, kernel app: writes 4 bytes of memory outside of all buffers"),
        ("v = ((__global volatile int*)0)[5];", "app.cl:4: rank 0, kernel app: reads 4 bytes of memory outside of"),
    ],
)
def test_wrong_use(text: str, says: str, tmp_path: Path) -> None:
    source = f"""{HEAD}__kernel void app(__global volatile int* out, SMI_Comm comm) {{
  SMI_Channel c = SMI_Open_send_channel(2, SMI_INT, 0, 0, comm), other = SMI_Open_receive_channel(2, SMI_INT, 0, 0, comm); int v = 1;
  {text}
}}
"""
    with pytest.raises(WrongUse, match=says):
        alone(tmp_path, source, out=np.zeros(3, np.int32))


def test_a_variable_of_another_type_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "app.cl").write_text(SEND.replace("int data", "float data"))
    (tmp_path / "two.cl").write_text(RECEIVE)
    run = Run("smi-noctua", ranks=2)
    run.kernel(tmp_path / "app.cl", "app", 0, N=10)
    run.kernel(tmp_path / "two.cl", "app", 1, N=10, out=run.buffer(1, np.zeros(10, np.int32)))
    assert run.run().warnings == [
        f"{tmp_path}/app.cl:7: kernel app: the channel ({tmp_path}/app.cl:3) is of SMI_INT, the variable is one of SMI_FLOAT"
    ]


def test_a_deadlock(tmp_path: Path) -> None:
    source = tmp_path / "app.cl"
    source.write_text(
        HEAD
        + """__kernel void app(SMI_Comm comm) {
  int other = 1 - SMI_Comm_rank(comm), v = 0;
  SMI_Channel in = SMI_Open_receive_channel(1, SMI_INT, other, 0, comm), out = SMI_Open_send_channel(1, SMI_INT, other, 0, comm);
  SMI_Pop(&in, &v);
  SMI_Push(&out, &v);
}
"""
    )
    run = Run("smi-noctua", ranks=2)
    run.kernel(source, "app", range(2))
    with pytest.raises(Stuck) as stuck:
        run.run()
    round_ = stuck.value.lines[stuck.value.lines.index("  wait-for cycle:") + 1 :]
    assert len(round_) == 2
    assert "kernel app of rank 0 has waited" in round_[0] and "pop from rank 1, port 0" in round_[0]
    assert f"({source}:5)" in round_[0] and "kernel app of rank 1" in round_[1]
    a, b = stuck.value.blocked
    assert (a.on, b.on) == (b.who, a.who) == ("kernel app of rank 1", "kernel app of rank 0")
    assert a.what == "to pop from rank 1, port 0, element 1 of 1" and a.where == f"{source}:5" and a.since_us == 0
    words = ["smi", "run", "--cluster", "smi-noctua", "--ranks", "2", "--json", str(tmp_path / "run.json"), str(source)]
    assert main(words) == 3
    written = json.loads((tmp_path / "run.json").read_text())
    assert [each["who"] for each in written["blocked"]] == [a.who, b.who]


def test_a_source_without_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "none.cl"
    source.write_text("")
    assert main(["smi", "run", "-n", "2", "--cluster", "smi-noctua", str(source)]) == InputError.exit_code
    assert f"{source} has no kernel" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text, says",
    [
        ("__kernel void app() { x; }", r"app.cl:1:\d+: error: use of undeclared identifier 'x'"),
        (
            "__kernel void app(__global float* p) { p[0] = sinpi(p[0]); }",
            "app.cl:1: error: kernels have no function sinpi",
        ),
        ("__kernel void other() {}", "has no kernel app; it has other"),
    ],
)
def test_what_does_not_compile(text: str, says: str, tmp_path: Path) -> None:
    arguments = {"p": np.zeros(1, np.float32)} if "float* p" in text else {}
    with pytest.raises(InputError, match=says):
        alone(tmp_path, text, **arguments)


def test_a_port_that_the_other_rank_does_not_have_is_named(tmp_path: Path) -> None:
    (tmp_path / "one.cl").write_text(SEND)
    run = Run("smi-noctua", ranks=2)
    run.kernel(tmp_path / "one.cl", "app", 0, N=10)
    with pytest.raises(WrongUse, match=r"one\.cl:3: rank 0, kernel app: rank 1 has no port 0 for pop"):
        run.run()


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("int", 2**31),
        ("uint", -1),
        ("char", 128),
        ("long", 2**63),
        ("int", (1, 2)),
        ("float", 10**400),
        ("float", 1e39),
        ("float", 2**200),
    ],
)
def test_an_argument_that_its_type_does_not_hold(type_: str, value: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"argument n, {type_}, cannot be "):
        alone(tmp_path, f"__kernel void app({type_} n) {{}}", n=value)


@pytest.mark.parametrize(
    "text, says",
    [
        (
            "SMI_Channel out = SMI_Open_send_channel(4, SMI_FLOAT4, 1, 0, comm);",
            "'SMI_FLOAT4' is unavailable: SMI's datatypes are scalars",
        ),
        ("get_compute_id(0);", "'get_compute_id' is unavailable: kernels are not replicated"),
    ],
)
def test_what_other_implementations_have_is_refused_by_name(tmp_path: Path, text: str, says: str) -> None:
    source = tmp_path / "app.cl"
    source.write_text(f"{HEAD}__kernel void app(SMI_Comm comm) {{ {text} }}")
    with pytest.raises(InputError, match=says):
        Run("smi-noctua").source(source)


def test_a_pipe_is_refused_by_name(tmp_path: Path) -> None:
    source = tmp_path / "app.cl"
    source.write_text(f"{HEAD}__kernel void app(write_only pipe int to) {{ int data = 0; write_pipe(to, &data); }}")
    with pytest.raises(InputError, match=r"app.cl:2: argument to of kernel app is a pipe; .*channel int"):
        Run("smi-noctua").source(source)


def test_the_first_program_of_the_documentation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[3] / "docs" / "smi-programs.md").read_text()
    kernels, script = (page.split(f"```{language}\n")[1].split("```")[0] for language in ("c", "python"))
    (tmp_path / "app.cl").write_text(kernels)
    monkeypatch.chdir(tmp_path)
    exec(script, {})
    cycles, _, right = capsys.readouterr().out.split()
    assert right == "True" and 1000 < int(cycles) < 1300
