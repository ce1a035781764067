# SPDX-License-Identifier: Apache-2.0
"""Inspection of the MPI interposer by test programs: `from thalweg.mpi_fpga import wrapped`."""

from thalweg.systems.mpi_fpga.mpi.wrappers import wrapped as wrapped

__all__ = ["wrapped"]
