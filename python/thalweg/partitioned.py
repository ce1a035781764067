# SPDX-License-Identifier: Apache-2.0
"""Partitioned collectives for mpi4py: `from thalweg.partitioned import Pallreduce_init` (docs/mpi.md)."""

from thalweg.systems.mpi_fpga.mpi.partitioned import Pallreduce_init as Pallreduce_init
from thalweg.systems.mpi_fpga.mpi.partitioned import Pbcast_init as Pbcast_init
from thalweg.systems.mpi_fpga.mpi.partitioned import Prequest as Prequest

__all__ = ["Pallreduce_init", "Pbcast_init", "Prequest"]
