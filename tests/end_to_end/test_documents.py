# SPDX-License-Identifier: Apache-2.0
"""Do the examples in README and in docs print the documented output?"""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from bridge import needs_bridge, needs_tshark
from programs import ROOT

from examples import Example, examples

LONG = (
    "lammps/run.py",
    "thalweg-torus-4x4x4",
    "tools/published.py",
    "bench gather --cluster vcsn-64",
    "stencil.py --size 1024",
    "for how in",
    "--elements 27040 --partitions 4",
)
"""In commands that take long; those of vcsn-64 and later ones have smaller examples beside them, and tests of their
own."""

needs_metis = pytest.mark.skipif(find_spec("pymetis") is None, reason="pymetis is not installed")
NEEDS = {
    "examples/bridge": needs_bridge,
    "tshark": needs_tshark,
    "examples/shallow_water": needs_metis,
    "--only application": needs_metis,
}
"""Requirements of commands that not every computer fulfils."""


def marks(example: Example) -> list[pytest.MarkDecorator]:
    needed = [mark for name, mark in NEEDS.items() if name in example.commands[-1]]
    if any(name in example.commands[-1] for name in LONG):
        return [pytest.mark.long, *needed]
    return [pytest.mark.slow, *needed] + [pytest.mark.serial] * bool(example.ranges)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "example",
    [
        pytest.param(example, id=example.commands[-1].splitlines()[0], marks=marks(example))
        for document in [
            ROOT / "README.md",
            *sorted((ROOT / "docs").glob("*.md")),
            *sorted((ROOT / "examples").glob("*/README.md")),
        ]
        for example in examples(document)
    ],
)
def test_an_example_prints_what_is_shown(example: Example) -> None:
    shown, pictures = example.run()
    assert shown == example.shown, "make examples writes what it prints"
    assert not pictures, "make examples draws them anew"
