# SPDX-License-Identifier: Apache-2.0
"""The commands of `thalweg`, one module each; every module exports `command`."""
