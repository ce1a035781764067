"""Partitioned allreduce and broadcast for mpi4py, in the shape of its partitioned messages; `thalweg_mpix.h` is that for C.

A rank says of each part of its array when it is ready, and that part is on its way while the rank computes the next one:

    request = Pallreduce_init(comm, send, receive, partitions=8)
    request.Start()
    for i in range(8):
        compute(send, i)
        request.Pready(i)
    request.Wait()

Each partition is a persistent collective (MPI 4), so that this works with any MPI; with `thalweg run` it is computed in the
network. Partitions may get ready in any order, another one on each rank; they are started in ascending order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray


class Prequest:
    """A partitioned collective, which is started again and again. `always`: of this rank, all is ready from the start."""

    def __init__(self, parts: list[MPI.Prequest], always: bool) -> None:
        self._parts = parts
        self._always = always
        self._ready = [False] * len(parts)
        self._started = len(parts)

    def Start(self) -> None:
        self._ready = [self._always] * len(self._parts)
        self._started = 0
        self._go_on()

    def Pready(self, partition: int) -> None:
        self._ready[partition] = True
        self._go_on()

    def Parrived(self, partition: int) -> bool:
        """True once the partition's result is in the array."""
        return partition < self._started and bool(self._parts[partition].Test())

    def Wait(self) -> None:
        """Waits for all partitions. Raises ValueError where one has not been ready."""
        if self._started < len(self._parts):
            raise ValueError(f"partition {self._started} is not ready")
        MPI.Request.Waitall(self._parts)

    def Free(self) -> None:
        for part in self._parts:
            part.Free()

    def _go_on(self) -> None:
        while self._started < len(self._parts) and self._ready[self._started]:
            self._parts[self._started].Start()
            self._started += 1


def _parts(array: NDArray[Any], partitions: int) -> list[NDArray[Any]]:
    if partitions < 1 or array.size % partitions or not array.flags.c_contiguous:
        raise ValueError(f"an array of {array.size} elements is not {partitions} equal parts in a row")
    return np.split(array.reshape(-1), partitions)


def Pallreduce_init(
    comm: MPI.Intracomm, send: NDArray[Any], receive: NDArray[Any], partitions: int, op: MPI.Op = MPI.SUM
) -> Prequest:
    """An allreduce of contiguous arrays of equal shape in `partitions` equal parts. Raises ValueError where they are not."""
    pairs = zip(_parts(send, partitions), _parts(receive, partitions), strict=True)
    return Prequest([comm.Allreduce_init(given, taken, op) for given, taken in pairs], False)


def Pbcast_init(comm: MPI.Intracomm, array: NDArray[Any], partitions: int, root: int = 0) -> Prequest:
    """A broadcast of a contiguous array in `partitions` equal parts; only the root says what is ready."""
    parts = [comm.Bcast_init(part, root) for part in _parts(array, partitions)]
    return Prequest(parts, comm.Get_rank() != root)
