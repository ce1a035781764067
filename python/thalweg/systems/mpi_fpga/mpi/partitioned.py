# SPDX-License-Identifier: Apache-2.0
"""Partitioned allreduce and broadcast for mpi4py, analogous to its partitioned messages; `thalweg_mpix.h` is the C
interface.

A rank marks each part of its array as ready, so that it is transferred while the rank computes the next one:

    request = Pallreduce_init(comm, send, receive, partitions=8)
    request.Start()
    for i in range(8):
        compute(send, i)
        request.Pready(i)
    request.Wait()

Each partition is a non-blocking collective on a duplicate of the communicator, so that this works with any MPI; with
`thalweg run` it is executed in the network. Partitions may become ready in any order, different on each rank; they are
started in ascending order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray


class Prequest:
    """A persistent partitioned collective, created by `Pallreduce_init` or `Pbcast_init`.

    `starts[i]` starts partition i on `comm`, its own communicator. With `always`, all partitions of this rank are ready
    from the start.
    """

    def __init__(self, comm: MPI.Intracomm, starts: list[Callable[[], MPI.Request]], always: bool) -> None:
        self._comm = comm
        self._starts = starts
        self._parts: list[MPI.Request] = []
        self._always = always
        self._ready = [False] * len(starts)

    def Start(self) -> None:
        """Starts the collective."""
        self._ready = [self._always] * len(self._starts)
        self._parts = []
        self._progress()

    def Pready(self, partition: int) -> None:
        """Marks a partition as ready."""
        self._ready[partition] = True
        self._progress()

    def Parrived(self, partition: int) -> bool:
        """True if the result of a partition is in the array."""
        return partition < len(self._parts) and bool(self._parts[partition].Test())

    def Wait(self) -> None:
        """Waits for all partitions. Raises ValueError if one is not ready."""
        if len(self._parts) < len(self._starts):
            raise ValueError(f"partition {len(self._parts)} is not ready")
        MPI.Request.Waitall(self._parts)

    def Free(self) -> None:
        """Frees the request and its communicator."""
        self._comm.Free()

    def _progress(self) -> None:
        while (started := len(self._parts)) < len(self._starts) and self._ready[started]:
            self._parts.append(self._starts[started]())


def _parts(array: NDArray[Any], partitions: int) -> list[NDArray[Any]]:
    if partitions < 1 or array.size % partitions or not array.flags.c_contiguous:
        raise ValueError(
            f"an array of {array.size} elements cannot be divided into {partitions} contiguous equal parts"
        )
    return np.split(array.reshape(-1), partitions)


def Pallreduce_init(
    comm: MPI.Intracomm, send: NDArray[Any], receive: NDArray[Any], partitions: int, op: MPI.Op = MPI.SUM
) -> Prequest:
    """Creates a partitioned allreduce.

    Parameters
    ----------
    comm : MPI.Intracomm
        Communicator; it is duplicated.
    send, receive : numpy.ndarray
        Contiguous arrays of equal shape.
    partitions : int
        Number of equal parts.
    op : MPI.Op
        Reduction operation.

    Returns
    -------
    Prequest

    Raises
    ------
    ValueError
        An array is not contiguous, or its size is not a multiple of `partitions`.
    """
    pairs = zip(_parts(send, partitions), _parts(receive, partitions), strict=True)
    own = comm.Dup()
    return Prequest(own, [partial(own.Iallreduce, given, taken, op) for given, taken in pairs], False)


def Pbcast_init(comm: MPI.Intracomm, array: NDArray[Any], partitions: int, root: int = 0) -> Prequest:
    """Creates a partitioned broadcast; only the root marks partitions as ready.

    Parameters
    ----------
    comm : MPI.Intracomm
        Communicator; it is duplicated.
    array : numpy.ndarray
        Contiguous array.
    partitions : int
        Number of equal parts.
    root : int
        Rank of the root.

    Returns
    -------
    Prequest

    Raises
    ------
    ValueError
        The array is not contiguous, or its size is not a multiple of `partitions`.
    """
    parts = _parts(array, partitions)
    own = comm.Dup()
    return Prequest(own, [partial(own.Ibcast, part, root) for part in parts], comm.Get_rank() != root)
