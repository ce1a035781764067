# SPDX-License-Identifier: Apache-2.0
"""Do the examples in README and in docs print what stands there?"""

from __future__ import annotations

import pytest
from programs import ROOT

from examples import Example, examples


@pytest.mark.slow
@pytest.mark.parametrize(
    "example",
    [
        pytest.param(
            example, id=example.commands[-1].splitlines()[0], marks=[pytest.mark.serial] * bool(example.ranges)
        )
        for document in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
        for example in examples(document)
    ],
)
def test_an_example_prints_what_is_shown(example: Example) -> None:
    shown, pictures = example.run()
    assert shown == example.shown, "make examples writes what it prints"
    assert not pictures, "make examples draws them anew"
