! SPDX-License-Identifier: Apache-2.0
! Collectives and messages by the module mpi_f08, whose functions call PMPI functions. Rank 0 prints "right".
program check
  use mpi_f08
  implicit none
  integer :: rank, ranks, i, total
  integer :: token(1)
  double precision :: mine(3), all(3)
  type(MPI_Comm) :: copy, half
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  mine = [1d0 * rank, 2d0 * rank, 0.5d0]
  call MPI_Allreduce(mine, all, 3, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  if (any(all /= [ranks * (ranks - 1) / 2d0, ranks * (ranks - 1) * 1d0, ranks * 0.5d0])) error stop 1
  call MPI_Allreduce(MPI_IN_PLACE, mine, 3, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
  if (mine(1) /= ranks - 1) error stop 2
  call MPI_Comm_dup(MPI_COMM_WORLD, copy)
  call MPI_Comm_split(copy, mod(rank, 2), rank, half)
  total = 1
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, half)
  if (total /= (ranks + 1 - mod(rank, 2)) / 2) error stop 3
  token(1) = -1
  call MPI_Irecv(token, 1, MPI_INTEGER, mod(rank + ranks - 1, ranks), 5, copy, requests(1))
  call MPI_Isend(rank, 1, MPI_INTEGER, mod(rank + 1, ranks), 5, copy, requests(2))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  if (token(1) /= mod(rank + ranks - 1, ranks)) error stop 4
  if (rank == 0) then
    do i = 1, ranks - 1
      call MPI_Recv(token, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, copy, status)
      if (status%MPI_SOURCE /= token(1) .or. status%MPI_TAG /= token(1) + 10) error stop 5
    end do
  else
    call MPI_Send(rank, 1, MPI_INTEGER, 0, rank + 10, copy)
  end if
  call MPI_Barrier(copy)
  call MPI_Comm_free(half)
  call MPI_Comm_free(copy)
  if (rank == 0) print '(a)', 'right'
  call MPI_Finalize()
end program
