# SPDX-License-Identifier: Apache-2.0
"""Is a fault that ends a process reported in one line, with the kernel and its source line, and does this interpreter
survive it?"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from thalweg.cli import main
from thalweg.errors import CheckFailed, FabricStopped
from thalweg.systems.smi.run import Run, Stuck, WrongUse

pytest.importorskip("clang.cindex", reason="libclang is not installed")
pytestmark = pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")

HEAD = "#include <smi.h>\n"
RECURSIVE = (
    "int f(int n, int x) { volatile int a[16]; a[n & 15] = x;\nreturn n < 0 ? a[3] : f(n + 1, a[1] + x) + a[2]; }\n"
)
BASE = "__kernel void app(int n, __global int* out) {\n"


def run_of(tmp_path: Path, text: str, language: str, patience: int = 60) -> Run:
    source = tmp_path / f"app.{language}"
    source.write_text(HEAD + text)
    run = Run("smi-noctua", ranks=2, patience=patience)
    run.kernel(source, "app", 1, n=5, out=run.buffer(1, np.zeros(4, np.int32)))
    return run


@pytest.mark.sample(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    "languages, text, line, says",
    [
        ("cl cpp c", BASE + "int s = 0;\nfor (int i = 0; i < n; i++)\ns += 100 / (3 - i);\nout[0] = s; }", 5, "divides an in"),
        ("cl c", RECURSIVE + BASE + "out[0] = f(0, n); }", "[23]", "its stack of 16 MiB is full: infinite recursion"),
        ("cpp", BASE + "volatile char large[64 << 20];\nlarge[n] = 1; out[0] = large[n]; }", "[234]", "its stack of 16 MiB is"),
        ("cl cpp", BASE + "volatile int* p = (volatile int*)0x123456789000ul;\n*p = n; }", 4, "uses address 0x123456789000"),
        ("c", BASE + "volatile int* p = (volatile int*)0xdeadbeefdeadbeeful;\n*p = n; }", 4, "uses an address that no mem"),
        ("c cpp", BASE + "void (*volatile nobody)(void) = 0;\nnobody();\nout[0] = 1; }", 4, "uses address 0x0|no memory"),
        ("c", "#include <stdlib.h>\n" + BASE + "if (n)\nabort(); }", 5, "aborts"),
        ("c", "#include <stdlib.h>\n" + BASE + "if (n)\nexit(n);\nout[0] = 1; }", 5, r"calls exit\(5\); a kernel must end by return"),
        ("cl", BASE + "__builtin_trap(); }", 3, ".*reaches other code that has no defined behaviour"),
        ("c", "#include <string.h>\n" + BASE + "\nconst char* volatile s = (char*)123456;\nout[0] = strlen(s); }", 6, "uses add"),
        ("cpp", BASE + "if (n) throw n;\nout[0] = 1; }", 3, "throws an exception that nothing catches$"),
        (
            "cpp",
            "#include <stdexcept>\n" + BASE + 'try { throw n; } catch (int) {}\nif (n) throw std::out_of_range("far");\n}',
            5,
            "throws an exception that nothing catches: far$",
        ),
    ],
)  # fmt: skip
def test_a_fault_is_a_line(languages: str, text: str, line: int | str, says: str, tmp_path: Path) -> None:
    for language in languages.split():
        with pytest.raises(WrongUse, match=rf"app\.{language}:{line}: rank 1, kernel app: {says}") as fault:
            run_of(tmp_path, text, language).run()
        assert "\n" not in str(fault.value)


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    "loop",
    [
        "volatile int x = 0;\nwhile (x < n) { }",
        "volatile int x = 0;\n#pragma unroll\nwhile (x < n) { }",
    ],
)
def test_an_endless_loop(loop: str, tmp_path: Path) -> None:
    """One that takes cycles, and one that takes none: neither uses a channel."""
    begun = time.process_time() + os.times().children_user
    with pytest.raises(
        Stuck, match=r"app.cl:[456]: rank 1, kernel app: has run for 2 s of processor time .*--patience"
    ):
        run_of(tmp_path, BASE + loop + " }", "cl", patience=2).run()
    assert time.process_time() + os.times().children_user - begun < 20


@pytest.mark.parametrize("loop, line", [("while (x < n) { }", 4), ("for (;;)\nif (x) break;", 5)])
def test_a_limit_in_cycles(loop: str, line: int, tmp_path: Path) -> None:
    """The line of the loop, and no processor time."""
    text = BASE + f"volatile int x = 0; out[0] = n;\n{loop} }}"
    run = run_of(tmp_path, text, "cl", patience=0)
    run.max_cycles = 1000
    with pytest.raises(
        Stuck, match=rf"app.cl:[{line - 1}{line}]: rank 1, kernel app: has not ended by cycle 1000, the li"
    ) as late:
        run.run()
    assert "\n" not in str(late.value)


def test_the_limit_is_the_last_cycle_in_which_a_kernel_may_end(tmp_path: Path) -> None:
    text = BASE + "volatile int x = 0; for (int i = 0; i < 500; i++) x++; }"
    ends = run_of(tmp_path, text, "cl").run().cycles
    for limit in (ends, ends - 1):
        run = run_of(tmp_path, text, "cl")
        run.max_cycles = limit
        if limit == ends:
            assert run.run().cycles == ends
        else:
            with pytest.raises(Stuck, match=f"rank 1, kernel app: has not ended by cycle {limit}"):
                run.run()


def test_the_limit_while_another_kernel_polls(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The deadlock search finds no permanent wait, as a kernel polls: the run ends at the limit of the host
    description."""
    (tmp_path / "app.cl").write_text("""channel int to, from;
__kernel void polls() { while (1) { bool there; read_channel_nb_intel(to, &there); if (there) write_channel_intel(from, 1); } }
__kernel void app() {
  read_channel_intel(from);
}
""")
    (tmp_path / "host.toml").write_text('max_cycles = 2000\n[[kernel]]\nfile = "app.cl"\nname = "app"\n'
                                        '[[kernel]]\nfile = "app.cl"\nname = "polls"\n')  # fmt: skip
    command = ["smi", "run", "-n", "1", "--cluster", "smi-noctua", "--host", str(tmp_path / "host.toml")]
    assert main(command) == FabricStopped.exit_code
    said = capfd.readouterr().err
    assert re.fullmatch(r"thalweg: \S*app.cl:4: rank 0, kernel app: has not ended by cycle 2000, the limit.*\n", said)


