# SPDX-License-Identifier: Apache-2.0
"""Evaluation of PEACH2's reduction calculator: Figure 6 and Table 1, and puts as published in PEACH2's other papers.

The paper gives no numbers for the host path: start-up time of a GPU copy, and summation rate of the processor. The
preset takes them from other sources; for both published points, notes give the values that they would imply. As in the
paper, ten reductions are timed, with a host that polls for the flag and starts the copy of the result (section 4.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import thalweg
from thalweg.errors import CheckFailed, InputError
from thalweg.papers import Evaluation as OfPaper
from thalweg.papers import Part, Row, short
from thalweg.systems.peach2 import bounds
from thalweg.systems.peach2.cluster import Cluster

PAPER = "peach2"
PRESET = "peach2"
SIZES = tuple(1 << power for power in range(10, 25))
REPEATS = 10
NODES = (1, 2, 4, 8, 16)
ALUTS = {"EP4SGX290": 232_960, "EP4SGX530": 424_960}
"""ALUTs of the device named in Table 1, and of the one that its percentages refer to (Altera, Stratix IV device handbook, volume 1)."""


class Evaluation(OfPaper):
    def __init__(self, resources: bool = True) -> None:
        super().__init__(PAPER)
        self.cluster = Cluster.load(PRESET)
        self.resources = resources

    def parts(self) -> Sequence[Part]:
        parts: list[Part] = [
            ("rates", self._rates),
            ("puts", self._puts),
            ("Figure 6", self._curves),
            ("nodes", self._together),
        ]
        return [*parts, ("Table 1", self._table)] if self.resources else parts

    def _rates(self) -> Iterator[Row]:
        """Yields rates that follow from the preset's values."""
        cluster, node = self.cluster, self.cluster.node
        yield self.row("peach2.rate", "x8, all that its lanes carry", cluster.link_gb(), "GB/s")
        yield self.row("peach2.rate", "x8, data in packets of 256 bytes", cluster.payload_gb(), "GB/s")
        yield self.row("peach2.rate", "x16, all that its lanes carry", cluster.link_gb(16), "GB/s")
        yield self.row("peach2.rate", "x16, data in packets of 256 bytes", cluster.payload_gb(16), "GB/s")
        yield self.row("peach2.rate", "bus, 16 bytes a cycle", cluster.bus_gb, "GB/s")
        ratio = min(cluster.bus_gb, *bounds.rates_gb(cluster, "gpu").values()) * (1 / node.copy_gb + 1 / node.sum_gb)
        note = "the hub's rate over the processor's, which copies out of the GPU and then sums"
        yield self.row("peach2.asymptote", "hub over processor, long data", ratio, "times", note)

    def _puts(self) -> Iterator[Row]:
        stored = self._bench("put", by="store", sizes="8")[0]
        yield self.row(
            "peach2.put.latency", "8 bytes stored to the neighbour", stored["time_us"], "us", self._parts(stored)
        )
        for source in ("cpu", "gpu"):
            row = self._bench("put", source=source, sizes="16M")[0]
            share = f"{row['share_of_payload']:.1%} of what packets of 256 bytes leave of eight lanes"
            if source == "gpu":
                share += f"; the preset takes the {self.cluster.node.gpu_read_gb:g} GB/s at which a GPU is read from the same report"
            yield self.row(
                f"peach2.put.{source}",
                f"16 MB put from {source.upper()} to {source.upper()}",
                row["gb_per_s"],
                "GB/s",
                share,
            )

    def _parts(self, stored: dict[str, Any]) -> str:
        """Returns the contributions to a store's latency."""
        node, link = self.cluster.node, self.cluster.link
        known = {
            "store": node.store_ns,
            "two links to hosts": 2 * node.host_link_ns,
            "cable": link.latency_ns,
            "landing": node.landing_ns,
        }
        rest = stored["time_us"] * 1e3 - sum(known.values())
        return ", ".join(
            f"{name} {ns:.0f} ns" for name, ns in (known | {"two hubs, the flag's packet and the look": rest}).items()
        )

    def _curves(self) -> Iterator[Row]:
        times = {way: self._bench("reduce", by=way, sizes=SIZES) for way in ("host", "cpu", "hub")}
        us = {way: {row["bytes"]: REPEATS * row["time_us"] for row in rows} for way, rows in times.items()}
        for size in SIZES:
            about = {f"{way}_us": us[way][size] for way in us}
            ratio = us["cpu"][size] / us["host"][size]
            yield self.row("peach2.curve", f"{short(size)}, processor over hub", ratio, "times", bytes=size, **about)

        node, first = self.cluster.node, SIZES[0]
        best = max(SIZES, key=lambda size: us["cpu"][size] / us["host"][size])
        wanted = self.numbers["peach2.speedup.max"]["value"] * us["host"][best] / REPEATS
        sums = best / node.copy_gb + best / node.sum_gb
        implied = (wanted * 1e3 - sums) / 3
        yield self.row(
            "peach2.speedup.max",
            f"processor over hub, at {short(best)}",
            us["cpu"][best] / us["host"][best],
            "times",
            f"45 would need {implied / 1e3:.0f} us to begin each of the processor's three copies, where ours takes "
            f"{node.copy_start_ns / 1e3:.0f}; the paper says nothing of them",
            bytes=first,
            implied_copy_start_us=implied / 1e3,
        )
        slower = [size for size in SIZES if us["host"][size] > us["cpu"][size]]
        size = 4 << 20
        left = us["host"][size] / REPEATS * 1e3 - 3 * node.copy_start_ns - size / node.copy_gb
        yield self.row(
            "peach2.crossover",
            "least size at which the processor is faster",
            slower[0] / (1 << 20) if slower else None,
            "MB",
            f"equal at 4 MB would need a processor that sums at {size / left:.2f} GB/s, where ours does {node.sum_gb:g}",
            implied_sum_gb=size / left,
        )

    def _together(self) -> Iterator[Row]:
        for nodes in NODES:
            for row in self._bench("reduce", nodes=nodes, sizes="1K,64K,1M"):
                yield self.row(
                    "peach2.nodes",
                    f"{nodes} nodes, {short(row['bytes'])} each, over the bound",
                    row["time_us"] / row["bound_us"],
                    "times",
                    nodes=nodes,
                    bytes=row["bytes"],
                    time_us=row["time_us"],
                    bound_us=row["bound_us"],
                )

    def _table(self) -> Iterator[Row]:
        from thalweg.rtl.synth import Synthesizer

        synthesizer = Synthesizer()
        ((block, parameters),) = synthesizer.select(("peach2/calculator",), ("paper",))
        taken = synthesizer.resources(block, parameters)
        note = "LUTs of six inputs of UltraScale+, by Yosys, against ALUTs of Stratix IV, by Quartus: eight adders where the paper has seven"
        yield self.row("peach2.resources.alut", "calculator", taken.lut, "LUT", note)
        yield self.row("peach2.resources.register", "calculator", taken.ff, "flip-flop")
        added = self.numbers["peach2.resources.alut"]["value"]
        for device, aluts in ALUTS.items():
            yield self.row(
                "peach2.resources.share", f"the paper's {added} ALUTs of an {device}", 100 * added / aluts, "% of ALUTs"
            )

    def _bench(self, operation: str, **options: Any) -> list[dict[str, Any]]:
        rows = thalweg.measure(operation, self.cluster, **options)
        if not all(row["verified"] for row in rows):
            raise CheckFailed(f"{operation} gave a wrong result")
        return rows


def reproduce(paper: str, *, resources: bool = True) -> list[dict[str, Any]]:
    """Implements `thalweg reproduce peach2`. Raises InputError."""
    if paper != PAPER:
        raise InputError(f"{paper!r} is not {PAPER}")
    return [row.as_json() for row in Evaluation(resources).rows(lambda what, done: None)]
