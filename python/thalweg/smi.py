# SPDX-License-Identifier: Apache-2.0
"""Python interface of SMI: `from thalweg.smi import Run` (docs/smi-programs.md)."""

from thalweg.systems.smi.cluster import Cluster as Cluster
from thalweg.systems.smi.extract import extract as extract
from thalweg.systems.smi.host import Prepared as Prepared
from thalweg.systems.smi.host import read as read_host
from thalweg.systems.smi.run import Buffer as Buffer
from thalweg.systems.smi.run import Result as Result
from thalweg.systems.smi.run import Run as Run
from thalweg.systems.smi.run import Stuck as Stuck
from thalweg.systems.smi.run import WrongUse as WrongUse

__all__ = ["Buffer", "Cluster", "Prepared", "Result", "Run", "Stuck", "WrongUse", "extract", "read_host"]
