# SPDX-License-Identifier: Apache-2.0
"""Does a host description run its kernels on its buffers and check them, and is a wrong one reported by name?"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from listings import HEAD, RECEIVE, SEND
from thalweg.cli import main
from thalweg.errors import CheckFailed, InputError
from thalweg.systems.smi import host
from thalweg.systems.smi.run import Run

pytest.importorskip("clang.cindex", reason="libclang is not installed")
pytestmark = pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")

HOST = """
[[buffer]]
name = "out"
ranks = [1]
type = "int"
count = "50 * ranks"

[[buffer]]
name = "mask"
ranks = [1]
type = "int"
shape = [2, "ranks * 25"]
fill = "i % 7"

[[kernel]]
file = "one.cl"
name = "app"
ranks = [0]
arguments = { N = "50 * ranks" }

[[kernel]]
file = "two.cl"
name = "app"
ranks = [1]
arguments = { N = 100, out = "out" }

[[check]]
buffer = "out"
ranks = [1]
equals = "i * i"

[[check]]
buffer = "mask"
ranks = [1]
equals = "first_mask"
"""


def test_a_host_description(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.cl").write_text(SEND)
    (tmp_path / "two.cl").write_text(RECEIVE)
    file = tmp_path / "host.toml"
    file.write_text(HOST)
    command = ["smi", "run", "-n", "2", "--cluster", "smi-noctua", "--host", str(file)]
    assert main(command) == 0
    assert "2 of 2 checks passed" in capsys.readouterr().out
    file.write_text(HOST.replace('"i * i"', '"i * i + (i == 5)"'))
    assert main(command) == CheckFailed.exit_code
    assert "buffer out of rank 1: 1 of 100 elements wrong; element 5 is 25, not 26" in capsys.readouterr().err
    file.write_text(HOST.replace("count =", "number ="))
    assert main(command) == InputError.exit_code
    assert "host.toml: buffer[0]" in capsys.readouterr().err
    file.write_text(HOST.replace('"i * i"', "\"__import__('os')\""))
    assert main(command) == InputError.exit_code


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"i % 7"', '"arange(3)"', "buffer mask of rank 1: operands could not be broadcast"),
        ('"i % 7"', '"i / 0"', "buffer mask of rank 1: invalid value"),
        ('"i % 7"', '"10 ** 30"', "buffer mask of rank 1: Python int too large"),
        ('[2, "ranks * 25"]', "[]", "buffer[1].shape: "),
        ('"50 * ranks"\n\n', '"arange(2)"\n\n', "buffer out of rank 1: "),
        ('type = "int"', 'type = "int5"', "buffer out: unknown type int5"),
        ("bank = 0", "bank = 9", "buffer out of rank 1: bank is 9"),
        ('N = "50 * ranks"', 'N = "size"', "kernel app of rank 0, argument N: 'size': unknown name size"),
        ("ranks = [1]\narguments", "ranks = [0]\narguments", "argument out: rank 0 has no buffer out, only 1"),
        ('equals = "i * i"', 'equals = "squares"', "check of buffer out of rank 1: 'squares': unknown name squares"),
    ],
)
def test_a_wrong_host_description_is_named(
    old: str, new: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "one.cl").write_text(SEND)
    (tmp_path / "two.cl").write_text(RECEIVE)
    file = tmp_path / "host.toml"
    whole = HOST.replace('type = "int"\ncount', 'type = "int"\nbank = 0\ncount')
    assert old in whole
    file.write_text(whole.replace(old, new, 1))
    assert main(["smi", "run", "-n", "2", "--cluster", "smi-noctua", "--host", str(file)]) == InputError.exit_code
    said = capsys.readouterr().err
    assert said.startswith(f"thalweg: {file}: ") and says in said and said.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "sources", "says"),
    [
        ("app", [], "kernel[0]: several files have a kernel app"),
        ("app", ["one.cl", "two.cl"], "kernel[0]: several files have a kernel app"),
        ("other", ["one.cl", "two.cl"], "kernel[0]: no source has a kernel other"),
    ],
)
def test_a_kernel_whose_file_is_not_said(name: str, sources: list[str], says: str, tmp_path: Path) -> None:
    (tmp_path / "one.cl").write_text(SEND)
    (tmp_path / "two.cl").write_text(RECEIVE)
    whole = host.of_values({"kernel": [{"name": name}]}, tmp_path, "host.toml")
    with pytest.raises(InputError, match=re.escape(f"host.toml: {says}")):
        host.Prepared(Run("smi-noctua", ranks=2), whole, [tmp_path / source for source in sources])


def test_a_setting_of_no_kernel_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.cl").write_text(SEND)
    command = ["smi", "run", "--cluster", "smi-noctua", str(tmp_path / "one.cl"), "--set", "N=1", "--set", "M=1"]
    assert main(command) == InputError.exit_code
    assert capsys.readouterr().err == "thalweg: --set M: no kernel has this argument\n"


def test_a_vector_of_three_takes_the_place_of_four(tmp_path: Path) -> None:
    (tmp_path / "app.cl").write_text("__kernel void app(int n, __global int3 *v) { v[n - 1].z = sizeof(int3); }")
    buffer = {"name": "v", "type": "int3", "count": 5}
    kernel = {"name": "app", "file": "app.cl", "arguments": {"n": 5, "v": "v"}}
    check = {"buffer": "v", "equals": "where(i == 18, 16, 0)"}  # OpenCL C 3.0, 6.3.5
    whole = host.of_values({"buffer": [buffer], "kernel": [kernel], "check": [check]}, tmp_path)
    assert all(made.right for made in host.Prepared(Run("smi-noctua", ranks=1), whole).execute()[1])


def test_a_source_beside_a_host_description_that_has_none_of_its_kernels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("app", "other"):
        (tmp_path / f"{name}.cl").write_text(f"{HEAD}__kernel void app() {{}}")
    (tmp_path / "host.toml").write_text('[[kernel]]\nfile = "app.cl"\nname = "app"\n')
    command = ["smi", "run", "-n", "2", "--cluster", "smi-noctua", "--host", str(tmp_path / "host.toml")]
    assert main([*command, str(tmp_path / "app.cl")]) == 0
    assert main([*command, str(tmp_path / "other.cl")]) == InputError.exit_code
    assert "host.toml: no kernel uses" in capsys.readouterr().err
