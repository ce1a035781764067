# SPDX-License-Identifier: Apache-2.0
"""Does the Python of docs/vcsn.md run?"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs/vcsn.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_runs(number: int) -> None:
    assert len(BLOCKS) >= 2
    exec(BLOCKS[number], {})
