# SPDX-License-Identifier: Apache-2.0
"""The commands of ACCL, each loaded on demand."""
