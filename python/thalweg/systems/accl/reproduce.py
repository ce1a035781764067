# SPDX-License-Identifier: Apache-2.0
"""The evaluation of the paper on ACCL, in three subjects.

`messages` is section 3.4: throughput, latencies, the model (Equation 1), host MPI as baseline, and Figure 4.
`application` is section 4, shallow water. `resources` is section 3.3 and Table 1.

Boards are connected directly or through the Ethernet switch. TCP on a direct link is the stack before its optimization
for the switch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import thalweg
from thalweg.bench.operation import one_of
from thalweg.cluster import leaves
from thalweg.errors import CheckFailed, InputError
from thalweg.papers import Evaluation as OfPaper
from thalweg.papers import Part, Row, short
from thalweg.systems.accl.b_eff import WAYS
from thalweg.systems.accl.cluster import Cluster, Server
from thalweg.systems.accl.operations import PACKET_HEADER, line_us
from thalweg.systems.accl.reproduce_application import Application

PAPER = "accl"
MEGA = 1 << 20
LARGE = 16 * MEGA  #: bytes of a message of whose time the latency is less than 0.5 %
SIZES = tuple(64 << power for power in range(15))
"""Sizes of Figure 4: 64 B to 1 MB."""
HOST_MPI, BY_HOSTS = "host MPI", "UDP, by hosts"
"""Series of Figure 4 that are called by hosts."""


SUBJECTS = ("messages", "application", "resources")
DEFAULT = SUBJECTS[:2]
"""Without `resources`, whose first run takes some ten minutes of synthesis."""


class Evaluation(OfPaper):
    """The rows of some subjects. Raises InputError on an unknown subject."""

    def __init__(self, subjects: Sequence[str] = DEFAULT) -> None:
        super().__init__(PAPER)
        for subject in subjects:
            one_of("subject", subject, SUBJECTS)
        self._subjects = subjects
        self.cluster = self.udp = Cluster.load("accl-u280-udp")
        self.tcp = Cluster.load("accl-u280-tcp")
        self.untuned = Cluster.load("accl-u280-tcp-untuned")
        self.direct = Cluster.load("accl-u280-direct")
        self.baseline = Cluster.load("noctua2-mpi")
        board = self.untuned.board(0)
        of_tcp = ("transport", "window_scaling", "window_bytes", "segment_bytes")
        self.direct_tcp = self.direct.replace(node={"board": {name: getattr(board, name) for name in of_tcp}})

    @property
    def called_by_kernels(self) -> Mapping[str, Cluster]:
        """Series of Figure 4; "ES" is the Ethernet switch."""
        return {"UDP": self.direct, "TCP": self.direct_tcp, "UDP, ES": self.udp, "TCP, ES": self.tcp}

    def parts(self) -> Sequence[Part]:
        application = Application(self.row)
        parts: dict[str, Sequence[Part]] = {
            "messages": [
                ("throughput", self._throughput),
                ("TCP's windows", self._windows),
                ("latencies", self._latencies),
                ("Equation 1", self._model),
                ("host MPI", self._host_mpi),
                ("Figure 4", self._curves),
            ],
            "application": [
                ("Figure 9", application.weak),
                ("Figure 10", application.strong),
                ("neighbours", application.neighbours),
                ("improvements over Figure 10", application.ours),
                ("time steps", application.time_steps),
            ],
            "resources": [("Table 1", self._resources)],
        }
        return [part for subject in SUBJECTS if subject in self._subjects for part in parts[subject]]

    def _throughput(self) -> Iterator[Row]:
        for id_, way in (("accl.tuned", "streaming"), ("accl.buffered.peak", "buffered")):
            for name, cluster in (("UDP", self.udp), ("TCP, optimized", self.tcp)):
                shorter, large = self._bench(cluster, way=way, sizes=[MEGA, LARGE])
                note = f"1 MB has {shorter['gb_per_s']:.3g} GB/s, "
                if shorter["gb_per_s"] < large["gb_per_s"]:
                    note += "reduced by latency"
                else:
                    note += "increased because the send ends, and the receive starts, when the rest is in the connection's send buffer"
                yield self.row(id_, f"{name}, {way}, 16 MB", large["gb_per_s"], "GB/s", note, bytes=LARGE)

    def _windows(self) -> Iterator[Row]:
        """TCP before optimization: as simulated, by min(window / round trip, segment goodput), and with the round trip
        that the published number implies."""
        board = self.untuned.board(0)
        share = board.packet_bytes / (board.packet_bytes + PACKET_HEADER)
        window, segments = board.window_bytes * share, LARGE / line_us(self.untuned, LARGE) / 1e3
        trip_us = self.round_trip_us()
        bound = min(window / trip_us / 1e3, segments)
        published = self.numbers["accl.tcp.untuned"]["value"]
        implied_us = window / published / 1e3
        note = (
            f"a window of {board.window_bytes:,} bytes per round trip of {trip_us:.2f} us is {window / trip_us / 1e3:.1f} GB/s, and segments of "
            f"{board.segment_bytes:,} bytes allow {segments:.1f}. {published} implies a round trip of {implied_us:.1f} us; the paper gives none"
        )
        what = "TCP before optimization, streaming, 16 MB"
        measured = self._gb_per_s(self.untuned)
        yield self.row("accl.tcp.untuned", what, measured, "GB/s", note)
        yield self.row("accl.tcp.untuned", "min(window / round trip, segment goodput)", bound, "GB/s", note)
        switch = self.untuned.nodes["switch"]
        assert isinstance(switch, leaves.EthernetSwitch)
        farther = self.untuned.replace(
            node={"switch": {"latency_ns": switch.latency_ns + (implied_us - trip_us) / 2 * 1e3}}
        )
        note = f"not the preset: the switch takes {(implied_us - trip_us) / 2:.2f} us more per direction"
        yield self.row(
            "accl.tcp.untuned",
            f"{what}, with a round trip of {implied_us:.1f} us",
            self._gb_per_s(farther),
            "GB/s",
            note,
            implied_round_trip_us=implied_us,
        )
        note = "from a segment to the window's update; computed from the throughput with the smallest window"
        yield self.row("accl.tcp.round_trip", "TCP's simulated round trip", trip_us, "us", note)

    def round_trip_us(self) -> float:
        """Round trip, from the throughput with the smallest window of a board, which then is the limit."""
        board = self.untuned.board(0)
        packet = board.packet_bytes + PACKET_HEADER
        least = self.untuned.replace(node={"board": {"window_bytes": 4 * packet}})
        return 4 * board.packet_bytes / self._gb_per_s(least) / 1e3

    def _latencies(self) -> Iterator[Row]:
        us: dict[tuple[str, str], float] = {}
        for way in WAYS:
            for name, cluster in self.called_by_kernels.items():
                us[way, name] = self._bench(cluster, way=way, sizes="64")[0]["time_us"]
        for switched, id_ in ((False, "accl.pl.latency.64B"), (True, "accl.es.latency.64B")):
            for (way, name), time_us in us.items():
                if name.endswith("ES") == switched:
                    where = "through the switch" if switched else "direct line"
                    note = ""
                    if way == "buffered" and not switched:
                        note = "a send and then a receive, each with the processor's 1.1 us; the paper does not say whether all methods are below 3 us"
                    yield self.row(id_, f"64 B, {way}, {name.split(',')[0]}, {where}", time_us, "us", note, bytes=64)
        for way in WAYS:
            for name in ("UDP", "TCP"):
                added = us[way, f"{name}, ES"] - us[way, name]
                note = "an input: the switch's own latency"
                if way == "buffered":
                    note = "the board's processor prepares the receive while the message is in transit, which hides part of the switch's latency"
                yield self.row("accl.ethernet_switch", f"added by the switch, {way}, {name}", added, "us", note)

    def _model(self) -> Iterator[Row]:
        for way in WAYS:
            note = "the model's l_k is the kernel's invocation alone; the rest is the processor's time for each command"
            for row in self._bench(self.direct, way=way, by="host", sizes=[64, 64 << 10, MEGA]):
                yield self.row(
                    "accl.latency.model",
                    f"{short(row['bytes'])} bytes, {way}, called by hosts",
                    row["time_us"] / row["model_us"],
                    "of the model",
                    note,
                    **{key: row[key] for key in ("bytes", "time_us", "model_us")},
                )

    def _host_mpi(self) -> Iterator[Row]:
        small, longer = self._bench(self.baseline, sizes="64,4K")
        server = self.baseline.board(0)
        assert isinstance(server, Server)
        known = 2 * (server.invocation_us + server.sync_us)
        note = (
            f"two kernel runs of {server.invocation_us:g} us, two calls of copies of {server.sync_us:g}, and {small['time_us'] - known:.1f} for PCIe and MPI; the values of copies, PCIe and MPI "
            "are from other sources. The paper gives more than 120, without parts"
        )
        yield self.row("accl.host.latency.64B", "64 B, host MPI", small["time_us"], "us", note, bytes=64)
        yield self.row("accl.host.latency.KB", "4 KB, host MPI", longer["time_us"], "us", bytes=4096)

    def _curves(self) -> Iterator[Row]:
        def points(series: str, cluster: Cluster, **options: Any) -> Iterator[Row]:
            what = ", ".join([series, *([options["way"]] if "way" in options else [])])
            for row in self._bench(cluster, sizes=SIZES, **options):
                about = {key: row[key] for key in ("bytes", "gb_per_s", "model_us") if key in row}
                yield self.row(
                    "accl.figure4",
                    f"{what}, {short(row['bytes'])}",
                    row["time_us"],
                    "us",
                    series=series,
                    **options,
                    **about,
                )

        yield from points(HOST_MPI, self.baseline)
        for way in WAYS:
            yield from points(BY_HOSTS, self.direct, way=way, by="host")
            for name, cluster in self.called_by_kernels.items():
                yield from points(name, cluster, way=way)

    def _resources(self) -> Iterator[Row]:
        from thalweg.systems.accl.reproduce_resources import rows

        yield from rows(self.row)

    def _gb_per_s(self, cluster: Cluster) -> float:
        """Throughput of large messages between kernels."""
        return float(self._bench(cluster, sizes=[LARGE])[0]["gb_per_s"])

    def _bench(self, cluster: Cluster, **options: Any) -> list[dict[str, Any]]:
        rows = thalweg.measure("b_eff", cluster, **options)
        if not all(row["verified"] for row in rows):
            raise CheckFailed(f"b_eff on {cluster.name} gave wrong data")
        return rows


def reproduce(paper: str, *, only: Sequence[str] = DEFAULT) -> list[dict[str, Any]]:
    """`thalweg reproduce accl`. Raises InputError."""
    if paper != PAPER:
        raise InputError(f"{paper!r} is not {PAPER}")
    return [row.as_json() for row in Evaluation(only).rows(lambda what, done: None)]
