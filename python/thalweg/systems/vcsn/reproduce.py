# SPDX-License-Identifier: Apache-2.0
"""Evaluation of VCSN: Tables 1 to 6 and Figures 8, 9, 13 to 15, 17 and 20, by simulator, RTL, and the paper's equations."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

import thalweg
from thalweg._core import NEVER
from thalweg.errors import CheckFailed, InputError
from thalweg.papers import Evaluation as OfPaper
from thalweg.papers import Part, Row, short
from thalweg.systems.vcsn import models, schedules
from thalweg.systems.vcsn._sim import VirtualPort
from thalweg.systems.vcsn.cluster import WORD, Cluster
from thalweg.systems.vcsn.hosts import barrier_us

if TYPE_CHECKING:
    from thalweg.rtl.synth import Resources, Synthesizer

PAPER = "vcsn"
PRESET, DIRECT = "vcsn-d5005", "dcn-d5005"
SIZES = tuple(256 << 20 >> power for power in range(13))
"""Sizes of Table 6: 256 MiB to 64 KiB."""
TRANSFERS = tuple(64 << 2 * power for power in range(11))
CLUSTERS = (16, 64, 256, 1024, 4096, 10_000)
SLOT, NETWORK = 10.8e9, 12.5e9
"""Bytes per second of a server's PCIe slot (section 4.2.1) and of InfiniBand (section 6.2)."""
SERVERS = {4: 4, 9: 8}
"""Number of servers that Figures 13 and 14 compare with a number of FPGAs."""
LARGEST = 16 << 20
"""Maximum block size of simulated gathers; larger ones need much memory and minutes."""


def latency_ns(cluster: Cluster, words: int = 64) -> float:
    """Returns the latency of a word from node 0's crossbar to node 1's, averaged over clock phases."""
    network = cluster.network()
    if cluster.is_direct:
        (_, _, out), (_, into, _) = cluster.way(0, 1)
    else:
        out = into = 0
        network.set_circuit(VirtualPort(0, 0, 0), VirtualPort(1, 0, 0))
        network.set_circuit(VirtualPort(1, 0, 0), VirtualPort(0, 0, 0))
    network.connect(0, network.place(0, out, 0), 0)
    network.connect(1, 0, network.place(1, into, 0))
    for handle in range(words):
        network.write(handle, 1, 0, [(0, WORD)])
        network.read(0, 0, [(0, WORD)])
        network.advance(NEVER)
        network.advance(network.now + 41 * handle)
    ways = zip(network.passed(0), network.passed(1), strict=True)
    return fmean(seen[2] - left[3] for left, seen in ways) * 1e9 / network.ticks_per_second


BLOCKS = {
    "sender": (
        "MUX and encoder; ours with send buffers",
        ("encoder", "send_buffer"),
        "a header of 18 bytes is a constant shift, registers without multiplexers; the paper does not say what its encoder's 19,205 ALMs are",
    ),
    "receiver": (
        "DEMUX with its receive buffers",
        ("receive_buffer",),
        "ours cross into the shell's clock, and drop a frame again whose end shows that it is damaged; the paper does not say where it does so",
    ),
    "decoder": (
        "decoder",
        ("decoder", "monitor"),
        "ours stores two words and no frame; the paper does not say what its decoder's 58 blocks of memory hold",
    ),
}
"""Parts of Table 3: the paper's name, blocks of tw_ethernet_port, and why they differ. The rest of the port, such as
credits, is not in the paper."""
FAMILIES = (
    "families and tools differ: LUTs of six inputs of UltraScale+, by Yosys, against ALMs of Stratix 10, by Quartus, which have two outputs and four "
    "registers; block RAM of 36 Kbit against 20. MACs and serial transceivers' cores are on neither side"
)
KBIT = 36  #: Kbit per block RAM


