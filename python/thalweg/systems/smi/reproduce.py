# SPDX-License-Identifier: Apache-2.0
"""Evaluation of SMI's paper: resources, microbenchmarks, GESUMMV and stencil, on Noctua's boards as a torus and as a line.

The path through hosts is a closed form: the latency measured in the paper, and the bytes over PCI Express, the hosts'
network and PCI Express in sequence, at their nominal rates. Strong scaling of the stencil is simulated twice: with the
preset's DRAM, and with the rate measured by STREAM on such boards. The remaining factor to the published speed-up is
printed; no value is fitted to explain it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import Any

from thalweg.bench.operation import peer_at
from thalweg.cluster import dram
from thalweg.errors import CheckFailed, InputError
from thalweg.papers import Evaluation as OfPaper
from thalweg.papers import Part, Row, short
from thalweg.spec import Datatype, Operator
from thalweg.systems.smi import bounds, operations
from thalweg.systems.smi.cluster import Cluster
from thalweg.systems.smi.reproduce_programs import Grid, Stencil, gesummv_us

PAPER = "smi"
TORUS, LINE = "smi-noctua", "smi-noctua-bus"
HOPS = (1, 4, 7)
READS = (1, 4, 8, 16)
SIZES = tuple(1 << power for power in range(10, 23, 2))
COLLECTIVE_SIZES = tuple(1 << power for power in range(2, 19, 4))
RANKS = (4, 8)
PCIE_GB = 8 * 8 * 128 / 130 / 8
"""GB/s of PCI Express 3.0 x8: 8 GT/s per lane, 128b/130b."""
HOSTS_GB = 12.5
"""GB/s of Omni-Path, 100 Gb/s (section 5.1)."""

MATRICES = ((1024, 1024), (2048, 2048), (4096, 4096), (8192, 8192), (2048, 8192), (8192, 2048))
"""Rows and columns for Figure 15: square and rectangular, as the paper gives no other details."""
DOMAIN, STEPS = 4096, 32
"""Points along a side and time steps of Figure 18."""
STRONG: tuple[tuple[int, Grid], ...] = ((1, (1, 1)), (4, (1, 1)), (1, (2, 2)), (4, (2, 2)), (4, (2, 4)))
"""Banks per FPGA and grid of FPGAs of Figure 18; the first is the reference."""
WEAK = tuple(256 << power for power in range(6))
"""Points along a side for Figure 19; the paper gives the axis only as a picture."""
GRIDS: tuple[Grid, Grid] = ((2, 2), (2, 4))
COUNTS, COUNTS_SMALL, SMALL = (2, 4), (8, 32), 1024
"""Time steps of the two runs whose difference gives the time of a step. All steps take the same time, except the first
ones if ranks wait for halos, as with few points, up to `SMALL` along a side."""

FAMILIES = (
    "families differ: LUTs of six inputs of UltraScale+, by Yosys, of RTL; the paper's are of Stratix 10, by Quartus, of kernels in OpenCL, "
    "whose FIFOs are registers and whose tables are block RAM, where ours are memories of LUTs"
)


class Evaluation(OfPaper):
    def __init__(self, programs: bool = True, resources: bool = True) -> None:
        """`programs` includes Figures 15, 18 and 19; `resources` includes Tables 1 and 2."""
        super().__init__(PAPER)
        self.torus, self.line = Cluster.load(TORUS), Cluster.load(LINE)
        self.programs, self.resources = programs, resources

    def host_us(self, count: int) -> float:
        """Returns the time of a message through the hosts in us."""
        latency: float = self.numbers["smi.latency.host"]["value"]
        return latency + count / self.host_gb / 1e3

    @property
    def host_gb(self) -> float:
        """Rate of the path through the hosts in GB/s: PCI Express, network and PCI Express in sequence."""
        return 1 / (2 / PCIE_GB + 1 / HOSTS_GB)

    def equal_gb(self, count: int, us: float, ranks: int) -> float | None:
        """Returns the rate of the path through the hosts at which a binomial tree takes `us`; None if its latency alone is
        longer."""
        transfer = us / (ranks - 1).bit_length() - self.host_us(0)
        return count / 1e3 / transfer if transfer > 0 else None

    def parts(self) -> Sequence[Part]:
        # parts first that need optional tools
        parts: list[Part] = []
        if self.resources:
            parts += [("transport's resources", self._transport), ("collectives' resources", self._support)]
        if self.programs:
            parts += [
                (f"GESUMMV, {rows} x {columns}", partial(self._gesummv, rows, columns)) for rows, columns in MATRICES
            ]
            parts += [(f"stencil, {_boards(*each)}", partial(self._strong, *each)) for each in STRONG]
            parts.append(("stencil, as a bus", self._bus))
            parts += [(f"stencil, {size} x {size} points", partial(self._weak, size)) for size in WEAK]
        return [
            *parts,
            ("latency", self._latency),
            ("injection", self._injection),
            ("bandwidth", self._bandwidth),
            ("collectives", self._collectives),
        ]

    def _latency(self) -> Iterator[Row]:
        """Table 3."""
        us = {
            hops: _right(operations.ping_pong_us(self.line, "int", peer_at(self.line, hops)), "ping-pong")
            for hops in HOPS
        }
        own_ns = us[1] * 1e3 - self.line.link.latency_ns
        paper = {hops: 1e3 * self.numbers[f"smi.latency.{hops}"]["value"] for hops in HOPS}
        pairs = {(one, other): (paper[other] - paper[one]) / (other - one) for one, other in ((1, 7), (1, 4), (4, 7))}
        implied = ", ".join(f"{one} and {other} {paper[one] - hop * one:.0f} ns" for (one, other), hop in pairs.items())
        for hops in HOPS:
            note = f"the link's latency is set by this one; {own_ns:.0f} ns are the kernels' and endpoints'"
            if hops > 1:
                note = f"from the first row alone; of the paper's times two imply a share of the endpoints: {implied}"
            yield self.row(f"smi.latency.{hops}", f"latency, {hops} hop{'s' * (hops > 1)}", us[hops], "us", note)

    def _injection(self) -> Iterator[Row]:
        """Table 4."""
        links = self.torus.node.links
        for reads in READS:
            cycles = _right(operations.injection(self.torus, 2000, reads), "injection")
            polling, link = (reads + links) / reads, bounds.packet_cycles(self.torus)
            note = (
                f"polling gives {polling:g}, and no link takes a packet more often than in {link:.2f} cycles, "
                "which the paper's text does not consider"
            )
            yield self.row(
                f"smi.injection.{reads}",
                f"cycles a message, R = {reads}",
                cycles,
                "cycles",
                note,
                polling_cycles=polling,
                link_cycles=link,
            )

    def _bandwidth(self) -> Iterator[Row]:
        """Figure 11."""
        peaks = {}
        for hops in HOPS:
            peer = peer_at(self.line, hops)
            for size in SIZES:
                # Four kernels of floats fill packets of 28 bytes; two kernels of doubles use 24 bytes per packet, as in
                # the benchmark of the reference implementation.
                for element, senders in (("float", 4), ("double", 2)):
                    count = size // operations.BYTES[element] // senders
                    ran = operations.pushes(self.line, element, count, peer, senders)
                    us = _right((ran.result.time_us, ran.right), "push")
                    gbit = size * 8 / us / 1e3
                    peaks[element, hops] = gbit
                    yield self.row(
                        "smi.curve",
                        f"{short(size)} of {element}, {hops} hops",
                        gbit,
                        "Gb/s",
                        bytes=size,
                        element=element,
                        hops=hops,
                        gbit=gbit,
                        host_gbit=size * 8 / self.host_us(size) / 1e3,
                    )
        payload = self.line.payload_gbit
        doubles = self.line.link.gbit_s * 24 / 32
        for hops in HOPS:
            of = f"{short(SIZES[-1])} over {hops} hop{'s' * (hops > 1)}"
            yield self.row(
                "smi.bandwidth",
                f"floats, {of}, of {payload:g} Gb/s",
                peaks["float", hops] / payload,
                "ratio",
                hops=hops,
            )
            yield self.row(
                "smi.bandwidth.doubles",
                f"doubles, {of}, of {doubles:g} Gb/s",
                peaks["double", hops] / doubles,
                "ratio",
                hops=hops,
            )
        size = SIZES[-1]
        host = size * 8 / self.host_us(size) / 1e3
        yield self.row(
            "smi.host_bandwidth",
            "hosts' path over SMI",
            host / peaks["float", 1],
            "ratio",
            f"a byte over PCI Express ({PCIE_GB:.2f} GB/s), Omni-Path ({HOSTS_GB} GB/s) and PCI Express by their standards; the paper's "
            f"share implies {self.numbers['smi.host_bandwidth']['value'] * peaks['float', 1] / 8:.2f} GB/s in all",
        )

    def _collectives(self) -> Iterator[Row]:
        """Figures 12 and 13."""
        broadcasts: list[Row] = []
        for operation in ("broadcast", "reduce"):
            for cluster in (self.torus, self.line):
                for ranks in RANKS:
                    for size in COLLECTIVE_SIZES:
                        ran = operations.collective(cluster, operation, "float", size // 4, ranks, 0)
                        us = _right((ran.result.time_us, ran.right), operation)
                        levels = (ranks - 1).bit_length()
                        row = self.row(
                            "smi.collective",
                            f"{operation} of {short(size)}, {ranks} ranks, {cluster.name}",
                            us,
                            "us",
                            time_us=us,
                            operation=operation,
                            ranks=ranks,
                            bytes=size,
                            cluster=cluster.name,
                            host_us=self.host_us(size) * levels,
                            equal_gb=self.equal_gb(size, us, ranks),
                        )
                        if operation == "broadcast":
                            broadcasts.append(row)
                        yield row
        yield self._faster(broadcasts)

    def _faster(self, broadcasts: Sequence[Row]) -> Row:
        """Returns the number of broadcasts faster than through the hosts, and the rate of the hosts' path below which all
        would be."""
        slower = [row for row in broadcasts if row.measured > row.about["host_us"]]
        rate = f"the hosts' path has {self.host_gb:.2f} GB/s by the standards of its parts"
        note = f"all are; {rate}"
        if slower:
            of = "; ".join(f"{row.what} {row.measured:.1f} us, hosts {row.about['host_us']:.1f}" for row in slower)
            note = (
                f"not {of}. {rate[0].upper()}{rate[1:]}; with less than {min(row.about['equal_gb'] for row in slower):.2f} all broadcasts "
                "would be faster, and the paper's share in Figure 11 implies less (see the hosts' path over SMI)"
            )
        share = 1 - len(slower) / len(broadcasts)
        return self.row("smi.broadcast.faster", "hosts' path slower than broadcasts", share, "ratio", note)

    def _gesummv(self, rows: int, columns: int) -> Iterator[Row]:
        """Figure 15."""
        one, two = gesummv_us(self.torus, rows, columns)
        yield self.row(
            "smi.gesummv",
            f"GESUMMV, {rows} x {columns}",
            one / two,
            "times",
            rows=rows,
            columns=columns,
            one_us=one,
            two_us=two,
        )

    def _strong(self, banks: int, grid: Grid) -> Iterator[Row]:
        """Figure 18."""
        ranks = grid[0] * grid[1]
        whole, stream = self._one_bank if (banks, grid) == STRONG[0] else self._strong_us(banks, grid)
        row = self.row(
            f"smi.stencil.{banks}x{ranks}",
            f"stencil, {_boards(banks, grid)}",
            self._one_bank[0] / whole,
            "times",
            ideal=banks * ranks,
            time_us=whole,
            stream_us=stream,
            stream_times=self._one_bank[1] / stream,
        )
        if isinstance(row.published, float):
            times = row.about["stream_times"]
            missing = (self._one_bank[1] / row.published - stream) / 1e3
            row.about |= {"unexplained": row.published / times, "missing_ms": missing}
            row.note = (
                f"with memory as measured by STREAM {times:.2f}; what remains, a factor of {row.published / times:.3f}, nothing in the paper "
                f"explains; as a time beside the {STEPS} steps it would be {missing:.1f} ms"
            )
        yield row

    def _bus(self) -> Iterator[Row]:
        bus, torus = (
            self._domain.step_us(cluster, GRIDS[-1], self.torus.node.banks, COUNTS)[0]
            for cluster in (self.line, self.torus)
        )
        yield self.row("smi.stencil.bus", "a step on 8 FPGAs as a bus over one as a torus", bus / torus, "times")

    @cached_property
    def _one_bank(self) -> tuple[float, float]:
        return self._strong_us(*STRONG[0])

    def _strong_us(self, banks: int, grid: Grid) -> tuple[float, float]:
        """Returns the times with the preset's DRAM, by simulation of all steps, and with STREAM's rate, from the time of
        one step."""
        whole = self._domain.us(self.torus, grid, banks, STEPS)
        stream = self.torus.with_node(bank_gb=self.stream_gb(banks), **dram.NO_LOSSES)
        step, around = self._domain.step_us(stream, grid, banks, COUNTS)
        return whole, around + STEPS * step

    @cached_property
    def _domain(self) -> Stencil:
        return Stencil(DOMAIN, DOMAIN)

    def stream_gb(self, banks: int) -> float:
        """Returns the measured rate in GB/s of one of `banks` banks."""
        measured: float = self.numbers[f"smi.stream.{banks}"]["value"]
        return measured / banks

    def _weak(self, size: int) -> Iterator[Row]:
        """Figure 19, and whether halos are hidden (the inequality of section 5.4.2)."""
        domain, times = Stencil(size, size), []
        for grid in GRIDS:
            step, _ = domain.step_us(self.torus, grid, 4, COUNTS_SMALL if size <= SMALL else COUNTS)
            nx, ny = size // grid[0], size // grid[1]
            interior, volume = bounds.inequality_us(self.torus, nx, ny, 4)
            times.append(step)
            yield self.row(
                "smi.weak",
                f"{size} x {size} points, {_boards(4, grid)}",
                step,
                "us",
                size=size,
                ranks=grid[0] * grid[1],
                nx=nx,
                ny=ny,
                point_ns=step * 1e3 / size**2,
                memory_us=bounds.memory_us(self.torus, nx * ny, 4),
                halos_us=bounds.halos_us(self.torus, grid, nx, ny, 4),
                interior_us=interior,
                volume_us=volume,
            )
        if size == max(WEAK):
            what = f"a step of {size} x {size} points on 4 FPGAs over one on 8"
            yield self.row("smi.stencil.weak", what, times[0] / times[1], "times")

    def _transport(self) -> Iterator[Row]:
        """Table 1: send and receive kernels and their FIFOs, for a rank with one link and one port, and with four."""
        from thalweg.rtl.project import ParameterSet
        from thalweg.rtl.synth import Resources, Synthesizer

        synthesizer = Synthesizer()
        node = dataclasses.replace(synthesizer.project.block("smi/node"), whole=True)  # keeps kernels separate
        for links in (1, self.torus.node.links):
            values: dict[str, int | str] = {
                "Kinds": f"{3 * links}'o{'1' * links}",  # pops
                "Ports": f"{8 * links}'d0",
                "Buffers": f"{16 * links}'h{f'{self.torus.node.depth:04x}' * links}",
                "Sizes": f"{2 * links}'b{'10' * links}",
                "PacketBytes": self.torus.node.packet_bytes,
                "Reads": self.torus.node.reads,
                "Depth": self.torus.node.depth,
            }
            parts = ParameterSet(f"table_1_{links}", {"Links": links, "Endpoints": links, **values})
            kernels = fifos = Resources(0, 0, 0, 0, 0)
            for _, name, taken in synthesizer.parts(node, parts):
                if name.endswith("kernel"):
                    kernels += taken
                elif name != "pop":
                    fifos += taken
            of = f"transport, {links} link{'s' * (links > 1)}"
            about = {"kernels": dataclasses.asdict(kernels), "fifos": dataclasses.asdict(fifos)}
            taken = kernels + fifos
            yield self.row(f"smi.resources.{links}", of, taken.lut, "LUT", FAMILIES, **about)
            yield self.row(f"smi.resources.ff.{links}", of, taken.ff, "FF", FAMILIES)
            yield self.row(f"smi.resources.m20k.{links}", of, taken.bram, "block RAM", FAMILIES)

    def _support(self) -> Iterator[Row]:
        """Table 2."""
        from thalweg.rtl.project import ParameterSet
        from thalweg.rtl.synth import Synthesizer

        synthesizer = Synthesizer()
        node = self.torus.node
        sum_alone = 1 << (16 * Datatype.FLOAT32 + Operator.SUM)  # pairs_t of rtl/reduce/tw_reduce_pkg.sv
        parameters: dict[str, dict[str, int | str]] = {
            "broadcast": {},
            "reduce": {
                "Latency": node.latency,
                "Children": node.children,
                "Tile": node.tile,
                "Pairs": f"512'h{sum_alone:x}",
            },
        }
        for name, of in (("broadcast", "broadcast"), ("reduce", "reduce, sums of floats")):
            with_packets = ParameterSet("table_2", {"PacketBytes": node.packet_bytes, **parameters[name]})
            taken = synthesizer.resources(synthesizer.project.block(f"smi/{name}"), with_packets)
            yield self.row(f"smi.resources.{name}", of, taken.lut, "LUT", FAMILIES)
            yield self.row(f"smi.resources.{name}.ff", of, taken.ff, "FF", FAMILIES)
            if taken.dsp:
                note = (
                    "Table 2 has none; ours multiplies to find children in trees" if name == "broadcast" else FAMILIES
                )
                yield self.row(f"smi.resources.{name}.dsp", of, taken.dsp, "DSP", note)


def _boards(banks: int, grid: Grid) -> str:
    ranks = grid[0] * grid[1]
    return f"{banks} bank{'s' * (banks > 1)} on {ranks} FPGA{'s' * (ranks > 1)}"


def _right(measured: tuple[float, bool], what: str) -> float:
    if not measured[1]:
        raise CheckFailed(f"{what} gave a wrong result")
    return measured[0]


def reproduce(paper: str, *, programs: bool = True, resources: bool = True) -> list[dict[str, Any]]:
    """Implements `thalweg reproduce smi`. Raises InputError."""
    if paper != PAPER:
        raise InputError(f"{paper!r} is not {PAPER}")
    return [row.as_json() for row in Evaluation(programs, resources).rows(lambda what, done: None)]
