# SPDX-License-Identifier: Apache-2.0
"""Sources of kernels, for any system whose boards run them: read by libclang, with loops whose iterations take cycles."""
