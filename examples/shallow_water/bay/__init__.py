# SPDX-License-Identifier: Apache-2.0
"""A shallow-water simulation of a bay, on one board or many: mesh, partitions, kernels, reference and pictures."""
