# SPDX-License-Identifier: Apache-2.0
"""`thalweg route`: computes a cluster's routing tables and proves delivery and absence of deadlock."""

from __future__ import annotations

from thalweg.commands.per_system import ClusterCommand, commands

command = ClusterCommand("route", commands, first=True)
