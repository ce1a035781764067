# SPDX-License-Identifier: Apache-2.0
"""Time of kernels on a GPU, as long as its memory takes to move their data, and of their launches.

The memory is taken to sustain its peak rate, so computation is a lower bound, and the share of communication an upper one.
"""

from __future__ import annotations

GB = 250.0  # GB/s, peak, of a Tesla K20X, the GPU of HA-PACS/TCA (NVIDIA, Tesla K20X board specification, 2012)
LAUNCH_NS = 5000  # 3 to 7 us (V. Volkov and J. Demmel, "Benchmarking GPUs to tune dense linear algebra", SC 2008)

# Bytes per cell, in fp32:
RAYS = 20  # read opacity and preceding depths, write depth, add to the rate
PHOTONS = 96  # read opacity, absorbed and escaped photons of eight eighths of the tree, write a record
CHEMISTRY = 80  # read rates of eight eighths, read and write the neutral fraction, write a record and the opacity


def ns(cells: int, bytes_per_cell: int, launches: int = 1) -> float:
    return launches * LAUNCH_NS + cells * bytes_per_cell / GB
