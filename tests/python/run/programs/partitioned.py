# SPDX-License-Identifier: Apache-2.0
"""Partitioned allreduce and broadcast from Python: each rank's partitions become ready in its own order."""

import numpy as np
from mpi4py import MPI
from thalweg.partitioned import Pallreduce_init, Pbcast_init

PARTS, COUNT = 4, 100
comm = MPI.COMM_WORLD
rank, ranks = comm.Get_rank(), comm.Get_size()
send, receive = np.zeros(PARTS * COUNT), np.zeros(PARTS * COUNT)
index = np.arange(PARTS * COUNT)

request = Pallreduce_init(comm, send, receive, PARTS)
for turn in range(3):
    request.Start()
    assert not request.Parrived(0)
    try:
        request.Wait()
        raise SystemExit("waited for what is not ready")
    except ValueError:
        pass
    for k in range(PARTS):
        part = (k + rank * turn) % PARTS
        send[part * COUNT : (part + 1) * COUNT] = (rank + turn + index)[part * COUNT : (part + 1) * COUNT]
        request.Pready(part)
    request.Wait()
    assert request.Parrived(PARTS - 1)
    assert (receive == ranks * (ranks - 1) / 2 + ranks * (turn + index)).all()
request.Free()

request = Pbcast_init(comm, receive, PARTS, root=1)
receive[:] = 5.0 * index if rank == 1 else -1
request.Start()
for part in range(PARTS if rank == 1 else 0):
    request.Pready(part)
request.Wait()
request.Free()
assert (receive == 5.0 * index).all()
for wrong in (3, 0):
    try:
        Pbcast_init(comm, np.zeros(10), wrong)
        raise SystemExit("made parts of different sizes")
    except ValueError:
        pass
if rank == 0:
    print("all right")
