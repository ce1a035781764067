# SPDX-License-Identifier: Apache-2.0
"""Sharing of a fabric by jobs: `sub-channels:1:3` or `time-slots:1:1`, with a weight for each job (docs/jobs.md)."""

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
"""Number of 64-bit lanes of a flit, in every port and aggregation unit."""


@dataclass(frozen=True)
class Share:
    """Sharing mode, and weight of each job."""

    mode: str
    weights: tuple[int, ...]

    @staticmethod
    def parse(text: str) -> Share:
        """Parses a share. Raises InputError."""
        found = _FORM.fullmatch(text)
        if not found:
            raise InputError(
                f"{text!r} is not a share; write, for example, sub-channels:1:3 or time-slots:1:1, with a weight per job"
            )
        return Share(found[1], tuple(int(weight) for weight in found[2][1:].split(":")))

    def __str__(self) -> str:
        return ":".join([self.mode, *map(str, self.weights)])

    @property
    def parts(self) -> int:
        """Total that the weights refer to: the number of sub-channels, or of slots in a frame."""
        return SUB_CHANNELS if self.mode == "sub-channels" else sum(self.weights)

    def on(self, cluster: Cluster, jobs: Sequence[Sequence[int]]) -> _sim.Sharing:
        """Returns the share for jobs on the hosts jobs[j]. Unassigned resources belong to the last job, which does not use
        them."""
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
