# SPDX-License-Identifier: Apache-2.0
"""Python interface of VCSN and DCN: `from thalweg.vcsn import Cluster, VirtualPort` (docs/vcsn.md)."""

from thalweg.systems.vcsn._sim import AwaitWord as AwaitWord
from thalweg.systems.vcsn._sim import Connect as Connect
from thalweg.systems.vcsn._sim import Read as Read
from thalweg.systems.vcsn._sim import Row as Row
from thalweg.systems.vcsn._sim import SendWord as SendWord
from thalweg.systems.vcsn._sim import VirtualPort as VirtualPort
from thalweg.systems.vcsn._sim import Write as Write
from thalweg.systems.vcsn.circuit_file import Circuits as Circuits
from thalweg.systems.vcsn.cluster import Cluster as Cluster
from thalweg.systems.vcsn.collectives import Collective as Collective
from thalweg.systems.vcsn.hosts import Barrier as Barrier
from thalweg.systems.vcsn.hosts import Exchange as Exchange
from thalweg.systems.vcsn.hosts import Interrupt as Interrupt
from thalweg.systems.vcsn.hosts import Kernel as Kernel
from thalweg.systems.vcsn.hosts import Pause as Pause
from thalweg.systems.vcsn.hosts import Program as Program
from thalweg.systems.vcsn.hosts import Receive as Receive
from thalweg.systems.vcsn.hosts import Send as Send
from thalweg.systems.vcsn.hosts import Words as Words
from thalweg.systems.vcsn.hosts import Work as Work
from thalweg.systems.vcsn.hosts import run as run
from thalweg.systems.vcsn.network import Network as Network
from thalweg.systems.vcsn.network import Partition as Partition
from thalweg.systems.vcsn.network import Rewired as Rewired
from thalweg.systems.vcsn.operations import gather_schedule as gather_schedule
from thalweg.systems.vcsn.schedules import Schedule as Schedule
from thalweg.systems.vcsn.topologies import Topology as Topology

__all__ = [
    "AwaitWord",
    "Barrier",
    "Circuits",
    "Cluster",
    "Collective",
    "Connect",
    "Exchange",
    "Interrupt",
    "Network",
    "Partition",
    "VirtualPort",
    "Kernel",
    "Pause",
    "Read",
    "Receive",
    "Row",
    "Send",
    "SendWord",
    "Words",
    "Program",
    "Rewired",
    "Schedule",
    "Topology",
    "Work",
    "Write",
    "gather_schedule",
    "run",
]
