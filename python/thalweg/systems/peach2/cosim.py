# SPDX-License-Identifier: Apache-2.0
"""Co-simulation of random programs on whole clusters: the simulator alone, then with Verilated hubs in lockstep.

Compared are every port of every hub in every cycle, the end of each operation, the hubs' counters and all memories.
Both runs are also compared with results computed by the processor.
"""

from __future__ import annotations

from thalweg.errors import CheckFailed
from thalweg.systems.peach2 import programs
from thalweg.systems.peach2.cluster import Cluster
from thalweg.systems.peach2.programs import Outcome


def compare(cluster: Cluster, seed: int) -> Outcome:
    """Runs the program of a seed twice. Raises CheckFailed if simulator and hardware differ, or a result is wrong."""
    alone = programs.run(cluster, "sim", seed)
    try:
        beside = programs.run(cluster, "rtl", seed)
    except CheckFailed as error:
        raise CheckFailed(f"seed {seed}: {error}") from None
    for what in ("said", "times", "counts", "memories"):
        one, other = getattr(alone, what), getattr(beside, what)
        if len(one) != len(other):
            raise CheckFailed(f"seed {seed}: {len(one)} {what} in the simulator, {len(other)} with the hardware")
        for index, (sim, rtl) in enumerate(zip(one, other, strict=True)):
            if sim != rtl:
                said = "" if what == "memories" else f": {sim} in the simulator, {rtl} with the hardware"
                raise CheckFailed(f"seed {seed}: {what} differ at {index}{said}")
    return alone
