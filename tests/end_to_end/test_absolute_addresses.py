# SPDX-License-Identifier: Apache-2.0
"""Are data at MPI_BOTTOM, by a type of absolute addresses, sent and received, also by an MPI that packs nothing there?"""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import ROOT, Mpi, Thalweg


@pytest.fixture(scope="module", params=["mpi", "system_mpi"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    library: Mpi = request.getfixturevalue(request.param)
    source = ROOT / "tests/end_to_end/absolute_addresses.c"
    return library.build([source], tmp_path_factory.mktemp("absolute") / "absolute_addresses")


@pytest.mark.sample(8)
@pytest.mark.parametrize("call", ["bcast", "allgather", "scatter", "sendrecv_replace"])
def test_the_right_data_arrive(thalweg: Thalweg, program: Path, call: str) -> None:
    run = thalweg(3, "torus:2x2x2", [program, call])
    assert (run.exit_code, run.stdout) == (0, "right\n"), run.stdout + run.stderr
