# SPDX-License-Identifier: Apache-2.0
"""What programs that test MPI on the fabric ask: `from thalweg.mpi_fpga import wrapped`."""

from thalweg.systems.mpi_fpga.mpi.wrappers import wrapped as wrapped

__all__ = ["wrapped"]
