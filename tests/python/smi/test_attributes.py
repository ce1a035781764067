# SPDX-License-Identifier: Apache-2.0
"""Is each attribute and built-in function of compilers for FPGAs simulated, without effect, or refused in one line by
name?"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from thalweg.errors import InputError
from thalweg.systems.smi.rewrite import rewrite
from thalweg.systems.smi.run import Run

pytest.importorskip("clang.cindex", reason="libclang is not installed")

KERNEL = "__kernel void app(__global int *out)"
NO_ITEM = "a kernel is one work item: write the loop over work items"


@pytest.mark.parametrize(
    "text, says",
    [
        ('channel int c __attribute__((io("kernel_output_ch0")));', "a.cl:1: attribute io: the board's own channels"),
        ("__attribute__((quickly)) " + KERNEL + " {}", "a.cl:1: attribute quickly: unknown; remove it"),
        (KERNEL + " { int __attribute__((swiftly(3))) a[4]; }", "a.cl:1: attribute swiftly: unknown"),
        ("__attribute__((ii(4))) " + KERNEL + " {}", "a.cl:1: attribute ii: not followed by a loop"),
        ("__kernel void app(int n,\n__local int *t) {}", "a.cl:2: argument t of kernel app is local memory: declare"),
        ("__attribute__((autorun))\n__kernel void g() { int x = 1; }", "a.cl:2: autorun kernel g ends, and hardware would restart"),
        ("__attribute__((autorun)) __kernel void g(int n) { while (1); }", "a.cl:1: autorun kernel g has arguments"),
        (KERNEL + ' { float4 v = 1;\nprintf("%v4f", v); }', "a.cl:2: printf of a vector is not supported: print its elements"),
        (KERNEL + " {\n#pragma max_reinvocation_delay 2\nfor (;;); }", "a.cl:2: #pragma max_reinvocation_delay"),
    ],
)  # fmt: skip
def test_refused_by_name(text: str, says: str) -> None:
    with pytest.raises(InputError) as refused:
        rewrite(f'# 1 "a.cl"\n{text}\n', "cl")
    assert says in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")
@pytest.mark.parametrize(
    "text, says",
    [
        ("__attribute__((num_compute_units(4))) " + KERNEL + " {}", "attribute num_compute_units: kernels are not replicated"),
        ("#define N 3\n__attribute__((num_compute_units(1, N - 1))) " + KERNEL + " {}", "attribute num_compute_units: kernels"),
        ("__attribute__((num_simd_work_items(8))) " + KERNEL + " {}", f"attribute num_simd_work_items: {NO_ITEM}"),
        ("__attribute__((reqd_work_group_size(64, 1, 1))) " + KERNEL + " {}", f"attribute reqd_work_group_size: {NO_ITEM}"),
        (KERNEL + " { out[get_global_id(0)] = 1; }", f"'get_global_id' is unavailable: {NO_ITEM}"),
        (KERNEL + " { out[get_local_id(0)] = 1; }", f"'get_local_id' is unavailable: {NO_ITEM}"),
        (KERNEL + " {\natomic_add(out, 3); }", "error: kernels have no function atomic_add"),
    ],
)  # fmt: skip
def test_refused_by_the_compiler(text: str, says: str, tmp_path: Path) -> None:
    source = tmp_path / "app.cl"
    source.write_text(text)
    with pytest.raises(InputError) as refused:
        Run("smi-noctua", ranks=1).source(source)
    assert says in str(refused.value) and "\n" not in str(refused.value)
    assert str(refused.value).startswith(f"{source}:{1 + text.count(chr(10))}:")


WITHOUT_INFLUENCE = """
channel int plus __attribute__((depth(4)));
__attribute__((max_global_work_dim(0))) __attribute__((autorun)) __kernel void gives() {
  for (int i = 1;; ++i) write_channel_intel(plus, i);
}
__attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((num_compute_units(2 - 1)))
__attribute__((uses_global_work_offset(0), scheduler_target_fmax_mhz(300)))
__kernel void app(__global int *restrict out __attribute__((buffer_location("DDR")))) {
  int __attribute__((numbanks(4), bankwidth(8), singlepump, numreadports(2))) own[8];
  __local int shared[8];
  for (int i = 0; i < 8; ++i) own[i] = shared[i] = read_channel_intel(plus);
  barrier(CLK_LOCAL_MEM_FENCE);
  out[0] = own[7] + shared[1] + get_global_size(0);
}
"""


@pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")
def test_without_influence_and_an_autorun_kernel(tmp_path: Path) -> None:
    """The autorun kernel starts although no host names it; attributes of memory and of work groups of size one have no
    effect."""
    source = tmp_path / "app.cl"
    source.write_text(WITHOUT_INFLUENCE)
    run = Run("smi-noctua", ranks=1)
    out = run.buffer(0, np.zeros(1, np.int32))
    run.kernel(source, "app", 0, out=out)
    result = run.run()
    assert out.array[0] == 8 + 2 + 1
    assert {kernel.name: kernel.serves for kernel in result.kernels} == {"app": False, "gives": True}
