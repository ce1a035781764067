# SPDX-License-Identifier: Apache-2.0
"""For test programs: the functions of the MPI interposer (`wrapped`). For benches: the simulator's speed (`user_seconds`)."""

from thalweg.systems.mpi_fpga.mpi.wrappers import wrapped as wrapped
from thalweg.systems.mpi_fpga.speed import user_seconds as user_seconds

__all__ = ["user_seconds", "wrapped"]
