# SPDX-License-Identifier: Apache-2.0
"""Gather, scatter and allgather as stages of memory transfers: by ring, by tree, and by re-wiring (section 5 of the
paper).

The transfers of a stage are concurrent; a stage starts when the previous one has ended. Blocks are numbered by their
nodes.
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
"""Builds a schedule from nodes, root, number of external ports, and number of virtual ports per external port."""
