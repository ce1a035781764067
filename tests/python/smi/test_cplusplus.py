# SPDX-License-Identifier: Apache-2.0
"""Do channels of smi.hpp behave like those of smi.h, in the same cycles; are their operations found, and is wrong use
refused at compile time?"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from thalweg.cli import main
from thalweg.errors import InputError
from thalweg.systems.smi.extract import extract
from thalweg.systems.smi.run import Result, Run, Stuck

pytest.importorskip("clang.cindex", reason="libclang is not installed")
pytestmark = pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")

LISTINGS = Path(__file__).parents[3] / "apps/smi/listings"

PLAIN = """#include <smi.h>
__kernel void gives(int n, SMI_Comm comm) {
  SMI_Channel out = SMI_Open_send_channel(n, SMI_DOUBLE, (SMI_Comm_rank(comm) + 1) % SMI_Comm_size(comm), 0, comm);
  for (int i = 0; i < n; ++i) {
    double value = SMI_Comm_rank(comm) + 0.5 * i;
    if (i % 10 == 9) SMI_Push_flush(&out, &value, 1); else SMI_Push(&out, &value);
  }
}
__kernel void takes(int n, double* got, short* parts, int* all, SMI_Comm comm) {
  const int size = SMI_Comm_size(comm), own = SMI_Comm_rank(comm), root = size - 1;
  SMI_Channel in = SMI_Open_receive_channel(n, SMI_DOUBLE, (own + size - 1) % size, 0, comm);
  for (int i = 0; i < n; ++i) {
    double value;
    SMI_Pop(&in, &value);
    got[i] = value;
  }
  SMI_Comm some = SMI_Comm_range(comm, root, -1, size);
  SMI_BChannel b = SMI_Open_bcast_channel(n, SMI_FLOAT, 1, 0, some);
  SMI_RChannel r = SMI_Open_reduce_channel(n, SMI_INT, SMI_MAX, 2, root, comm);
  SMI_ScatterChannel s = SMI_Open_scatter_channel(n, n, SMI_SHORT, 3, root, comm);
  SMI_GatherChannel g = SMI_Open_gather_channel(n, n, SMI_INT, 4, 0, comm);
  for (int i = 0; i < n; ++i) {
    float value = i * 0.25f;
    SMI_Bcast(&b, &value);
    got[i] += value;
  }
  for (int i = 0; i < n; ++i) {
    int give = own * i, most = 0;
    SMI_Reduce(&r, &give, &most);
    if (own == root) got[i] += most;
  }
  for (int i = 0; i < (own == root ? n * size : n); ++i) {
    short give = i, part = 0;
    SMI_Scatter(&s, &give, &part);
    if (own != root || i / n == own) *parts++ = part;
  }
  for (int i = 0; i < (own == 0 ? n * size : n); ++i) {
    int give = own * n + i % n, one = 0;
    SMI_Gather(&g, &give, &one);
    if (own == 0) *all++ = one;
  }
}
"""
MODERN = """#include <smi.hpp>
using app = smi::ports<smi::send_channel<double, 0>, smi::receive_channel<double, 0>, smi::broadcast_channel<float, 1>,
                       smi::reduce_channel<int, 2, SMI_MAX>, smi::scatter_channel<short, 3>, smi::gather_channel<int, 4>>;
__kernel void gives(int n, SMI_Comm comm) {
  const smi::communicator all(comm);
  app::send<0> out(n, (all.rank() + 1) % all.size(), all);
  for (int i = 0; i < n; ++i) {
    const double value = all.rank() + 0.5 * i;
    if (i % 10 == 9) out.push_flush(value); else out.push(value);
  }
}
__kernel void takes(int n, double* got, short* parts, int* all_parts, SMI_Comm comm) {
  const smi::communicator all(comm);
  const int size = all.size(), own = all.rank(), root = size - 1;
  app::receive<0> in(n, (own + size - 1) % size, all);
  double* next = got;
  for (double value : in) *next++ = value;
  app::broadcast<1> b(n, 0, all.range(root, -1, size));
  app::reduce<2> r(n, root, all);
  app::scatter<3> s(n, root, all);
  auto g = app::gather<4>(n, 0, all);
  for (int i = 0; i < n; ++i) {
    const float value = b.share(i * 0.25f);
    got[i] += value;
  }
  for (int i = 0; i < n; ++i) {
    const int most = r.combine(own * i);
    if (own == root) got[i] += most;
  }
  for (int i = 0; i < (own == root ? n * size : n); ++i) {
    const short part = s.part(i);
    if (own != root || i / n == own) *parts++ = part;
  }
  for (int i = 0; i < (own == 0 ? n * size : n); ++i) {
    const int one = g.collect(own * n + i % n);
    if (own == 0) *all_parts++ = one;
  }
}
"""


def outcome(source: Path, all_parts: str, count: int, ranks: int) -> tuple[Result, list[np.ndarray[Any, Any]]]:
    run = Run("smi-noctua", ranks=ranks)
    arrays = []
    run.kernel(source, "gives", range(ranks), n=count)
    for rank in range(ranks):
        got, parts = run.buffer(rank, np.zeros(count)), run.buffer(rank, np.zeros(count, np.int16), 1)
        every = run.buffer(rank, np.zeros(count * ranks, np.int32), 2)
        run.kernel(source, "takes", rank, n=count, got=got, parts=parts, **{all_parts: every})
        arrays += [got, parts, every]
    result = run.run()
    return result, [array.array for array in arrays]


@pytest.mark.parametrize("count, ranks", [(1, 2), (100, 8), (333, 3)])
def test_the_same_data_in_the_same_cycles(count: int, ranks: int, tmp_path: Path) -> None:
    plain, modern = tmp_path / "plain.cpp", tmp_path / "modern.cpp"
    plain.write_text(PLAIN)
    modern.write_text(MODERN)
    assert extract(plain) == extract(modern)
    one, other = outcome(plain, "all", count, ranks), outcome(modern, "all_parts", count, ranks)
    assert one[0] == other[0]
    assert all(np.array_equal(a, b) for a, b in zip(one[1], other[1], strict=True))
    index = np.arange(count)
    last = 3 * (ranks - 1)
    assert np.array_equal(one[1][0], ranks - 1 + 0.75 * index)
    assert np.array_equal(one[1][last], ranks - 2 + 0.75 * index + (ranks - 1) * index)
    assert np.array_equal(one[1][2], np.arange(ranks * count))
    assert np.array_equal(one[1][last + 1], ((ranks - 1) * count + index).astype(np.int16))


def test_the_listing(capsys: pytest.CaptureFixture[str]) -> None:
    for ranks in ("2", "8"):
        command = ["smi", "run", "-n", ranks, "--cluster", "smi-noctua", "--host", str(LISTINGS / "ranges.toml")]
        assert main(command) == 0
        assert "checks passed" in capsys.readouterr().out


def test_operations_of_templates_are_found(tmp_path: Path) -> None:
    source = tmp_path / "app.cpp"
    source.write_text("""#include <smi.hpp>
