# SPDX-License-Identifier: Apache-2.0
"""Can kernels in C and C++ include the headers that other programs include, with either compiler, although libclang
comes without a compiler's headers?"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from thalweg.errors import InputError
from thalweg.kernels import compiler, frontend
from thalweg.systems.smi.extract import extract
from thalweg.systems.smi.run import Run

pytest.importorskip("clang.cindex", reason="libclang is not installed")
pytestmark = pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")

CLANG = (compiler.clang(), compiler.clang(True))
C = """#include <smi.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct two { int first, second; };
__kernel void app(__global double* out, SMI_Comm comm) {
  SMI_Channel c = SMI_Open_send_channel(0, SMI_INT, 0, 3, comm);
  for (int i = 0; i < 10; ++i) out[0] += abs(-3) + fmax(i, 4) + (int)strlen("abc") + offsetof(struct two, second);
  out[1] = (double)INT_MAX + (DBL_MAX > 1) + UINT8_MAX + true;
}
"""
CPLUSPLUS = """#include <smi.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
__kernel void app(__global double* out, SMI_Comm comm) {
  SMI_Channel c = SMI_Open_send_channel(0, SMI_INT, 0, 3, comm);
  const std::array<int, 4> a{4, 2, 9, 1};
  for (int i = 0; i < 10; ++i) out[0] += std::abs(-3) + std::max(i, 4) + std::fmax(2.5, 3.0) + a[0];
  out[1] = std::numeric_limits<std::int32_t>::max() + 257.0;
}
"""


@pytest.mark.sample(4)
@pytest.mark.slow
@pytest.mark.parametrize("chosen", ["clang", "gcc"])
@pytest.mark.parametrize("suffix, text", [(".c", C), (".cpp", CPLUSPLUS)])
def test_headers(suffix: str, text: str, chosen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if chosen == "gcc":
        monkeypatch.setattr(compiler, "clang", lambda cplusplus=False: None)
        monkeypatch.setattr(frontend, "headers", frontend.headers.__wrapped__)
        monkeypatch.setattr(frontend, "CLANG", "no-clang-is-here")
    source = tmp_path / f"app{suffix}"
    source.write_text(text)
    assert [(of["type"], of["port"]) for of in extract(source)["operations"]] == [("push", 3)]
    run = Run("smi-noctua", ranks=1)
    out = run.buffer(0, np.zeros(2))
    run.kernel(source, "app", 0, out=out)
    run.run()
    assert out.array.tolist() == [10 * 10 + 4 * 5 + sum(range(5, 10)), 2**31 - 1 + 257]


def test_no_compilers_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontend, "headers", tuple)
    source = tmp_path / "app.c"
    source.write_text("#include <stddef.h>\n__kernel void app(void) {}\n")
    with pytest.raises(
        InputError, match=r"app.c:1: 'stddef.h' file not found; the compiler's own headers are missing: apt"
    ):
        extract(source)
