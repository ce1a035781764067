# SPDX-License-Identifier: Apache-2.0
"""Gather, scatter and allgather as stages of transfers between nodes' memories: by ring, by tree, and by re-wiring (section 5 of the paper).

A stage's transfers go at once; the next stage begins when all have ended. Blocks are the nodes' own data, by the nodes' numbers.
"""

from thalweg.systems.vcsn._sim import Move as Move
from thalweg.systems.vcsn._sim import Schedule as Schedule
from thalweg.systems.vcsn._sim import Stage as Stage
from thalweg.systems.vcsn._sim import allgather_ring as allgather_ring
from thalweg.systems.vcsn._sim import relink as relink
from thalweg.systems.vcsn._sim import ring as ring
from thalweg.systems.vcsn._sim import scatter as scatter
from thalweg.systems.vcsn._sim import tree as tree

GATHERS = {"tree": tree, "ring": ring, "relink": relink}
"""From nodes, the root, and the numbers of external ports and of virtual ports of each."""
