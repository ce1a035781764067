# SPDX-License-Identifier: Apache-2.0
"""The evaluation of SMI's paper: its microbenchmarks, on the boards of Noctua as a torus and as a line.

The path through hosts is a closed form: the latency that the paper measured, and each byte over PCI Express, the hosts' network and PCI
Express again, one after the other, at the rates that these have by their standards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from thalweg.bench.operation import peer_at
from thalweg.errors import CheckFailed, InputError
from thalweg.reproduce import Evaluation as OfPaper
from thalweg.reproduce import Part, Row, short
from thalweg.systems.smi import bounds, operations
from thalweg.systems.smi.cluster import Cluster

PAPER = "smi"
TORUS, LINE = "smi-noctua", "smi-noctua-bus"
HOPS = (1, 4, 7)
READS = (1, 4, 8, 16)
SIZES = tuple(1 << power for power in range(10, 23, 2))
COLLECTIVE_SIZES = tuple(1 << power for power in range(2, 19, 4))
RANKS = (4, 8)
PCIE_GB = 8 * 8 * 128 / 130 / 8
"""GB/s of PCI Express 3.0 with eight lanes, as the board has it: 8 GT/s each, 128b/130b."""
HOSTS_GB = 12.5
"""Of Omni-Path, 100 Gb/s (section 5.1)."""


class Evaluation(OfPaper):
    def __init__(self) -> None:
        super().__init__(PAPER)
        self.torus, self.line = Cluster.load(TORUS), Cluster.load(LINE)

    def host_us(self, count: int) -> float:
        """Of a message through the hosts."""
        latency: float = self.numbers["smi.latency.host"]["value"]
        return latency + count * (2 / PCIE_GB + 1 / HOSTS_GB) / 1e3

    def parts(self) -> Sequence[Part]:
        return [
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
        ours = us[1] * 1e3 - self.line.link.latency_ns
        paper = {hops: 1e3 * self.numbers[f"smi.latency.{hops}"]["value"] for hops in HOPS}
        pairs = {(one, other): (paper[other] - paper[one]) / (other - one) for one, other in ((1, 7), (1, 4), (4, 7))}
        implied = ", ".join(f"{one} and {other} {paper[one] - hop * one:.0f} ns" for (one, other), hop in pairs.items())
        for hops in HOPS:
            note = f"the link's latency is set by this one; {ours:.0f} ns are the kernels' and endpoints'"
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
                # Four kernels' floats fill packets of 28 bytes; a link carries what two of doubles do, 24 bytes a packet, as in the
                # benchmark of the public reference implementation.
                for element, senders in (("float", 4), ("double", 2)):
                    count = size // operations.BYTES[element] // senders
                    result = operations.pushes(self.line, element, count, peer, senders)
                    us = _right(result, "push").time_us
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
        for operation in ("broadcast", "reduce"):
            for cluster in (self.torus, self.line):
                for ranks in RANKS:
                    for size in COLLECTIVE_SIZES:
                        measured = operations.collective(cluster, operation, "float", size // 4, ranks, 0)
                        us = _right(measured, operation).time_us
                        yield self.row(
                            "smi.collective",
                            f"{operation} of {short(size)}, {ranks} ranks, {cluster.name}",
                            us,
                            "us",
                            time_us=us,
                            operation=operation,
                            ranks=ranks,
                            bytes=size,
                            cluster=cluster.name,
                            host_us=self.host_us(size) * (ranks - 1).bit_length(),
                        )


def _right(measured: tuple[Any, bool], what: str) -> Any:
    if not measured[1]:
        raise CheckFailed(f"{what} gave a wrong result")
    return measured[0]


def reproduce(paper: str) -> list[dict[str, Any]]:
    """`thalweg reproduce smi`. Raises InputError."""
    if paper != PAPER:
        raise InputError(f"{paper!r} is not {PAPER}")
    return [row.as_json() for row in Evaluation().rows(lambda what, done: None)]
