# SPDX-License-Identifier: Apache-2.0
"""ACCL's operations from Python: `from thalweg.accl import Function, run`."""

from thalweg.systems.accl.cluster import Cluster as Cluster
from thalweg.systems.accl.kernels import KernelPort as KernelPort
from thalweg.systems.accl.kernels import Kernels as Kernels
from thalweg.systems.accl.kernels import KernelStream as KernelStream
from thalweg.systems.accl.library import AcclError as AcclError
from thalweg.systems.accl.library import Buffer as Buffer
from thalweg.systems.accl.library import Communicator as Communicator
from thalweg.systems.accl.library import Function as Function
from thalweg.systems.accl.library import Options as Options
from thalweg.systems.accl.library import Packet as Packet
from thalweg.systems.accl.library import Rank as Rank
from thalweg.systems.accl.library import Request as Request
from thalweg.systems.accl.library import Result as Result
from thalweg.systems.accl.library import Started as Started
from thalweg.systems.accl.library import Stream as Stream
from thalweg.systems.accl.library import run as run
from thalweg.systems.accl.library import run_attached as run_attached

__all__ = [
    "AcclError",
    "Buffer",
    "Cluster",
    "Communicator",
    "Function",
    "KernelPort",
    "KernelStream",
    "Kernels",
    "Options",
    "Packet",
    "Rank",
    "Request",
    "Result",
    "Started",
    "Stream",
    "run",
    "run_attached",
]
