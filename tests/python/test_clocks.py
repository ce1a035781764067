# SPDX-License-Identifier: Apache-2.0
"""Is a second clock free if one would suffice? benches/clocks.py measures it; here CPU time is compared, with a margin
for the machine."""

from __future__ import annotations

from pathlib import Path

import clocks
import pytest

CYCLES = 10_000


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clocks.build(tmp_path_factory.mktemp("clocks"))


@pytest.mark.long
@pytest.mark.parametrize("periods", clocks.CLOCKS.values())
def test_the_network_does_the_same(program: Path, periods: str) -> None:
    """Traffic within one clock is the same beside another clock; and words cross."""
    alone = clocks.run(program, "alone", CYCLES)
    idle, used = (clocks.run(program, f"{periods}:{use}", CYCLES) for use in ("idle", "used"))
    assert alone[0] == idle[0] == used[0]
    assert alone[1] == idle[1] == 0 < used[1]


@pytest.mark.long
@pytest.mark.serial
def test_a_second_clock_costs_little(program: Path) -> None:
    costs = clocks.costs(program, CYCLES, repeats=10)
    print(costs)
    assert len(costs) == 5
    assert max(costs.values()) < 1.2
