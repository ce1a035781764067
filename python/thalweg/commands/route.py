# SPDX-License-Identifier: Apache-2.0
"""`thalweg route`: routing tables of a cluster, and the proof that they deliver and cannot deadlock."""

from __future__ import annotations

from thalweg.commands.of_cluster import OfCluster, commands

command = OfCluster("route", commands, first=True)
