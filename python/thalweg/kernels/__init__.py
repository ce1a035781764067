# SPDX-License-Identifier: Apache-2.0
"""Preprocessing of kernel sources for all systems: parsed by libclang, with code inserted that makes loop iterations take
cycles."""
