# SPDX-License-Identifier: Apache-2.0
"""Random programs on whole clusters of hubs: by the simulator alone, then with the hardware's hubs in step with its own. Compared are
every port of every hub in every cycle, when each operation ended, what the hubs counted, and what stands in all memories; and each of
the two is held against what the processor computes."""

from __future__ import annotations

from thalweg.errors import CheckFailed
from thalweg.systems.peach2 import programs
from thalweg.systems.peach2.cluster import Cluster
from thalweg.systems.peach2.programs import Outcome


def compare(cluster: Cluster, seed: int) -> Outcome:
    """Raises CheckFailed where simulator and hardware are not the same, or something is wrong."""
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