using more = smi::ports<smi::scatter_channel<unsigned, 9>>;
template <int Port> void gathers(int n) { smi::gather_channel<char, 2 * Port + 1> all(n, 0); }
__kernel void app(int n) {
  gathers<1>(n);
  gathers<20>(n);
  smi::reduce_channel<short, 4, SMI_MIN>(n, 0).combine(short(1));
}
""")
    found = [
        (of["type"], of["port"], of["data_type"], of["args"].get("op_type")) for of in extract(source)["operations"]
    ]
    assert found == [
        ("gather", 3, "char", None),
        ("reduce", 4, "short", "min"),
        ("scatter", 9, "int", None),
        ("gather", 41, "char", None),
    ]


@pytest.mark.parametrize(
    "text, says",
    [
        ("smi::ports<smi::send_channel<int, 3>, smi::send_channel<int, 3>>", "a port is used twice, or with two types"),
        ("smi::ports<smi::send_channel<int, 3>, smi::receive_channel<float, 3>>", "a port is used twice, or with two"),
        (
            "smi::ports<smi::gather_channel<int, 3>, smi::send_channel<int, 3>>",
            "a port is used twice, or with two types",
        ),
        ("smi::ports<smi::send_channel<int, 3>>::send<4>", "the program has no such port"),
        ("smi::ports<smi::send_channel<int, 3>>::receive<3>", "the program has no such port"),
        ("smi::send_channel<int, 256>", "a port is a number from 0 to 255"),
        ("smi::send_channel<long, 1>", "constraints not satisfied"),
    ],
)
def test_refused_by_the_compiler(text: str, says: str, tmp_path: Path) -> None:
    source = tmp_path / "app.cpp"
    source.write_text(f"#include <smi.hpp>\n__kernel void app() {{ sizeof({text}); }}\n")
    with pytest.raises(InputError, match=rf"^{re.escape(str(source))}:2:\d+: error: .*{says}"):
        Run("smi-noctua", ranks=1).source(source)


@pytest.mark.parametrize(
    "text, says",
    [
        ("smi::send_channel<short, 0> c(1, 0); c.push(1);", "the pushed value has another type than the channel"),
        ("smi::send_channel<short, 0> c(1, 0), d = c;", "deleted copy constructor"),
    ],
)
def test_wrong_elements_are_refused(text: str, says: str, tmp_path: Path) -> None:
    source = tmp_path / "app.cpp"
    source.write_text(f"#include <smi.hpp>\n__kernel void app() {{ {text} }}\n")
    with pytest.raises(InputError, match=rf"^{re.escape(str(source))}:2:\d+: error: .*{says}"):
        Run("smi-noctua", ranks=1).source(source)


def test_a_report_has_the_callers_line(tmp_path: Path) -> None:
    source = tmp_path / "app.cpp"
    source.write_text("""#include <smi.hpp>
__kernel void app() {
  smi::receive_channel<int, 0> in(3, 0);
  for (int value : in)
    (void)value;
}
__kernel void other() { smi::send_channel<int, 0> out(3, 0); }
""")
    run = Run("smi-noctua", ranks=1)
    run.kernel(source, "app", 0)
    run.kernel(source, "other", 0)
    with pytest.raises(Stuck, match=r"pop from rank 0, port 0, element 1 of 3, for kernel other .*app.cpp:4\)"):
        run.run()
