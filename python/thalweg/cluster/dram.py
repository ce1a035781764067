# SPDX-License-Identifier: Apache-2.0
"""Parameters of a DRAM channel in a cluster file (docs/kernels.md), named as in JEDEC's standards, which define the
defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from thalweg.cluster.kinds import NodeTable

BurstBytes = Annotated[int, Field(ge=8, le=1024, description="bytes per column command; a power of two")]
RowBytes = Annotated[int, Field(ge=64, le=1 << 20, description="bytes per row, over all devices; a power of two")]
Groups = Annotated[int, Field(ge=1, le=64, description="number of bank groups; a power of two")]
Banks = Annotated[int, Field(ge=1, le=64, description="banks per group; a power of two")]
Trcd = Annotated[float, Field(ge=0, le=1e6, description="tRCD, from an activate to a column command")]
Trp = Annotated[float, Field(ge=0, le=1e6, description="tRP, from a precharge to an activate")]
Tras = Annotated[float, Field(ge=0, le=1e6, description="tRAS, from an activate to a precharge")]
Trtp = Annotated[float, Field(ge=0, le=1e6, description="tRTP, from a read to a precharge")]
Twr = Annotated[float, Field(ge=0, le=1e6, description="tWR, from the end of a write's data to a precharge")]
Tcl = Annotated[float, Field(ge=0, le=1e6, description="CL, from a read to its data")]
Tcwl = Annotated[float, Field(ge=0, le=1e6, description="CWL, from a write to its data")]
Twtr = Annotated[float, Field(ge=0, le=1e6, description="tWTR (tWTR_S), from the end of a write's data to a read")]
Trtw = Annotated[float, Field(ge=0, le=1e6, description="idle time of the data bus between read and write data")]
Tccd = Annotated[float, Field(ge=0, le=1e6, description="tCCD_L, between column commands to a group")]
Trrd = Annotated[float, Field(ge=0, le=1e6, description="tRRD (tRRD_S), between activates")]
Tfaw = Annotated[float, Field(ge=0, le=1e6, description="tFAW, window of at most four activates")]
Trefi = Annotated[float, Field(ge=0, le=1e6, description="tREFI, between refreshes; 0: no refresh")]
Trfc = Annotated[float, Field(ge=0, le=1e6, description="tRFC, duration of a refresh")]
Starvation = Annotated[
    int, Field(ge=0, le=1023, description="maximum number of commands that may overtake a waiting one")
]

STARVATION = 10
"""Starvation limit of Intel's controllers (External Memory Interfaces Stratix 10 FPGA IP user guide, section 12.4.10; equal for DDR3 with UniPHY)."""

NO_LOSSES = {"dram_trefi_ns": 0.0, "dram_trtw_ns": 0.0, "dram_twtr_ns": 0.0, "dram_tcl_ns": 0.0}
"""Overrides without refresh and bus turnaround, for use with a measured rate, which already includes them."""


class Ddr4(NodeTable):
    """DDR4-2400, eight x8 devices of 8 Gbit (8 GByte).

    JEDEC JESD79-4 and Micron's data sheet of 8 Gbit DDR4: 4 groups of 4 banks, pages of 1 KiB, bursts of 8, speed bin
    -083 (17-17-17), CWL 12, tRRD_S and tFAW for 1 KiB pages, tRFC1 for 8 Gbit, tREFI up to 85 degrees; 2 tCK between
    read and write data.
    """

    dram_burst_bytes: BurstBytes = 64
    dram_row_bytes: RowBytes = 8192
    dram_groups: Groups = 4
    dram_banks: Banks = 4
    dram_trcd_ns: Trcd = 14.16
    dram_trp_ns: Trp = 14.16
    dram_tras_ns: Tras = 32
    dram_trtp_ns: Trtp = 7.5
    dram_twr_ns: Twr = 15
    dram_tcl_ns: Tcl = 14.16
    dram_tcwl_ns: Tcwl = 10
    dram_twtr_ns: Twtr = 2.5
    dram_trtw_ns: Trtw = 1.67
    dram_tccd_l_ns: Tccd = 5
    dram_trrd_ns: Trrd = 3.33
    dram_tfaw_ns: Tfaw = 21
    dram_trefi_ns: Trefi = 7800
    dram_trfc_ns: Trfc = 350
    dram_starvation: Starvation = STARVATION


class Ddr3(NodeTable):
    """DDR3-1066, four x16 devices of 1 Gbit (512 MByte, 64-bit bus).

    JEDEC JESD79-3: 8 banks, pages of 2 KiB, bursts of 8, speed bin 1066F (7-7-7), CWL 6, tRRD and tFAW for 2 KiB pages,
    tRFC for 1 Gbit, tREFI up to 85 degrees; 2 tCK between read and write data.
    """

    dram_burst_bytes: BurstBytes = 64
    dram_row_bytes: RowBytes = 8192
    dram_groups: Groups = 1
    dram_banks: Banks = 8
    dram_trcd_ns: Trcd = 13.125
    dram_trp_ns: Trp = 13.125
    dram_tras_ns: Tras = 37.5
    dram_trtp_ns: Trtp = 7.5
    dram_twr_ns: Twr = 15
    dram_tcl_ns: Tcl = 13.125
    dram_tcwl_ns: Tcwl = 11.25
    dram_twtr_ns: Twtr = 7.5
    dram_trtw_ns: Trtw = 3.75
    dram_tccd_l_ns: Tccd = 7.5
    dram_trrd_ns: Trrd = 10
    dram_tfaw_ns: Tfaw = 50
    dram_trefi_ns: Trefi = 7800
    dram_trfc_ns: Trfc = 110
    dram_starvation: Starvation = STARVATION


def read_gb(node: Ddr3 | Ddr4, peak_gb: float) -> float:
    """Returns the rate of a long read in GB/s: the peak less the time of refreshes."""
    if not node.dram_trefi_ns:
        return peak_gb
    return peak_gb * (1 - (node.dram_trp_ns + node.dram_trfc_ns + node.dram_trcd_ns) / node.dram_trefi_ns)


def copy_gb(node: Ddr3 | Ddr4, peak_gb: float, block: int = 1024) -> float:
    """Returns the rate in GB/s of alternately reading and writing `block` bytes."""
    turns = node.dram_trtw_ns + node.dram_twtr_ns + node.dram_tcl_ns
    return read_gb(node, 2 * block / (2 * block / peak_gb + turns))


def faults(node: Ddr3 | Ddr4) -> Iterator[tuple[str, str]]:
    """Yields invalid combinations of values: the name of one of them, and the error."""
    for name in ("dram_burst_bytes", "dram_row_bytes", "dram_groups", "dram_banks"):
        value: int = getattr(node, name)
        if value & (value - 1):
            yield name, f"{name} is {value}; it must be a power of two"
    if node.dram_row_bytes < node.dram_burst_bytes:
        yield (
            "dram_row_bytes",
            f"dram_row_bytes is {node.dram_row_bytes}; it must be at least dram_burst_bytes, {node.dram_burst_bytes}",
        )
    refresh = node.dram_trp_ns + node.dram_trfc_ns + node.dram_trcd_ns
    if 0 < node.dram_trefi_ns <= refresh:
        yield (
            "dram_trefi_ns",
            f"dram_trefi_ns is {node.dram_trefi_ns:g}; it must exceed the time of a refresh with tRP and tRCD, {refresh:g} ns",
        )
