# SPDX-License-Identifier: Apache-2.0
"""Python interface of ACCL: `from thalweg.accl import Function, run` (docs/accl.md)."""

from thalweg.systems.accl.cluster import Cluster as Cluster
from thalweg.systems.accl.cluster import Server as Server
from thalweg.systems.accl.kernels import KernelPort as KernelPort
from thalweg.systems.accl.kernels import Kernels as Kernels
from thalweg.systems.accl.kernels import KernelStream as KernelStream
from thalweg.systems.accl.launch import run as run
from thalweg.systems.accl.launch import run_attached as run_attached
from thalweg.systems.accl.library import Rank as Rank
from thalweg.systems.accl.running import Options as Options
from thalweg.systems.accl.running import Result as Result
from thalweg.systems.accl.values import AcclError as AcclError
from thalweg.systems.accl.values import Buffer as Buffer
from thalweg.systems.accl.values import Communicator as Communicator
from thalweg.systems.accl.values import Function as Function
from thalweg.systems.accl.values import Packet as Packet
from thalweg.systems.accl.values import Request as Request
from thalweg.systems.accl.values import StartedKernel as StartedKernel
from thalweg.systems.accl.values import Stream as Stream

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
    "Server",
    "StartedKernel",
    "Stream",
    "run",
    "run_attached",
]
