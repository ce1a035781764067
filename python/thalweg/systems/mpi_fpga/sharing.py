# SPDX-License-Identifier: Apache-2.0
"""How several jobs share one fabric: `sub-channels:1:3`, or `time-slots:1:1`, a weight for each job; docs/jobs.md."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thalweg.errors import InputError
from thalweg.systems.mpi_fpga.cluster import Cluster

if TYPE_CHECKING:
    from thalweg.systems.mpi_fpga import _sim

_FORM = re.compile(r"(sub-channels|time-slots)((?::[0-9]{1,3})+)")

SUB_CHANNELS = 4
"""64-bit lanes of a flit, of every port and aggregation unit."""


@dataclass(frozen=True)
class Share:
    """The mode, and the weight of each job."""

    mode: str
    weights: tuple[int, ...]

    @staticmethod
    def parse(text: str) -> Share:
        """Raises InputError where `text` is none."""
        found = _FORM.fullmatch(text)
        if not found:
            raise InputError(
                f"{text!r} shares nothing: it looks like sub-channels:1:3 or time-slots:1:1, a weight a job"
            )
        return Share(found[1], tuple(int(weight) for weight in found[2][1:].split(":")))

    def __str__(self) -> str:
        return ":".join([self.mode, *map(str, self.weights)])

    @property
    def parts(self) -> int:
        """Of what the weights are parts: the sub-channels that there are, or the slots of a frame."""
        return SUB_CHANNELS if self.mode == "sub-channels" else sum(self.weights)

    def on(self, cluster: Cluster, jobs: Sequence[Sequence[int]]) -> _sim.Sharing:
        """The share of jobs[j] of the hosts of a cluster. What belongs to no job is the last one's, which does not use it."""
        from thalweg.systems.mpi_fpga import _sim

        sharing = _sim.Sharing()
        sharing.mode = _sim.SharingMode.sub_channels if self.mode == "sub-channels" else _sim.SharingMode.time_slots
        sharing.weights = list(self.weights)
        sharing.slot_cycles = cluster.values.sharing.slot_cycles
        owner = [len(jobs) - 1] * cluster.topology.nodes
        for job, nodes in enumerate(jobs):
            for node in nodes:
                owner[node] = job
        sharing.job_of_node = owner
        return sharing
