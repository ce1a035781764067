! SPDX-License-Identifier: Apache-2.0
! Heat in a rod that is divided into one piece per rank: neighbours exchange borders, and an allreduce decides when to stop.
program heat
  use mpi
  implicit none
  integer, parameter :: cells = 4
  integer :: rank, ranks, left, right, line, step, error, comm
  integer, allocatable :: order(:)
  double precision :: rod(0:cells + 1), next(cells), change, limit, ends(2), extremes(2)
  double precision, allocatable :: means(:)
  integer :: agreed(3)
  logical :: warm, all_warm

  call MPI_Init(error)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, error)
  call MPI_Comm_rank(comm, rank, error)
  call MPI_Comm_size(comm, ranks, error)
  left = merge(MPI_PROC_NULL, rank - 1, rank == 0)
  right = merge(MPI_PROC_NULL, rank + 1, rank == ranks - 1)

  ends = 0
  if (rank == 0) ends = [1d0, 5d-4]
  call MPI_Bcast(ends, 2, MPI_DOUBLE_PRECISION, 0, comm, error)
  limit = ends(2)

  rod = 0
  if (rank == 0) rod(0) = ends(1)
  do step = 1, 2000
    call MPI_Sendrecv(rod(cells), 1, MPI_DOUBLE_PRECISION, right, 1, &
                      rod(0), 1, MPI_DOUBLE_PRECISION, left, 1, comm, MPI_STATUS_IGNORE, error)
    call MPI_Sendrecv(rod(1), 1, MPI_DOUBLE_PRECISION, left, 2, &
                      rod(cells + 1), 1, MPI_DOUBLE_PRECISION, right, 2, comm, MPI_STATUS_IGNORE, error)
    next = rod(1:cells) + 0.25d0 * (rod(0:cells - 1) - 2 * rod(1:cells) + rod(2:cells + 1))
    change = maxval(abs(next - rod(1:cells)))
    rod(1:cells) = next
    call MPI_Allreduce(MPI_IN_PLACE, change, 1, MPI_DOUBLE_PRECISION, MPI_MAX, comm, error)
    if (change < limit) exit
  end do

  extremes = [maxval(rod(1:cells)), -minval(rod(1:cells))]
  if (rank == 0) then
    call MPI_Reduce(MPI_IN_PLACE, extremes, 2, MPI_DOUBLE_PRECISION, MPI_MAX, 0, comm, error)
  else
    call MPI_Reduce(extremes, extremes, 2, MPI_DOUBLE_PRECISION, MPI_MAX, 0, comm, error)
  end if

  allocate (means(ranks), order(ranks))
  call MPI_Gather(sum(rod(1:cells)) / cells, 1, MPI_DOUBLE_PRECISION, means, 1, MPI_DOUBLE_PRECISION, 0, comm, error)
  order(rank + 1) = ranks - rank
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, order, 1, MPI_INTEGER, comm, error)

  agreed = [step, -step, rank]
  call MPI_Allreduce(MPI_IN_PLACE, agreed, 3, MPI_INTEGER, MPI_MAX, comm, error)
  warm = rod(1) > 1d-2
  call MPI_Reduce(warm, all_warm, 1, MPI_LOGICAL, MPI_LAND, 0, comm, error)
  call MPI_Barrier(comm, error)

  if (rank == 0) then
    print '(a, i0, a, l1)', 'steps ', agreed(1), ', the same everywhere: ', agreed(1) == -agreed(2)
    print '(a, f0.6, a, es9.2)', 'hottest cell ', extremes(1), ', coldest ', abs(extremes(2))
    do line = 1, ranks
      print '(a, i0, a, f8.6, a, i0)', 'piece ', line - 1, ': mean ', means(line), ', place from the right ', order(line)
    end do
    print '(a, l1)', 'every piece is warm: ', all_warm
  end if
  call MPI_Comm_free(comm, error)
  call MPI_Finalize(error)
end program heat
