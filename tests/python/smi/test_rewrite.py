# SPDX-License-Identifier: Apache-2.0
"""Are a source's loops, kernels and channels found at any position, and do insertions keep its lines?"""

from __future__ import annotations

import re

import pytest
from thalweg.systems.smi.rewrite import Argument, rewrite

DECLARED = "int g(void); int h(void); int a, b, x;\n"


def turns(text: str) -> int:
    return len(re.findall(r"KERNEL__ITERATE\(\d+\)", rewrite(DECLARED + text).text))


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
        ("void f() { char* s = \"for (;;)\"; char c = 'f'; int format, do_it, forward(int); }", 0),
        ("void f() { again: g(); if (a) goto again; goto out; out: g(); }", 1),
    ],
)
def test_loops(text: str, loops: int) -> None:
    assert turns(text) == loops
    assert len(rewrite(DECLARED + text).loops) == loops


def test_loops_at_places_that_headers_have_declarations_at() -> None:
    """Positions in this text are not confused with those in the language's own headers."""
    for places in range(0, 8000, 97):
        assert len(rewrite(f"{' ' * places}\nvoid f() {{ for (;;); }}", "cl").loops) == 1


def test_an_else_keeps_its_if() -> None:
    text = rewrite(DECLARED + "void f() { if (a) for (;;) g(); else h(); }").text
    assert re.search(
        r"if \(a\) KERNEL__LOOP\(0, .*\) for \(;;\) if \(KERNEL__ITERATE\(0\), 0\) ; else\s+g\(\); else h\(\);", text
    )


def test_lines_stay() -> None:
    text = '# 1 "a.cl"\nint g(void), x; void f()\n{\n#pragma unroll\n  for (;;)\n    g();\n  while (x) {\n  }\n}\n'
    made = rewrite(text)
    assert made.loops == (("a.cl", 6),)
    body = made.text[made.text.index('# 1 "a.cl"') :].splitlines()
    assert body[3].strip() == "" and body[4:6] == ["  for (;;)", "    g();"]


def test_kernels() -> None:
    made = rewrite(
        """
int N; void g(); typedef float float4; typedef int SMI_Comm;
# 1 "k.cl"
__kernel void first(const int N, __global volatile const float4 *restrict bank0, float points[], const SMI_Comm comm);
__attribute__((max_global_work_dim(0))) kernel void first(const int N, __global volatile const float4 *restrict bank0,
                      __global float points[], const SMI_Comm comm) { if (N) while (1) g(); }
__kernel __attribute__((autorun)) void second(void) { while (1) { g(); } }
void helper(int x) { while (1); }
""",
        "cl",
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
    text = rewrite(
        "typedef int float4; channel float4 a[2][3] __attribute__((depth(8 * (2 + 1)))), b; int channel_of; void f() {}"
    ).text
    assert "float4 a[2][3]" in text and "channel float4" not in text
    assert 'smi__channel(smi__to, (void*)&a, sizeof(a), sizeof(a[0][0]), (8 * ( 2 + 1 )), "a");' in text
    assert 'smi__channel(smi__to, (void*)&b, sizeof(b), sizeof(b), (-1), "b");' in text


def test_words_that_only_look_like_channels_and_kernels() -> None:
    """The front end decides, independent of the spelling."""
    text = """struct S { int channel; }; void takes(int channel); int f(int kernel) { int channel = kernel; return channel; }
const char* __kernel_is = "__kernel void g() {}"; static channel int a, *b; channel int c[2];
__kernel void k(void (*channel)(int), int kernel) { channel(kernel); }"""
    made = rewrite(text)
    assert [kernel.name for kernel in made.kernels] == ["k"]
    assert re.findall(r"smi__channel\(smi__to, \(void\*\)&(\w+)", made.text) == ["a", "b", "c"]
    assert (
        made.text.count("channel") == text.count("channel") - 2 + 1 + 3 + 1
    )  # the function with them, its calls, and a header


@pytest.mark.parametrize(
    "body, endless",
    [
        ("while (1) g();", True),
        ("while (2 - 1) { g(); }", True),
        ("for (int i = 0;; ++i) g();", True),
        ("for (; 1;) g();", True),
        ("do g(); while (1);", True),
        ("while (1) { if (a) break; }", False),
        ("while (1) { if (a) return; }", False),
        ("while (1) { while (b) break; switch (a) { case 1: break; } }", True),
        ("while (1) { if (a) goto out; } out: g();", False),
        ("while (1) { again: if (a) goto again; }", True),
        ("while (x) g();", False),
        ("for (; x;) g();", False),
    ],
)
def test_a_loop_that_nothing_ends(body: str, endless: bool) -> None:
    """A run does not wait for a kernel that serves; it waits for one that may end."""
    assert rewrite(f"{DECLARED}__kernel void k() {{ {body} }}").kernels[0].endless is endless
