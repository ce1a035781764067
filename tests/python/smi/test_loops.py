# SPDX-License-Identifier: Apache-2.0
"""Does each loop take the cycles given by its pragmas, in any spelling, and are unsupported ones refused by line?"""

from __future__ import annotations

import math
import random
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from thalweg.errors import InputError
from thalweg.kernels import compiler
from thalweg.systems.smi.run import Run, WrongUse

pytest.importorskip("clang.cindex", reason="libclang is not installed")
pytestmark = pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")

NESTS = 200
CLANG = (compiler.clang(), compiler.clang(True))


#: Kinds of loops that detect their end in an additional last turn.
LEFT_INSIDE = ("forever", "goto_first", "goto_out")


@dataclass
class Loop:
    """Turns of a body: `unroll` of them (0: all) begin together, `interval` cycles after the previous ones."""

    kind: str
    turns: int
    body: list[Loop] = field(default_factory=list)
    said: list[str] = field(default_factory=list)  #: lines and attributes before it
    interval: int = 1
    unroll: int = 1
    depth: int = 0
    template: bool = False

    def cycles(self) -> int:
        """Cycles by the documented rules, without simulation: loops of the body run one after the other."""
        body = sum(loop.cycles() for loop in self.body)
        if self.kind in LEFT_INSIDE:  # a last turn detects the end
            whole, last = self.turns, 1
        else:
            whole, last = self.turns, 0
        if self.unroll == 0:
            return whole * body
        groups = math.ceil((whole + last) / self.unroll)
        total = 0
        for group in range(groups):
            bodies = min(self.unroll, whole - group * self.unroll)
            drained = self.depth if group == groups - 1 else 0
            total += max(self.interval, bodies * body + drained)
        return total


