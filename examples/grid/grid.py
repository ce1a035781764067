# SPDX-License-Identifier: Apache-2.0
"""Ranks in a grid: collectives on rows and columns, with objects, buffers and arrays.

Runs on an even number of ranks, at least 4.
"""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, ranks = world.Get_rank(), world.Get_size()
columns = ranks // 2
row, column = divmod(rank, columns)


def say(text: str) -> None:
    """Prints one line per rank, in rank order."""
    for line in world.gather(text, root=0) or []:
        print(line, flush=True)


# Objects: dictionaries and numbers of any size are sent as bytes.
settings = world.bcast({"columns": columns, "name": "grid"} if rank == 0 else None, root=0)
total = world.allreduce(10**20 + rank)
say(f"rank {rank} is at row {row}, column {column} of the {settings['name']}; the objects' sum is {total}")

# Every row and every column is a communicator, and all work concurrently.
along_row = world.Split(color=row, key=column)
along_column = world.Split(color=column, key=row)

mine = np.arange(1000, dtype=np.int64) * (rank + 1)
row_sum, column_max = np.empty_like(mine), np.empty_like(mine)
along_row.Allreduce(mine, row_sum, op=MPI.SUM)
along_column.Allreduce(mine, column_max, op=MPI.MAX)
assert row_sum[1] == sum(row * columns + i + 1 for i in range(columns))
say(f"rank {rank}: row sum ends with {row_sum[-1]}, column maximum with {column_max[-1]}")

# Ranks in reverse: the same members, another order, so another tree.
backwards = world.Split(color=0, key=-rank)
block = np.full(3, rank, dtype=np.int32)
everybody = np.empty((ranks, 3), dtype=np.int32)
backwards.Allgather(block, everybody)
assert list(everybody[:, 0]) == list(range(ranks))[::-1]

# In place, from a root that is not the first.
root = backwards.Get_size() - 1
sums = np.array([rank, rank**2], dtype=np.float64)
if backwards.Get_rank() == root:
    backwards.Reduce(MPI.IN_PLACE, sums, op=MPI.SUM, root=root)
    assert list(sums) == [sum(range(ranks)), sum(i * i for i in range(ranks))]
else:
    backwards.Reduce(sums, None, op=MPI.SUM, root=root)

# A column of a matrix as a derived type.
matrix = np.zeros((4, 5), dtype=np.float32)
if rank == 0:
    matrix[:, 2] = [1.5, 2.5, 3.5, 4.5]
strip = MPI.FLOAT.Create_vector(4, 1, 5).Commit()
world.Bcast([matrix.ravel()[2:], 1, strip], root=0)
strip.Free()
assert matrix.sum() == 12.0 and matrix[3, 2] == 4.5

# Rank of the largest value.
pair = np.zeros(1, dtype=[("value", "f8"), ("where", "i4")])
pair[0] = ((rank * 5) % ranks, rank)
largest = np.empty_like(pair)
world.Allreduce([pair, 1, MPI.DOUBLE_INT], [largest, 1, MPI.DOUBLE_INT], op=MPI.MAXLOC)

# A communicator of the even ranks, created by only these.
group = world.Get_group().Incl(range(0, ranks, 2))
if rank % 2 == 0:
    even = world.Create_group(group)
    even.Barrier()
    gathered = even.gather(rank, root=0)
    if even.Get_rank() == 0:
        print(f"the even ranks are {gathered}", flush=True)
    even.Free()

# A message to the right, around each row.
token = along_row.sendrecv(rank, dest=(column + 1) % columns, source=(column - 1) % columns)
say(
    f"rank {rank} was told {token} by its left neighbour; the maximum is {largest['value'][0]:.0f} at {largest['where'][0]}"
)

for communicator in (along_row, along_column, backwards):
    communicator.Free()
