# SPDX-License-Identifier: Apache-2.0
"""Sums of records over the mesh by the hubs' calculators, in one fixed tree, and the time of processors for the same.

A calculator sums each eighth of the mesh. The eight sums are combined as a calculator combines eight records, upper
half to lower half: eighth k and k + 4, then k + 2, then k + 1. Rank r of R has the eighths r, r + R, ..., so a rank
does the first halvings, and the calculator that combines all ranks' sums does the last ones. Thus no bit depends on R.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from thalweg.errors import CheckFailed, InputError
from thalweg.peach2 import Hubs, Reduction

EIGHTHS = 8
FIELDS = 8
RECORD = 4 * FIELDS
RANKS = (1, 2, 4, 8)

DATA = 0  # in a GPU's memory
# In a processor's memory:
COPIES = 0
PARTS = 1 << 29
RESULT = PARTS + (1 << 16)

Records = NDArray[np.float32]


class HubSums:
    """Sums on the first `ranks` nodes of a cluster. Raises InputError."""

    def __init__(self, ranks: int, cluster: str = "peach2") -> None:
        if ranks not in RANKS:
            raise InputError(f"{ranks} ranks; they are 1, 2, 4 or 8, which share the mesh's eighths evenly")
        self.hubs = Hubs(cluster)
        if ranks > len(self.hubs.nodes):
            raise InputError(f"{ranks} ranks; {cluster} has {len(self.hubs.nodes)} nodes")
        self.nodes = self.hubs.nodes[:ranks]
        self.group = self.hubs.group(range(ranks), RESULT) if ranks > 1 else None
        self.hubs.run()
        self.us = 0.0  #: simulated time of all sums so far
        self._sequence = 0

    def __call__(self, records: Records) -> Records:
        """Sums `records` (eighths x cells x fields) by field; all ranks' processors receive the result."""
        ranks = len(self.nodes)
        begins, ends = [], []
        for rank, node in enumerate(self.nodes):
            eighths = [self._write(rank, own, records[k]) for own, k in enumerate(range(rank, EIGHTHS, ranks))]
            if self.group and len(eighths) == 1:
                operation = begin = self.group.reduce(rank, eighths[0])
            else:
                apart = Reduction(context=3)  # the group uses the first contexts
                parts = [
                    node.reduce(node.processor.address(PARTS + own * RECORD), sources, apart)
                    for own, sources in enumerate(eighths)
                ]
                sources = [(node.processor.address(PARTS), len(parts) * RECORD)]
                begin = parts[0]
                if self.group:
                    operation = self.group.reduce(rank, sources)
                else:
                    operation = node.reduce(node.processor.address(RESULT), sources, apart)
            begins.append(begin)
            ends.append(operation)
        self.hubs.run()
        self.us += max(each.end_us for each in ends) - min(each.begin_us for each in begins)
        results = [node.processor.read(RESULT, FIELDS, np.float32) for node in self.nodes]
        if any(result.tobytes() != results[0].tobytes() for result in results):
            raise CheckFailed("ranks have different sums")
        return results[0]

    def processors_us(self, cells: int) -> float:
        """Time of a sum of `cells` records per eighth without calculators: copies from the GPUs, sums by the
        processors, stores of the ranks' sums to the first rank, and back."""
        ranks, cluster = len(self.nodes), self.hubs.cluster
        self._sequence += 1
        record = np.array([0] * FIELDS + [self._sequence], np.uint32)
        begins, ends = [], []
        root = self.nodes[0]
        for rank, node in enumerate(self.nodes):
            at = COPIES
            for gpu, count in zip(node.gpus, _halves(cells), strict=True):
                size = count * RECORD * (EIGHTHS // ranks)
                copy = node.copy(node.processor, at, gpu, DATA, size)
                begins.append(copy)
                at += size
            ends.append(node.work(at / cluster.node.sum_gb))
            if rank > 0:
                node.store(root.processor.address(PARTS + rank * 2 * RECORD), record)
                ends.append(node.wait_for(RESULT + RECORD, self._sequence))
        for rank in range(1, ranks):
            root.wait_for(PARTS + rank * 2 * RECORD + RECORD, self._sequence)
        if ranks > 1:
            root.work(ranks * RECORD / cluster.node.sum_gb)
        for node in self.nodes[1:]:
            root.store(node.processor.address(RESULT), record)
        self.hubs.run()
        return max(each.end_us for each in ends) - min(each.begin_us for each in begins)

    def _write(self, rank: int, own: int, records: Records) -> list[tuple[int, int]]:
        """Writes an eighth's records to both GPUs, half each; returns their addresses and sizes."""
        node, sources, first = self.nodes[rank], [], 0
        for gpu, count in zip(node.gpus, _halves(len(records)), strict=True):
            at = DATA + own * count * RECORD
            gpu.write(at, records[first : first + count])
            sources.append((gpu.address(at), count * RECORD))
            first += count
        return sources


def _halves(cells: int) -> tuple[int, int]:
    return cells // 2, cells - cells // 2


def serial(records: Records) -> NDArray[np.float64]:
    """The sum without hubs, in double precision."""
    return np.asarray(records.sum(axis=(0, 1), dtype=np.float64))
