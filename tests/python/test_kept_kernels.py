# SPDX-License-Identifier: Apache-2.0
"""Are kernels compiled again exactly if something that they are made of has changed?"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from thalweg.accl import Kernels
from thalweg.errors import InputError
from thalweg.kernels import kept
from thalweg.launch import locks
from thalweg.systems.smi.compile import Compiled, compile_kernels
from thalweg.systems.smi.run import Run

HLS = """#include "ap_int.h"
extern "C" void scale(ap_int<32>* data, int count) {
#pragma HLS INTERFACE m_axi port = data
  for (int i = 0; i < count; ++i) {
#pragma HLS PIPELINE II = 2
    data[i] = data[i] * 3;
  }
}
"""
SMI = """#include "scale.h"
__kernel void scale(int first) {
#pragma unroll EVERY
  for (int i = 0; i < 8; i++) first = first * SCALE;
}
"""


@pytest.fixture
def compilations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Counts the compilations of kernels, with a cache of its own."""
    log = tmp_path / "log"
    for name in ("clang", "clang++"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {shutil.which(name)} "$@"\n')
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("THALWEG_CLANG", str(tmp_path / "clang"))
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def count() -> int:
        return sum(".rewritten." in line and " -c " in f" {line}" for line in log.read_text().splitlines())

    return count


def _kept() -> list[Path]:
    return list((locks.cache_folder() / "kernels").iterdir())


def _compile(folder: Path, scale: int = 3, every: int = 2, text: str = SMI, defines: Sequence[str] = ()) -> Compiled:
    (folder / "scale.h").write_text(f"#define SCALE {scale}\n#define EVERY {every}\n")
    (folder / "scale.c").write_text(text)
    return compile_kernels(folder / "scale.c", Path(tempfile.mkdtemp(dir=folder)), defines=defines)


def test_unchanged_kernels_are_compiled_once(tmp_path: Path, compilations: Callable[[], int]) -> None:
    first, second = _compile(tmp_path), _compile(tmp_path)
    assert compilations() == 1
    assert second.kernels == first.kernels and list(first.kernels) == ["scale"]
    assert second.library != first.library, "two programs would share their static variables"
    assert second.library.read_bytes() == first.library.read_bytes()


@pytest.mark.sample(2)
def test_kernels_of_hls_are_compiled_once(tmp_path: Path, compilations: Callable[[], int]) -> None:
    (tmp_path / "scale.cpp").write_text(HLS)
    first, second = Kernels(tmp_path / "scale.cpp"), Kernels(tmp_path / "scale.cpp")
    assert compilations() == 1
    assert second.names == first.names == ["scale"]
    assert second.loops == first.loops and "2" in second.loops[0].takes
    assert second.library.read_bytes() == first.library.read_bytes()


@pytest.mark.parametrize("change", [{"scale": 4}, {"every": 4}, {"defines": ["MORE"]}, {"text": "\n" + SMI}])
def test_what_is_changed_is_compiled(tmp_path: Path, compilations: Callable[[], int], change: dict[str, Any]) -> None:
    """A header, a macro that only a pragma uses, an option, and a line."""
    before, changed, again = _compile(tmp_path), _compile(tmp_path, **change), _compile(tmp_path)
    assert compilations() == 2
    assert again.library.read_bytes() == before.library.read_bytes()
    if "scale" in change or "every" in change:
        assert changed.library.read_bytes() != before.library.read_bytes()


@pytest.mark.parametrize("folders", ["options", "environment"])
def test_a_header_that_is_added_is_read(
    tmp_path: Path, compilations: Callable[[], int], folders: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To a folder that is searched earlier, or that has not been there; and one that the source only asks for."""
    first, second, source = tmp_path / "first", tmp_path / "second", Path("scale.c")
    searched = [first, second]
    monkeypatch.chdir(tmp_path)
    if folders == "environment":
        monkeypatch.setenv("CPATH", f"{first}:{second}")
        searched = []
    second.mkdir()
    (second / "every.h").write_text("#define EVERY 2\n")
    asks = '#if __has_include("more.h")\n#include "more.h"\n#else\n#define SCALE 3\n#endif\n'
    source.write_text(asks + SMI.replace('"scale.h"', "<every.h>"))

    def compiled() -> bytes:
        time.sleep(0.1)  # more than the resolution of files' times
        made = Path(tempfile.mkdtemp(dir=tmp_path.parent))
        return compile_kernels(source, made, includes=searched).library.read_bytes()

    libraries = [compiled(), compiled()]
    (tmp_path / "more.h").write_text("#define SCALE 5\n")
    libraries += [compiled(), compiled()]
    first.mkdir()
    (first / "every.h").write_text("#define EVERY 4\n")
    libraries += [compiled(), compiled()]
    assert compilations() == 3
    assert libraries[::2] == libraries[1::2] and len(set(libraries)) == 3


def test_a_changed_rule_compiles_all(
    tmp_path: Path, compilations: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    _compile(tmp_path)
    monkeypatch.setattr(kept, "_rules", lambda system: (system, "another version"))
    _compile(tmp_path)
    assert compilations() == 2


@pytest.mark.parametrize("length", [0, 1000])
def test_a_damaged_file_is_replaced(tmp_path: Path, compilations: Callable[[], int], length: int) -> None:
    _compile(tmp_path)
    (file,) = _kept()
    os.truncate(file, length)
    for _ in range(2):
        assert list(_compile(tmp_path).kernels) == ["scale"]
    assert compilations() == 2


def test_the_libraries_that_were_used_last_remain(
    tmp_path: Path, compilations: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "_MOST", 2)
    for scale in (1, 2, 1, 3, 1):  # the third takes the place of the second
        _compile(tmp_path, scale)
    assert (compilations(), len(_kept())) == (3, 2)
    _compile(tmp_path, 2)
    assert (compilations(), len(_kept())) == (4, 2)


def test_kernels_run_where_none_can_be_kept(tmp_path: Path, compilations: Callable[[], int]) -> None:
    (locks.cache_folder() / "kernels").touch()  # a file in the place of the folder
    for _ in range(2):
        assert list(_compile(tmp_path).kernels) == ["scale"]
    assert compilations() == 2


def test_errors_are_not_kept(tmp_path: Path, compilations: Callable[[], int]) -> None:
    for _ in range(2):
        with pytest.raises(InputError, match="NOTHING"):
            _compile(tmp_path, text=SMI.replace("SCALE", "NOTHING"))
    assert not _kept()


def test_a_header_may_change_between_two_runs_of_a_process(tmp_path: Path) -> None:
    (tmp_path / "app.c").write_text('#include "value.h"\n__kernel void app(__global int *out) { out[0] = VALUE; }\n')
    written = []
    for value in (3, 4):
        (tmp_path / "value.h").write_text(f"#define VALUE {value}\n")
        run = Run("smi-noctua", ranks=1)
        out = run.buffer(0, np.zeros(1, np.int32))
        run.kernel(tmp_path / "app.c", "app", 0, out=out)
        run.run()
        written.append(int(out.array[0]))
    assert written == [3, 4]