class Writer:
    """A source in a language, and the arguments of each of its kernels."""

    def __init__(self, language: str, seed: int) -> None:
        self.language, self.random = language, random.Random(seed)
        self.names = 0
        self.before: list[str] = []

    def name(self, of: str) -> str:
        self.names += 1
        return f"{of}{self.names}"

    def constant(self, value: int) -> str:
        """A number, or a compile-time name of it."""
        kinds = ["number", "macro", "expression macro", "enum", "expression", "sizeof"]
        kind = self.random.choice(kinds + ["constexpr"] * (2 if self.language == "cpp" else 0))
        name = self.name("VALUE_")
        if kind == "number":
            return str(value)
        if kind == "macro":
            self.before.append(f"#define {name} {value}")
        elif kind == "expression macro":
            self.before.append(f"#define {name}(x) ((x) + {value - 1})")
            return f"{name}(1)"
        elif kind == "enum":
            self.before.append(f"enum {{ {name} = {value} }};")
        elif kind == "constexpr":
            self.before.append(f"constexpr int {name} = {value};")
        elif kind == "sizeof":
            return f"(int)sizeof(char[{value}])"
        else:
            return f"({value} * 3 - {value} * 2)"
        return name

    def unroll(self, loop: Loop) -> str:
        if loop.unroll == 1:
            spellings = [
                "#pragma nounroll",
                "#pragma unroll 1",
                "#pragma GCC unroll 0",
                "#pragma clang loop unroll(disable)",
            ]
        elif loop.unroll == 0:
            spellings = ["#pragma unroll", "#pragma clang loop unroll(full)", '_Pragma("unroll")']
            spellings.append("__attribute__((opencl_unroll_hint))")
        else:
            value = self.constant(loop.unroll)
            spellings = [f"#pragma unroll {value}", f"#pragma unroll({value})", f"  #  pragma   GCC unroll ({value})"]
            spellings += [f"#pragma clang loop unroll_count({value})", f"__attribute__((opencl_unroll_hint({value})))"]
            macro = self.name("UNROLL_")
            self.before.append(f'#define {macro} _Pragma("unroll {value}")')
            spellings.append(macro)
        return self.random.choice(spellings)

    def interval(self, loop: Loop) -> str:
        value = self.constant(loop.interval)
        spellings = [f"#pragma ii {value}", f"#pragma clang loop pipeline_initiation_interval({value})"]
        spellings += [f"[[intel::ii({value})]]", f"[[intel::initiation_interval({value})]]"]
        macro = self.name("II_")
        self.before.append(f"#define {macro}_TEXT(text) _Pragma(#text)")
        spellings.append(f"{macro}_TEXT(ii {value})")
        return self.random.choice(spellings)

    def loop(self, deep: int) -> Loop:
        choose = self.random
        kinds = ["up", "down", "while", "do", "forever", "goto_last", "goto_first", "early"]
        kinds += ["overflow", "continued", "goto_out", "runtime"]
        made = Loop(choose.choice(kinds + ["range"] * 2 * (self.language == "cpp")), choose.randint(0, 9))
        if made.kind in ("do", "goto_last", "range", "continued"):
            made.turns = max(made.turns, 1)
        if deep:
            made.body = [self.loop(deep - 1) for _ in range(choose.choice([0, 1, 1, 1, 2]))]
        if made.kind.startswith("goto"):
            return made
        if choose.random() < 0.6:
            made.unroll = choose.choice([0, 1, 2, 3, 4, 8])
            made.said.append(self.unroll(made))
        if made.unroll and choose.random() < 0.4:
            made.interval = choose.choice([1, 2, 3, 5])
            if choose.random() < 0.3:
                made.depth = choose.choice([0, 4, 11])
                made.said.append(
                    f"#pragma smi interval({self.constant(made.interval)}) depth(({self.constant(made.depth + 1)}) - 1)"
                )
            else:
                made.said.append(self.interval(made))
        if choose.random() < 0.3:
            made.said.append(
                choose.choice(["#pragma ivdep", "#pragma loop_coalesce 2", "#pragma GCC ivdep", "[[likely]]"])
            )
        choose.shuffle(made.said)
        made.said.sort(key=lambda each: each.startswith("__attribute__"))  # C's grammar requires them last
        return made

    def text(self, loop: Loop) -> str:
        """The loop, in a statement that takes no cycles, or in a function of its own."""
        match self.random.choice(["plain"] * 5 + ["switch", "else", "called", "recursive"]):
            case "switch":
                return f"switch (x < 0) {{ case 0: {{ {self.plain(loop)} }} case 2: x++; break; default: x--; }}"
            case "else":
                return f"if (x < 0) x = 0; else {{ {self.plain(loop)} }}"
            case "called":
                function, body = self.name("called"), self.plain(loop)
                self.before.append(f"static int {function}(int x) {{ {body} return x; }}")
                return f"x = {function}(x);"
            case "recursive":
                function, body = self.name("recursive"), self.plain(loop)
                self.before.append(
                    f"static int {function}(int x, int deep) {{ if (deep) return {function}(x, deep - 1); {body} return x; }}"
                )
                return f"x = {function}(x, 3);"
            case _:
                return self.plain(loop)

    def plain(self, loop: Loop) -> str:
        i, n = self.name("i"), loop.turns
        body = " ".join(self.text(each) for each in loop.body) or "x++;"
        said = "\n" + "\n".join(loop.said) + "\n"
        match loop.kind:
            case "up":
                return f"{said}for (int {i} = 0; {i} < {n}; {i}++) {{ if ({i} == 99) continue; {body} }}"
            case "down":
                return f"if (x >= 0) {said}for (int {i} = {n}; {i}; --{i}) {{ {body} }} else x--;"
            case "while":
                return f"{{ int {i} = {n}; {said}while ({i}) {{ --{i}; {body} }} }}"
            case "do":
                return f"{{ int {i} = {n}; {said}do {{ {body} }} while (--{i}); }}"
            case "forever":
                return f"{{ int {i} = {n}; {said}for (;;) {{ if (!{i}--) break; {body} }} }}"
            case "overflow":
                return f"{{ unsigned char {i} = {(256 - n) % 256}; {said}for (; {i} && {n}; {i}++) {{ {body} }} }}"
            case "continued":
                return f"{{ int {i} = {n}; {said}do {{ {body} if (x >= 0) continue; x = 0; }} while (--{i} > 0); }}"
            case "goto_out":
                return f"{{ int {i} = {n}; {said}for (;;) {{ if ({i}-- == 0) goto out{i}; {body} }} out{i}: x++; }}"
            case "runtime":
                return f"{{ volatile int bound{i} = {n}; {said}for (int {i} = 0; {i} < bound{i}; {i}++) {{ {body} }} }}"
            case "goto_last":
                return f"{{ int {i} = {n}; again{i}: x++; {body} if (--{i}) goto again{i}; }}"
            case "goto_first":
                return f"{{ int {i} = {n}; again{i}: if (!{i}--) goto out{i}; {body} goto again{i}; out{i}: x++; }}"
            case "range":
                return f"{{ char of{i}[{n}] = {{}}; {said}for (char {i} : of{i}) {{ x += {i}; {body} }} }}"
            case _:
                function = self.name("early")
                self.before.append(
                    f"static int {function}(int x, int n) {{ {said}while (1) {{ if (n == 0) return x; --n; "
                    f"{{ {body} }} }} }}"
                )
                loop.kind = "forever"
                return f"x = {function}(x, {n});"


def written(language: str, nests: int, seed: int) -> tuple[str, dict[str, int]]:
    writer = Writer(language, seed)
    kernels, expected = [], {}
    for number in range(nests):
        loops = [writer.loop(writer.random.randint(0, 2)) for _ in range(writer.random.randint(1, 2))]
        body = " ".join(writer.text(loop) for loop in loops)
        kernels.append(f"__kernel void k{number}(__global int* out) {{ volatile int x = 0; {body} }}")
        expected[f"k{number}"] = sum(loop.cycles() for loop in loops)
    return "\n".join(["#include <smi.h>", *writer.before, *kernels]) + "\n", expected


