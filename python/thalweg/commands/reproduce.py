# SPDX-License-Identifier: Apache-2.0
"""`thalweg reproduce`: published numbers beside measured ones."""

from __future__ import annotations

from thalweg.commands.of_cluster import OfSystem, commands

command = OfSystem("reproduce", commands)
