# SPDX-License-Identifier: Apache-2.0
"""Partitioned allreduce and broadcast for mpi4py, in the shape of its partitioned messages; `thalweg_mpix.h` is that for C.

A rank says of each part of its array when it is ready, and that part is on its way while the rank computes the next one:

    request = Pallreduce_init(comm, send, receive, partitions=8)
    request.Start()
    for i in range(8):
        compute(send, i)
        request.Pready(i)
    request.Wait()

Each partition is a non-blocking collective on a duplicate of the communicator, so that this works with any MPI; with `thalweg
run` it is computed in the network. Partitions may get ready in any order, another one on each rank; they are started in
ascending order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray


class Prequest:
    """A partitioned collective, which is started again and again: `starts[i]` starts partition i on `comm`, which is its own.
    `always`: of this rank, all is ready from the start."""

    def __init__(self, comm: MPI.Intracomm, starts: list[Callable[[], MPI.Request]], always: bool) -> None:
        self._comm = comm
        self._starts = starts
        self._parts: list[MPI.Request] = []
        self._always = always
        self._ready = [False] * len(starts)

    def Start(self) -> None:
        self._ready = [self._always] * len(self._starts)
        self._parts = []
        self._go_on()

    def Pready(self, partition: int) -> None:
        self._ready[partition] = True
        self._go_on()

    def Parrived(self, partition: int) -> bool:
        """True once the partition's result is in the array."""
        return partition < len(self._parts) and bool(self._parts[partition].Test())

    def Wait(self) -> None:
        """Waits for all partitions. Raises ValueError where one has not been ready."""
        if len(self._parts) < len(self._starts):
            raise ValueError(f"partition {len(self._parts)} is not ready")
        MPI.Request.Waitall(self._parts)

    def Free(self) -> None:
        self._comm.Free()

    def _go_on(self) -> None:
        while (started := len(self._parts)) < len(self._starts) and self._ready[started]:
            self._parts.append(self._starts[started]())


def _parts(array: NDArray[Any], partitions: int) -> list[NDArray[Any]]:
    if partitions < 1 or array.size % partitions or not array.flags.c_contiguous:
        raise ValueError(f"an array of {array.size} elements is not {partitions} equal parts in a row")
    return np.split(array.reshape(-1), partitions)


def Pallreduce_init(
    comm: MPI.Intracomm, send: NDArray[Any], receive: NDArray[Any], partitions: int, op: MPI.Op = MPI.SUM
) -> Prequest:
    """An allreduce of contiguous arrays of equal shape in `partitions` equal parts. Raises ValueError where they are not."""
    pairs = zip(_parts(send, partitions), _parts(receive, partitions), strict=True)
    own = comm.Dup()
    return Prequest(own, [partial(own.Iallreduce, given, taken, op) for given, taken in pairs], False)


def Pbcast_init(comm: MPI.Intracomm, array: NDArray[Any], partitions: int, root: int = 0) -> Prequest:
    """A broadcast of a contiguous array in `partitions` equal parts; only the root says what is ready."""
    parts = _parts(array, partitions)
    own = comm.Dup()
    return Prequest(own, [partial(own.Ibcast, part, root) for part in parts], comm.Get_rank() != root)
