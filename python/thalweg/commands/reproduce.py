# SPDX-License-Identifier: Apache-2.0
"""`thalweg reproduce`: compares published with measured numbers."""

from __future__ import annotations

from thalweg.commands.per_system import SystemCommand, commands

command = SystemCommand("reproduce", commands)
