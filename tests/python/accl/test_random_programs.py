# SPDX-License-Identifier: Apache-2.0
"""Do random programs of ACCL's operations end with right results and without losses?"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from thalweg.systems.accl.drawn_programs import check

RANKS, TRANSPORTS = (2, 3, 5, 8), ("udp", "rdma")


def programs(seed: int, ranks: int, transport: str, number: int, steps: int) -> None:
    for turn in range(number):
        check(f"{seed} {ranks} {transport} {turn}", ranks, transport, steps)


@pytest.mark.sample(4)
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("ranks", RANKS)
def test_random_programs(ranks: int, transport: str, seed: int) -> None:
    programs(seed, ranks, transport, number=6, steps=40)


@pytest.mark.long
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("ranks", RANKS)
def test_a_thousand_random_programs(ranks: int, transport: str, seed: int) -> None:
    programs(seed, ranks, transport, number=125, steps=150)