@pytest.mark.slow
def test_slow_work_is_no_endless_loop(tmp_path: Path) -> None:
    """Longer than its patience, but it uses memory."""
    text = (
        BASE
        + "volatile int x = 0;\nfor (int i = 0; i < 30; i++) {\n#pragma unroll\nfor (int j = 0; j < 50000000; j++) x++;\nout[0] = x; } }"
    )
    run = run_of(tmp_path, text, "cl", patience=1)
    run.run()
    assert run._buffers[0].array[0] == 30 * 50000000


def test_what_was_printed_before_is_there(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = BASE + 'for (int i = 3; i >= 0; i--)\nprintf("%d\\n", 6 / i); }'
    with pytest.raises(WrongUse, match=r"app\.cl:4: .*divides"):
        run_of(tmp_path, text, "cl").run()
    assert capfd.readouterr().out == "2\n3\n6\n"


def test_a_wild_pointer_does_not_reach_this_process(tmp_path: Path) -> None:
    """Its writes go to the memory of the run's process."""
    ours = np.zeros(4, np.int32)
    source = tmp_path / "app.c"
    source.write_text("__kernel void app(long at) { *(volatile int*)at = 1; }")
    run = Run("smi-noctua", ranks=1)
    run.kernel(source, "app", 0, at=ours.ctypes.data)
    run.run()
    assert not ours.any()


def test_exit_codes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "app.cl"
    command = ["smi", "run", "-n", "2", "--cluster", "smi-noctua", str(source), "--set", "N=5", "--patience", "1"]
    source.write_text("__kernel void app(int N) { volatile int x = N - 5;\nx = N / x; }")
    assert main(command) == CheckFailed.exit_code
    said = capfd.readouterr().err
    assert re.fullmatch(rf"thalweg: {source}:2: rank \d, kernel app: divides an integer by zero.*\n", said)
    source.write_text("__kernel void app(int N) { volatile int x = 0;\nwhile (x < N); }")
    assert main(command) == FabricStopped.exit_code
    assert re.fullmatch(rf"thalweg: {source}:2: rank \d, kernel app: has run for 1 s.*\n", capfd.readouterr().err)


@pytest.mark.slow
def test_a_signal_ends_the_process_of_the_kernels(tmp_path: Path) -> None:
    source = tmp_path / "app.cl"
    source.write_text('__kernel void app(int N) { volatile int x = 0; printf("begun\\n"); while (x < N); }')
    command = [sys.executable, "-m", "thalweg", "smi", "run", "-n", "1", "--cluster", "smi-noctua", str(source), "--set", "N=5"]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert len(children) == 1
        process.send_signal(signal.SIGTERM)
        process.wait(10)
    state = Path(f"/proc/{children[0]}/stat")
    for _ in range(100):  # a dead one may wait for its parent, which is not this process
        if not state.exists() or state.read_text().split()[2] == "Z":
            return
        time.sleep(0.1)
    raise AssertionError(f"process {children[0]} of the kernels is still there")