def taken(source: Path, kernels: list[str]) -> dict[str, int]:
    import numpy as np

    run = Run("smi-noctua", ranks=1)
    out = run.buffer(0, np.zeros(1, np.int32))
    for kernel in kernels:
        run.kernel(source, kernel, 0, out=out)
    result = run.run()
    return {kernel: result.cycle(0, kernel) for kernel in kernels}


@pytest.mark.sample(3)
@pytest.mark.slow
@pytest.mark.parametrize("language, share", [("cl", 0.4), ("cpp", 0.4), ("c", 0.2)])
def test_random_nests(language: str, share: float, tmp_path: Path, seed: int) -> None:
    text, expected = written(language, round(NESTS * share), seed)
    source = tmp_path / f"app.{language}"
    source.write_text(text)
    assert taken(source, list(expected)) == expected


@pytest.mark.parametrize("language", ["cl", pytest.param("cpp", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "text, says",
    [
        ("#pragma unroll n\nfor (;;) x++;", r":4(:\d+)?: .*constant expression"),
        ("#pragma unroll 0\nfor (;;) x++;", r":4(:\d+)?: .*constants from 1 to 2147483647"),
        ("#pragma ii (2 - 4)\nfor (;;) x++;", r":4(:\d+)?: .*constants from 1 to 2147483647"),
        ("#pragma unroll 4294967297\nfor (;;) x++;", r":4(:\d+)?: .*constants from 1 to 2147483647"),
        ("#pragma unroll 2.5\nfor (;;) x++;", r":4(:\d+)?: .*(constants from 1 to|constant expression)"),
        ("#pragma unroll NOWHERE\nfor (;;) x++;", r":4(:\d+)?: .*undeclared identifier 'NOWHERE'"),
        ("#pragma unroll\nx++;\nfor (;;) x++;", ":3: #pragma unroll is not followed by a loop"),
        ("#pragma ii 2\nagain: if (x) goto again;", ":3: #pragma ii is not followed by a loop"),
        ("__attribute__((opencl_unroll_hint)) x++;", ":3:.*opencl_unroll_hint.* (only applies to|is before no)"),
        (
            "__attribute__((opencl_unroll_hint)) x++; for (;;) x++;",
            ":3:.*opencl_unroll_hint.* (only applies|is not followed by)",
        ),
        ("#pragma unroll 4\n#pragma unroll 2\nfor (;;) x++;", ":4: .*#pragma unroll both apply to one loop"),
        ("#pragma ii 4\n#pragma smi depth(2)\nfor (;;) x++;", ":4: #pragma smi and #pragma ii both apply"),
        (
            "#pragma unroll\n#pragma ii 4\nfor (;;) x++;",
            ":5: #pragma ii has no effect on a loop that #pragma unroll unrolls",
        ),
        ("#pragma smi fast\nfor (;;) x++;", r":3: #pragma smi takes interval\(N\), depth\(N\), or both"),
        ("#pragma max_concurrency 1\nfor (;;) x++;", ":3: #pragma max_concurrency: its cost in cycles"),
        ("#pragma disable_loop_pipelining\nfor (;;) x++;", ":3: #pragma disable_loop_pipelining: its cost in cycles"),
        ("for (;;) {\n#pragma HLS pipeline II=2\nx++; }", ":4: #pragma HLS: use #pragma unroll N and #pragma ii N"),
        ("#pragma omp simd\nfor (;;) x++;", ":3: #pragma omp: kernels are not parallelized by OpenMP"),
        ("#pragma fast_loop 3\nfor (;;) x++;", ":3: #pragma fast_loop 3 is before a loop but unknown"),
        (
            "#pragma clang loop unroll(enable)\nfor (;;) x++;",
            r":3: #pragma clang loop unroll\(enable\) does not specify",
        ),
        ("[[intel::speculated_iterations(0)]] for (;;) x++;", ":3: attribute intel::speculated_iterations: its cost"),
        ("__attribute__((xcl_pipeline_loop(2))) for (;;) x++;", ":3: attribute xcl_pipeline_loop: use #pragma ii N"),
        ("[[vendor::quick]] for (;;) x++;", ":3: unknown loop attribute vendor::quick"),
        ("switch (n) { case 0: do { x++; case 1: x++; } while (x < n); }", ":3: a case label is inside a loop but its"),
        ("goto in; for (;;) { in: x++; }", ":3: goto jumps into a loop"),
        ("if (n) goto in; again: x++; in: x++; if (x < n) goto again;", ":3: goto jumps into a goto loop"),
        ("for (;;) nobody(x);", r":3:\d+: error: .*nobody"),
    ],
)
def test_what_is_not_understood_is_refused(text: str, says: str, language: str, tmp_path: Path) -> None:
    refused_in_one_line(text, says, language, tmp_path)


def test_a_computed_goto_is_refused(tmp_path: Path) -> None:
    """OpenCL has no pointer to a label."""
    refused_in_one_line("void *p = &&again; again: x++; goto *p;", ":3: computed goto", "cpp", tmp_path)


def refused_in_one_line(text: str, says: str, language: str, tmp_path: Path) -> None:
    source = tmp_path / f"app.{language}"
    source.write_text(f"#include <smi.h>\n__kernel void app(int n) {{ int x = n;\n{text}\n}}\n")
    with pytest.raises(InputError, match=re.escape(str(source)) + says) as refused:
        Run("smi-noctua", ranks=1).source(source)
    assert "\n" not in str(refused.value)


CONSTANTS = """#include <smi.h>
template <int Factor, int Interval> int counts(int n) {
  int x = 0;
#pragma unroll Factor + 1
#pragma ii Interval
  for (int i = 0; i < n; ++i) ++x;
  return x;
}
constexpr int sum(int n) {
  int all = 0;
  for (int i = 0; i < n; ++i) all += i;
  return all;
}
struct Counter {
  int x = 0;
  void count(int n) { while (n--) ++x; }
};
__kernel void app(__global int* out) {
  static_assert(sum(10) == 45);
  constexpr int kTen = 10;
  int x = counts<1, 1>(10) + counts<3, 2>(kTen) + sum(kTen);  // 5, 3 * 2, 10
  Counter counter;
  counter.count(7);
  try {
    for (int i = 0;; ++i)
      if (i == 4) throw i;  // 5
  } catch (int i) {
    x += i;
  }
  const auto twice = [&](int n) { for (int i = 0; i < n; ++i) ++x; };  // 8
  twice(8);
  out[0] = x + counter.x;
}
"""


def test_templates_and_constant_expressions(tmp_path: Path) -> None:
    """A template's loops have its parameters' factors; a constant expression takes no time."""
    source = tmp_path / "app.cpp"
    source.write_text(CONSTANTS)
    assert taken(source, ["app"])["app"] == 5 + 6 + 10 + 7 + 4 + 8


def test_macros_as_they_are_at_the_pragma(tmp_path: Path) -> None:
    source = tmp_path / "app.cl"
    source.write_text("""#include <smi.h>
#define smi slow
#define F 2
#define LOOP(n) for (int i = 0; i < n; ++i) x++;
__kernel void app(__global int* out) {
  volatile int x = 0;
  __constant char* text = "#pragma unroll 0"; /* for (;;) */
#pragma unroll F /* not
  the last */
  LOOP(8)
#undef F
#define F (1 + \\
           3)
#pragma unroll F // 4
  LOOP(8)
#undef F
#define F 8
  _Pragma("unroll F") LOOP(8)
#pragma smi interval(F - 4) depth((F) * 2)
  LOOP(2)
}
""")
    assert taken(source, ["app"])["app"] == 4 + 2 + 1 + 4 + 16
    source.write_text(source.read_text() + '#pragma push_macro("F")\n#undef F\n#pragma pop_macro("F")\n')
    with pytest.raises(InputError, match=r"app.cl:24: pop_macro is not supported if pragmas use macros"):
        Run("smi-noctua", ranks=1).source(source)


@pytest.mark.parametrize("said", ["interval(n) depth(2)", "interval(2) depth(n - 1)"])
def test_a_pipeline_without_an_interval_or_a_depth(said: str, tmp_path: Path) -> None:
    source = tmp_path / "app.cl"
    source.write_text(f"__kernel void app(int n) {{\n#pragma smi {said}\nfor (int i = 0; i < 3; ++i);\n}}\n")
    run = Run("smi-noctua", ranks=1)
    run.kernel(source, "app", 0, n=0)
    with pytest.raises(
        WrongUse, match=r"app.cl:3: rank 0, kernel app: #pragma smi: .*; the interval must be at least 1, the depth"
    ):
        run.run()


def test_copies_of_nothing_take_no_time(tmp_path: Path) -> None:
    import numpy as np

    source = tmp_path / "app.cpp"
    source.write_text(
        "#include <smi.hpp>\n#include <cstring>\n__kernel void app(int n, int* from, int* to) {\n"
        "std::memcpy(to, from, n);\nstd::memmove(to, from, n);\nstd::memset(to, 0, n);\n}\n"
    )
    run = Run("smi-noctua", ranks=1)
    memory = run.buffer(0, np.zeros(2, np.int32))
    run.kernel(source, "app", 0, n=0, **{"from": memory, "to": memory})
    assert run.run().cycle(0, "app") == 0
