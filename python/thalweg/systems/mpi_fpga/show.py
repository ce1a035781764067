# SPDX-License-Identifier: Apache-2.0
"""Descriptions of an MPI-FPGA cluster for `thalweg cluster show` and `draw`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.cluster import Shown

if TYPE_CHECKING:
    from thalweg.systems.mpi_fpga.cluster import Cluster


def shown(cluster: Cluster) -> list[Shown]:
    """Returns its parameters, in units of the file and of the hardware."""
    values = cluster.values
    return [
        ("clock", f"{values.clock.frequency_mhz:g} MHz", f"a cycle is {1e3 / values.clock.frequency_mhz:g} ns"),
        ("link latency", f"{values.link.latency_ns:g} ns", f"{cluster.link_latency} cycles"),
        ("link rate", f"{values.link.rate_gbps:g} Gb/s", f"{cluster.link_rate} flit per cycle; a port has 1, {cluster.port_gbps:g} Gb/s"),
        ("virtual channels", f"{values.router.virtual_channels}", f"of {cluster.buffer_flits} flits at a link port"),
        ("port buffer", f"{values.router.port_buffer_bytes} bytes", _equation(cluster)),
        ("flow control", values.router.flow, _flow(cluster)),
        ("local ports", f"{1 + cluster.collective_ports}", f"host, and {cluster.collective_ports} of the collective unit"),
        ("PCIe latency", f"{values.host.pcie_latency_ns:g} ns", f"{cluster.cycles(values.host.pcie_latency_ns)} cycles, one way"),
        ("PCIe rate", f"{values.host.pcie_rate_gbps:g} Gb/s", "each way"),
        ("DMA", f"{values.host.dma_flits_per_cycle} flits", "a cycle"),
        ("software", f"{values.host.message_overhead_ns:g} ns", "per message of a collective that falls back"),
        ("host memory", f"{values.host.memory_overhead_ns:g} ns", f"per message between ranks of one node, {values.host.memory_rate_gbps:g} Gb/s"),
        ("contexts", f"{values.collective.contexts}", f"{values.collective.operations_in_flight} operations of each in flight"),
        ("aggregation", f"{values.collective.aggregation_units} units", f"{values.collective.lane_latency_cycles} cycles per step"),
        ("slots", f"{values.collective.slot_packets} packets", f"of {values.collective.packet_flits} flits, per tree edge"),
    ]  # fmt: skip


def _equation(cluster: Cluster) -> str:
    if cluster.values.router.flow != "margin":
        return "of a link port"
    return f"per link port; Equation 2 requires {cluster.least_port_buffer}"


def _flow(cluster: Cluster) -> str:
    if cluster.values.router.flow == "credits":
        return "one a flit"
    return f"stop at {cluster.values.router.margin_flits} free flits; {cluster.least_margin} may be in flight"


def legend(cluster: Cluster) -> list[str]:
    """Returns the rates of a link and of a port."""
    values = cluster.values
    cycles = "1 cycle" if cluster.link_latency == 1 else f"{cluster.link_latency} cycles"
    return [
        f"link: {values.link.rate_gbps:g} Gb/s and {values.link.latency_ns:g} ns ({cycles}) per direction",
        f"port: {cluster.port_gbps:g} Gb/s, a flit of {values.router.flit_bits} bits per cycle at "
        f"{values.clock.frequency_mhz:g} MHz",
    ]
