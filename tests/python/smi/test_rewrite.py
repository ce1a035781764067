# SPDX-License-Identifier: Apache-2.0
"""Are a source's loops, kernels and channels found, wherever they stand, and is what goes in no change of its lines?"""

from __future__ import annotations

import re

import pytest
from thalweg.errors import InputError
from thalweg.systems.smi.rewrite import Argument, rewrite


def turns(text: str) -> int:
    return len(re.findall(r"smi__turn\(\d+u", rewrite(text).text))


@pytest.mark.parametrize(
    "text, loops",
    [
        ("void f() { for (;;) g(); }", 1),
        ("void f() { while (a) while (b) g(); }", 2),
        ("void f() { do { g(); } while (a); }", 1),
        ("void f() { do g(); while (a); while (b) g(); }", 2),
        ("void f() { do { while (a) g(); } while (b); }", 2),
        ("void f() { do for (int i = 0; i < 3; ++i) g(); while (a); }", 2),
        ("void f() {\n#pragma unroll\nfor (;;) g(); for (;;) g(); }", 1),
        ("void f() {\n#pragma unroll 4\nfor (;;) g(); }", 1),
        ("void f() {\n#pragma unroll\n#pragma ivdep\nfor (;;) g(); }", 0),
        ("void f() { __attribute__((opencl_unroll_hint)) for (;;) g(); }", 0),
        ("void f() { char* s = \"for (;;)\"; char c = 'f'; int format, do_it, foreach(3); }", 0),
    ],
)
def test_loops(text: str, loops: int) -> None:
    assert turns(text) == loops
    assert len(rewrite(text).loops) == loops


def test_an_else_keeps_its_if() -> None:
    text = rewrite("void f() { if (a) for (;;) g(); else h(); }").text
    assert re.search(r"if \(a\) for \(;;\) if \(smi__turn\(0u, 1, 1u\), 0\) ; else\s+g\(\); else h\(\);", text)


def test_lines_stay() -> None:
    text = '# 1 "a.cl"\nvoid f()\n{\n#pragma unroll\n  for (;;)\n    g();\n  while (x) {\n  }\n}\n'
    made = rewrite(text)
    assert made.loops == (("a.cl", 6),)
    body = made.text[made.text.index('# 1 "a.cl"') :]
    assert [line for line in body.splitlines()[:6] if "#pragma" not in line][-2:] == ["  for (;;)", "    g();"]


def test_pragmas() -> None:
    text = rewrite("void f() {\n#pragma ii 3\nfor (;;) g();\n#pragma unroll 8\nwhile (1) g();\n}").text
    assert "smi__turn(0u, 3, 1u)" in text and "smi__turn(1u, 1, 8u)" in text
    text = rewrite("void f() {\n#pragma smi interval(2) depth(N + 1)\nfor (;;) g();\n}").text
    assert "smi__begin_pipeline(2, N + 1)" in text and "smi__turn(0u, 0, 1u)" in text
    with pytest.raises(InputError, match=r"x.cl:2: #pragma smi is interval\(N\) or depth\(N\)"):
        rewrite('# 1 "x.cl"\nvoid f() {\n#pragma smi fast\nfor (;;) g(); }')


def test_kernels() -> None:
    made = rewrite(
        """
# 1 "k.cl"
__kernel void first(const int N, __global volatile const float4 *restrict bank0, float points[], const SMI_Comm comm);
__attribute__((max_global_work_dim(0))) kernel void first(const int N, __global volatile const float4 *restrict bank0,
                      __global float points[], const SMI_Comm comm) { if (N) while (1) g(); }
__kernel __attribute__((autorun)) void second(void) { while (1) { g(); } }
void helper(int x) { while (1); }
"""
    )
    first, second = made.kernels
    assert (first.name, first.line, first.endless, first.autorun) == ("first", 2, True, False)
    assert first.arguments == (
        Argument("N", "int"),
        Argument("bank0", "float4", True),
        Argument("points", "float", True),
        Argument("comm", "SMI_Comm"),
    )
    assert (second.name, second.arguments, second.endless, second.autorun) == ("second", (), True, True)
    assert "typedef __global float *smi__first_2;" in made.text


def test_channels() -> None:
    text = rewrite("channel float4 a[2][3] __attribute__((depth(8 * (2 + 1)))), b; int channel_of; void f() {}").text
    assert "float4 a[2][3]" in text and "channel float4" not in text
    assert 'smi__channel(to, (void*)&a, sizeof(a), sizeof(float4), ( 8 * ( 2 + 1 ) ), "a");' in text
    assert 'smi__channel(to, (void*)&b, sizeof(b), sizeof(float4), -1, "b");' in text


def test_a_bracket_that_is_open() -> None:
    with pytest.raises(InputError, match=r"x.cl:2: a bracket is not closed"):
        rewrite('# 1 "x.cl"\nvoid f() {\nfor (;; g(); }')
