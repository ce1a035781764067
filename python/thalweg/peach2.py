# SPDX-License-Identifier: Apache-2.0
"""Python interface of PEACH2: `from thalweg.peach2 import Hubs` (docs/peach2.md)."""

from thalweg.systems.peach2.cluster import Cluster as Cluster
from thalweg.systems.peach2.hubs import Group as Group
from thalweg.systems.peach2.hubs import Hubs as Hubs
from thalweg.systems.peach2.hubs import Memory as Memory
from thalweg.systems.peach2.hubs import Node as Node
from thalweg.systems.peach2.hubs import Reduction as Reduction
from thalweg.systems.peach2.running import Kernel as Kernel
from thalweg.systems.peach2.running import Operation as Operation
from thalweg.systems.peach2.running import StaleRead as StaleRead
from thalweg.systems.peach2.running import WritesLost as WritesLost

__all__ = ["Cluster", "Group", "Hubs", "Kernel", "Memory", "Node", "Operation", "Reduction", "StaleRead", "WritesLost"]