class Evaluation(OfPaper):
    def __init__(self, largest: int = LARGEST, resources: bool = True) -> None:
        """`largest` is the maximum block size of simulated gathers in bytes. `resources` includes Tables 2 and 3, and
        Table 4 with our blocks."""
        super().__init__(PAPER)
        self.resources = resources
        self.cluster = Cluster.load(PRESET)
        self.direct = Cluster.load(DIRECT)
        self.largest = largest

    def parts(self) -> Sequence[Part]:
        parts = [
            ("rates", self._rates),
            ("Table 1", self._latency),
            ("Figures 8 and 9", self._transfers),
            ("stages", self._stages),
            ("Figures 13 to 15", self._gathers),
            ("DCN's efficiency", self._experiments),
            ("Table 6", self._errors),
            ("Figure 20", self._large),
            ("re-wiring and servers", self._others),
        ]
        return [*parts, ("Tables 2 to 4", self._resources)] if self.resources else parts

    def _rates(self) -> Iterator[Row]:
        yield self.row("dcn.peak", "Equation 1, DCN's rate", models.dcn_rate() / 1e9, "GB/s")
        yield self.row("vcsn.peak", "Equation 2, VCSN's rate", models.vcsn_rate() / 1e9, "GB/s")
        yield self.row(
            "vcsn.payload_efficiency.max", "frames of 9,152 bytes", models.payload_efficiency(9152), "of the line"
        )
        yield self.row(
            "vcsn.payload_efficiency.min", "frames of 64 bytes", models.payload_efficiency(64), "of the line"
        )
        note = "the share of header and gap in Equation 1's frames: 96 of 4,064 bytes"
        yield self.row("dcn.fc_gain", "most that a leaner flow control would give", 100 * 96 / 4064, "%", note)
        yield self.row(
            "vcsn.dashed",
            "Figure 9's dashed line, VCSN with DCN's flow control",
            models.flow_controlled_rate() / 1e9,
            "GB/s",
        )

    def _latency(self) -> Iterator[Row]:
        note = "an input: the preset's MACs take what the known parts leave; Table 5 has 847 ns"
        yield self.row("vcsn.latency", "VCSN, crossbar to crossbar, a word", latency_ns(self.cluster), "ns", note)
        note = "an input, to a cycle of the link's clock; Table 5 has 491 ns"
        yield self.row("dcn.latency", "DCN, crossbar to crossbar, a word", latency_ns(self.direct), "ns", note)

    def _transfers(self) -> Iterator[Row]:
        rows = self._bench(self.cluster, "transfer", sizes=TRANSFERS)
        direct = self._bench(self.direct, "transfer", sizes=TRANSFERS)
        for row, other in zip(rows, direct, strict=True):
            size = row["bytes"]
            yield self.row(
                "vcsn.transfer",
                short(size),
                row["time_us"],
                "us",
                bytes=size,
                dcn_us=other["time_us"],
                hosts_us=1e6 * models.host_transfer(size, SLOT, NETWORK, 0),
                gb_per_s=row["gb_per_s"],
                dcn_gb_per_s=other["gb_per_s"],
            )
        for id_, of, row in (("vcsn", "VCSN", rows[-1]), ("dcn", "DCN", direct[-1])):
            rate = row["bytes"] / row["data_us"] / 1e3
            note = "while words move"
            yield self.row(f"{id_}.p2p.max_throughput", f"{of}, transfer of {short(row['bytes'])}", rate, "GB/s", note)
        # Intersection of the lines through the two longest transfers of each.
        (begin, slope), (begin_direct, slope_direct) = (
            (
                one["time_us"]
                - (per := (two["time_us"] - one["time_us"]) / (two["bytes"] - one["bytes"])) * one["bytes"],
                per,
            )
            for one, two in (rows[-2:], direct[-2:])
        )
        meet = (begin - begin_direct) / (slope_direct - slope)
        server = next(iter(self.cluster.server_tables.values()))
        note = f"two rows of circuit tables, {server.circuit_us:g} us each, and the longer way, against the faster line"
        yield self.row("vcsn.p2p.crossover", "VCSN faster than DCN from", meet / 1e6, "MB", note)
        note = (
            "two copies over PCIe at 10.8 GB/s and one between servers at 12.5, which are the dashed line of Figure 8; the paper measured ten "
            "times with what MPI adds, of which it gives no numbers"
        )
        size = rows[-1]["bytes"]
        yield self.row(
            "vcsn.host_network_slowdown",
            "by way of the servers over VCSN",
            1e6 * models.host_transfer(size, SLOT, NETWORK, 0) / rows[-1]["data_us"],
            "times",
            note,
        )

    def _stages(self) -> Iterator[Row]:
        formulas = {"ring": models.stages_dcn, "tree": models.stages_vcsn, "relink": models.stages_dcn}
        for by, formula in formulas.items():
            most = max(
                len(schedules.GATHERS[by](range(nodes), 0, 2, 2).stages) - formula(nodes)
                for nodes in (*range(2, 66), 128)
            )
            yield self.row("vcsn.stages", f"stages by {by} above the formula, most of 2 to 128 nodes", most, "stages")

    def _gathers(self) -> Iterator[Row]:
        for nodes in (4, 9, 16):
            sizes = [size for size in SIZES[::-1] if size <= self.largest]
            rows = self._bench(self.cluster, "gather", nodes=nodes, sizes=sizes, late=True)
            direct = self._bench(self.direct.ring_of(nodes), "gather", sizes=sizes, late=True)
            for row, other in zip(rows, direct, strict=True):
                size = row["bytes"]
                yield self.row(
                    "vcsn.gather",
                    f"{nodes} nodes, {short(size)} each",
                    row["time_us"],
                    "us",
                    nodes=nodes,
                    bytes=size,
                    equation_us=models.gather_vcsn(nodes, size) * 1e6,
                    share=row["share_of_ports"],
                    dcn_us=other["time_us"],
                    dcn_equation_us=models.gather_dcn(nodes, size) * 1e6,
                    dcn_share=other["share_of_ports"],
                    servers_us=self._servers_us(SERVERS[nodes], size) if nodes in SERVERS else None,
                )
            if nodes == 16:
                for index in sorted({0, len(sizes) - 1}):
                    yield from self._energy(nodes, rows[index], direct[index])
            size = SIZES[0]
            share = models.gather_efficiency(nodes, size, models.gather_vcsn(nodes, size), models.vcsn_rate())
            id_ = "vcsn.gather.efficiency" if nodes == 9 else "vcsn.gather.efficiency.others"
            yield self.row(id_, f"{nodes} nodes, 256M each, corrected Equation 7", share, "of two ports")

    def _energy(self, nodes: int, *gathers: dict[str, Any]) -> Iterator[Row]:
        """Yields the energy of the FPGA boards in a gather by VCSN and by DCN, from the power in Table 4."""
        for of, row in zip(("VCSN", "DCN"), gathers, strict=True):
            watts = self.numbers[f"{of.lower()}.power"]["value"]
            yield self.row(
                "vcsn.energy",
                f"estimate, energy of a gather by {of}, {nodes} nodes, {short(row['bytes'])} each",
                nodes * watts * row["time_us"] * 1e-6,
                "J",
                "estimate: Table 4's power of each board, itself the estimate of a tool, times boards and simulated time; servers and switches are not in it",
                nodes=nodes,
                bytes=row["bytes"],
                network=of,
            )

    def _resources(self) -> Iterator[Row]:
        """Yields Tables 2 and 3 without the shell and vendor cores, and the power in Table 4 with our blocks instead."""
        from thalweg.rtl.synth import Synthesizer

        synthesizer = Synthesizer()
        parts = self._port(synthesizer, "ethernet_port")
        total = 0.0
        for name, (what, blocks, why) in BLOCKS.items():
            taken = sum((parts.pop(block) for block in blocks[1:]), parts.pop(blocks[0]))
            total += taken.lut
            yield from self._taken(f"vcsn.resources.{name}", f"VCSN, {what}", taken, why)
        beyond = sum(parts.values(), 0 * next(iter(parts.values())))
        yield from self._taken("vcsn.resources.beyond", f"VCSN, beyond the paper: {', '.join(parts)}", beyond, FAMILIES)
        yield self._power("vcsn", total, sum(self.numbers[f"vcsn.resources.{name}"]["value"] for name in BLOCKS))
        serial = self._port(synthesizer, "serial_port").values()
        taken = sum(serial, 0 * next(iter(serial)))
        what = "DCN, flow controller, FIFOs, width converter and gap generator"
        yield from self._taken("dcn.resources", what, taken, FAMILIES)
        yield self._power("dcn", taken.lut, self.numbers["dcn.resources"]["value"])

    def _port(self, synthesizer: Synthesizer, name: str) -> dict[str, Resources]:
        """Returns the resources of the parts of an FPGA's external ports."""
        block = dataclasses.replace(synthesizer.project.block(f"vcsn/{name}"), whole=True)  # keeps parts separate
        (preset,) = (parameters for parameters in block.sets if parameters.name == "preset")
        ports = self.cluster.fpga(0).ports
        return {part: ports * taken for _, part, taken in synthesizer.parts(block, preset)}

    def _taken(self, id_: str, what: str, taken: Resources, why: str) -> Iterator[Row]:
        yield self.row(id_, what, taken.lut, "LUT", why, **dataclasses.asdict(taken))
        yield self.row(f"{id_}.ff", what, taken.ff, "FF", FAMILIES)
        yield self.row(f"{id_}.kbit", what, KBIT * taken.bram, "Kbit", FAMILIES)

    def _power(self, of: str, luts: float, alms: float) -> Row:
        """Estimates the power of a board with our blocks; the power per ALM is the quotient of the differences between
        the two networks' boards."""
        vcsn, dcn = (self.numbers[f"{network}.power"] for network in ("vcsn", "dcn"))
        watts, more = vcsn["core"] - dcn["core"], vcsn["alms"] - dcn["alms"]
        note = (
            f"estimate: {1e3 * watts:.0f} mW of core power for {more:,.0f} ALMs are the difference of VCSN and DCN in Tables 2 to 4, {1e6 * watts / more:.1f} uW each; "
            "so much less or more where our blocks have fewer or more LUTs than the paper's have ALMs"
        )
        board = self.numbers[f"{of}.power"]["value"] - watts / more * (alms - luts)
        return self.row(
            f"{of}.power", f"estimate, power of a {of.upper()} board with our network blocks", board, "W", note
        )

    def _experiments(self) -> Iterator[Row]:
        """Yields possible causes of DCN's 72 %: the paper's three reasons, and memory."""
        size = min(self.largest, 8 << 20)
        direct = self.direct.ring_of(9)

        def share(cluster: Cluster, late: bool = True) -> float:
            (row,) = self._bench(cluster, "gather", sizes=[size], late=late)
            return float(row["share_of_ports"])

        def with_node(**values: Any) -> Cluster:
            return direct.replace(node={"fpga": values})

        what = f"DCN, 9 nodes, {short(size)} each"
        tried = {
            "as in the preset": share(direct),
            "packets of 143 words, as long as VCSN's frames": share(with_node(frame_words=143)),
            "a receive buffer of 128 words, whose credits hold the link up": share(with_node(receive_words=128)),
            "barriers that are not late": share(direct, late=False),
            "two banks of memory": share(with_node(banks=2)),
            "one bank, which is read and written at once": share(with_node(banks=1)),
        }
        for name, found in tried.items():
            beside = name.startswith(("as in", "one bank"))
            id_ = "dcn.gather.efficiency" if beside else "dcn.gather.efficiency.experiments"
            yield self.row(id_, f"{what}: {name}", found, "of two ports")

    def _errors(self) -> Iterator[Row]:
        """The original model and its published errors give the measured times. The errors of the corrected model are computed from these times."""
        deviations = []
        for nodes in (4, 9, 16):
            published = self.numbers[f"vcsn.error.{nodes}"]
            errors = []
            for size, original in zip(SIZES, published["original"], strict=True):
                measured = models.gather_vcsn(nodes, size, corrected=False) / (1 - original / 100)
                errors.append(abs(models.gather_vcsn(nodes, size) - measured) / measured * 100)
            differences = [
                abs(own_error - published_error)
                for own_error, published_error in zip(errors, published["value"], strict=True)
            ]
            deviations += differences
            yield self.row(
                "vcsn.errors",
                f"Table 6, {nodes} nodes: mean difference between our errors and the paper's",
                fmean(differences),
                "points",
                nodes=nodes,
                errors=errors,
            )
        yield self.row("vcsn.errors", "Table 6, all", fmean(deviations), "points")

    def _large(self) -> Iterator[Row]:
        for size, id_ in ((64 << 10, "gather.ratio.64KiB"), (256 << 20, "gather.ratio.256MiB")):
            for nodes in CLUSTERS:
                depth = models.levels(nodes)
                vcsn, dcn = models.gather_vcsn(nodes, size, depth=depth), models.gather_dcn(nodes, size)
                note = "the paper does not say of how many nodes" if nodes < 4096 and size < 1 << 20 else ""
                what = f"DCN over VCSN, {nodes} nodes, {short(size)} each"
                yield self.row(id_, what, dcn / vcsn, "times", note, nodes=nodes, bytes=size, vcsn_s=vcsn, dcn_s=dcn)
        at = 1e3 * models.gather_vcsn(32, 16 << 20)
        yield self.row("vcsn.gather.32n.16MiB", "32 nodes, 16M each", at, "ms")
        at = 1e3 * models.gather_vcsn(512, 1 << 20, depth=2)
        other = 1e3 * models.gather_vcsn(1024, 1 << 20, depth=3)
        note = f"does not follow from Equation 7, corrected or not; 1,024 nodes take {other:.0f} ms"
        yield self.row("vcsn.gather.512n.1MiB", "512 nodes, 1M each", at, "ms", note)
        at = 1e6 * (-(-127 // 4) * 2 * 1000 / models.vcsn_rate())
        note = "the paper's number for its transfers alone; Equation 7's term of the data"
        yield self.row("vcsn.gather.128n.1KB.transfer", "128 nodes, 1 KB each, data alone", at, "us", note)
        server = next(iter(self.cluster.server_tables.values()))
        row = barrier_us(server, 8)
        yield self.row("vcsn.barrier", "MPI_Barrier of eight servers, Equation 6", row, "us")

    def _others(self) -> Iterator[Row]:
        rows = self._bench(self.cluster, "rewire", to="torus:4x4,tree", by="registers")
        at = max(row["time_us"] for row in rows)
        note = "150 ns of it are the slot; by the servers' programs 15.5 us a row, t of Table 5"
        yield self.row("vcsn.reconfigure", "all rows of 16 FPGAs' tables, written by registers", at, "us", note)
        # Size at which MPI_Gather of eight servers and the gather of nine FPGAs take the same time.
        meet = next(
            size
            for size in range(1024, 1 << 26, 1024)
            if self._servers_us(SERVERS[9], size) > models.gather_vcsn(9, size) * 1e6
        )
        note = (
            "MPICH's algorithm with the time of a barrier's round for each message and the network's full rate; the paper measured it, and gives no "
            "numbers of MPI's copies"
        )
        yield self.row("vcsn.servers.crossover", "VCSN gathers faster than servers from", meet / 1e3, "KB", note)

    def _servers_us(self, servers: int, size: int) -> float:
        """Returns the time of MPI_Gather in us, with a barrier round per message."""
        message = next(iter(self.cluster.server_tables.values())).barrier_round_us * 1e-6
        return models.host_gather(servers, size, NETWORK, message) * 1e6

    @staticmethod
    def _bench(cluster: Cluster, operation: str, **options: Any) -> list[dict[str, Any]]:
        rows = thalweg.measure(operation, cluster, **options)
        if not all(row["verified"] for row in rows):
            raise CheckFailed(f"{operation} gave a wrong result")
        return rows


def reproduce(paper: str, *, largest: str | int = LARGEST, resources: bool = True) -> list[dict[str, Any]]:
    """Implements `thalweg reproduce vcsn`. Raises InputError.

    `largest` is the maximum block size of simulated gathers; `resources` includes synthesis.
    """
    if paper != PAPER:
        raise InputError(f"{paper!r} is not {PAPER}")
    return [row.as_json() for row in Evaluation(checked_largest(largest), resources).rows(lambda what, done: None)]


def checked_largest(given: str | int) -> int:
    """Returns the size in bytes. Raises InputError."""
    from thalweg.bench.operation import parse_sizes

    sizes = parse_sizes(given)
    if len(sizes) != 1 or not SIZES[-1] <= sizes[0] <= SIZES[0]:
        raise InputError(f"largest is {given!r}; it must be one size from 64K to 256M")
    return sizes[0]
