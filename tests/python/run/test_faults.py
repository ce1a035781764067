# SPDX-License-Identifier: Apache-2.0
"""Does an MPI program get right results when a link is cut during its run, and a clear end if no path avoids the link?"""

from __future__ import annotations

import pytest
from programs import Thalweg as Program


@pytest.mark.sample(2)
@pytest.mark.parametrize("cluster", ["torus:2x2x2", "fattree:12"])
def test_program_goes_on_without_a_link(run_program: Program, cluster: str) -> None:
    cut = "12-14" if cluster == "fattree:12" else "0-1"
    done = run_program("collectives.c", 8, "--faults", f"down={cut}@30,silence_us=5,rebuild_us=40", cluster=cluster)
    assert done.exit_code == 0, done.stdout + done.stderr
    first = done.report["recoveries"][0]
    assert first["given_up_us"] - first["silent_since_us"] == pytest.approx(5, abs=0.01)
    assert first["resumed_us"] - first["given_up_us"] == pytest.approx(40, abs=0.01)
    assert f"{first['link']} was silent from" in done.stderr


def test_program_ends_with_the_link_that_splits_its_cluster(run_program: Program) -> None:
    done = run_program("collectives.c", 4, "--faults", "down=1-2@30,silence_us=5", cluster="line:4")
    assert done.exit_code == 124
    assert "the link between port 0 of node 1 and port 1 of node 2 is down since 30." in done.stderr
    assert "there is no other path from node 0 to node 2" in done.stderr
