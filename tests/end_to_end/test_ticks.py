# SPDX-License-Identifier: Apache-2.0
"""Are the virtual times and cycles of all operations unchanged? The recorded ones are in tests/end_to_end/ticks."""

from __future__ import annotations

from pathlib import Path

import pytest
import ticks


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return ticks.build(tmp_path_factory.mktemp("programs"))


@pytest.mark.parametrize("system", ticks.SYSTEMS)
def test_every_case_is_written_down(system: str) -> None:
    assert list(ticks.read(system)) == [case.command for case in ticks.cases(system)]


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.parametrize("quick", [True, pytest.param(False, marks=pytest.mark.long)], ids=["quick", "all"])
@pytest.mark.parametrize("system", ticks.SYSTEMS)
def test_times_stay(system: str, quick: bool, programs: dict[str, Path]) -> None:
    expected = ticks.read(system)
    commands = [case.command for case in ticks.cases(system) if case.quick or not quick]
    measured = {command: ticks.measured(command, programs) for command in commands}
    assert measured == {command: expected[command] for command in commands}
