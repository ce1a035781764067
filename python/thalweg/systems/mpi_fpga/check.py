# SPDX-License-Identifier: Apache-2.0
"""Consistency checks of an MPI-FPGA cluster file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.systems.mpi_fpga.faults import WrongLink
from thalweg.systems.mpi_fpga.limits import FLIT_BYTES, MAX_FAULTY_LATENCY, MAX_LATENCY, MAX_SLOT_FLITS

if TYPE_CHECKING:
    from thalweg.systems.mpi_fpga.cluster import Cluster


def check(cluster: Cluster) -> None:
    """Raises InputError if the values of a cluster are inconsistent."""
    file = cluster.file
    router = file.values.router
    if cluster.buffer_flits < 1:
        raise file.wrong(
            f"port_buffer_bytes is {router.port_buffer_bytes}; one flit for each of {router.virtual_channels} virtual channels "
            f"needs at least {FLIT_BYTES * router.virtual_channels}",
            "router.port_buffer_bytes",
            "router.virtual_channels",
        )
    if router.flow == "margin" and router.margin_flits < cluster.least_margin:
        raise file.wrong(
            f"margin_flits is {router.margin_flits}; flits in flight need at least {cluster.least_margin} "
            f"(2 x {cluster.link_latency} cycles of the link + 1)",
            "router.margin_flits",
            "link.latency_ns",
            "clock.frequency_mhz",
            "router.flow",
        )
    if cluster.link_latency > MAX_LATENCY:
        raise file.wrong(
            f"latency_ns is {file.values.link.latency_ns:g}, {cluster.link_latency} cycles; the maximum is {MAX_LATENCY} cycles",
            "link.latency_ns",
            "clock.frequency_mhz",
        )
    try:
        has_faults = cluster.has_faults
    except WrongLink as wrong:
        raise file.wrong(str(wrong), f"faults.links.{wrong.index}.{wrong.key}") from None
    if has_faults and cluster.link_latency > MAX_FAULTY_LATENCY:
        raise file.wrong(
            f"a link of {cluster.link_latency} cycles; the maximum with faults is {MAX_FAULTY_LATENCY} cycles",
            "link.latency_ns",
            "clock.frequency_mhz",
        )
    silence, least = cluster.cycles(1000 * file.values.faults.silence_us), cluster.round_trip
    if has_faults and silence < least:
        raise file.wrong(
            f"silence_us is {file.values.faults.silence_us:g}, {silence} cycles; it must be at least a link's round trip, {least} cycles, "
            "or links would be given up before their first frame",
            "faults.silence_us",
            "link.latency_ns",
            "clock.frequency_mhz",
        )
    if router.flow == "margin" and cluster.margin_flits >= cluster.buffer_flits:
        least = (cluster.margin_flits + 1) * FLIT_BYTES * router.virtual_channels
        raise file.wrong(
            f"a virtual channel has {cluster.buffer_flits} flits and is stopped at {cluster.margin_flits} free ones, so "
            f"no flit could move; port_buffer_bytes must be at least {least}",
            "router.port_buffer_bytes",
            "router.margin_flits",
            "router.virtual_channels",
        )
    collective = file.values.collective
    slot = collective.slot_packets * collective.packet_flits
    if slot > MAX_SLOT_FLITS:
        raise file.wrong(
            f"a slot of {collective.slot_packets} packets of {collective.packet_flits} flits has {slot} flits; "
            f"the maximum is {MAX_SLOT_FLITS} flits",
            "collective.slot_packets",
            "collective.packet_flits",
        )
    longest = collective.long_packet_flits or collective.packet_flits
    if not collective.packet_flits <= longest <= slot:
        raise file.wrong(
            f"a longest packet of {longest} flits; packet_flits is {collective.packet_flits}, and a slot has {slot}",
            "collective.long_packet_flits",
            "collective.packet_flits",
            "collective.slot_packets",
        )
