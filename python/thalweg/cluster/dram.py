# SPDX-License-Identifier: Apache-2.0
"""The values of a DRAM channel in a cluster file (docs/kernels.md): sizes and times by JEDEC's names, with defaults from the standards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from thalweg.cluster.kinds import NodeTable

BurstBytes = Annotated[int, Field(ge=8, le=1024, description="that a column command moves; a power of two")]
RowBytes = Annotated[int, Field(ge=64, le=1 << 20, description="of a row of all devices; a power of two")]
Groups = Annotated[int, Field(ge=1, le=64, description="of DRAM banks; a power of two")]
Banks = Annotated[int, Field(ge=1, le=64, description="DRAM banks of a group; a power of two")]
Trcd = Annotated[float, Field(ge=0, le=1e6, description="tRCD, from an activate to a column command")]
Trp = Annotated[float, Field(ge=0, le=1e6, description="tRP, from a precharge to an activate")]
Tras = Annotated[float, Field(ge=0, le=1e6, description="tRAS, from an activate to a precharge")]
Trtp = Annotated[float, Field(ge=0, le=1e6, description="tRTP, from a read to a precharge")]
Twr = Annotated[float, Field(ge=0, le=1e6, description="tWR, from the end of a write's data to a precharge")]
Tcl = Annotated[float, Field(ge=0, le=1e6, description="CL, from a read to its data")]
Tcwl = Annotated[float, Field(ge=0, le=1e6, description="CWL, from a write to its data")]
Twtr = Annotated[float, Field(ge=0, le=1e6, description="tWTR (tWTR_S), from the end of a write's data to a read")]
Trtw = Annotated[float, Field(ge=0, le=1e6, description="of the idle data bus from a read's data to a write's")]
Tccd = Annotated[float, Field(ge=0, le=1e6, description="tCCD_L, between column commands to a group")]
Trrd = Annotated[float, Field(ge=0, le=1e6, description="tRRD (tRRD_S), between activates")]
Tfaw = Annotated[float, Field(ge=0, le=1e6, description="tFAW, in which four rows are activated at most")]
Trefi = Annotated[float, Field(ge=0, le=1e6, description="tREFI, between refreshes; 0: there are none")]
Trfc = Annotated[float, Field(ge=0, le=1e6, description="tRFC, of a refresh")]
Starvation = Annotated[int, Field(ge=0, le=1023, description="commands that may overtake one that waits")]

STARVATION = 10
"""Of Intel's controllers (External memory interfaces Stratix 10 FPGA IP user guide, section 12.4.10; DDR3 with UniPHY is the same)."""

NO_LOSSES = {"dram_trefi_ns": 0.0, "dram_trtw_ns": 0.0, "dram_twtr_ns": 0.0, "dram_tcl_ns": 0.0}
"""No refresh and no turnarounds of the data bus, for a measured rate, which includes them."""


class Ddr4(NodeTable):
    """DDR4-2400 of eight devices of 8 Gbit and 8 bits, as a module of 8 GByte has them. JEDEC JESD79-4, and Micron's data sheet of 8 Gbit
    DDR4: x8 devices have 4 groups of 4 banks and pages of 1 KiB; bursts of 8; speed bin -083 (17-17-17), CWL 12; tRRD_S and tFAW of pages of
    1 KiB; tRFC1 of 8 Gbit, tREFI up to 85 degrees; between reads and writes 2 tCK."""

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
    """DDR3-1066 of four devices of 1 Gbit and 16 bits, which are 512 MByte and a bus of 64 bits. JEDEC JESD79-3: 8 banks and pages of 2 KiB;
    bursts of 8; speed bin 1066F (7-7-7), CWL 6; tRRD and tFAW of pages of 2 KiB; tRFC of 1 Gbit, tREFI up to 85 degrees; between reads and
    writes 2 tCK."""

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
    """GB/s of a long stream: the peak minus the time of refreshes."""
    if not node.dram_trefi_ns:
        return peak_gb
    return peak_gb * (1 - (node.dram_trp_ns + node.dram_trfc_ns + node.dram_trcd_ns) / node.dram_trefi_ns)


def copy_gb(node: Ddr3 | Ddr4, peak_gb: float, block: int = 1024) -> float:
    """GB/s of alternately reading and writing `block` bytes."""
    turns = node.dram_trtw_ns + node.dram_twtr_ns + node.dram_tcl_ns
    return read_gb(node, 2 * block / (2 * block / peak_gb + turns))


def faults(node: Ddr3 | Ddr4) -> Iterator[tuple[str, str]]:
    """Invalid combinations of values: the name of one of them, and the error."""
    for name in ("dram_burst_bytes", "dram_row_bytes", "dram_groups", "dram_banks"):
        value: int = getattr(node, name)
        if value & (value - 1):
            yield name, f"{name} is {value}; it is a power of two"
    if node.dram_row_bytes < node.dram_burst_bytes:
        yield (
            "dram_row_bytes",
            f"dram_row_bytes is {node.dram_row_bytes}; a row holds a burst of {node.dram_burst_bytes} bytes at least",
        )
    refresh = node.dram_trp_ns + node.dram_trfc_ns + node.dram_trcd_ns
    if 0 < node.dram_trefi_ns <= refresh:
        yield (
            "dram_trefi_ns",
            f"dram_trefi_ns is {node.dram_trefi_ns:g}; a refresh with its tRP and tRCD takes {refresh:g} ns, which is less",
        )
