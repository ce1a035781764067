# SPDX-License-Identifier: Apache-2.0
"""Is a stream between two kernels as fast as benches/kernels.py requires, and does the example of docs/kernels.md print
the documented output?"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import kernels
import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.serial
def test_twenty_million_words_a_second(tmp_path: Path) -> None:
    assert kernels.million_words_a_second(kernels.build(tmp_path), 16, 2_000_000, repeats=5) > 20


@pytest.mark.slow
def test_the_example_of_the_docs(tmp_path: Path) -> None:
    text = (ROOT / "docs/kernels.md").read_text()
    (code,) = re.findall(r"```cpp\n(.*?)```", text, re.DOTALL)
    (printed,) = re.findall(r"It prints `(.*?)`", text)
    source = tmp_path / "example.cpp"
    source.write_text(
        f'#include <cstdio>\n#include "core/stream.hpp"\nusing namespace thalweg;\nint main() {{\n{code}}}\n'
    )
    command = ["c++", "-std=c++20", f"-I{ROOT / 'sim'}", source, *sorted((ROOT / "sim/core").glob("*.cpp"))]
    subprocess.run([*command, "-o", tmp_path / "example"], check=True)
    assert subprocess.run([tmp_path / "example"], check=True, text=True, capture_output=True).stdout == printed + "\n"
